"""What ZooKeeper and Kafka report about a cluster: one reader each, each request under a deadline, answers typed.

Only this package talks to them; the checks in smoketests/cluster see the facts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from inventory.errors import SmokeError

Answer = TypeVar("Answer")


class CannotRead(SmokeError):
    """The reader could not tell; the message is the reason, for a person."""


class NotYet(SmokeError):
    """It has not come back."""


def begin(ask: Callable[[], Answer]) -> Callable[[float | None], Answer]:
    """Start it in a thread of its own; what is returned waits so many seconds for the answer, then raises NotYet."""
    done: list[tuple[Any, Exception | None]] = []

    def work() -> None:
        try:
            done.append((ask(), None))
        except Exception as error:
            done.append((None, error))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()

    def wait(seconds: float | None) -> Answer:
        thread.join(seconds)
        if not done:
            raise NotYet
        value, error = done[0]
        if error is not None:
            raise error
        return value  # type: ignore[no-any-return]

    return wait


def within(seconds: float, what: str, ask: Callable[[], Answer]) -> Answer:
    """The answer of something that may never come back; CannotRead then, and what hangs is left behind."""
    try:
        return begin(ask)(seconds)
    except NotYet:
        raise CannotRead(f"{what}: no reply within {seconds:.0f} s") from None


def address(text: str, default_port: int) -> tuple[str, int]:
    """`zk1:2181`, `[2001:db8::1]:2181`, `zk1` -> host and port; CannotRead if it is neither."""
    host, separator, port = text.strip().rpartition(":")
    if not separator or text.strip().endswith("]"):
        host, port = text.strip(), str(default_port)
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise CannotRead(f"{text[:80]!r} is not an address such as host:{default_port}")
    return host, int(port)
