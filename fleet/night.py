"""What is known of one night: its tables, and what could not be read."""

from __future__ import annotations

from typing import Any, NamedTuple

from fleet import reports

Rows = list[dict[str, Any]]


class Night(NamedTuple):
    """Everything that is known of one night. late: earlier days that were taken again; days: with reports."""

    date: str
    tables: dict[str, Rows]
    aside: list[reports.Aside]
    late: list[str]
    days: int
    sources: int

    @property
    def day(self) -> int:
        return reports.number_of(self.date)
