"""What is known of one night: its tables, and what could not be read."""

from __future__ import annotations

from typing import Any, NamedTuple

from fleet.nights import forecasts
from fleet.store import reports

Rows = list[dict[str, Any]]


class Night(NamedTuple):
    """Everything that is known of one night. late: earlier days that were taken again; days: with reports; score: how
    good the forecasts of an earlier month were."""

    date: str
    tables: dict[str, Rows]
    aside: list[reports.Aside]
    late: list[str]
    days: int
    sources: int
    score: forecasts.Score | None = None

    @property
    def day(self) -> int:
        return reports.number_of(self.date)
