"""What the pages show of the last 90 days, from the store's Parquet by DuckDB: hosts in order, a few rows each."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from typing import Any, NamedTuple

from fleet.archive import manifests
from fleet.ingest import facts
from fleet.nights.night import Rows
from fleet.store import reports
from fleet.store.duckdb_sql import NO_BAR, literal
from fleet.store.files import LocalFiles

DAYS = 90
HEALTH = """CASE WHEN NOT answered THEN '' WHEN criticals > 0 THEN 'critical'
  WHEN unknowns > 0 OR warnings + oks = 0 THEN 'unknown' WHEN warnings > 0 THEN 'warning' ELSE 'ok' END"""
# What is not a counter: it differs every day, or never.
NO_COUNTERS = ("size_bytes", "power_on_hours", "spare_threshold_percent")
ROWS_AT_ONCE = 2000


def counters() -> list[str]:
    """The columns of `disks` that only rise when something is wrong."""
    numbers = [name for name, kind in facts.FOLLOWED["smart"].values() if kind == "DOUBLE"]
    return [name for name in numbers if name not in NO_COUNTERS]


class Unreadable(Exception):
    """The store's Parquet cannot be read, and this is why."""


class Disk(NamedTuple):
    """A disk of one host, as of its last day there. counts: by counter."""

    item: str
    model: str
    firmware: str
    slot: str
    status: str
    power_on_hours: float | None
    last_day: int
    counts: dict[str, Count]


class Count(NamedTuple):
    """One counter over the days. points: day and value, whenever it changed, and the last."""

    first: float | None
    last: float | None
    points: list[tuple[int, float]]


class Past(NamedTuple):
    """One host. days: day -> health, '' where only the controller says something of it. checks: the number of items by
    check and status, tonight."""

    days: dict[int, str]
    disks: list[Disk]
    checks: list[tuple[str, str, int]]


class History:
    """Opened for one night. `of` must be asked in the order of cluster and host. All raise Unreadable."""

    def __init__(self, files: LocalFiles, night: int) -> None:
        import duckdb

        self._errors = duckdb.Error
        self._database = duckdb.connect()
        self._night, self._first = night, night - DAYS + 1
        span = [reports.date_of(day) for day in range(self._first, night + 1)]
        self._made = [made for made in (manifests.manifest(files, date) for date in span) if made]
        for table in ("host_days", "disks", "states"):
            self._view(files, table)
        self._days = _Ordered(self._ask(DAYS_SQL))
        self._disks = _Ordered(self._ask(_disks_sql()))
        self._points = _Ordered(self._ask(_points_sql()))
        self._checks = _Ordered(self._ask(CHECKS_SQL))

    def _view(self, files: LocalFiles, table: str) -> None:
        paths = ", ".join(literal(glob.escape(files.url(path))) for made in self._made for path in made.paths(table))
        empty = f"SELECT * FROM (SELECT {_empty(table)}) WHERE FALSE"
        found = f"SELECT * FROM read_parquet([{paths}], hive_partitioning = false, union_by_name = true)"
        # a day that an older version read has fewer columns
        self._database.execute(f"CREATE VIEW {table} AS {f'{found} UNION ALL BY NAME ({empty})' if paths else empty}")

    def _ask(self, sql: str) -> Any:
        try:
            asking = self._database.cursor()
            asking.execute(NO_BAR)
            return asking.execute(sql.format(night=self._night, first=self._first))
        except self._errors as error:
            raise Unreadable(str(error)) from None

    def close(self) -> None:
        self._database.close()

    def of(self, cluster: str, host: str) -> Past:
        days = {day: health for row in self._days.of(cluster, host) for day, health in zip(row[2], row[3], strict=True)}
        points = {row[2]: row[3] for row in self._points.of(cluster, host)}
        disks = [_disk(row, points.get(row[2], [])) for row in self._disks.of(cluster, host)]
        return Past(days, disks, [row[2:] for row in self._checks.of(cluster, host)])

    def ailing(self) -> Rows:
        """Tonight's disks that are not ok."""
        return self._rows(AILING_SQL)

    def models(self) -> Rows:
        """How many disks of which model each cluster has tonight."""
        return self._rows(MODELS_SQL)

    def _rows(self, sql: str) -> Rows:
        asked = self._ask(sql)
        names = [column[0] for column in asked.description]
        return [dict(zip(names, row, strict=True)) for row in asked.fetchall()]


DAYS_SQL = f"""
SELECT cluster, host, list(day ORDER BY day), list({HEALTH} ORDER BY day)
FROM host_days WHERE host != '' AND day BETWEEN {{first}} AND {{night}}
GROUP BY cluster, host ORDER BY cluster, host
"""
CHECKS_SQL = """
SELECT cluster, host, check_name, status, count(*) FROM states WHERE day = {night} AND host != ''
GROUP BY ALL ORDER BY ALL
"""
AILING_SQL = """
SELECT cluster, host, item, model, firmware, slot, status FROM disks
WHERE day = {night} AND status IN ('critical', 'warning', 'unknown') ORDER BY cluster, host, item
"""
MODELS_SQL = """
SELECT model, firmware, cluster, count(*) AS disks FROM disks
WHERE day = {night} AND model IS NOT NULL GROUP BY ALL ORDER BY ALL
"""


def _disks_sql() -> str:
    told = ", ".join(("model", "firmware", "slot", "status", "power_on_hours"))
    ends = ", ".join(f"min_by({name}, day) AS first_{name}, max_by({name}, day) AS last_{name}" for name in counters())
    return f"""
SELECT cluster, host, item, max_by(struct_pack({told}), day) AS told, max(day) AS last_day, {ends}
FROM disks WHERE day BETWEEN {{first}} AND {{night}}
GROUP BY cluster, host, item ORDER BY cluster, host, item"""


def _points_sql() -> str:
    """Day by day of the few disks that count something."""
    moved = " OR ".join(f"max({name}) > min({name})" for name in counters())
    return f"""
SELECT cluster, host, item, list(struct_pack(day, {", ".join(counters())}) ORDER BY day)
FROM disks WHERE day BETWEEN {{first}} AND {{night}}
GROUP BY cluster, host, item HAVING {moved} ORDER BY cluster, host, item"""


def _empty(table: str) -> str:
    from fleet.nights import catalog

    (described,) = (known for known in catalog.daily_tables() if known.name == table)
    return ", ".join(f"NULL::{kind} AS {name}" for name, kind in described.columns.items())


def _disk(row: tuple[Any, ...], days: list[dict[str, Any]]) -> Disk:
    _cluster, _host, item, told, last_day, *ends = row
    pairs = zip(counters(), ends[::2], ends[1::2], strict=True)
    counts = {name: Count(first, last, _turns(days, name)) for name, first, last in pairs if last is not None}
    model, firmware, slot, status = (told[name] or "" for name in ("model", "firmware", "slot", "status"))
    return Disk(item, model, firmware, slot, status, told["power_on_hours"], last_day, counts)


def _turns(days: list[dict[str, Any]], name: str) -> list[tuple[int, float]]:
    known = [(day["day"], day[name]) for day in days if day[name] is not None]
    turned = [one for one, before in zip(known, [(0, None), *known], strict=False) if one[1] != before[1]]
    if len(turned) < 2:
        return []
    return turned if turned[-1] == known[-1] else [*turned, known[-1]]


class _Ordered:
    """Rows that begin with cluster and host, in that order, handed out host by host."""

    def __init__(self, cursor: Any) -> None:
        self._rows = self._stream(cursor)
        self._next = next(self._rows, None)

    @staticmethod
    def _stream(cursor: Any) -> Iterator[tuple[Any, ...]]:
        while rows := cursor.fetchmany(ROWS_AT_ONCE):
            yield from rows

    def of(self, cluster: str, host: str) -> list[tuple[Any, ...]]:
        found = []
        while self._next is not None and self._next[:2] <= (cluster, host):
            if self._next[:2] == (cluster, host):
                found.append(self._next)
            self._next = next(self._rows, None)
        return found
