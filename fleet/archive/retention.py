"""What is older than a site wants to keep: reports, compacted days, tables, summaries.

Only the days that have fallen out since the last time are deleted. A wrong clock, a wrong date or a new number thus
never costs the whole history at once; what is older still is named, and deleted when it is asked for (`prune`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from fleet.archive import manifests
from fleet.archive.manifests import FLAT, HOME
from fleet.store import reports
from fleet.store.files import Files

# Files named after a date, and folders of `date=…`. The manifests go first: what none names is no longer read.
BY_FILE = (manifests.MANIFESTS, f"{HOME}/rollup", f"{HOME}/night", f"{HOME}/mail", f"{HOME}/forecasts")
BY_FOLDER = (f"{HOME}/tables", f"{HOME}/summary")
PUBLISHED = "tables"
RECORD = f"{HOME}/retention.json"
# However long the job was away, or whatever its clock says.
AT_ONCE = 31


class Wanted(NamedTuple):
    """How many days to keep, 0: all. keep_days: of everything; keep_raw_days: of the reports whose Parquet is whole.
    prune: also what should have been deleted long ago."""

    keep_days: int = 0
    keep_raw_days: int = 0
    prune: bool = False


class Done(NamedTuple):
    """The days deleted, and those that are older still and were kept."""

    deleted: list[str]
    raw_deleted: list[str]
    older: list[str]


def apply(files: Files, date: str, wanted: Wanted) -> Done:
    """Delete what fell out of the days to keep, up to the night `date`. Links are not followed."""
    night = reports.number_of(date)
    since = _last(files)
    limit = min(max(night - since, 1), AT_ONCE) if since else 1
    known = sorted({*manifests.dates(files), *_named(files)})
    deleted, older = _fallen(known, night - wanted.keep_days + 1, limit, wanted.prune) if wanted.keep_days else ([], [])
    for day in deleted:
        _delete(files, day)
    raw: list[str] = []
    if wanted.keep_raw_days:
        left = [day for day in reports.dates(files) if day not in deleted]
        raw, late = _fallen(left, night - wanted.keep_raw_days + 1, limit, wanted.prune)
        older = sorted({*older, *late})
        raw = [day for day in raw if _is_archived(files, day)]
        for day in raw:
            files.delete(f"date={day}")
    files.replace(RECORD, json.dumps({"night": max(night, since)}).encode())
    return Done(deleted, raw, older)


def _last(files: Files) -> int:
    """The night of the last time, as days since 1970-01-01; 0 when there was none."""
    try:
        return int(json.loads(files.read(RECORD))["night"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return 0


def _fallen(known: list[str], oldest: int, limit: int, prune: bool) -> tuple[list[str], list[str]]:
    """The days to delete, and those that are older still."""
    gone = [day for day in known if reports.number_of(day) < oldest]
    due = [day for day in gone if prune or reports.number_of(day) >= oldest - limit]
    return due, [day for day in gone if day not in due]


def _named(files: Files) -> Iterator[str]:
    """The days of which there are tables, summaries or records."""
    for folder in BY_FILE:
        yield from filter(reports.is_date, (entry.name.removesuffix(".json") for entry in files.list(folder)))
    for folder in BY_FOLDER:
        names = (entry.name.partition("=") for entry in files.list(folder) if entry.is_folder)
        yield from (day for kind, _equals, day in names if kind == "date" and reports.is_date(day))


def _is_archived(files: Files, date: str) -> bool:
    """Whether the day's Parquet holds all that its reports say."""
    (day,) = manifests.plan(files, [date])
    return bool(day.made) and not day.stale and not day.aside and not (day.made and day.made.unread)


def _delete(files: Files, date: str) -> None:
    for folder in BY_FILE:
        files.delete(f"{folder}/{date}.json")
    files.delete(f"{HOME}/mail/{date}.eml")
    files.delete(f"date={date}")
    for table in files.list(FLAT):
        for run in files.list(f"{FLAT}/{table.name}"):
            files.delete(f"{FLAT}/{table.name}/{run.name}/date={date}")
    for table in files.list(PUBLISHED):  # links to the same Parquet: its space is free when both are gone
        files.delete(f"{PUBLISHED}/{table.name}/date={date}")
    for folder in BY_FOLDER:
        files.delete(f"{folder}/date={date}")
