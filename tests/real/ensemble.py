"""A real ZooKeeper ensemble of three on loopback, each server a process of its own that can be killed or frozen."""

from __future__ import annotations

import pathlib
import signal
from contextlib import ExitStack
from types import TracebackType
from typing import Optional

from tests.real.namespace import wait_for
from tests.real.zookeeper import WHITELIST, ZooKeeper, ask, free_port


class Member(ZooKeeper):
    """Server `number` of the ensemble: its own folder, its own id."""

    def __init__(self, folder: pathlib.Path, number: int, peers: tuple[str, ...], whitelist: str) -> None:
        super().__init__(folder / f"zk{number}", whitelist, peers)
        self.number = number
        (self.folder / "data" / "myid").write_text(f"{number}\n")

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def mode(self) -> str:
        rows = [line for line in ask(self.port, "srvr").splitlines() if line.startswith("Mode: ")]
        return rows[0][len("Mode: ") :] if rows else ""

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)


class Ensemble:
    """with Ensemble(folder) as ensemble: three servers with a leader; all stopped by their process ids at the end."""

    def __init__(self, folder: pathlib.Path, whitelist: str = WHITELIST, size: int = 3) -> None:
        peers = tuple(f"server.{number}=127.0.0.1:{free_port()}:{free_port()}" for number in range(1, size + 1))
        self.members = [Member(folder, number, peers, whitelist) for number in range(1, size + 1)]

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
