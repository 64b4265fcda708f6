"""One machine as the agent's sources see it, asked from here command by command; nothing of the agent is sent there.

Slower than the agent, and good for few questions: those that a plan asks.
"""

from __future__ import annotations

import os
from typing import Any

from agent.expected import Expected
from agent.host import (
    COMMAND_DEADLINE_S,
    READ_LIMIT,
    TOUCH_DEADLINE_S,
    Answer,
    CannotTell,
    Host,
    Missing,
    NoPermission,
    Process,
    ToolMissing,
    Touched,
)
from playbooks.machine import Lost, Machine, NotRun, Outcome

NOT_FOUND = 127


class View(Host):
    """Reads files, lists folders and runs what only looks. CannotTell where there is no answer."""

    def __init__(self, machine: Machine, expected: Expected | None = None) -> None:
        super().__init__(expected)
        self._machine = machine

    def ask(self, *argv: str, seconds: float = COMMAND_DEADLINE_S) -> Outcome:
        """A command that only looks."""
        try:
            return self._machine.run(argv, seconds)
        except (NotRun, Lost) as error:
            raise CannotTell(f"{argv[0]}: {error}") from error

    def out(self, *argv: str, seconds: float = 20.0) -> str:
        """What a command prints that has to succeed."""
        answer = self.run(*argv, deadline_s=seconds)
        if answer.code:
            raise CannotTell(f"{argv[0]} failed: {(answer.err or answer.out).strip()[:200]}")
        return answer.out

    def run(
        self, *argv: str, deadline_s: float = COMMAND_DEADLINE_S, secret_env: str = "", secret_from: str = ""
    ) -> Answer:
        if secret_env:
            raise CannotTell(f"{argv[0]}: only the agent can run it")
        done = self.ask(*argv, seconds=deadline_s)
        if done.code == NOT_FOUND:
            raise ToolMissing(f"{argv[0]} is not installed")
        return Answer(done.code, done.out, done.err)

    def now(self) -> float:
        return float(self.out("date", "+%s"))

    def is_root(self) -> bool:
        return self.once("root", lambda: self.out("id", "-u").strip() == "0")

    def read(self, path: str, limit: int = READ_LIMIT) -> str:
        return self.once(("read", path), lambda: self._good("cat", path).out)[:limit]

    def list_dir(self, path: str) -> list[str]:
        return self.once(("list", path), lambda: sorted(self._good("ls", "-A", path).out.splitlines()))

    def link(self, path: str) -> str:
        return self.once(("link", path), lambda: self._good("readlink", "-e", path).out.rstrip("\n"))

    def _good(self, tool: str, *arguments: str) -> Outcome:
        path = arguments[-1]
        done = self.ask(tool, *arguments[:-1], "--", path)
        if done.code == 0:
            return done
        if "Permission denied" in done.err:
            raise NoPermission(f"needs root: {path}")
        if "No such" in done.err or tool == "readlink":
            raise Missing(f"{path} does not exist")
        raise CannotTell(f"{path}: {done.said}")

    def touch(
        self, kind: str, path: str, *arguments: Any, deadline_s: float = TOUCH_DEADLINE_S, named_by: int = 0
    ) -> Touched:
        if kind == "link":
            return Touched("", {"target": self.link(path)})
        if kind != "read":
            raise CannotTell(f"{kind} of {path}: only the agent can do this")
        try:
            return Touched("", {"text": self.read(path)})
        except Missing:
            return Touched("ENOENT", {"text": ""})

    def processes(self) -> list[Process]:
        return self.once("processes", self._processes)

    def _processes(self) -> list[Process]:
        """Arguments are parted at spaces: good enough to find servers by."""
        found = []
        for row in self.out("ps", "-ww", "-eo", "pid=,user:32=,comm=,args=").splitlines():
            pid, user, name, *argv = row.split()
            found.append(Process(int(pid), os.path.basename(name), tuple(argv), user, 0.0))
        return found
