"""Progress of a run over many hosts: one changing line on a terminal, plain lines at intervals in a log."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from inventory.names import ranges

if TYPE_CHECKING:
    from smoketests.remote.fanout import HostReport

ON_TERMINAL_S = 0.5
IN_LOG_S = 15.0
# that few are named
NAMED = 3


class Progress:
    """398/412 hosts  11 waiting, 3 unreachable  slowest kafka-b07 (14 s)"""

    def __init__(self, hosts: Sequence[str], stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self._waiting = dict.fromkeys(hosts)
        self._total = len(hosts)
        self._silent = 0
        self._slowest = ("", 0.0)
        self._started = time.monotonic()
        self._over = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Progress:
        self._ticker.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _where: TracebackType | None
    ) -> None:
        self._over.set()
        self._ticker.join(1.0)
        if self._terminal:
            self._write("\r\033[K")

    def heard(self, report: HostReport) -> None:
        self._waiting.pop(report.host.name, None)
        self._silent += not report.report.findings
        self._slowest = max(self._slowest, (report.host.name, report.seconds), key=lambda one: one[1])

    def line(self) -> str:
        waiting = list(self._waiting)
        name, seconds = self._slowest
        parts = [f"{self._total - len(waiting)}/{self._total} hosts", f"{len(waiting)} waiting"]
        if 0 < len(waiting) <= NAMED:
            parts[1] = f"waiting for {ranges(waiting)}"
        if self._silent:
            parts[1] += f", {self._silent} unreachable"
        if len(waiting) <= NAMED and waiting:
            parts.append(f"{time.monotonic() - self._started:.0f} s")
        elif name:
            parts.append(f"slowest {name} ({seconds:.0f} s)")
        return "  ".join(parts)

    def _tick(self) -> None:
        while not self._over.wait(ON_TERMINAL_S if self._terminal else IN_LOG_S):
            if self._terminal:
                width = shutil.get_terminal_size().columns
                self._write(f"\r\033[K{self.line()[: width - 1]}")
            else:
                self._write(f"smoke: {self.line()}\n")

    def _write(self, words: str) -> None:
        try:
            self._stream.write(words)
            self._stream.flush()
        except (OSError, ValueError):
            self._over.set()  # nobody reads it any more
