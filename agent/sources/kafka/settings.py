"""Settings of a broker's configuration with the defaults of Kafka 3.9, and the mounts that its log dirs lie on."""

from __future__ import annotations

import os
from typing import Collection, Dict, Iterator, Mapping, Optional, Tuple

from agent.host import Host
from agent.named_tuples import NamedTuple
from agent.sources.disks import mount_table
from agent.sources.kafka import processes as kafka
from agent.sources.kafka import server_folders

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


def places(host: Host, service: kafka.Service) -> Places:
    config = service.config
    folders = kafka.log_dirs(config)
    holding = [_held(host, service.process.pid, folder) for folder in folders]
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
    holding = server_folders.mounts_of(list(_folders(host)))
    return tuple(
        path for path in host.expected.mount_paths if os.path.normpath(path) not in holding and path not in absent
    )


def _held(host: Host, pid: int, path: str) -> Optional[mount_table.Mount]:
    """The mount that holds a folder of that process; one of a container alone is named so, as it is none of ours."""
    folder = server_folders.located(host, pid, path)
    if folder.mount is None or folder.path:
        return folder.mount
    return folder.mount._replace(path=f"{folder.mount.path} of the container")


def _folders(host: Host) -> Iterator[server_folders.Folder]:
    """Where the servers that run here keep their data: log dirs, KRaft's metadata, ZooKeeper's snapshots and log."""
    for service in kafka.services(host):
        yield from server_folders.of(host, service)
