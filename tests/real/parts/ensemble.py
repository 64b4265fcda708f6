"""A real ZooKeeper ensemble of three on loopback, each server a process of its own that can be killed or frozen."""

from __future__ import annotations

import pathlib
import signal
from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import NamedTuple, Optional

from tests.real.parts.namespace import wait_for
from tests.real.parts.zookeeper import WHITELIST, ZooKeeper, ask, free_port


class Place(NamedTuple):
    """Where a server runs: the address that it is asked at, and a command in front of java's to run it there."""

    address: str
    enter: tuple[str, ...] = ()


class Member(ZooKeeper):
    """Server `number` of the ensemble: its own folder, its own id."""

    def __init__(
        self, folder: pathlib.Path, number: int, peers: tuple[str, ...], whitelist: str, place: Place | None = None
    ) -> None:
        at = place or Place("127.0.0.1")
        listening = "0.0.0.0" if place else at.address
        super().__init__(folder / f"zk{number}", whitelist, peers, enter=at.enter, clientPortAddress=listening)
        self.number = number
        self.address = f"{at.address}:{self.port}"
        (self.folder / "data" / "myid").write_text(f"{number}\n")

    @property
    def mode(self) -> str:
        rows = [line for line in ask(self.port, "srvr").splitlines() if line.startswith("Mode: ")]
        return rows[0][len("Mode: ") :] if rows else ""

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)


class Ensemble:
    """with Ensemble(folder) as ensemble: three servers with a leader; all stopped by their process ids at the end.

    places: of each, if not here.
    """

    def __init__(
        self, folder: pathlib.Path, whitelist: str = WHITELIST, size: int = 3, places: Sequence[Place] = ()
    ) -> None:
        peers = tuple(f"server.{number}=127.0.0.1:{free_port()}:{free_port()}" for number in range(1, size + 1))
        self.members = [
            Member(folder, number, peers, whitelist, places[number - 1] if places else None)
            for number in range(1, size + 1)
        ]

    @property
    def servers(self) -> tuple[str, ...]:
        return tuple(member.address for member in self.members)

    @property
    def leader(self) -> Member:
        return next(member for member in self.members if member.mode == "leader")

    @property
    def followers(self) -> list[Member]:
        return [member for member in self.members if member.mode == "follower"]

    def settle(self, members: int) -> None:
        """Wait until so many serve, one of them leading."""
        wait_for(
            f"an ensemble of {members}",
            lambda: (
                sorted(filter(None, (member.mode for member in self.members)))[: members + 1]
                == ["follower"] * (members - 1) + ["leader"]
            ),
            60.0,
        )

    def __enter__(self) -> Ensemble:
        with ExitStack() as started:
            for member in self.members:
                started.enter_context(member)
            self.settle(len(self.members))
            self._started = started.pop_all()
        return self

    def __exit__(self, kind: Optional[type], error: Optional[BaseException], where: Optional[TracebackType]) -> None:
        self._started.close()
