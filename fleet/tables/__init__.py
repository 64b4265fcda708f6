"""The tables of a night. One file each: a question, the limits, and one SELECT over the views of fleet/ingest/views.py.

The folder's listing is the registry. The SELECTs keep to what Spark and DuckDB both understand, so that bench/fleet.py
can ask both the same. `{night}` is the day judged and `{first}` the first one of the window, as days since 1970-01-01.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, cast

Rows = list[dict[str, Any]]


class Given(NamedTuple):
    """What a table needs beside the rows of its SELECT. night: the day judged; first: the first one of the window; as
    days since 1970-01-01. published: failure rates of disk models, percent a year."""

    night: int
    first: int
    published: Mapping[str, float] = {}


class Table(Protocol):
    """A module of this folder."""

    __doc__: str | None
    LIMITS: dict[str, Any]
    SQL: str


def names() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def load(name: str) -> Table:
    return cast(Table, importlib.import_module(f"{__name__}.{name}"))


def query(name: str, night: int, first: int) -> str:
    """The SELECT of a table for one night."""
    table = load(name)
    return table.SQL.format(night=night, first=first, **table.LIMITS)


def finish(name: str, rows: Rows, given: Given) -> Rows:
    """What a table's module does with the few rows of its SELECT that SQL cannot: `finish(rows, given)`, where it has
    one."""
    done: Callable[[Rows, Given], Rows] | None = getattr(load(name), "finish", None)
    return done(rows, given) if done else rows
