"""The roll-up of the disks, folded day by day or at once, against plain Python: by DuckDB, which needs no Java."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import pytest

from fleet.ingest import flat_tables
from fleet.rollup import build, columns
from fleet.rollup.disk_series import series

duckdb = pytest.importorskip("duckdb", reason="needs DuckDB: pip install duckdb")

NIGHT = 20776
DAYS = 420
FLAT = [tuple(column.split()) for column in flat_tables.COLUMNS["disks"].split(", ")]
ROLLED = [tuple(column.split()) for column in columns.COLUMNS.split(", ")]


class Sight(NamedTuple):
    """One disk on one day."""

    day: int
    disk: str
    status: str
    model: str | None
    reallocated: float | None


def course(seed: int) -> list[Sight]:
    """Disks that come, go, are renamed, forget their model, wear, fail, and count nothing for a while."""
    chance = random.Random(seed)
    found = []
    for number in range(8):
        model, value = f"M{number % 3}", 0.0
        first = NIGHT - DAYS + chance.randrange(DAYS) if number % 2 else NIGHT - DAYS
        failed = first + chance.randrange(2 * DAYS)
        for day in range(first + 1, NIGHT + 1):
            if chance.random() < 0.1:
                continue
            value += chance.choice((0, 0, 0, 0, 0, 0, 0, 0, 1, 7)) if number % 4 else 0
            told = None if chance.random() < 0.02 else model
            status = "critical" if day >= failed else "ok"
            found.append(Sight(day, f"D{number}", status, told, None if chance.random() < 0.03 else value))
    return found


def database() -> Any:
    made = duckdb.connect()
    made.execute(f"CREATE TABLE fresh_disks ({_ddl(FLAT)})")
    made.execute(f"CREATE TABLE known_disks ({_ddl(ROLLED)})")
    made.execute(f"CREATE TABLE rolled_steps ({_ddl(ROLLED)})")
    return made


def _ddl(columns: list[tuple[str, ...]]) -> str:
    return ", ".join(f"{name} {'VARCHAR' if kind == 'STRING' else kind}" for name, kind in columns)


def fold(made: Any, before: int, sights: list[Sight], night: int) -> None:
    made.execute("DELETE FROM fresh_disks")
    rows = [(s.day, "c", "h", s.disk, s.disk, s.status, s.model, s.model and "F", s.reallocated) for s in sights]
    if rows:
        named = "day, cluster, host, item, disk, status, model, firmware, reallocated"
        made.executemany(f"INSERT INTO fresh_disks ({named}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    made.execute(f"CREATE OR REPLACE TEMP TABLE rolled AS {columns.fold(before, night)}")
    made.execute("DELETE FROM known_disks")
    made.execute("INSERT INTO known_disks SELECT * EXCLUDE (is_last, stepped) FROM rolled WHERE is_last")
    made.execute("INSERT INTO rolled_steps SELECT * EXCLUDE (is_last, stepped) FROM rolled WHERE stepped")


def folded(sights: list[Sight], at_once: int) -> Any:
    made = database()
    before = NIGHT - DAYS
    for last in [*range(before + at_once, NIGHT, at_once), NIGHT]:
        fold(made, before, [sight for sight in sights if before < sight.day <= last], last)
        before = last
    made.execute("CREATE VIEW rolled_lives AS SELECT * FROM known_disks")
    for name, query in build.queries(NIGHT, NIGHT - columns.YEAR_DAYS + 1, NIGHT).items():
        if name.startswith("disk_"):
            made.execute(f"CREATE VIEW {name} AS {query}")
    return made


def rows(made: Any, query: str) -> list[dict[str, Any]]:
    asked = made.execute(query)
    names = [column[0] for column in asked.description]
    return [dict(zip(names, row, strict=True)) for row in asked.fetchall()]


@pytest.mark.parametrize(("seed", "at_once"), [(1, 20), (2, 31), (3, DAYS)])
def test_a_year_of_disks_is_what_plain_python_makes_of_it(seed: int, at_once: int) -> None:
    sights = course(seed)
    made = folded(sights, at_once)
    year = [sight for sight in sights if sight.day > NIGHT - columns.YEAR_DAYS]

    lives = {row["disk"]: row for row in rows(made, "SELECT * FROM disk_lives")}

    assert set(lives) == {sight.disk for sight in year}
    for disk, row in lives.items():
        mine = [sight for sight in year if sight.disk == disk]
        known = [sight.model for sight in sights if sight.disk == disk and sight.model]
        assert columns.days(row, NIGHT) == [sight.day for sight in mine]
        assert columns.days(row, NIGHT, columns.CRITICAL) == [s.day for s in mine if s.status != "ok"]
        assert (row["last_day"], row["model"], row["firmware"]) == (mine[-1].day, known[-1], "F")
        assert row["reallocated"] == mine[-1].reallocated


@pytest.mark.parametrize("seed", [4, 5])
def test_the_steps_are_the_whole_course_of_a_counter(seed: int) -> None:
    sights, first = course(seed), NIGHT - build.STEP_DAYS + 1
    made = folded(sights, 9 if seed == 4 else 31)
    query = "SELECT * EXCLUDE (reallocated), s.reallocated FROM disk_steps s JOIN disk_lives l ON l.disk = s.disk"
    steps = rows(made, query.replace("EXCLUDE (reallocated)", "EXCLUDE (disk, reallocated), s.disk"))

    for disk in {sight.disk for sight in sights}:
        told = [(s.day, s.reallocated) for s in sights if s.disk == disk and s.day >= first]
        mine = [step for step in steps if step["disk"] == disk]
        if mine:
            found = series(mine, "reallocated", first, NIGHT)
            assert found == [(day, value) for day, value in told if value is not None]
        else:
            assert len({value for _day, value in told}) <= 1
    assert any(steps)


def test_the_words_of_a_year_do_not_overlap() -> None:
    for night in range(NIGHT, NIGHT + 500):
        starts = columns.blocks(night)
        held = {day for start in starts for day in range(start, start + columns.WORD_DAYS)}
        assert set(range(night - columns.YEAR_DAYS + 1, night + 1)) <= held
        assert [start // columns.WORD_DAYS % columns.WORDS for start in starts] == list(range(7))
