"""The host keys that machines offer, compared with the known ones; and the known_hosts file that accepts them."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import paramiko

from agent import atomic_file
from inventory.model import Host
from smoketests.ssh.connect import Access, Shown
from smoketests.ssh.failures import AccessError, Unreachable
from smoketests.ssh.host_keys import PORT, fingerprint, parse_line

KNOWN, NEW, CHANGED, REFUSED, UNREACHED = "known", "new", "changed", "refused", "unreached"
STATES = {"key-unknown": NEW, "key-changed": CHANGED}
TRIES = 3


class Offer(NamedTuple):
    """The key of one host. names: those under which known_hosts keeps it. reason: why it is not simply known."""

    host: str
    state: str
    names: tuple[str, ...] = ()
    kind: str = ""
    fingerprint: str = ""
    line: str = ""
    reason: str = ""


def collect(hosts: Sequence[Host], access: Access, jobs: int = 64, seconds: float = 30.0) -> Iterator[Offer]:
    """One offer for each host as they come; a host that does not answer in time is one too."""
    waiting: queue.SimpleQueue[Host] = queue.SimpleQueue()
    done: queue.SimpleQueue[Offer] = queue.SimpleQueue()
    for host in hosts:
        waiting.put(host)

    def work() -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                done.put(_offer(waiting.get_nowait(), access, seconds))

    for _ in range(min(jobs, len(hosts))):
        threading.Thread(target=work, daemon=True).start()
    # each thread asks its hosts one after the other
    until = time.monotonic() + (seconds + 5) * -(-len(hosts) // max(min(jobs, len(hosts)), 1))
    missing = {host.name: host for host in hosts}
    while missing:
        try:
            offer = done.get(timeout=max(until - time.monotonic(), 0))
        except queue.Empty:
            break
        if missing.pop(offer.host, None):
            yield offer
    for name in missing:
        yield Offer(name, UNREACHED, reason="timed out")


def _offer(host: Host, access: Access, seconds: float) -> Offer:
    until = time.monotonic() + seconds
    for attempt in range(TRIES):
        try:
            return _judged(host, access.shown_key(host, until))
        except Unreachable as error:
            # an sshd at its MaxStartups drops connections before its banner
            if error.kind != "dropped" or attempt == TRIES - 1:
                return Offer(host.name, UNREACHED, reason=str(error))
            time.sleep(0.3 * 2**attempt)
        except AccessError as error:
            return Offer(host.name, UNREACHED, reason=str(error))
        except Exception as error:  # one odd host never hides another
            return Offer(host.name, UNREACHED, reason=f"{type(error).__name__}: {error}"[:300])
    raise AssertionError("the last attempt returns")


def _judged(host: Host, shown: Shown) -> Offer:
    names, key = names_of(shown), shown.key
    line = f"{','.join(names)} {key.get_name()} {key.get_base64()}"
    offer = Offer(host.name, KNOWN, names, key.get_name(), fingerprint(key.asbytes()), line)
    try:
        shown.known.check(key)
    except Unreachable as error:
        return offer._replace(state=STATES.get(error.kind, REFUSED), reason=str(error))
    return offer


def names_of(shown: Shown) -> tuple[str, ...]:
    """As known_hosts writes them: `[name]:port` where the port is not 22."""
    port = shown.target.key_port
    names = dict.fromkeys(name.lower() for name in shown.target.names if name)
    return tuple(name if port == PORT else f"[{name}]:{port}" for name in names)


def write(path: str, accepted: Iterable[Offer], replaced: Iterable[Offer] = ()) -> None:
    """Add the keys to a known_hosts file, written aside and renamed; the file as it was stays as FILE.old.

    What the file knew of the names of `replaced` is taken out, other names on the same line stay.
    """
    path = os.path.realpath(os.path.expanduser(path))
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    before = _text(path)
    gone = {name for offer in replaced for name in offer.names}
    lines = [kept for line in before.splitlines() if (kept := _without(line, gone)) is not None] if gone else []
    text = "\n".join([*lines, ""]) if gone and lines else "" if gone else before
    if text and not text.endswith("\n"):
        text += "\n"
    text += "".join(f"{offer.line}\n" for offer in [*accepted, *replaced])
    if before:
        atomic_file.replace(f"{path}.old", before.encode("utf-8", "surrogateescape"))
    atomic_file.replace(path, text.encode("utf-8", "surrogateescape"))


def _text(path: str) -> str:
    with contextlib.suppress(FileNotFoundError), open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()
    return ""


def _without(line: str, gone: set[str]) -> str | None:
    """A line of known_hosts without these names; None when none is left. Patterns and markers are nobody's own."""
    entry = parse_line(line)
    if entry is None or entry.marker:
        return line
    names, _, rest = line.strip().partition(" ")
    left = [name for name in names.split(",") if not _is_one_of(name, gone)]
    if len(left) == len(names.split(",")):
        return line
    return f"{','.join(left)} {rest.strip()}" if left else None


def _is_one_of(name: str, gone: set[str]) -> bool:
    if name.startswith("|1|"):
        with contextlib.suppress(Exception):  # a damaged hash is nobody's
            return any(paramiko.HostKeys.hash_host(one, name) == name for one in gone)
        return False
    return name.lower() in gone
