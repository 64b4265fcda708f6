"""Lines of many hosts in a temporary file until they are needed, not in memory."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence

from agent.report import Report

# What is kept in memory before it goes to a temporary file.
IN_MEMORY = 32 << 20


class Spool:
    """Reports of many hosts, kept out of memory until they are shown. Closed with the program."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(  # noqa: SIM115
            IN_MEMORY, "w+", encoding="utf-8", errors="replace", newline="\n"
        )
        self._where: dict[str, tuple[int, int]] = {}

    def add(self, host: str, lines: Sequence[str]) -> None:
        self._file.seek(0, 2)
        self._where[host] = self._file.tell(), len(lines)
        self._file.writelines(f"{line}\n" for line in lines)

    def lines(self, host: str) -> list[str]:
        """What `add` was given."""
        start, count = self._where.get(host, (0, 0))
        self._file.seek(start)
        return [self._file.readline().rstrip("\n") for _ in range(count)]

    def of(self, host: str) -> Report:
        rows = [json.loads(line) for line in self.lines(host)]
        header = rows.pop(0) if rows and rows[0].get("kind") == "header" else {}
        return Report(header, rows, [])
