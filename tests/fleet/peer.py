"""The same questions on the same Parquet, asked of DuckDB: a peer for bench/fleet.py and the tests."""

from __future__ import annotations

from typing import Any

from fleet import flat, manifests, nightly, reports, tables, views
from fleet.files import LocalFiles
from fleet.given import Given
from fleet.night import Rows


def tables_by_duckdb(store: str, date: str) -> dict[str, Rows]:
    """Table by table, as the night's job gives them; from the days that manifests name."""
    import duckdb

    files, night = LocalFiles(store), reports.number_of(date)
    first = night - nightly.WINDOW_DAYS + 1
    made = [found for found in (manifests.manifest(files, day) for day in nightly.window(files, date)) if found]
    database = duckdb.connect()
    for table in flat.COLUMNS:
        used = [one for one in made if table in views.WHOLE_WINDOW or one.date == date]
        paths = [files.url(path) for one in used for path in one.paths(table)]
        database.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet({paths!r}, hive_partitioning=false)")
    columns = ", ".join(f"NULL::{column.split()[1]} AS {column.split()[0]}" for column in views.ROSTER.split(", "))
    database.execute(f"CREATE VIEW roster AS SELECT {columns} WHERE FALSE")
    for chain in views.CHAINS:
        for name, query in chain.items():
            database.execute(f"CREATE TEMP TABLE {name} AS {query.format(night=night, first=first, has_roster=False)}")
    return {
        name: tables.finish(name, _rows(database, tables.query(name, night, first)), Given(night, first))
        for name in tables.names()
    }


def _rows(database: Any, query: str) -> Rows:
    asked = database.execute(query)
    names = [column[0] for column in asked.description]
    return [{name: _plain(value) for name, value in zip(names, row, strict=True)} for row in asked.fetchall()]


def _plain(value: Any) -> Any:
    """Sums of whole numbers come as Decimal or as a float in one engine and not in the other."""
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def alike(one: Rows, other: Rows) -> bool:
    """Whether two tables hold the same rows, in whatever order; numbers to nine digits."""
    return sorted(map(_key, one)) == sorted(map(_key, other))


def _key(row: dict[str, Any]) -> list[str]:
    return [f"{name}={_digits(row[name])}" for name in sorted(row)]


def _digits(value: Any) -> str:
    number = _plain(value)
    return f"{number:.9g}" if isinstance(number, float) else str(number)
