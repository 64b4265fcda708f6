"""File-system touches that may never return, each in a process of its own that can be abandoned.

A touch of a dead disk can leave its process in uninterruptible sleep, where SIGKILL does nothing and the exit of
any program that has such a thread waits for ever. So a small server process forks one child per touch; the agent
waits for the child's answer with a deadline and, when none comes, leaves it behind.
"""

from __future__ import annotations

import collections
import contextlib
import errno
import heapq
import itertools
import json
import os
import signal
import socket
import stat
import sys
from typing import Any, Callable, Deque, Dict, Iterator, List, Optional, Sequence, Tuple

from agent import atomic_file
from agent.machine import regular_files

MAX_BYTES = 8 << 20
# A configuration file that a process names has some kB; one of megabytes is none.
MAX_NAMED_BYTES = 256 << 10
# A line of a log is cut here: what it tells stands at its beginning.
LONGEST_LINE = 4096
# How many files a log is followed through that was rotated again and again, and how many its folder may hold.
MOST_ROTATED = 50
MOST_ENTRIES = 20_000
PID_BYTES = 4
# How long after its deadline a touch that nobody waits for any more ends itself, if the kernel lets it.
LINGER_S = 1.0


def touch_stat(path: str) -> Dict[str, Any]:
    """Look at the path itself and list it: a shut-down file system answers `stat` from the cache or with EIO."""
    seen = os.stat(path)
    if stat.S_ISDIR(seen.st_mode):
        os.listdir(path)
    return {
        "dev": f"{os.major(seen.st_dev)}:{os.minor(seen.st_dev)}",
        "ino": seen.st_ino,
        "mode": seen.st_mode,
        "mtime": seen.st_mtime,
        "uid": seen.st_uid,
    }


def touch_usage(path: str) -> Dict[str, Any]:
    """Sizes in bytes and inode counts, as `df` reckons them (free: what an unprivileged process may use)."""
    seen = os.statvfs(path)
    return {
        "total_bytes": seen.f_blocks * seen.f_frsize,
        "used_bytes": (seen.f_blocks - seen.f_bfree) * seen.f_frsize,
        "free_bytes": seen.f_bavail * seen.f_frsize,
        "inodes": seen.f_files,
        "inodes_free": seen.f_ffree,
    }


def touch_write(path: str, uid: int = 0, gid: int = 0, groups: Sequence[int] = (), tree_of: int = 0) -> Dict[str, Any]:
    """The one write of the whole agent: an unnamed file of one byte, synced and gone when closed.

    As the user of that id, where this process may become that user; else `may_write` tells by the permission bits.
    tree_of: the process in whose tree the path is.
    """
    if tree_of:
        regular_files.enter_tree_of(tree_of)
    facts = _become(path, uid, gid, groups) if uid else {}
    handle = os.open(path, os.O_TMPFILE | os.O_WRONLY, 0o600)
    try:
        os.write(handle, b"s")
        os.fsync(handle)
    finally:
        os.close(handle)
    return {"written": True, **facts}


def _become(path: str, uid: int, gid: int, groups: Sequence[int]) -> Dict[str, Any]:
    """Be that user for good (this process serves one touch); what the permission bits say where that cannot be."""
    try:
        os.setgroups(groups)
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
    except OSError:  # not root, or a user that this namespace does not map
        may = regular_files.Rights(uid, frozenset((gid, *groups))).may_write_in(path)
        return {} if may is None else {"may_write": may}
    return {"as_user": True}


def touch_tail(path: str, offset: int, inode: int, limit: int) -> Dict[str, Any]:
    """What was appended to a log since `offset` of file `inode`: at most `limit` bytes of its end.

    A rotated or shortened log is read from its start.
    """
    with regular_files.opened(path) as log:
        seen = os.fstat(log.fileno())
        start = offset if seen.st_ino == inode and offset <= seen.st_size else 0
        skipped = max(seen.st_size - start - limit, 0)
        log.seek(start + skipped)
        data = log.read(min(limit, MAX_BYTES))
    return {
        "inode": seen.st_ino,
        "end": log_end(start + skipped, data),
        "skipped_bytes": skipped,
        "text": data[: data.rfind(b"\n") + 1].decode("utf-8", "replace"),
    }


def log_end(start: int, data: bytes) -> int:
    """Where the next read begins: behind the last whole line."""
    return start + data.rfind(b"\n") + 1


def touch_read(path: str) -> Dict[str, Any]:
    with regular_files.opened(path) as file:
        return {"text": file.read(MAX_BYTES).decode("utf-8", "replace")}


def touch_named(path: str, pid: int, listed_at: float = 0.0) -> Dict[str, Any]:
    """Read a file that process `pid` names, as its user would: what that user may not read is not read for them."""
    rights = regular_files.take_rights_of(pid, listed_at)
    with regular_files.opened(path, rights) as file:
        if os.fstat(file.fileno()).st_size > MAX_NAMED_BYTES:
            raise OSError(errno.EFBIG, f"larger than {MAX_NAMED_BYTES >> 10} kB")
        return {"text": file.read(MAX_NAMED_BYTES).decode("utf-8", "replace")}


def touch_link(path: str) -> Dict[str, Any]:
    """Where one link points, such as /proc/<pid>/fd/2, without touching what it points at."""
    return {"target": os.readlink(path)}


def touch_search(
    path: str, offset: int, inode: int, limit: int, needles: str, named_by: int = 0, listed_at: float = 0.0
) -> Dict[str, Any]:
    """The lines with one of the needles (`this|that`), and the line before each, in what was appended to a log since
    `offset` of file `inode`.

    At most the last `limit` bytes are searched. Where the log was rotated since, the files that it was renamed to come
    first, oldest first, and of these together `limit` bytes as well.
    """
    rights = regular_files.take_rights_of(named_by, listed_at) if named_by else None
    with regular_files.opened(path, rights) as log:
        seen = os.fstat(log.fileno())
        older = _of_rotated(_rotated(path, seen, offset, inode), limit, needles, rights)
        start = offset if seen.st_ino == inode and offset <= seen.st_size else 0
        skipped = max(seen.st_size - start - limit, 0)
        log.seek(start + skipped)
        data = log.read(limit)
    end = log_end(start + skipped, data)
    older.append(_lines_with(data[: end - start - skipped], needles))
    text = "".join(text for text, _missed in older)
    skipped += sum(missed for _text, missed in older) + max(len(text) - MAX_BYTES, 0)
    return {"inode": seen.st_ino, "end": end, "skipped_bytes": skipped, "text": text[-MAX_BYTES:]}


def _rotated(path: str, seen: os.stat_result, offset: int, inode: int) -> List[Tuple[str, int]]:
    """What a log was renamed to since (`server.log.2026-11-20-10`, `kafka.err.1`), and where to read on in each."""
    if not inode or seen.st_ino == inode:
        return []
    folder, name = os.path.split(path)
    every = itertools.islice(os.scandir(folder or "/"), MOST_ENTRIES)
    entries = [entry for entry in every if entry.name.startswith(f"{name}.") and entry.is_file(follow_symlinks=False)]
    old = next((entry.stat() for entry in entries if entry.inode() == inode), None)
    if old is None:
        return []
    later = [entry for entry in entries if entry.inode() == inode or entry.stat().st_mtime > old.st_mtime]
    later.sort(key=lambda entry: entry.stat().st_mtime)
    return [(entry.path, offset if entry.inode() == inode else 0) for entry in later]


def _of_rotated(
    files: Sequence[Tuple[str, int]], limit: int, needles: str, rights: Optional[regular_files.Rights]
) -> List[Tuple[str, int]]:
    """What rotated logs hold, in their order, and how much of each was not searched; the newest count before older."""
    found: List[Tuple[str, int]] = []
    for path, start in reversed(files):
        size = max(os.stat(path, follow_symlinks=False).st_size - start, 0)
        if len(found) >= MOST_ROTATED or not limit:
            found.append(("", size))
            continue
        found.append(_matches(path, start, limit, needles, rights))
        limit -= min(size, limit)
    return found[::-1]


def _matches(
    path: str, start: int, limit: int, needles: str, rights: Optional[regular_files.Rights]
) -> Tuple[str, int]:
    """What a rotated log holds from `start` on, and how much of it was not searched."""
    with regular_files.opened(path, rights) as log:
        skipped = max(os.fstat(log.fileno()).st_size - start - limit, 0)
        log.seek(start + skipped)
        text, cut = _lines_with(log.read(limit), needles)
        return text, skipped + cut


def _lines_with(data: bytes, needles: str) -> Tuple[str, int]:
    """Each line with one of the needles and the line before it, every line once; the last MAX_BYTES of them, and how
    much that leaves out.
    """
    found: Deque[bytes] = collections.deque()
    size = cut = after = 0
    for line in heapq.merge(*(_starts(data, needle.encode()) for needle in needles.split("|"))):
        if line >= after:
            first = data.rfind(b"\n", 0, max(line - 1, 0)) + 1
            end = data.find(b"\n", line) + 1 or len(data)
            found += [_cut(data[max(first, after) : line]), _cut(data[max(line, after) : end])]
            size += len(found[-1]) + len(found[-2])
            while size > MAX_BYTES:
                cut += len(found[0])
                size -= len(found.popleft())
            after = end
    return b"".join(found).decode("utf-8", "replace"), cut


def _cut(line: bytes) -> bytes:
    return line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 1] + b"\n"


def _starts(data: bytes, needle: bytes) -> Iterator[int]:
    """Where the lines begin that hold the needle."""
    at = data.find(needle)
    while at >= 0:
        yield data.rfind(b"\n", 0, at) + 1
        at = data.find(needle, data.find(b"\n", at) + 1 or len(data))


def touch_replace(path: str, text: str, mode: int = 0o600) -> Dict[str, Any]:
    """Write aside, sync, rename: the file is the old one or the new one, never half of either."""
    folder = os.path.dirname(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    atomic_file.replace(path, text.encode(), mode)
    return {"written": True}


TOUCHES: Dict[str, Callable[..., Dict[str, Any]]] = {
    "stat": touch_stat,
    "usage": touch_usage,
    "write": touch_write,
    "tail": touch_tail,
    "read": touch_read,
    "named": touch_named,
    "link": touch_link,
    "search": touch_search,
    "replace": touch_replace,
}


def serve(control: socket.socket) -> None:
    """Fork one child per connection that arrives on `control`, until the agent is gone."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        message, handles, _flags, _address = socket.recv_fds(control, 1, 1)
        if not message:
            return
        try:
            child = os.fork()
        except OSError as error:
            _decline(handles[0], f"cannot start a process ({error.strerror})")
            continue
        if child == 0:
            control.close()
            _answer(socket.socket(fileno=handles[0]))
            os._exit(0)
        os.close(handles[0])


def _decline(handle: int, why: str) -> None:
    """Say that the touch was not even tried, which is no news of the file system; small enough never to wait."""
    with contextlib.suppress(OSError), socket.socket(fileno=handle) as connection:
        connection.settimeout(1.0)
        receive(connection)  # who closes with something unread resets the connection
        connection.sendall((0).to_bytes(PID_BYTES, "little") + json.dumps({"cannot": why}).encode())


def _answer(connection: socket.socket) -> None:
    """The process id first, so that a touch that hangs can be named; then what it gave, as JSON."""
    reply: Dict[str, Any]
    connection.sendall(os.getpid().to_bytes(PID_BYTES, "little"))
    try:
        request = json.loads(receive(connection))
        if request["touch"] != "replace":  # which would leave half a file behind
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, request["deadline_s"] + LINGER_S)
        named_by = [request["rights_of"], request.get("listed_at", 0.0)] if request.get("rights_of") else []
        kind = "named" if named_by and request["touch"] == "read" else request["touch"]
        reply = TOUCHES[kind](*request["arguments"], *named_by)
    except regular_files.NotEntered as error:
        reply = {"cannot": str(error)}
    except OSError as error:
        reply = {
            "errno": errno.errorcode.get(error.errno or 0, str(error.errno)),
            "error": error.strerror or str(error),
        }
    connection.sendall(json.dumps(reply).encode())
    connection.close()


def receive(connection: socket.socket) -> bytes:
    """All that the other side sends until it closes its half."""
    parts: List[bytes] = []
    while True:
        part = connection.recv(1 << 16)
        if not part:
            return b"".join(parts)
        parts.append(part)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
