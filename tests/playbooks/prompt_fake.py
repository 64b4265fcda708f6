"""Somebody at a terminal with playbooks of their own: real runs of `smoke playbook` on this machine."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from typing import Any

SMOKE = (sys.executable, "-m", "smoketests.cli", "playbook")
HEAD = "title: A playbook of a test\nmeans: it means nothing here\nrisk: nothing is at risk here\n"
PATIENCE_S = 60.0


class Desk:
    """folder holds the playbooks, the store, and what the playbooks write. host: of the inventory that access names."""

    def __init__(
        self, folder: pathlib.Path, access: Sequence[str] = (), host: str = "", patience_s: float = PATIENCE_S
    ) -> None:
        self.folder, self.access, self.host, self.patience_s = folder, list(access), host, patience_s
        self.store = folder / "store"
        self.books = folder / "books"
        self.books.mkdir(exist_ok=True)

    def write(self, steps: str, name: str = "book", head: str = "") -> None:
        """A playbook of these steps; FOLDER in them is this desk's."""
        body = textwrap.indent(textwrap.dedent(steps).strip(), "  ").replace("FOLDER", str(self.folder))
        (self.books / f"{name}.yaml").write_text(f"{HEAD}{head}steps:\n{body}\n")

    def words(self, *words: str) -> list[str]:
        own = ["--playbooks", str(self.books)] if words[0] in ("plan", "run", "show", "list") else []
        store = ["--store", str(self.store)] if words[0] not in ("show", "list") else []
        access = self.access if words[0] in ("plan", "run", "resume", "undo") else []
        host = ["--host", self.host] if self.host and words[0] in ("plan", "run") else []
        return [*SMOKE, *words, *own, *store, *access, *host]

    def smoke(self, *words: str, answers: str = "") -> subprocess.CompletedProcess[str]:
        """answers: each letter is a line; words with blanks between are a line each."""
        lines = answers.split() if " " in answers or len(answers) > 12 else list(answers)
        return subprocess.run(
            self.words(*words), input="".join(f"{line}\n" for line in lines), capture_output=True, text=True,
            timeout=self.patience_s, check=False, env=environment(),
        )  # fmt: skip

    def begin(self, *words: str) -> subprocess.Popen[str]:
        """A run whose answers are typed one by one; what it prints is in `printed`."""
        with (self.folder / "screen").open("w") as screen:
            return subprocess.Popen(
                self.words(*words), stdin=subprocess.PIPE, stdout=screen, stderr=subprocess.STDOUT, text=True,
                env=environment(),
            )  # fmt: skip

    @property
    def printed(self) -> str:
        """What the last `begin` printed so far."""
        return self.file("screen")

    def type_in(self, process: subprocess.Popen[str], *answers: str) -> None:
        """Answers, a line each."""
        assert process.stdin
        process.stdin.write("".join(f"{line}\n" for line in answers))
        process.stdin.flush()

    def end(self, process: subprocess.Popen[str], *answers: str) -> tuple[int, str]:
        """Type the rest of the answers; its exit code and all that it printed."""
        self.type_in(process, *answers)
        process.communicate(timeout=self.patience_s)
        return process.returncode, self.printed

    @property
    def run_id(self) -> str:
        """The last run."""
        return sorted((self.store / "playbooks").glob("*.jsonl"))[-1].stem

    def events(self) -> list[dict[str, Any]]:
        """Those of the last run; none before the first."""
        if not list((self.store / "playbooks").glob("*.jsonl")):
            return []
        path = self.store / "playbooks" / f"{self.run_id}.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]

    def told(self, *names: str) -> list[str]:
        """`event step` of the last run, of these events or of all that belong to a step."""
        rows = [(one["event"], one.get("step", "")) for one in self.events()]
        return [f"{name} {step}" for name, step in rows if (name in names if names else step)]

    def file(self, name: str) -> str:
        """What a playbook wrote; empty if it did not."""
        path = self.folder / name
        return path.read_text() if path.exists() else ""


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONUNBUFFERED": "1", "COLUMNS": "80", "SSH_AUTH_SOCK": ""}


def until(what: str, happened: Callable[[], Any]) -> Any:
    """Wait for it, however loaded the machine is."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        found = happened()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"never: {what}")


def kill(process: subprocess.Popen[str], how: int = signal.SIGKILL) -> None:
    process.send_signal(how)
    process.wait(PATIENCE_S)
    if process.stdin:
        process.stdin.close()
