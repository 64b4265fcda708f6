"""Prometheus text of many hosts, for a textfile collector or a push gateway."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from agent.formats import prometheus

if TYPE_CHECKING:
    from smoketests.results.run_results import Survey


def many(seen: Survey, only_problems: bool = False) -> Iterator[str]:
    return prometheus.lines(seen.reports)
