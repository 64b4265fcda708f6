"""What this machine seems to be, from what runs on it, where no inventory says it."""

from __future__ import annotations

from typing import List, NamedTuple, Sequence, Tuple

from agent.expected import Expected, ExpectedMount
from agent.host import CannotTell, Host
from agent.sources import data_mounts, kafka, mount_table
from agent.status import moment

DATA_FILE_SYSTEMS = ("ext4", "xfs", "btrfs", "ext3")


class _Seen(NamedTuple):
    """What the running processes, and those of an earlier run, say of this machine."""

    roles: Tuple[str, ...]
    mounts: Tuple[str, ...]
    ports: Tuple[int, ...]
    why: str


def guess(host: Host) -> Expected:
    """What the host expects, with the empty fields filled from its processes and mounts; says what was guessed."""
    expected = host.expected
    seen = _seen(host)
    said: List[str] = []
    if not expected.roles:
        expected = expected._replace(roles=seen.roles)
        said.append(f"role: {', '.join(seen.roles) or 'none'} ({seen.why})")
    if not expected.mounts:
        expected = expected._replace(mounts=tuple(ExpectedMount(path) for path in seen.mounts))
        said.append(f"data mounts: {', '.join(seen.mounts) or 'none'} ({seen.why})")
    if not expected.ports and seen.ports:
        expected = expected._replace(ports=seen.ports)
        said.append(f"ports: {', '.join(map(str, seen.ports))} ({seen.why})")
    return expected._replace(guessed=expected.guessed + tuple(said))


def _seen(host: Host) -> _Seen:
    """A broker that runs tells its own story; one that ran a few days ago is remembered, so that its loss is seen."""
    try:
        known = kafka.roster(host)
    except CannotTell as error:
        return _Seen((), (), (), str(error))
    mounts = _log_dir_mounts(host, known)
    if not known:
        return _Seen((), mounts or _named_kafka(host), (), "no Kafka or ZooKeeper process")
    return _Seen(
        tuple(sorted({row.role for row in known})),
        mounts,
        tuple(sorted({port for row in known for port in row.ports})),
        _why(host, known),
    )


def _why(host: Host, known: Sequence[kafka.Known]) -> str:
    gone = [row for row in known if not row.service]
    if not gone:
        return "from the running process and its configuration"
    return ", ".join(f"{row.item} last seen {moment(row.seen_at)}, not running now" for row in gone)


def _log_dir_mounts(host: Host, known: Sequence[kafka.Known]) -> Tuple[str, ...]:
    """The mounts that hold the brokers' log dirs, or held them in the last days."""
    brokers = [row.service for row in known if row.service and row.role == "broker" and row.service.config]
    folders = [path for broker in brokers for path in kafka.log_dirs(broker.config)]
    return data_mounts.holding(host, "guess.mounts", folders)


def _named_kafka(host: Host) -> Tuple[str, ...]:
    """File systems of disks that are mounted somewhere named kafka."""
    try:
        mounts = mount_table.mounts(host)
    except CannotTell:
        return ()
    named = (mount.path for mount in mounts if "kafka" in mount.path and mount.fstype in DATA_FILE_SYSTEMS)
    return tuple(dict.fromkeys(named))
