"""The maintenance lock: one open maintenance a cluster, so that two people do not take two brokers at once.

A file below STORE/gate/locks for each cluster, with owner and expiry. What changes it holds an flock of the folder, and
creates the file whole and only if there is none.
"""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import json
import os
import re
import socket
import time
import urllib.parse
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from agent.formats.text import printable
from agent.status import moment
from inventory.errors import SmokeError

GUARD, GUARD_S = ".guard", 30.0
LARGEST = 64 << 10
LONGEST_WORD = 200
# of the year 9999; what is beyond has no date
LAST_SECOND = 253_402_300_800.0
ID = re.compile(r"[0-9a-f]{8}")


@dataclass(frozen=True)
class Lock:
    """One open maintenance. since, until: seconds since the epoch. owner: user@machine (process id)."""

    id: str
    cluster: str
    hosts: tuple[str, ...]
    purpose: str
    owner: str
    since: float
    until: float
    store: str = ""

    @property
    def words(self) -> str:
        """replace-disk of kafka-a03 by ann@bastion (pid 4711), 20:46Z until 21:46Z, id 1a2b3c4d"""
        hosts, owner = printable(", ".join(self.hosts)), printable(self.owner)
        times = f"{moment(self.since)} until {moment(self.until)}"
        return f"{printable(self.purpose)} of {hosts} by {owner}, {times}, id {self.id}"

    def expired(self, now: float) -> bool:
        return now >= self.until


class Held(SmokeError):
    """Somebody else has the cluster; the message says who, what for and until when."""

    def __init__(self, lock: Lock) -> None:
        self.lock = lock
        super().__init__(f"{lock.cluster} is locked: {lock.words}")


class CannotLock(SmokeError):
    """The folder of the locks cannot be used, or a lock in it cannot be read; why, in words."""


def owner() -> str:
    """Who we are, for others: ann@bastion (pid 4711); behind sudo, the one who called it."""
    try:
        user = os.environ.get("SUDO_USER") or getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()} (pid {os.getpid()})"


def clock(store: str) -> float:
    """Now, by the clock of the store: a file server's, the same for all who share it, whatever their own clocks say."""
    try:
        guard = os.open(os.path.join(_folder(store), GUARD), os.O_WRONLY)
        try:
            os.utime(guard)
            return os.fstat(guard).st_mtime
        finally:
            os.close(guard)
    except OSError:  # no lock was ever taken there, or we may not write: then nobody but us counts
        return time.time()


def take(
    store: str, hosts: Sequence[str], cluster: str, owner: str, purpose: str, minutes: float, now: float | None = None
) -> Lock:
    """Take the cluster, or raise Held. One that expired is taken over. CannotLock if there is no knowing.

    Both are Exceptions whose message is for a person.
    """
    with _guarded(store) as folder:
        begin = clock(store) if now is None else now
        wanted = Lock(uuid.uuid4().hex[:8], cluster, tuple(hosts), purpose, owner, begin, begin + minutes * 60, store)
        path = os.path.join(folder, _file_of(cluster))
        before = _read(path, store)
        if before and not before.expired(begin):
            raise Held(before)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        _create(folder, path, wanted)
    return wanted


def release(lock: Lock) -> bool:
    """Give it back; False if it was no longer ours: expired and taken over, or released by somebody."""
    with _guarded(lock.store) as folder:
        path = os.path.join(folder, _file_of(lock.cluster))
        there = _read(path, lock.store)
        if there is None or there.id != lock.id:
            return False
        os.unlink(path)
        return True


def renew(lock: Lock, minutes: float, now: float | None = None) -> Lock:
    """The same lock with a later end; Held if somebody took it over meanwhile, CannotLock if it is gone."""
    with _guarded(lock.store) as folder:
        begin = clock(lock.store) if now is None else now
        longer = Lock(**{**asdict(lock), "until": max(lock.until, begin + minutes * 60)})
        path = os.path.join(folder, _file_of(lock.cluster))
        there = _read(path, lock.store)
        if there is None:
            raise CannotLock(f"the lock {lock.id} of {lock.cluster} is gone: another user released it")
        if there.id != lock.id:
            raise Held(there)
        os.unlink(path)
        _create(folder, path, longer)
    return longer


def held(store: str) -> list[Lock]:
    """Every lock there is, also one that expired and was never released. CannotLock if they cannot be read."""
    folder = _folder(store)
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise CannotLock(f"{folder}: {error.strerror}") from error
    return [lock for name in names if (lock := _read(os.path.join(folder, name), store))]


def _folder(store: str) -> str:
    return os.path.join(store, "gate", "locks")


def _file_of(cluster: str) -> str:
    return (urllib.parse.quote(cluster, safe="")[:LONGEST_WORD] or "-") + ".json"


@contextlib.contextmanager
def _guarded(store: str) -> Iterator[str]:
    """The folder of the locks, while nobody else changes it."""
    folder = _folder(store)
    try:
        os.makedirs(folder, exist_ok=True)
        guard = os.open(os.path.join(folder, GUARD), os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise CannotLock(f"{folder}: {error.strerror}") from error
    try:
        _wait_for(guard, folder)
        yield folder
    except OSError as error:
        raise CannotLock(f"{folder}: {error.strerror}") from error
    finally:
        os.close(guard)


def _wait_for(guard: int, folder: str) -> None:
    until = time.monotonic() + GUARD_S
    while True:
        try:
            fcntl.flock(guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > until:
                raise CannotLock(f"{folder}: another process holds .guard for more than {GUARD_S:.0f} s") from None
            time.sleep(0.02)


def _create(folder: str, path: str, lock: Lock) -> None:
    """Whole or not at all, and only where there is none: a link to a file that was written aside."""
    aside = os.path.join(folder, f".{lock.id}.{os.getpid()}")
    try:
        with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "w", encoding="utf-8") as file:
            file.write(to_json(lock))
            file.flush()
            os.fsync(file.fileno())
        os.link(aside, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(aside)


def _read(path: str, store: str) -> Lock | None:
    """The lock in this file; None if there is no such file."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(LARGEST)
    except FileNotFoundError:
        return None
    except (OSError, UnicodeError) as error:
        raise CannotLock(f"{path}: {getattr(error, 'strerror', None) or 'not text'}") from error
    return from_json(text, path, store)


def to_json(lock: Lock) -> str:
    """As it is kept; `from_json` reads it back."""
    return json.dumps({name: value for name, value in asdict(lock).items() if name != "store"})


def from_json(text: str, where: str, store: str = "") -> Lock:
    """A lock as it was kept. CannotLock, with where it stands, for anything else."""
    try:
        return _parsed(json.loads(text), store)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        hint = "check who wrote it, then delete it"
        raise CannotLock(f"{where} holds no lock ({type(error).__name__}); {hint}") from error


def _parsed(said: Any, store: str) -> Lock:
    cluster, purpose, owner = (str(said[name])[:LONGEST_WORD] for name in ("cluster", "purpose", "owner"))
    since, until = float(said["since"]), float(said["until"])
    in_range = 0 <= since < LAST_SECOND and 0 <= until < LAST_SECOND
    if not isinstance(said["hosts"], list) or not ID.fullmatch(said["id"]) or not in_range:
        raise ValueError("not a maintenance lock")
    hosts = tuple(str(name)[:LONGEST_WORD] for name in said["hosts"][:1000])
    return Lock(said["id"], cluster, hosts, purpose, owner, since, until, store)
