"""smoke report TABLE, --sql and --disk: queries of the tables that the nightly job writes."""

from __future__ import annotations

import csv
import decimal
import io
import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from agent.formats.text import printable
from inventory.errors import SmokeError

FORMATS = ("table", "csv", "json", "parquet")
# A column of a terminal; the other formats have the whole.
WIDEST = 60
# The rows by which a terminal's columns are as wide as they are: a table may have millions.
ROWS_OF_WIDTHS = 1000
# What a spreadsheet takes for a formula, also in its fullwidth form; a lone sign, and a number, are none.
FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20](?=.)(?![0-9.]+(?:e[+-]?[0-9]+)?$)")
# What changes every day says nothing about a disk.
KNOWN = "--sql 'SELECT DISTINCT host, item FROM disks'"
RESTLESS = ("date", "day", "power_on_hours")
LAST_DAYS = 'SELECT * FROM "NAME" WHERE date > (SELECT max(date) FROM "NAME") - ?::INTEGER ORDER BY date'


class Unanswered(SmokeError):
    """No answer, and this is why."""


class Question(NamedTuple):
    """sql with its values, where it is about one disk: its name."""

    sql: str
    values: tuple[str | int, ...] = ()
    disk: str = ""


def of_disk(disk: str) -> Question:
    """Day by day: where the disk was, what it called itself and what it counted."""
    return Question(
        "SELECT * EXCLUDE (day, disk) FROM disks WHERE disk = ? OR item = ? ORDER BY date", (disk, disk), disk
    )


def of_table(name: str, days: int) -> Question:
    """Its last days. name: of a table that is documented."""
    return Question(LAST_DAYS.replace("NAME", name), (days,))


def answer(store: str, question: Question, form: str) -> Iterator[bytes]:
    """The answer in pieces. Raises Unanswered."""
    from fleet.analysis import sql

    try:
        if form == "parquet":
            yield from sql.one_parquet_file(store, question.sql, question.values)
            return
        opened = sql.Store(store)
        try:
            found = opened.ask(question.sql, question.values)
            for text in _texts(question, found.names, found.rows, form):
                yield text.encode()
        finally:
            opened.close()
    except sql.Refused as error:
        raise Unanswered(str(error)) from None


def _texts(question: Question, names: Sequence[str], rows: Iterable[tuple[Any, ...]], form: str) -> Iterator[str]:
    if question.disk:
        rows = list(rows)
        if not rows:
            raise Unanswered(
                f"no disk {printable(question.disk)} in the tables; to list the disks: smoke report {KNOWN}"
            )
    if form == "json":
        fields = _unlike(names)
        yield from (json.dumps(dict(zip(fields, map(_json, row), strict=True))) + "\n" for row in rows)
    elif form == "csv":
        yield from _csv(names, rows)
    else:
        yield from _table(names, _turns(names, list(rows)) if question.disk else iter(rows))


def _turns(names: Sequence[str], rows: list[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """The days on which something is not as on the day before, and the last one."""
    telling = [place for place, name in enumerate(names) if name not in RESTLESS]
    before: list[Any] | None = None
    for row in rows:
        now = [row[place] for place in telling]
        if now != before or row is rows[-1]:
            yield row
        before = now


def _unlike(names: Sequence[str]) -> list[str]:
    """host, host -> host, host_1: a field of a JSON object is there once."""
    fields: list[str] = []
    for name in names:
        number = itertools.count(1)
        field = name
        while field in fields:
            field = f"{name}_{next(number)}"
        fields.append(field)
    return fields


def _json(value: Any) -> Any:
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def _csv(names: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> Iterator[str]:
    """As RFC 4180; what is null is empty, a host's text is without control characters and never a formula."""
    for row in itertools.chain([names], rows):
        line = io.StringIO()
        csv.writer(line).writerow(map(_cell, row))
        yield line.getvalue()


def _cell(value: Any) -> str:
    text = _text(value)
    return f"'{text}" if not _is_number(value) and FORMULA.match(text) else text


def _table(names: Sequence[str], rows: Iterator[tuple[Any, ...]]) -> Iterator[str]:
    first = list(itertools.islice(rows, ROWS_OF_WIDTHS))
    cells = [[_short(_text(value)) for value in row] for row in (tuple(names), *first)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(names))]
    numbers = [bool(first) and all(_is_number(row[place]) for row in first) for place in range(len(names))]
    count = len(first)
    for row in cells:
        yield _line(row, widths, numbers)
    for later in rows:
        count += 1
        yield _line([_short(_text(value)) for value in later], widths, numbers)
    yield f"({count} row{'' if count == 1 else 's'})\n"


def _line(cells: Sequence[str], widths: Sequence[int], numbers: Sequence[bool]) -> str:
    line = (c.rjust(w) if number else c.ljust(w) for c, w, number in zip(cells, widths, numbers, strict=True))
    return "  ".join(line).rstrip() + "\n"


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
