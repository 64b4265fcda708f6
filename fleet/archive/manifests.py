"""Which Parquet files are valid for a day, what they were made of, and which days must be compacted again.

A day counts as read when its manifest says so, and only the report files that were read to their ends are in it. The
Parquet is an archive: a day whose reports were removed keeps it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from fleet.ingest import flat_tables
from fleet.store import reports
from fleet.store.files import Files
from fleet.store.reports import Aside, Sources

HOME = "_fleet"
MANIFESTS = f"{HOME}/manifest"
FLAT = f"{HOME}/flat"
# A copy beside the Parquet itself, for the day on which the manifest is damaged and the reports are gone.
COPY = "_manifest.json"
COPIES = f"{FLAT}/host_days"
# Of the flat tables: raised when they change.
LAYOUT = 5


class Part(NamedTuple):
    """One Parquet file, relative to the store, and its stamp (see Files.stamp): a file that was cut has another."""

    path: str
    stamp: str


class Manifest(NamedTuple):
    """What is valid for one day. made_of: the report files that were read, with their signatures; unread: those that
    could not be read, with the reason."""

    date: str
    layout: int
    made_of: dict[str, str]
    unread: dict[str, str]
    files: dict[str, list[Part]]
    rows: dict[str, int]
    aside: list[Aside]

    def text(self) -> bytes:
        return json.dumps(self._asdict(), indent=1).encode()

    def paths(self, table: str) -> list[str]:
        return [part.path for part in self.files[table]]

    @property
    def sources(self) -> int:
        return len(self.made_of) + len(self.unread)


class Day(NamedTuple):
    """One day of the store. stale: to be made anew from its reports; made: what is valid now, if anything; aside: what
    is not counted, and why."""

    sources: Sources
    made: Manifest | None
    stale: bool
    aside: list[Aside]

    @property
    def date(self) -> str:
        return self.sources.date


def path_of(date: str) -> str:
    return f"{MANIFESTS}/{date}.json"


def manifest(files: Files, date: str) -> Manifest | None:
    """The day's manifest; None when there is none, when it is damaged, or of another layout."""
    return _read(files, path_of(date), date)


def _read(files: Files, path: str, date: str) -> Manifest | None:
    try:
        made = _parsed(json.loads(files.read(path)))
        fits = (made.date, made.layout) == (date, LAYOUT) and set(made.files) == set(made.rows) == set(
            flat_tables.TABLES
        )
    except (FileNotFoundError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return made if fits else None


def _parsed(said: Any) -> Manifest:
    tables = {table: [Part(*map(str, part)) for part in parts] for table, parts in said["files"].items()}
    aside = [Aside(*row) for row in said["aside"]]
    known = {"files": tables, "aside": aside, "rows": dict(said["rows"])}
    known |= {name: {str(path): str(what) for path, what in said[name].items()} for name in ("made_of", "unread")}
    return Manifest(**{**said, **known})


def dates(files: Files) -> list[str]:
    """The days that the store knows of, oldest first: those with a folder of reports, and those of the archive."""
    names = (entry.name.removesuffix(".json") for entry in files.list(MANIFESTS) if entry.name.endswith(".json"))
    return sorted({*reports.dates(files), *filter(reports.is_date, names)})


def plan(files: Files, wanted: Iterable[str]) -> list[Day]:
    """What is to be done about each of these days. Restores a manifest from its copy where nothing else is left."""
    return [_day(files, reports.sources(files, date)) for date in wanted]


def _day(files: Files, sources: Sources) -> Day:
    date = sources.date
    made = manifest(files, date)
    if not made and not sources.paths:
        made = _restored(files, date)
    if sources.problem:
        return Day(sources, made, False, [Aside(f"date={date}", sources.problem)])
    if not made:
        return Day(sources, None, bool(sources.paths), _lost(files, sources))
    gone = sorted(set(made.made_of) - set(sources.signatures))
    broken = damage(files, made)
    if broken and gone:
        why = f"its Parquet is damaged and {len(gone)} of its reports are missing; not counted"
        return Day(sources, None, False, [Aside(broken, why)])
    fresh = _fresh(files, made, sources)
    if gone:
        why = "arrived after reports of its day were deleted; not counted"
        return Day(sources, made, False, [Aside(path, why) for path in fresh])
    return Day(sources, None if broken else made, bool(broken or fresh), [])


def _fresh(files: Files, made: Manifest, sources: Sources) -> list[str]:
    """The reports that are new, or changed, or could not be read then and can be now."""
    known = {**made.made_of, **dict.fromkeys(made.unread, "")}
    changed = {path for path, signature in sources.signatures.items() if known.get(path, "?") not in ("", signature)}
    return sorted(changed | {p for p in made.unread if p in sources.signatures and not reports.problem(files, p)})


def _lost(files: Files, sources: Sources) -> list[Aside]:
    """A day with a manifest that is no use, and without a report to make it from."""
    if sources.paths or not any(e.name == f"{sources.date}.json" for e in files.list(MANIFESTS)):
        return []
    why = "compacted by another version, or its manifest is damaged, and its reports are missing; not counted"
    return [Aside(path_of(sources.date), why)]


def damage(files: Files, made: Manifest) -> str:
    """The first file that is missing, or is not what was written; empty if all are whole."""
    return next((part.path for parts in made.files.values() for part in parts if not _is_whole(files, part)), "")


def _is_whole(files: Files, part: Part) -> bool:
    try:
        return files.stamp(part.path) == part.stamp
    except OSError:
        return False


def keep(files: Files, made: Manifest) -> None:
    """The copy first: a manifest is valid from the moment when its own file is replaced."""
    for path in made.paths("host_days")[:1]:
        files.replace(f"{path.rpartition('/')[0]}/{COPY}", made.text())
    files.replace(path_of(made.date), made.text())


def _restored(files: Files, date: str) -> Manifest | None:
    """From the copy beside its Parquet, put back in its place."""
    for run in files.list(COPIES):
        made = _read(files, f"{COPIES}/{run.name}/date={date}/{COPY}", date)
        if made and not damage(files, made):
            files.replace(path_of(date), made.text())
            return made
    return None


def sweep(files: Files) -> int:
    """Remove what no manifest names: left-overs of killed and repeated runs. Gives how many folders.

    What was whole once, of a day without a manifest and without reports, stays: it may be all that is left of it.
    """
    every = {date: manifest(files, date) for date in dates(files)}
    named = {part.path.rpartition("/")[0] for made in every.values() if made for p in made.files.values() for part in p}
    removable = {date for date, made in every.items() if made or reports.sources(files, date).paths}
    unused = [path for table in files.list(FLAT) for path in _unused(files, table.name, named, removable)]
    for path in unused:
        files.delete(path)
    return len(unused)


def _was_whole(files: Files, run: str, day: str) -> bool:
    return any(entry.name == COPY for entry in files.list(f"{COPIES}/{run}/{day}"))


def _unused(files: Files, table: str, named: set[str], removable: set[str]) -> list[str]:
    used = {part for folder in named for part in folder.split("/") if part.startswith("run=")}
    found = []
    for run in files.list(f"{FLAT}/{table}"):
        path = f"{FLAT}/{table}/{run.name}"
        days = [day.name for day in files.list(path) if day.is_folder and day.name.startswith("date=")]
        last = {day for day in days if day.removeprefix("date=") not in removable and _was_whole(files, run.name, day)}
        kept = [day for day in days if day in last or f"{path}/{day}" in named]
        if not kept and run.name not in used:
            found.append(path)
        elif table != "bad_lines":
            found += [f"{path}/{day}" for day in days if day not in kept]
    return found
