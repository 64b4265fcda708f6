"""The course of a disk's counters, from the days on which they moved and those on which the disk was seen."""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence
from typing import Any

from fleet.rollup import columns

Point = tuple[int, float]


def series(steps: Sequence[Mapping[str, Any]], metric: str, first: int, night: int) -> list[Point]:
    """(day, value) of one disk's counter on the days of first to night, oldest first; days without a value are left
    out. steps: the disk's rows of `disk_steps`, each with the words of `disk_lives`; at least one."""
    moved = sorted(steps, key=lambda step: step["day"])
    days = [day for day in columns.days(moved[0], night) if first <= day <= night]
    starts = [step["day"] for step in moved]
    values = [moved[0][f"before_{metric}"], *(step[metric] for step in moved)]
    course = ((day, values[bisect.bisect_right(starts, day)]) for day in days)
    return [(day, float(value)) for day, value in course if value is not None]
