"""A corner of this machine with processes, mounts and a network of its own, in which the agent runs for real."""

from __future__ import annotations

import contextlib
import json
import pathlib
import subprocess
import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Optional, Union

import psutil

ROOT = pathlib.Path(__file__).parents[3]
ENTER = {"--pid": "-p", "--mount": "-m", "--net": "-n"}


def wait_for(what: str, happened: Any, seconds: float = 15.0) -> Any:
    """The first true answer of `happened()`."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        answer = happened()
        if answer:
            return answer
        time.sleep(0.05)
    raise AssertionError(f"{what} did not happen in {seconds} s")


def kill(process: subprocess.Popen[bytes]) -> None:
    """End it, and what it started: a server behind `nsenter` is a child of that."""
    if process.poll() is None:
        for child in psutil.Process(process.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
        process.kill()
    process.wait(30)


class Namespace:
    """with Namespace("--net") as inside: inside.run("ip", "link"). Gone with its processes and mounts at the end."""

    def __init__(self, *kinds: str) -> None:
        self._kinds = kinds
        self._started: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Namespace:
        own_processes = "--pid" in self._kinds
        proc = ["--fork", "--kill-child", "--mount-proc"] if own_processes else []
        self._holder = subprocess.Popen(["unshare", *self._kinds, *proc, "sleep", "600"])
        try:
            # with a process namespace, unshare forks and its child is the first process inside
            self.pid = wait_for("unshare", self._first) if own_processes else self._holder.pid
            wait_for("unshare", lambda: self._command(self.pid) == "sleep")
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def _first(self) -> int:
        children = pathlib.Path(f"/proc/{self._holder.pid}/task/{self._holder.pid}/children").read_text().split()
        return int(children[0]) if children else 0

    @staticmethod
    def _command(pid: int) -> str:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()

    def _enter(self, *argv: str) -> list[str]:
        return ["nsenter", "-t", str(self.pid), *(ENTER[kind] for kind in self._kinds), *argv]

    def run(self, *argv: str, text: str = "") -> str:
        done = subprocess.run(self._enter(*argv), input=text, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, f"{argv}: {done.stderr}"
        return done.stdout

    def start(self, *argv: str) -> subprocess.Popen[bytes]:
        """A process that is stopped when the namespace ends, or earlier with `stop`."""
        process = subprocess.Popen(self._enter(*argv), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._started.append(process)
        return process

    def findings(self, check: str, expected: Mapping[str, Any], state: Union[str, pathlib.Path]) -> dict[str, Any]:
        """What `python -m agent CHECK` reports in here: item -> row."""
        # entering a mount namespace leaves the working directory behind
        agent = [
            "env",
            f"PYTHONPATH={ROOT}",
            sys.executable,
            "-m",
            "agent",
            check,
            "--expected",
            "-",
            "--state",
            str(state),
            "--deadline",
            "40",
        ]
        command = self._enter(*agent)
        done = subprocess.run(
            command, input=json.dumps(expected), capture_output=True, text=True, timeout=60, check=False
        )
        assert done.stdout, done.stderr
        rows = [json.loads(line) for line in done.stdout.splitlines()[1:]]
        return {row["item"]: row for row in rows if row["check"] == check}

    def __exit__(self, kind: Optional[type], error: Optional[BaseException], where: Optional[TracebackType]) -> None:
        for process in [*self._started, self._holder]:
            process.kill()
            process.wait()
