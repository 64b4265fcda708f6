"""The roll-ups of mounts and DIMMs, folded day by day or at once, against plain Python: by DuckDB, without Java."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import duckdb
import pytest

from fleet.ingest import flat_tables
from fleet.rollup import build, dimms, mounts
from fleet.tables import Given, dimm_trends

NIGHT = 20_400
DAYS = 65


class Sight(NamedTuple):
    """A day's row of a mount and of a DIMM: the same item stands for both."""

    day: int
    item: str
    used: float | None
    free: float | None
    corrected: float | None
    boot_id: str | None


def histories(seed: int) -> list[Sight]:
    """Mounts that fill and are emptied, DIMMs that count, fall and start anew; days unseen, values unknown."""
    dice = random.Random(seed)
    found = []
    for number in range(8):
        used, corrected, boot = 1e9, 0.0, 0
        for day in range(NIGHT - DAYS + 1, NIGHT + 1):
            used = max(0.0, used + dice.choice((0, 1e7, 3e8, -5e8)))
            if dice.random() < 0.05:
                corrected, boot = 0.0, boot + 1
            corrected = max(0.0, corrected + (dice.choice((0, 0, 0, 1, 7, -2)) if number % 3 else 0))
            if dice.random() < (0.9, 0.4, 0.02)[number % 3]:
                free = 5e9 if dice.random() < 0.9 else None
                known = dice.random() < 0.9
                boot_id = f"b{boot}" if dice.random() < 0.9 else None
                counted = corrected if known else None
                found.append(Sight(day, f"i{number}", used if known else None, free, counted, boot_id))
    return found


def types(ddl: str) -> str:
    return ddl.replace("STRING", "VARCHAR")


@pytest.fixture(params=[1, 7, DAYS], ids=["day by day", "weeks", "at once"])
def several(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def insert(database: Any, table: str, columns: str, values: list[tuple[Any, ...]], sights: list[Sight]) -> None:
    known = [(one.day, "c", "h", one.item, *more) for one, more in zip(sights, values, strict=True)]
    if known:
        database.executemany(
            f"INSERT INTO {table} (day, cluster, host, item, {columns}) VALUES (?, ?, ?, ?, ?, ?)", known
        )


def folded(sights: list[Sight], several: int) -> Any:
    """A database with `mount_days` and `dimm_days`, after roll-ups of so many days each."""
    made = duckdb.connect()
    for table in ("mounts", "dimms"):
        made.execute(f"CREATE TABLE known_{table} ({types(build.COLUMNS[table])})")
        made.execute(f"CREATE TABLE fresh_{table} ({types(flat_tables.COLUMNS[table])})")
    before, first = None, NIGHT - DAYS + 1
    for start in range(first, NIGHT + 1, several):
        night = min(start + several - 1, NIGHT)
        for table in ("mounts", "dimms"):
            made.execute(f"DELETE FROM fresh_{table}")
        rows_of = [one for one in sights if start <= one.day <= night]
        insert(made, "fresh_mounts", "used_bytes, free_bytes", [(one.used, one.free) for one in rows_of], rows_of)
        insert(made, "fresh_dimms", "corrected, boot_id", [(one.corrected, one.boot_id) for one in rows_of], rows_of)
        for table, query in build.folds(night if before is None else before, night).items():
            if table != "disks":
                made.execute(f"CREATE OR REPLACE TABLE rolled_{table} AS {query}")
                made.execute(f"CREATE OR REPLACE TABLE known_{table} AS FROM rolled_{table}")
        before = night
    for name, query in build.queries(NIGHT, first, NIGHT).items():
        if name in ("mount_days", "dimm_days"):
            made.execute(f"CREATE TABLE {name} AS {query}")
    return made


def rows(database: Any, query: str) -> list[dict[str, Any]]:
    asked = database.execute(query)
    return [dict(zip((column[0] for column in asked.description), row, strict=True)) for row in asked.fetchall()]


@pytest.mark.parametrize("seed", range(4))
def test_of_every_mount_that_is_reported_tonight_the_last_days_are_known(seed: int, several: int) -> None:
    sights = histories(seed)
    expected = {}
    for item in {sight.item for sight in sights}:
        used = {one.day: one.used for one in sights if one.item == item and one.used is not None}
        free = {one.day: one.free for one in sights if one.item == item}
        if NIGHT in used:
            expected[item] = (free[NIGHT], [used.get(NIGHT - back) for back in range(mounts.DAYS)])

    found = {
        row["item"]: (row["free_bytes"], [row[f"used_{back}"] for back in range(mounts.DAYS)])
        for row in rows(folded(sights, several), "FROM mount_days")
    }

    assert expected
    assert found == expected


@pytest.mark.parametrize("seed", range(4))
def test_what_a_dimm_rose_by_is_what_its_days_say(seed: int, several: int) -> None:
    sights = histories(seed)
    expected = {}
    for item in {sight.item for sight in sights}:
        last, rises, before = NIGHT - dimms.DAYS, {}, None
        for one in (one for one in sights if one.item == item and one.day > last and one.corrected is not None):
            if before is not None:
                anew = None not in (one.boot_id, before.boot_id) and one.boot_id != before.boot_id
                fell = (one.corrected or 0) < (before.corrected or 0)
                rises[one.day] = (one.corrected or 0) - (0 if anew or fell else before.corrected or 0)
            before = one
        week = [rise for day, rise in rises.items() if day > NIGHT - 7]
        if sum(week) >= 10 or sum(rise > 0 for rise in week) >= 3:
            expected[item] = (sum(rises.values()), sum(week))

    database = folded(sights, several)
    given = Given(NIGHT, NIGHT - dimms.DAYS + 1)
    query = dimm_trends.SQL.format(night=NIGHT, **dimm_trends.LIMITS)
    found = {row["item"]: (row["rise"], row["week_rise"]) for row in dimm_trends.finish(rows(database, query), given)}

    assert found == expected
