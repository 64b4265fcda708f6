"""The same questions on the same Parquet, asked of DuckDB: a peer for bench/fleet.py and the tests."""

from __future__ import annotations

from typing import Any

from fleet import nightly, tables
from fleet.archive import manifests
from fleet.ingest import flat_tables, views
from fleet.nights.night import Rows
from fleet.rollup import build, columns
from fleet.store import reports
from fleet.store.files import LocalFiles
from fleet.tables import Given


def tables_by_duckdb(store: str, date: str, rolled: bool = False) -> dict[str, Rows]:
    """Table by table, as the night's job gives them; from the days that manifests name. rolled: what the job reads,
    the roll-up of an earlier night and the disks of the days since; else the disks of all days."""
    import duckdb

    files, night = LocalFiles(store), reports.number_of(date)
    first = night - nightly.WINDOW_DAYS + 1
    made = [found for found in (manifests.manifest(files, day) for day in nightly.window(files, date)) if found]
    database = duckdb.connect()
    for table in flat_tables.COLUMNS:
        used = [one for one in made if table in views.WHOLE_WINDOW or one.date == date]
        paths = [files.url(path) for one in used for path in one.paths(table)]
        database.execute(f"CREATE VIEW {table} AS {_parquet(paths, flat_tables.COLUMNS[table])}")
    database.execute(f"CREATE VIEW roster AS {_parquet([], views.ROSTER)}")
    known = build.history(files, made, date)
    roll_up(database, files, known, night, build.usable(files, reports.date_of(night - 1), known) if rolled else None)
    for chain in views.CHAINS:
        for name, query in chain.items():
            database.execute(f"CREATE TEMP TABLE {name} AS {query.format(night=night, first=first, has_roster=False)}")
    frames = {name: _rows(database, query.format(night=night, first=first)) for name, query in views.FRAMES.items()}
    selected = {name: _rows(database, tables.query(name, night, first)) for name in tables.selects()}
    return tables.every(selected, frames, Given(night, first))


def roll_up(
    database: Any,
    files: LocalFiles,
    known: dict[str, manifests.Manifest],
    night: int,
    before: build.Record | None = None,
) -> None:
    """The views of disks, mounts and DIMMs, from the roll-up of before or from the first day on."""
    fresh = [one for day, one in known.items() if not before or day > before.date]
    for table, ddl in build.COLUMNS.items():
        days = [files.url(path) for one in fresh for path in one.paths(table)]
        rows = [files.url(part.path) for part in build.held(before, table)]
        database.execute(f"CREATE VIEW fresh_{table} AS {_parquet(days, flat_tables.COLUMNS[table])}")
        database.execute(f"CREATE VIEW known_{table} AS {_parquet(rows, ddl)}")
    for table, query in build.folds(before.day if before else night, night).items():
        where = " WHERE is_last" if table == "disks" else ""
        database.execute(f"CREATE TEMP TABLE folded_{table} AS {query}")
        database.execute(f"CREATE VIEW {build.VIEWS[table]} AS SELECT * FROM folded_{table}{where}")
    steps = [files.url(one.part.path) for one in before.steps] if before else []
    database.execute(f"CREATE VIEW known_steps AS {_parquet(steps, columns.COLUMNS)}")
    named = ", ".join(column.split()[0] for column in columns.COLUMNS.split(", "))
    moved = f"SELECT {named} FROM folded_disks WHERE stepped"
    database.execute(f"CREATE VIEW rolled_steps AS {moved} UNION ALL FROM known_steps")
    for name, query in build.queries(night, build.oldest(known, night), night).items():
        database.execute(f"CREATE TEMP TABLE {name} AS {query}")


def _parquet(paths: list[str], ddl: str) -> str:
    """A SELECT of these files; of none, without a row."""
    if paths:
        return f"SELECT * FROM read_parquet({paths!r}, hive_partitioning=false, union_by_name=true)"
    columns = (column.split() for column in ddl.split(", "))
    return f"SELECT {', '.join(f'NULL::{kind} AS {name}' for name, kind in columns)} WHERE FALSE"


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
