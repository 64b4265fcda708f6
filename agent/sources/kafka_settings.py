"""Settings of a broker's configuration with the defaults of Kafka 3.9, and the mounts that its log dirs lie on."""

from __future__ import annotations

import os
from typing import Collection, Dict, Iterator, Mapping, Optional, Tuple

from agent.host import CannotTell, Host, shared
from agent.named_tuples import NamedTuple
from agent.sources import kafka, mount_table

# a setting, the others that it is judged by, and Kafka's defaults
DEFAULTS: Mapping[str, Mapping[str, str]] = {
    "log.dirs": {},
    "num.io.threads": {"num.io.threads": "8"},
    "unclean.leader.election.enable": {"unclean.leader.election.enable": "false"},
    "offsets.retention.minutes": {"offsets.retention.minutes": "10080"},
    "message.max.bytes": {
        "message.max.bytes": "1048588",
        "replica.fetch.max.bytes": "1048576",
        "socket.request.max.bytes": "104857600",
    },
    "compression.type": {"compression.type": "producer"},
    "min.insync.replicas": {
        "min.insync.replicas": "1",
        "default.replication.factor": "1",
        "offsets.topic.replication.factor": "3",
        "auto.create.topics.enable": "true",
    },
}

MOST_LINKS = 8
OTHER_FOLDERS = ("metadata.log.dir", "dataDir", "dataLogDir")


class Places(NamedTuple):
    """log_dirs, and for each the mount that holds it and its type. given: whether the configuration names them.

    idle: data mounts of the inventory that no server here writes to. absent: those that are not mounted now.
    """

    given: bool
    log_dirs: Tuple[str, ...]
    mounts: Tuple[str, ...]
    fstypes: Tuple[str, ...]
    idle: Tuple[str, ...]
    absent: Tuple[str, ...]


def values(config: Mapping[str, str], setting: str) -> Dict[str, str]:
    """What a setting is judged by: what the configuration says, else Kafka's default."""
    return {name: config.get(name) or default for name, default in DEFAULTS[setting].items()}


def places(host: Host, config: Dict[str, str]) -> Places:
    folders = kafka.log_dirs(config)
    holding = [_mount_of(host, folder) for folder in folders]
    mounts = tuple(mount.path if mount else "/" for mount in holding)
    absent = tuple(path for path in host.expected.mount_paths if mount_table.mount_at(host, path) is None)
    return Places(
        given=bool(config.get("log.dirs") or config.get("log.dir")),
        log_dirs=tuple(folders),
        mounts=mounts,
        fstypes=tuple(mount.fstype if mount else "" for mount in holding),
        idle=_idle(host, absent),
        absent=absent,
    )


def _idle(host: Host, absent: Collection[str]) -> Tuple[str, ...]:
    """Data mounts that no server of this machine writes to.

    Where they were guessed from the log dirs of earlier runs, none is idle: it may be gone for good.
    """
    if any(sentence.startswith("data mounts: ") for sentence in host.expected.guessed):
        return ()
    holding = {mount.path for path in _folders(host) for mount in (_mount_of(host, path),) if mount}
    return tuple(
        path for path in host.expected.mount_paths if os.path.normpath(path) not in holding and path not in absent
    )


@shared
def _mount_of(host: Host, path: str) -> Optional[mount_table.Mount]:
    """The mount that holds a folder, through the symbolic links on the root disk that may lead there."""
    for _link in range(MOST_LINKS):
        mount = mount_table.mount_of(host, path)
        onward = _through_link(host, path) if mount is None or mount.path == "/" else ""
        if not onward:
            return mount
        path = onward
    return None


def _through_link(host: Host, path: str) -> str:
    """Where a path leads if one of its folders is a symbolic link; empty if none is."""
    parts = os.path.normpath(path).split("/")
    for number in range(2, len(parts) + 1):
        folder = "/".join(parts[:number])
        try:
            target = str(host.touch("link", folder).facts.get("target", ""))
        except CannotTell:
            return ""
        if target:
            return os.path.normpath(os.path.join(os.path.dirname(folder), target, *parts[number:]))
    return ""


def _folders(host: Host) -> Iterator[str]:
    """Where the servers that run here keep their data: log dirs, KRaft's metadata, ZooKeeper's snapshots and log."""
    for service in kafka.services(host):
        yield from kafka.log_dirs(service.config) if service.role != "zookeeper" else ()
        yield from (service.config[name] for name in OTHER_FOLDERS if service.config.get(name))
