"""A host and a cluster for a site's own smoke tests: the agent's findings, and commands."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from inventory.model import Cluster as Described
    from inventory.model import Host as Machine
    from smoketests.ssh.connect import Access

MOST_OUTPUT = 4 << 20
CHUNK = 1 << 16
COMMAND_S = 30.0

Record = Mapping[str, Any]


class Answer(NamedTuple):
    """What a command gave; exit_code is -1 when the connection took it away."""

    exit_code: int
    stdout: str
    stderr: str


class TookTooLong(Exception):
    """The command did not end in time, or printed too much; it was ended there."""


@dataclass
class RemoteHost:
    """One host of the inventory. findings: records of the agent on it and of its cluster's judges."""

    machine: Machine
    findings: list[Record]
    access: Access

    @property
    def name(self) -> str:
        return self.machine.name

    def of(self, check: str) -> list[Record]:
        """The findings of one check."""
        return [finding for finding in self.findings if finding["check"] == check]

    def facts(self, check: str, item: str = "-") -> Mapping[str, Any]:
        """What was seen of one item; KeyError with the status and the reason if nothing was."""
        for finding in self.of(check):
            if finding["item"] == item and finding["facts"]:
                facts: Mapping[str, Any] = finding["facts"]
                return facts
        said = (
            "; ".join(f"{f['item']}: {f['status']}: {f['reason']}" for f in self.of(check)) or "the check did not run"
        )
        raise KeyError(f"{self.name}: no facts of {check}, item {item}: {said}")

    def run(self, *words: str, seconds: float = COMMAND_S) -> Answer:
        """Run a command there as the inventory's user, each word quoted. Unreachable, or TookTooLong."""
        command = shlex.join(["timeout", "-k", "2", f"{seconds:.0f}", *words])
        until = time.monotonic() + seconds + self.access.deadlines.connecting
        connection = self.access.connect(self.machine, until)
        try:
            channel = connection.transport.open_session(timeout=self.access.deadlines.channel)
            channel.exec_command(command)
            return self._answer(channel, time.monotonic() + seconds + 5)
        finally:
            connection.close()

    def _answer(self, channel: Any, until: float) -> Answer:
        parts: dict[bool, list[bytes]] = {False: [], True: []}
        size = 0
        while not (channel.exit_status_ready() and not channel.recv_ready() and not channel.recv_stderr_ready()):
            got = False
            for is_error, ready, read in (
                (False, channel.recv_ready, channel.recv),
                (True, channel.recv_stderr_ready, channel.recv_stderr),
            ):
                if ready():
                    part = read(CHUNK)
                    parts[is_error].append(part)
                    size, got = size + len(part), True
            if time.monotonic() > until or size > MOST_OUTPUT:
                raise TookTooLong(f"{self.name}: timed out or too long, after {size} bytes of output")
            if not got:
                channel.status_event.wait(0.02)
        out, err = (b"".join(parts[is_error]).decode("utf-8", "replace") for is_error in (False, True))
        return Answer(int(channel.exit_status), out, err)


@dataclass
class FarCluster:
    """One cluster of the inventory. findings: what its judges say of it as a whole."""

    described: Described
    hosts: list[RemoteHost]
    findings: list[Record]

    @property
    def name(self) -> str:
        return self.described.name

    def with_role(self, role: str) -> list[RemoteHost]:
        return [host for host in self.hosts if role in host.machine.roles]

    def of(self, check: str) -> Iterable[Record]:
        """The findings of one check, of the cluster and of its hosts."""
        yield from (finding for finding in self.findings if finding["check"] == check)
        for host in self.hosts:
            yield from host.of(check)
