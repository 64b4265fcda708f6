"""smoke report --sql and --disk: answers from the tables that the nightly job leaves, printed."""

from __future__ import annotations

import csv
import decimal
import io
import itertools
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from agent.formats.text import printable

FORMATS = ("table", "csv", "json", "parquet")
# A column of a terminal; the other formats have the whole.
WIDEST = 60
# What changes every day says nothing about a disk.
KNOWN = "--sql 'SELECT DISTINCT host, item FROM disks'"
RESTLESS = ("date", "day", "power_on_hours")


class Unanswered(Exception):
    """No answer, and this is why."""


class Question(NamedTuple):
    """sql with its values, where it is about one disk: its name."""

    sql: str
    values: tuple[str, ...] = ()
    disk: str = ""


def of_disk(disk: str) -> Question:
    """Day by day: where the disk was, what it called itself and what it counted."""
    return Question(
        "SELECT * EXCLUDE (day, disk) FROM disks WHERE disk = ? OR item = ? ORDER BY date", (disk, disk), disk
    )


def answer(store: str, question: Question, form: str) -> Iterator[bytes]:
    """The answer in pieces. Raises Unanswered."""
    from fleet import query

    try:
        if form == "parquet":
            yield from query.one_parquet_file(store, question.sql, question.values)
            return
        opened = query.Store(store)
        try:
            found = opened.ask(question.sql, question.values)
            for text in _texts(question, found.names, found.rows, form):
                yield text.encode()
        finally:
            opened.close()
    except query.Refused as error:
        raise Unanswered(str(error)) from None


def _texts(question: Question, names: Sequence[str], rows: Iterable[tuple[Any, ...]], form: str) -> Iterator[str]:
    if question.disk:
        rows = list(rows)
        if not rows:
            raise Unanswered(f"no disk {printable(question.disk)} in the tables; which there are: smoke report {KNOWN}")
    if form == "json":
        yield from (json.dumps(dict(zip(names, map(_json, row), strict=True))) + "\n" for row in rows)
    elif form == "csv":
        yield from _csv(names, rows)
    else:
        yield from _table(names, list(_turns(names, list(rows)) if question.disk else rows))


def _turns(names: Sequence[str], rows: list[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """The days on which something is not as on the day before, and the last one."""
    telling = [place for place, name in enumerate(names) if name not in RESTLESS]
    before: list[Any] | None = None
    for row in rows:
        now = [row[place] for place in telling]
        if now != before or row is rows[-1]:
            yield row
        before = now


def _json(value: Any) -> Any:
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def _csv(names: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> Iterator[str]:
    """As RFC 4180; what is null is empty, a host's words are without control characters."""
    for row in itertools.chain([names], rows):
        line = io.StringIO()
        csv.writer(line).writerow(map(_text, row))
        yield line.getvalue()


def _table(names: Sequence[str], rows: list[tuple[Any, ...]]) -> Iterator[str]:
    cells = [[_short(_text(value)) for value in row] for row in (tuple(names), *rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(names))]
    numbers = [bool(rows) and all(_is_number(row[place]) for row in rows) for place in range(len(names))]
    for row in cells:
        line = (c.rjust(w) if number else c.ljust(w) for c, w, number in zip(row, widths, numbers, strict=True))
        yield "  ".join(line).rstrip() + "\n"
    yield f"({len(rows)} row{'' if len(rows) == 1 else 's'})\n"


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float, decimal.Decimal)) and not isinstance(value, bool))


def _short(text: str) -> str:
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.15g}"
    return printable(str(value))
