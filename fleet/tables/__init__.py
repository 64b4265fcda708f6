"""The tables of a night. One file each: a question, the limits, and how it is answered; the folder is the registry.

Either by one SELECT over the flat tables and the views (fleet/ingest/views.py, fleet/rollup), which keeps to what Spark
and DuckDB both understand; `{night}` is the day judged and `{first}` the first one of the window, as days since
1970-01-01. Or from the rows of frames that are collected once for several tables (`views.FRAMES`).
"""

from __future__ import annotations

import decimal
import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple

Row = dict[str, Any]
Rows = list[Row]
Frames = Mapping[str, Rows]

HEALTHS = ("critical", "unknown", "warning", "ok", "silent", "maintenance")
COUNTS = ("hosts", *(f"{health}_hosts" for health in HEALTHS), "criticals", "unknowns", "warnings")


class Given(NamedTuple):
    """What a table needs beside its rows. night: the day judged; first: the first one of the window; as days since
    1970-01-01. published: failure rates of disk models, percent a year."""

    night: int
    first: int
    published: Mapping[str, float] = {}


def names() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def selects() -> list[str]:
    """The tables that a SELECT answers."""
    return [name for name in names() if hasattr(load(name), "SQL")]


def load(name: str) -> ModuleType:
    return importlib.import_module(f"{__name__}.{name}")


def query(name: str, night: int, first: int) -> str:
    """The SELECT of a table for one night."""
    table = load(name)
    return str(table.SQL).format(night=night, first=first, **table.LIMITS)


def finish(name: str, rows: Rows, given: Given) -> Rows:
    """What a table's module does with the few rows of its SELECT that SQL cannot: `finish(rows, given)`, where it has
    one."""
    done: Callable[[Rows, Given], Rows] | None = getattr(load(name), "finish", None)
    return done(rows, given) if done else rows


def every(selected: Mapping[str, Rows], frames: Frames, given: Given) -> dict[str, Rows]:
    """All tables of a night, from the rows of the SELECTs and those of the frames."""
    return {
        name: finish(name, selected[name], given) if name in selected else load(name).rows(frames, given)
        for name in names()
    }


def hosts(frames: Frames) -> Rows:
    """The hosts that the night is about."""
    return [row for row in frames["tonight"] if row["host"]]


def clusters(frames: Frames) -> Rows:
    """What was found tonight of clusters as wholes."""
    return [row for row in frames["tonight"] if not row["host"]]


def picked(row: Row, columns: Sequence[str]) -> Row:
    return {name: row[name] for name in columns}


def in_order(rows: Iterable[Row], *columns: str) -> Rows:
    """As ORDER BY does it: what is not known comes first."""
    return sorted(rows, key=lambda row: [(row[name] is not None, row[name] or "") for name in columns])


def counted(rows: Iterable[Row], *columns: str) -> Rows:
    """Hosts, how many are of each health, and their findings, by the values of these columns."""
    found: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        key = tuple(row[name] for name in columns)
        group = found.setdefault(key, {**dict(zip(columns, key, strict=True)), **dict.fromkeys(COUNTS, 0)})
        group["hosts"] += 1
        group[f"{row['health']}_hosts"] += 1
        for name in COUNTS[-3:]:
            group[name] += row[name]
    return list(found.values())


def rounded(value: float | None, digits: int) -> float | None:
    """As SQL does it: halves away from zero."""
    if value is None:
        return None
    exactly = decimal.Decimal(repr(float(value)))
    return float(exactly.quantize(decimal.Decimal(1).scaleb(-digits), decimal.ROUND_HALF_UP))
