"""The tables at a path that stays: STORE/tables/NAME/date=YYYY-MM-DD/*.parquet, for DuckDB, Spark, notebooks.

What a manifest names is linked there, not copied; a night's own tables are written as Parquet. Each file is put in
place by a rename, and what no manifest names any more is removed: a glob reads every row once.
"""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Mapping
from typing import Any

from fleet.archive import manifests
from fleet.archive.retention import PUBLISHED
from fleet.ingest import flat_tables
from fleet.nights import catalog, stored_nights
from fleet.nights.catalog import Table
from fleet.store import reports
from fleet.store.duckdb_sql import NO_BAR, literal
from fleet.store.files import LocalFiles

TABLES = PUBLISHED
# DuckDB draws one for whatever takes two seconds, terminal or not.


class NotPublished(Exception):
    """The tables of a night could not be put there, and this is why; those of before are still valid."""


def publish(files: LocalFiles, date: str) -> None:
    """After a night: the days of all manifests, and the night's tables. For a store on this machine.

    Raises NotPublished: that the disk is full, say, must not cost the mail.
    """
    import duckdb

    try:
        _publish_days(files)
        _publish_nights(files, date)
    except (OSError, duckdb.Error) as error:
        raise NotPublished(f"{files.url(TABLES)} is not up to date: {error}") from None


def _publish_days(files: LocalFiles) -> None:
    known = [made for made in (manifests.manifest(files, day) for day in manifests.dates(files)) if made]
    for table in flat_tables.TABLES:
        days = {made.date: made.paths(table) for made in known}
        for day, paths in days.items():
            _set(files, f"{TABLES}/{table}/date={day}", {f"{table}-{n}.parquet": p for n, p in enumerate(paths)})
        _drop_others(files, table, set(days))


def _publish_nights(files: LocalFiles, date: str) -> None:
    """The tables of this night, and those of earlier ones that are not there yet."""
    import duckdb

    kept = set(stored_nights.dates(files))
    with duckdb.connect() as database:
        database.execute(NO_BAR)
        for table in catalog.night_tables():
            missing = {day for day in kept if not files.list(f"{TABLES}/{table.name}/date={day}")}
            for day in sorted({date, *missing} & kept):
                _write(database, files, table, day)
            _drop_others(files, table.name, kept)


def _set(files: LocalFiles, folder: str, wanted: Mapping[str, str]) -> None:
    """Exactly these files in a folder: name -> the file it is a link to."""
    for name, path in wanted.items():
        source, target = files.url(path), files.url(f"{folder}/{name}")
        if not (os.path.exists(target) and os.path.samefile(source, target)):
            _link(source, target)
    for entry in files.list(folder):
        if entry.name not in wanted:
            files.delete(f"{folder}/{entry.name}")


def _link(source: str, target: str) -> None:
    os.makedirs(os.path.dirname(target), exist_ok=True)
    aside = _aside(target)
    try:
        os.link(source, aside)
    except OSError:  # a file system without hard links
        shutil.copyfile(source, aside)
    os.replace(aside, target)


def _aside(target: str) -> str:
    """A name that no glob for Parquet finds."""
    aside = f"{target}.{os.getpid()}.aside"
    if os.path.lexists(aside):
        os.unlink(aside)
    return aside


def _write(database: Any, files: LocalFiles, table: Table, date: str) -> None:
    """One table of a night, from its JSON lines, as Parquet with the columns that are documented."""
    name = f"{table.name}.parquet"
    target = files.url(f"{TABLES}/{table.name}/date={date}/{name}")
    os.makedirs(os.path.dirname(target), exist_ok=True)
    aside = _aside(target)
    rows = stored_nights.path(files, date, table.name)
    kinds = ", ".join(f"{column}: {literal(kind)}" for column, kind in table.columns.items())
    empty = ", ".join(f"NULL::{kind} AS {column}" for column, kind in table.columns.items())
    found = (
        f"FROM read_json({literal(glob.escape(files.url(rows)))}, format = 'newline_delimited', columns = {{{kinds}}}, "
        "hive_partitioning = false)"
    )
    picked = f"SELECT * {found}" if rows else f"SELECT {empty} WHERE FALSE"
    database.sql(picked).write_parquet(aside, compression="zstd")
    os.replace(aside, target)
    for entry in files.list(f"{TABLES}/{table.name}/date={date}"):
        if entry.name != name:
            files.delete(f"{TABLES}/{table.name}/date={date}/{entry.name}")


def _drop_others(files: LocalFiles, table: str, days: set[str]) -> None:
    for entry in files.list(f"{TABLES}/{table}"):
        day = entry.name.removeprefix("date=")
        if entry.is_folder and entry.name.startswith("date=") and reports.is_date(day) and day not in days:
            files.delete(f"{TABLES}/{table}/{entry.name}")
