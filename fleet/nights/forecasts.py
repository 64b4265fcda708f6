"""Which disks each night named as failing soon, and what became of them: the forecasts are kept, and scored.

One small file a night, replaced in one step: STORE/_fleet/forecasts/<date>.json.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from fleet.archive.manifests import HOME
from fleet.statistics.intervals import binomial_interval
from fleet.store import reports
from fleet.store.files import Files
from fleet.tables import Rows

FORECASTS = f"{HOME}/forecasts"
# A forecast came true if the disk failed in so many days.
DAYS = 30
# With fewer nights or disks than these nothing is said.
NIGHTS_LEAST = 20
NAMED_LEAST = 5
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)


class Told(NamedTuple):
    """One night. named: disks that were to cross a limit; failing: those that were failing already."""

    named: frozenset[str]
    failing: frozenset[str]


class Score(NamedTuple):
    """Of `named` disks of a month, `failed` did so within 30 days of being named first. low, high: bounds of the share
    (95 %). fell: disks that failed from the month's second night to 30 days after its end, `foretold` of them named on
    a night before."""

    month: str
    named: int
    failed: int
    low: float
    high: float
    fell: int
    foretold: int


def of(trends: Rows) -> Told:
    """What a night's disk_trends say. CRC errors name a cable and no day: they are no forecast."""
    failing = frozenset(row["disk"] for row in trends if row["failing"])
    named = frozenset(row["disk"] for row in trends if row["days_left"] is not None)
    return Told(named - failing, failing)


def keep(files: Files, date: str, trends: Rows) -> None:
    told = of(trends)
    text = json.dumps({"named": sorted(told.named), "failing": sorted(told.failing)})
    files.replace(f"{FORECASTS}/{date}.json", text.encode())


def score(files: Files, date: str) -> Score | None:
    """Of the last month that is 30 days ago; None where too little is known of it."""
    first, last = _month(reports.number_of(date))
    kept = _kept(files, range(first, last + DAYS + 1))
    return scored(kept, first, last)


def scored(kept: Mapping[int, Told], first: int, last: int) -> Score | None:
    """kept: by the night. first, last: of the month."""
    nights = sorted(kept)
    ahead = sum(first <= night <= last for night in nights)
    if ahead < NIGHTS_LEAST or len(nights) - ahead < NIGHTS_LEAST:
        return None
    fell: dict[str, int] = {}
    named: dict[str, int] = {}
    for night in nights:
        for disk in kept[night].failing:
            fell.setdefault(disk, night)
        for disk in kept[night].named - fell.keys():
            named.setdefault(disk, night)
    judged = [disk for disk, night in named.items() if night <= last]
    failed = sum(disk in fell and fell[disk] - named[disk] <= DAYS for disk in judged)
    if len(judged) < NAMED_LEAST:
        return None
    late = [disk for disk, night in fell.items() if night > nights[0]]
    low, high = binomial_interval(failed, len(judged))
    foretold = sum(disk in named for disk in late)
    return Score(_name(first), len(judged), failed, low, high, len(late), foretold)


def _month(night: int) -> tuple[int, int]:
    """The first and the last day of the last month that ended 30 days before."""
    date = reports.date_of(night - DAYS + 1)
    last = reports.number_of(f"{date[:7]}-01") - 1
    return reports.number_of(f"{reports.date_of(last)[:7]}-01"), last


def _name(first: int) -> str:
    year, month, _day = reports.date_of(first).split("-")
    return f"{MONTHS[int(month) - 1]} {year}"


def _kept(files: Files, days: range) -> dict[int, Told]:
    """What can be read of these nights."""
    found = {}
    for day in days:
        try:
            said = json.loads(files.read(f"{FORECASTS}/{reports.date_of(day)}.json"))
            found[day] = Told(frozenset(map(str, said["named"])), frozenset(map(str, said["failing"])))
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            continue  # a night that was not computed says nothing
    return found
