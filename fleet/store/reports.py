"""Which report files a store holds for which day, and which of them cannot be read."""

from __future__ import annotations

import datetime
import re
from typing import NamedTuple

from fleet.store.files import Files

DAY_FOLDER = re.compile(r"date=(\d{4}-\d\d-\d\d)")
# 031200-0f3c.jsonl, 031200-0f3c.jsonl.gz
REPORT = re.compile(r"(\d{2})(\d{2})(\d{2})-([0-9a-zA-Z-]{1,64})\.jsonl(\.gz)?")
EPOCH = datetime.date(1970, 1, 1)


class Aside(NamedTuple):
    """A file or a line that was not used, and why."""

    source: str
    problem: str
    lines: int = 0


class Sources(NamedTuple):
    """One day's report files. signatures: path within the store -> what changes when the file does; problem: why the
    folder cannot be listed."""

    date: str
    signatures: dict[str, str]
    size: int
    problem: str = ""

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(self.signatures)


def number_of(date: str) -> int:
    """Days since 1970-01-01. ValueError if it is no date."""
    return (datetime.date.fromisoformat(date) - EPOCH).days


def date_of(day: int) -> str:
    return (EPOCH + datetime.timedelta(days=day)).isoformat()


def dates(files: Files) -> list[str]:
    """The days that the store has a folder for, oldest first."""
    found = (DAY_FOLDER.fullmatch(entry.name) for entry in files.list("") if entry.is_folder)
    return sorted(match[1] for match in found if match and is_date(match[1]))


def is_date(text: str) -> bool:
    try:
        return bool(number_of(text) or True)
    except ValueError:
        return False


def sources(files: Files, date: str) -> Sources:
    """The day's files. What is not named as a report (a file that is still being written) is overlooked."""
    try:
        listed = files.list(f"date={date}")
    except OSError as error:
        return Sources(date, {}, 0, error.strerror or str(error))
    entries = [entry for entry in listed if not entry.is_folder and REPORT.fullmatch(entry.name)]
    signatures = {f"date={date}/{entry.name}": f"{entry.size} {entry.version}" for entry in entries}
    return Sources(date, signatures, sum(entry.size for entry in entries))


def problem(files: Files, path: str) -> str:
    """Why a report cannot be read to its end, or nothing."""
    return files.gzip_problem(path) if path.endswith(".gz") else files.read_problem(path)


def readable(files: Files, found: Sources) -> tuple[list[str], list[Aside]]:
    """The paths that Spark can read whole, and those that it would silently halve or stumble over."""
    whole: list[str] = []
    aside: list[Aside] = []
    for path in found.paths:
        found_wrong = problem(files, path)
        if found_wrong:
            aside.append(Aside(path, found_wrong))
        else:
            whole.append(path)
    return whole, aside
