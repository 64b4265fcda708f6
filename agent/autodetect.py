"""What this machine seems to be, from what runs on it, where no inventory says it."""

from __future__ import annotations

from typing import List, Sequence, Tuple

from agent.expected import Expected, ExpectedMount
from agent.host import CannotTell, Host
from agent.named_tuples import NamedTuple
from agent.sources.disks import data_mounts, mount_table
from agent.sources.kafka import processes as kafka
from agent.sources.kafka import server_folders
from agent.status import moment

MOUNTS = "guess.mounts"
DATA_FILE_SYSTEMS = ("ext4", "xfs", "btrfs", "ext3")


class _Seen(NamedTuple):
    """What the running processes, and those of an earlier run, say of this machine."""

    roles: Tuple[str, ...]
    mounts: Tuple[str, ...]
    ports: Tuple[int, ...]
    why: str


def guess(host: Host) -> Expected:
    """What the host expects, with the empty fields filled from its processes and mounts; says what was guessed."""
    try:
        known = kafka.known_servers(host)
    except CannotTell as error:
        return recall(host, str(error))
    mounts = _log_dir_mounts(host, known)
    if not known:
        return _filled(host, _Seen((), mounts or _named_kafka(host), (), "no Kafka or ZooKeeper process"))
    return _filled(host, _told_by(known, mounts, _why(host, known)))


def recall(host: Host, why: str) -> Expected:
    """The same from the memory of earlier runs alone, where the processes cannot be asked: `why`."""
    known = kafka.remembered(host)
    mounts = data_mounts.holding(host, MOUNTS, ())
    expected = _filled(host, _told_by(known, mounts, f"from an earlier run: {why}" if known else why))
    return expected._replace(unsure="" if host.expected.roles or known else why)


def _told_by(known: Sequence[kafka.Known], mounts: Tuple[str, ...], why: str) -> _Seen:
    ports = {port for row in known for port in row.ports}
    return _Seen(tuple(sorted({row.role for row in known})), mounts, tuple(sorted(ports)), why)


def _filled(host: Host, seen: _Seen) -> Expected:
    expected = host.expected
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


def _why(host: Host, known: Sequence[kafka.Known]) -> str:
    gone = [row for row in known if not row.service]
    if not gone:
        return "from the running process and its configuration"
    return ", ".join(f"{row.item} last seen {moment(row.seen_at)}, not running now" for row in gone)


def _log_dir_mounts(host: Host, known: Sequence[kafka.Known]) -> Tuple[str, ...]:
    """The mounts that hold the brokers' log dirs, or held them in the last days."""
    brokers = [(row.service, row.settled) for row in known if row.service and row.role == "broker"]
    folders = {
        folder.path: settled
        for one, settled in brokers
        if one and one.config
        for folder in (server_folders.located(host, one.process.pid, path) for path in kafka.log_dirs(one.config))
        if folder.path
    }
    return data_mounts.holding(host, MOUNTS, list(folders), [path for path, settled in folders.items() if not settled])


def _named_kafka(host: Host) -> Tuple[str, ...]:
    """File systems of disks that are mounted somewhere named kafka."""
    try:
        mounts = mount_table.mounts(host)
    except CannotTell:
        return ()
    named = (mount.path for mount in mounts if "kafka" in mount.path and mount.fstype in DATA_FILE_SYSTEMS)
    return tuple(dict.fromkeys(named))
