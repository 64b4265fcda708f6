"""Weeks (ISO 8601, Monday to Sunday) and months of the calendar, UTC; a day is one too. Pure.

Their labels sort and are names of files: 2026-W47, 2026-11, 2026-11-19.
"""

from __future__ import annotations

import datetime
import re
from typing import NamedTuple

from fleet.store import reports

WEEK, MONTH, DAY = "week", "month", "day"
LABELS = re.compile(r"\d{4}-W\d\d|\d{4}-\d\d|\d{4}-\d\d-\d\d")


class Period(NamedTuple):
    """first, last: its days, since 1970-01-01."""

    kind: str
    label: str
    first: int
    last: int

    @property
    def days(self) -> int:
        return self.last - self.first + 1

    @property
    def span(self) -> str:
        return f"{reports.date_of(self.first)} to {reports.date_of(self.last)}"


def of(kind: str, day: int) -> Period:
    """The week, month or day in which a day lies."""
    date = reports.EPOCH + datetime.timedelta(days=day)
    if kind == WEEK:
        year, week, weekday = date.isocalendar()
        return Period(WEEK, f"{year}-W{week:02d}", day - weekday + 1, day - weekday + 7)
    if kind == MONTH:
        first = day - date.day + 1
        after = (date.replace(day=28) + datetime.timedelta(days=4)).replace(day=1)
        return Period(MONTH, f"{date:%Y-%m}", first, (after - reports.EPOCH).days - 1)
    return Period(DAY, reports.date_of(day), day, day)


def last_whole(kind: str, yesterday: int) -> Period:
    """The last one that was over by the end of `yesterday`."""
    found = of(kind, yesterday)
    return found if found.last <= yesterday else of(kind, found.first - 1)


def named(label: str) -> Period:
    """By its label. ValueError if there is no such period."""
    if not LABELS.fullmatch(label):
        raise ValueError(f"{label!r} is no day, week or month")
    if "W" in label:
        monday = datetime.date.fromisocalendar(int(label[:4]), int(label[6:]), 1)
        return of(WEEK, (monday - reports.EPOCH).days)
    if len(label) == len("2026-11"):
        return of(MONTH, reports.number_of(f"{label}-01"))
    return of(DAY, reports.number_of(label))
