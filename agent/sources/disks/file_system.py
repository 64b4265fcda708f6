"""Mounted file systems, asked under deadlines: does one answer, does it take a write, how full is it, did it err."""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

from agent.host import CannotTell, Host, Missing, Stuck, cached_per_run
from agent.named_tuples import NamedTuple
from agent.sources.disks import mount_table
from agent.sources.disks.data_mounts import Writer
from agent.sources.disks.mount_table import Mount

STAT_DEADLINE_S = 4.0
USAGE_DEADLINE_S = 4.0
# A sync waits for the journal, and on a busy disk that takes seconds.
WRITE_DEADLINE_S = 10.0

DAY_S = 86400


class Probe(NamedTuple):
    """One touch. error: an errno name, or empty. hung_s: for how long it has had no answer, 0 if it had one.

    completed: how many requests the disk finished while the touch waited; None if nobody counted.
    denied: the user as whom it was tried may not.
    """

    error: str
    hung_s: float
    completed: Optional[int]
    denied: bool = False


class Usage(NamedTuple):
    """As `df` reckons: free is what an unprivileged process may use. inodes is 0 where they are not counted."""

    total_bytes: int
    used_bytes: int
    free_bytes: int
    inodes: int
    inodes_free: int


class Ext4Errors(NamedTuple):
    """What a file system keeps of its errors until e2fsck. last_at: epoch seconds, 0 if not told."""

    errors: int
    last_at: int


@cached_per_run
def answers(host: Host, path: str) -> Probe:
    """Look at and list the root of the file system mounted at `path`; every check that wants it to answer asks here."""
    return _probe(host, "stat", _mounted(host, path), path, STAT_DEADLINE_S)


@cached_per_run
def takes_write(host: Host, path: str, writer: Writer) -> Probe:
    """Create, sync and drop an unnamed file of one byte in a folder on the mount at `path`, as the server would."""
    ids: Tuple[Any, ...] = (writer.uid, writer.gid, writer.groups) if writer.uid or writer.tree_of else ()
    ids += (writer.tree_of,) if writer.tree_of else ()
    probe = _probe(host, "write", _mounted(host, path), writer.folder, WRITE_DEADLINE_S, *ids)
    return probe._replace(denied=probe.denied or bool(writer.uid and probe.error in ("EACCES", "EPERM")))


def owner(host: Host, folder: str) -> str:
    """`user 0 (mode 755)`: whose a folder is; empty if that cannot be told."""
    try:
        facts = host.touch("stat", folder, deadline_s=STAT_DEADLINE_S).facts
    except CannotTell:
        return ""
    uid, mode = facts.get("uid"), facts.get("mode")
    if not isinstance(uid, int) or not isinstance(mode, int):
        return ""
    return f"{f'user {uid}' if uid else 'root'} (mode {mode & 0o7777:o})"


@cached_per_run
def usage(host: Host, path: str) -> Usage:
    """How full the file system mounted at `path` is; CannotTell if nothing is mounted there or it does not answer."""
    if _mounted(host, path) and answers(host, path).hung_s:
        raise CannotTell(f"{path} does not respond (see mounts)")
    touched = host.touch("usage", path, deadline_s=USAGE_DEADLINE_S)
    if touched.error:
        raise CannotTell(f"statvfs of {path} fails with {touched.error}")
    numbers = [touched.facts.get(name) for name in Usage._fields]
    if not all(isinstance(number, int) and number >= 0 for number in numbers):
        raise CannotTell(f"statvfs of {path} returned no numbers")
    if not touched.facts["total_bytes"]:
        raise CannotTell(f"statvfs of {path} returned size 0")
    return Usage(*numbers)  # type: ignore[arg-type]


def room(host: Host, path: str) -> Dict[str, int]:
    """What is left for an unprivileged process; nothing if that cannot be told."""
    try:
        seen = usage(host, path)
    except CannotTell:
        return {}
    return {"free_bytes": seen.free_bytes, "inodes_free": seen.inodes_free}


def ext4_errors(host: Host, device: str) -> Optional[Ext4Errors]:
    """Of the ext4 on this device (`sdd1`); None if no ext4 is mounted from it."""
    folder = f"/sys/fs/ext4/{device}"
    try:
        errors = host.read_int(f"{folder}/errors_count")
    except Missing:
        return None
    try:
        last_at = host.read_int(f"{folder}/last_error_time")
    except CannotTell:
        last_at = 0
    return Ext4Errors(errors, last_at if 0 < last_at < host.now() + DAY_S else 0)


def percent_used(used: int, free: int) -> float:
    """df's formula: blocks reserved for root count neither as used nor as free.

    >>> percent_used(75, 25)
    75.0
    """
    return 100.0 * used / (used + free) if used + free else 0.0


def _mounted(host: Host, path: str) -> Mount:
    mount = mount_table.mount_at(host, path)
    if mount is None:
        raise CannotTell(f"nothing is mounted at {path} (see mounts)")
    return mount


def _probe(host: Host, kind: str, mount: Mount, path: str, deadline_s: float, *arguments: Any) -> Probe:
    """Touch, unless a process that an earlier run left behind still hangs there: then one more would be no news."""
    key = f"hung {kind} {mount.path}"
    left = _left_behind(host, host.state.remembered(key), mount)
    if left and _alive(host, left):
        return Probe("", max(host.now() - left.since, deadline_s), None)
    before = _completed(host, mount.dev)
    try:
        touched = host.touch(kind, path, *arguments, deadline_s=deadline_s)
    except Stuck as stuck:
        after = _completed(host, mount.dev)
        state, began = process(host, stuck.pid)
        if state == "R":
            raise CannotTell(
                f"{kind} of {path}: no CPU time within {deadline_s:.0f} s, the machine is overloaded"
            ) from None
        since = left.since if left else host.now() - deadline_s
        host.state.remember(key, [since, host.boot_id(), mount.number, stuck.pid, began])
        completed = None if before is None or after is None else after - before
        return Probe("", max(host.now() - since, deadline_s), completed)
    host.state.remember(key, None)
    return Probe(touched.error, 0.0, None, touched.facts.get("may_write") is False)


class _Left(NamedTuple):
    """A touch that an earlier run left behind: since when, and which process (its number may be given anew)."""

    since: float
    boot_id: str
    mount: int
    pid: int
    began: str


def _left_behind(host: Host, note: Any, mount: Mount) -> Optional[_Left]:
    """The note, if it speaks of this mount in this boot."""
    if not isinstance(note, list) or len(note) != len(_Left._fields) or not isinstance(note[0], (int, float)):
        return None
    left = _Left(*note)
    return left if (left.boot_id, left.mount) == (host.boot_id(), mount.number) else None


def _alive(host: Host, left: _Left) -> bool:
    return bool(left.began) and process(host, left.pid)[1] == left.began


def process(host: Host, pid: int) -> Tuple[str, str]:
    """State of a process, and when it began in clock ticks since the boot; both empty if it ended.

    311 (python3) D 1 311 311 0 -1 4194624 1113 0 0 0 3 1 0 0 20 0 1 0 8841 …
    """
    if not pid:
        return "", ""  # no process is behind the answer: a recorded one
    try:
        words = host.read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    except CannotTell:
        return "", ""
    return (words[0], words[19]) if len(words) > 19 and words[0] not in ("Z", "X") else ("", "")


def _completed(host: Host, dev: str) -> Optional[int]:
    """Reads and writes that a block device has finished since the boot.

    8721 12 504118 4100 99213 51 88120 7012 0 6000 11112 …
    """
    try:
        words = host.read(f"/sys/dev/block/{dev}/stat").split()
        return int(words[0]) + int(words[4])
    except (CannotTell, ValueError, IndexError):
        return None
