"""Exchanges with a server over TCP, and whether ports accept connections; each under its deadline."""

from __future__ import annotations

import functools
import socket
import time
from typing import Dict, List, Sequence

from agent.host import READ_LIMIT, CannotTell, Refused, Stuck, in_background

NO_ANSWER = "no answer"
CONNECT_AT_ONCE = 64
# A thread may begin late on a busy machine, and its connection still has its whole time.
LATE_S = 3.0


def exchange(address: str, port: int, words: str, deadline_s: float) -> str:
    """See Host.exchange."""
    try:
        with socket.create_connection((address, port), timeout=deadline_s) as connection:
            connection.sendall(words.encode())
            return _receive_until(connection, time.monotonic() + deadline_s).decode("utf-8", "replace")
    except (UnicodeError, OverflowError) as error:
        raise CannotTell(f"{address}:{port} is not an address: {error}") from None
    except (ConnectionResetError, BrokenPipeError):
        return ""  # it closed as soon as it had let us in
    except ConnectionRefusedError:
        raise Refused(f"{address}:{port}: Connection refused") from None
    except socket.timeout:
        raise Stuck(f"{address}:{port}", deadline_s) from None
    except OSError as error:
        raise CannotTell(f"{address}:{port}: {error.strerror or error}") from error


def connect(targets: Sequence[str], deadline_s: float) -> Dict[str, str]:
    """See Host.connect."""
    answers = dict.fromkeys(targets, NO_ANSWER)
    for start in range(0, len(targets), CONNECT_AT_ONCE):
        answers.update(_connect_all(targets[start : start + CONNECT_AT_ONCE], deadline_s))
    return answers


def _connect_all(targets: Sequence[str], deadline_s: float) -> Dict[str, str]:
    """Each in a thread of its own: looking up a name cannot be interrupted, so nobody waits for one that hangs."""
    answers: Dict[str, str] = {}
    until = time.monotonic() + deadline_s + LATE_S

    def work(target: str) -> None:
        answers[target] = _connect(target, deadline_s)

    threads = {target: in_background(functools.partial(work, target), target) for target in targets}
    for target, thread in threads.items():
        if target not in answers:
            thread.join(max(until - time.monotonic(), 0))
    return dict(answers)


def _connect(target: str, deadline_s: float) -> str:
    """Why this `host:port` does not let us in; empty if it does."""
    address, _, port = target.rpartition(":")
    try:
        socket.create_connection((address.strip("[]"), int(port)), timeout=deadline_s).close()
        return ""
    except ConnectionRefusedError:
        return "refused"
    except socket.timeout:
        return NO_ANSWER
    except socket.gaierror:
        return "unknown name"
    except OSError as error:
        return str(error.strerror or error)
    except (ValueError, OverflowError):
        return "no address"


def _receive_until(connection: socket.socket, until: float) -> bytes:
    parts: List[bytes] = []
    size = 0
    while size < READ_LIMIT:
        connection.settimeout(max(until - time.monotonic(), 0.001))
        try:
            part = connection.recv(1 << 16)
        except (ConnectionResetError, BrokenPipeError):
            break  # a server that closes before it has read our words: what came is all there is
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)
