"""SQL over the tables of a store, by DuckDB: read only, and nothing but the store's tables.

Whoever types the SQL may have been given it: one SELECT, no other file, no network, no settings, no extensions.
"""

from __future__ import annotations

import glob
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from fleet.analysis.stable_paths import TABLES
from fleet.nights import catalog
from fleet.store.duckdb_sql import NO_BAR, literal

# Before the first query; then nothing can be set any more.
LOCKED = (
    NO_BAR,
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET allow_community_extensions = false",
    "SET python_enable_replacements = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)
ROWS_AT_ONCE = 1000


class Refused(Exception):
    """The query cannot be answered, and this is why."""


class Answer(NamedTuple):
    """names: of the columns; rows: read on demand, once."""

    names: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]


class Store:
    """The tables of one store, open for reading. Each table is a view of its name, with the column `date`."""

    def __init__(self, store: str, may_write: str = "") -> None:
        """may_write: the one file that `parquet` writes. Raises Refused where there are no tables."""
        import duckdb

        folder = os.path.join(os.path.abspath(store), TABLES)
        self.names = _tables(folder)
        if not self.names:
            raise Refused(f"{folder} contains no tables: run smoke nightly --store {store} first")
        self._errors = duckdb.Error
        self._select = duckdb.StatementType.SELECT
        self._database = duckdb.connect()
        for name in self.names:
            paths = literal(os.path.join(glob.escape(folder), name, "date=*", "*.parquet"))
            found = (
                f"read_parquet({paths}, hive_partitioning = true, hive_types = {{date: DATE}}, union_by_name = true)"
            )
            self._database.execute(f'CREATE VIEW "{name}" AS SELECT * FROM {found}')
        both = ", ".join(literal(path + os.sep) for path in {folder, glob.escape(folder)})
        self._database.execute(f"SET allowed_directories = [{both}]")
        if may_write:
            self._database.execute(f"SET allowed_paths = [{literal(may_write)}]")
        for setting in LOCKED:
            self._database.execute(setting)

    def close(self) -> None:
        self._database.close()

    def ask(self, sql: str, values: Sequence[Any] = ()) -> Answer:
        """Raises Refused for what is no single SELECT, and for what DuckDB cannot answer."""
        try:
            asked = self._database.execute(self._checked(sql, values), list(values))
            names = tuple(str(column[0]) for column in asked.description)
        except self._errors as error:
            raise Refused(self._words(error)) from None
        return Answer(names, self._rows(asked))

    def parquet(self, sql: str, path: str, values: Sequence[Any] = ()) -> None:
        """The answer as a Parquet file."""
        try:
            self._database.sql(self._checked(sql, values), params=list(values)).write_parquet(path, compression="zstd")
        except self._errors as error:
            raise Refused(self._words(error)) from None

    def _checked(self, sql: str, values: Sequence[Any]) -> str:
        """One SELECT. A query that writes inside of WITH is one too, but not where it is itself a part of a query."""
        statements = self._database.extract_statements(sql)
        if len(statements) != 1 or statements[0].type != self._select:
            raise Refused("only one SELECT can be asked")
        alone = str(statements[0].query).rstrip().rstrip(";")
        try:
            self._database.execute(f"EXPLAIN SELECT * FROM (\n{alone}\n) AS asked", list(values))
        except self._errors as error:
            raise Refused(self._words(error, lines_before=1)) from None
        return alone

    def _rows(self, asked: Any) -> Iterator[tuple[Any, ...]]:
        try:
            while rows := asked.fetchmany(ROWS_AT_ONCE):
                yield from rows
        except self._errors as error:
            raise Refused(self._words(error)) from None

    def _words(self, error: Exception, lines_before: int = 0) -> str:
        """DuckDB's own, with the line as it was typed. An unknown table: which there are."""
        text = re.sub(r"(?m)^LINE (\d+)", lambda line: f"LINE {int(line[1]) - lines_before}", str(error).strip())
        known = f"\ntables: {', '.join(self.names)}; columns: DESCRIBE TABLE" if "Table with name" in text else ""
        return text + known


def _tables(folder: str) -> list[str]:
    """The documented tables that have a file."""
    names = (table.name for table in catalog.every())
    return [name for name in names if glob.glob(os.path.join(glob.escape(folder), name, "date=*", "*.parquet"))]


def one_parquet_file(store: str, sql: str, values: Sequence[Any] = ()) -> Iterator[bytes]:
    """The answer as the bytes of a Parquet file. Raises Refused."""
    with tempfile.TemporaryDirectory(prefix="smoke-report-") as folder:
        path = os.path.join(folder, "answer.parquet")
        opened = Store(store, path)
        try:
            opened.parquet(sql, path, values)
        finally:
            opened.close()
        with open(path, "rb") as file:
            while block := file.read(1 << 20):
                yield block
