"""What a store holds of a week or a month: its nights, and of its Parquet the disks and the mounts. No Spark."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from typing import Any, NamedTuple

from fleet.archive import manifests
from fleet.nights import catalog, stored_nights
from fleet.nights.night import Night, Rows
from fleet.store import reports
from fleet.store.duckdb_sql import NO_BAR, literal
from fleet.store.files import LocalFiles
from fleet.store.periods import Period

STANDING = ("new", "worse", "ongoing")
FULLEST = 10
Key = tuple[str, str, str, str]


class NoNights(Exception):
    """No night of the period was computed."""


class Unreadable(Exception):
    """The store's Parquet cannot be read, and this is why."""


class Facts(NamedTuple):
    """A week or a month, as it was at the end of its last night.

    nights: the dates that were computed; before: the last night before it, or empty; through: the last day that is
    over. tables: of the last night. ended: problems that stood and do not stand any more, as last seen, by `change`:
    `resolved`, or `unseen` where the last night knows nothing of them. old: the clusters' health before. health: of
    hosts, day by day. forecast: disks that were near a limit before. disks: those that came, went or failed. mounts:
    the fullest; grown: those that grew most.
    """

    period: Period
    nights: list[str]
    before: str
    through: int
    tables: dict[str, Rows]
    ended: Rows
    old: Rows
    health: Rows
    forecast: Rows
    disks: Rows
    mounts: Rows
    grown: Rows

    @property
    def night(self) -> Night:
        return Night(self.nights[-1], self.tables, [], [], len(self.nights), 1)

    @property
    def missing(self) -> list[str]:
        """The days of it that are over and were not computed."""
        over = range(self.period.first, min(self.period.last, self.through) + 1)
        return [date for date in map(reports.date_of, over) if date not in self.nights]


def facts(files: LocalFiles, period: Period, through: int) -> Facts:
    """Raises NoNights, Unreadable. through: the last day that is over."""
    known = stored_nights.dates(files)
    inside = [date for date in known if period.first <= reports.number_of(date) <= min(period.last, through)]
    if not inside:
        raise NoNights(
            f"no night of {period.label} ({period.span}) was computed: smoke nightly --date DATE computes one"
        )
    earlier = [date for date in known if reports.number_of(date) < period.first]
    before = earlier[-1] if earlier else ""
    tables = stored_nights.tables(files, inside[-1])
    health = [row for date in inside for row in stored_nights.rows(files, date, "health_days")[-1:]]
    disks, mounts, grown = _measured(files, period)
    return Facts(
        period, inside, before, through, tables, _ended(files, [before] * bool(before) + inside, tables),
        stored_nights.rows(files, before, "cluster_health") if before else [], health,
        stored_nights.rows(files, before, "disk_trends") if before else [], disks, mounts, grown,
    )  # fmt: skip


def _ended(files: LocalFiles, dates: list[str], last: dict[str, Rows]) -> Rows:
    """What stood in any of these nights, or ended on one, and does not stand in the last."""
    stood: dict[Key, dict[str, Any]] = {}
    for date in dates:
        for row in _problems(files, date):
            if row["change"] in (*STANDING, "resolved"):
                stood[_key(row)] = row
    now = {_key(row): row["change"] for name in ("changes", "cluster_changes") for row in last[name]}
    return [
        {**row, "change": "unseen" if now.get(key) == "unseen" else "resolved"}
        for key, row in stood.items()
        if now.get(key) not in STANDING
    ]


def _problems(files: LocalFiles, date: str) -> Iterator[dict[str, Any]]:
    """Of hosts, and of whole clusters (host '')."""
    yield from stored_nights.rows(files, date, "changes")
    yield from ({"host": "", **row} for row in stored_nights.rows(files, date, "cluster_changes"))


def _key(row: dict[str, Any]) -> Key:
    return (row["cluster"] or "", row.get("host", ""), row["check_name"], row["item"])


# The day before the period, too: what is as it was then is no news. end: the host's last day with its disks.
DISKS = """
WITH seen AS (SELECT * FROM disks WHERE day BETWEEN {first} - 1 AND {last}), ends AS (
  SELECT cluster, host, min(day) AS first_day, max(day) AS end_day FROM seen GROUP BY cluster, host
), stays AS (
  SELECT cluster, host, disk, max_by(item, day) AS item, max_by(model, day) AS model, max_by(slot, day) AS slot,
    min(day) AS came_day, max(day) AS went_day, min(CASE WHEN status = 'critical' THEN day END) AS failed_day
  FROM seen GROUP BY cluster, host, disk
)
SELECT s.* REPLACE (CASE WHEN came_day > first_day THEN came_day END AS came_day,
    CASE WHEN went_day < end_day THEN went_day + 1 END AS went_day,
    CASE WHEN failed_day > first_day THEN failed_day END AS failed_day)
FROM stays s JOIN ends USING (cluster, host)
WHERE came_day > first_day OR went_day < end_day OR failed_day > first_day
ORDER BY ALL
"""
MOUNTS = """
WITH used AS (
  SELECT cluster, host, item, day, 100 * used_bytes / (used_bytes + free_bytes) AS percent FROM mounts
  WHERE day BETWEEN {first} - 1 AND {last} AND used_bytes + free_bytes > 0
), ends AS (
  SELECT cluster, host, item, max(day) AS end_day, max_by(percent, day) AS used_percent,
    max_by(percent, day) - min_by(percent, day) AS points, max(day) - min(day) AS days
  FROM used GROUP BY cluster, host, item
)
SELECT * FROM ends WHERE end_day = (SELECT max(end_day) FROM ends) AND {wanted}
ORDER BY {order} DESC, cluster, host, item LIMIT {most}
"""


def _measured(files: LocalFiles, period: Period) -> tuple[Rows, Rows, Rows]:
    import duckdb

    days = range(period.first - 1, period.last + 1)
    made = [found for found in (manifests.manifest(files, date) for date in map(reports.date_of, days)) if found]
    limits = {"first": period.first, "last": period.last, "most": FULLEST}
    with duckdb.connect() as database:
        database.execute(NO_BAR)
        for name in ("disks", "mounts"):
            paths = [files.url(path) for one in made for path in one.paths(name)]
            database.execute(f"CREATE VIEW {name} AS {_view(name, paths)}")
        asked = (
            DISKS.format(**limits),
            MOUNTS.format(**limits, wanted="TRUE", order="used_percent"),
            MOUNTS.format(**limits, wanted="points >= 1", order="points"),
        )
        try:
            disks, mounts, grown = (_asked(database, sql) for sql in asked)
        except duckdb.Error as error:
            raise Unreadable(str(error)) from None
    return disks, mounts, grown


def _view(table: str, paths: list[str]) -> str:
    if not paths:
        (known,) = (one for one in catalog.daily_tables() if one.name == table)
        return f"SELECT {', '.join(f'NULL::{kind} AS {name}' for name, kind in known.columns.items())} WHERE FALSE"
    listed = ", ".join(literal(glob.escape(path)) for path in paths)
    return f"SELECT * FROM read_parquet([{listed}], hive_partitioning = false, union_by_name = true)"


def _asked(database: Any, sql: str) -> Rows:
    asked = database.execute(sql)
    names = [column[0] for column in asked.description]
    return [dict(zip(names, row, strict=True)) for row in asked.fetchall()]
