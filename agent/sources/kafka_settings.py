"""Settings of a broker's configuration with the defaults of Kafka 3.9, and the mounts that its log dirs lie on."""

from __future__ import annotations

from typing import Collection, Dict, Mapping, NamedTuple, Tuple

from agent.host import Host
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


class Places(NamedTuple):
    """log_dirs, and for each the mount that holds it and its type. given: whether the configuration names them.

    idle: data mounts of the inventory without a log dir. absent: those that are not mounted now.
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
    holding = [mount_table.mount_of(host, folder) for folder in folders]
    mounts = tuple(mount.path if mount else "/" for mount in holding)
    absent = tuple(path for path in host.expected.mount_paths if mount_table.mount_at(host, path) is None)
    return Places(
        given=bool(config.get("log.dirs") or config.get("log.dir")),
        log_dirs=tuple(folders),
        mounts=mounts,
        fstypes=tuple(mount.fstype if mount else "" for mount in holding),
        idle=_idle(host, {*mounts, *absent}),
        absent=absent,
    )


def _idle(host: Host, in_use: Collection[str]) -> Tuple[str, ...]:
    """Where the data mounts were guessed from the log dirs of earlier runs, none is idle: it may be gone for good."""
    if any(sentence.startswith("data mounts: ") for sentence in host.expected.guessed):
        return ()
    return tuple(path for path in host.expected.mount_paths if path not in in_use)
