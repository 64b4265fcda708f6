"""The roll-up of a store: it grows with each night, heals with a day that changes, is made anew when it is damaged."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from fleet import nightly
from fleet.archive import manifests
from fleet.nights.night import Night
from fleet.rollup import build, columns
from fleet.store import reports
from fleet.store.files import LocalFiles
from tests.fleet.duckdb_reference import alike, tables_by_duckdb
from tests.fleet.history import NIGHT, header, host, line, write_run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

REALLOCATED = "reallocated"
DAYS = [reports.date_of(reports.number_of(NIGHT) - back) for back in range(5, -1, -1)]


def report(store: Path, number: int, wear: int, run_id: str = "r") -> None:
    """One disk that wears, one that fails on the fourth day, and one that is in every second report."""
    run = host("a01", run_id)
    lines = [header(run), smart(run, "S1", 20 * number + wear), smart(run, "S2", 0, "critical" if number > 2 else "ok")]
    write_run(store, DAYS[number], [*lines, smart(run, "S3", 1)] if number % 2 else lines, run_id=run_id)


def smart(run: Any, disk: str, wear: int, status: str = "ok") -> str:
    return line(run, "smart", disk, status, {"model": "M", "firmware": "F", "reallocated_sectors": wear})


@pytest.fixture(scope="module")
def whole(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Night]:
    """A night after three days, and one after three more."""
    folder = tmp_path_factory.mktemp("whole")
    for number in range(3):
        report(folder, number, 0)
    judge(spark, folder, DAYS[2])
    for number in range(3, 6):
        report(folder, number, 0)
    return folder, judge(spark, folder)


@pytest.fixture
def store(whole: tuple[Path, Night], tmp_path: Path) -> Path:
    shutil.copytree(whole[0], tmp_path / "store", copy_function=shutil.copy2)
    return tmp_path / "store"


def judge(spark: Any, store: Path, date: str = NIGHT) -> Night:
    return nightly.judge(spark, LocalFiles(str(store)), date)


def record(store: Path, date: str = NIGHT) -> build.Record:
    found = build.read(LocalFiles(str(store)), date)
    assert found
    return found


def check(store: Path, judged: Night) -> None:
    """The same rows as from all days at once; nothing is left over."""
    theirs = tables_by_duckdb(str(store), judged.date)
    assert [name for name, mine in judged.tables.items() if not alike(mine, theirs[name])] == []
    files = LocalFiles(str(store))
    named = {part.path for day in build._dates(files) for part in record(store, day).files}
    kept = {str(path.relative_to(store)) for path in (store / build.PARTS).rglob("*.parquet")}
    runs = {path.split("/")[2] for path in named}
    assert {path.split("/")[2] for path in kept} == runs


def test_each_night_adds_its_days_and_a_changed_day_heals_what_follows(
    spark: Any, whole: tuple[Path, Night], store: Path
) -> None:
    first = whole[1]
    check(store, first)
    assert (sorted(record(store).days), sorted(record(store, DAYS[2]).days)) == (DAYS, DAYS[:3])
    assert [(row["metric"], row["value"]) for row in first.tables["disk_trends"]] == [
        ("status", None),
        (REALLOCATED, 100),
    ]
    assert [(row["disks"], row["drive_days"], row["failures"]) for row in first.tables["failure_rates"]] == [(3, 13, 1)]
    report(store, 4, 7, "s")

    healed = judge(spark, store)

    check(store, healed)
    assert healed.late == [DAYS[4]]
    assert healed.tables["disk_trends"] != first.tables["disk_trends"]
    assert record(store).days[DAYS[4]] != record(whole[0]).days[DAYS[4]]


def usable(store: Path) -> build.Record | None:
    files = LocalFiles(str(store))
    made = [found for found in (manifests.manifest(files, day) for day in DAYS) if found]
    return build.usable(files, NIGHT, build.history(files, made, NIGHT))


@pytest.mark.parametrize("harm", ["cut", "missing", "record", "layout", "nothing"])
def test_a_damaged_roll_up_is_not_used(store: Path, harm: str) -> None:
    path, found = store / record(store).lives[0].path, store / build.RECORDS / f"{NIGHT}.json"
    if harm == "cut":
        path.write_bytes(path.read_bytes()[:-9])
    elif harm == "missing":
        shutil.rmtree(path.parents[2])
    elif harm == "record":
        found.write_text(found.read_text()[:40])
    elif harm == "layout":
        found.write_text(json.dumps({**json.loads(found.read_text()), "layout": columns.LAYOUT - 1}))

    used = usable(store)

    assert used
    assert used.date == (NIGHT if harm == "nothing" else DAYS[2])


def test_without_a_roll_up_all_is_made_from_the_days_and_what_fell_out_is_not_counted(
    spark: Any, whole: tuple[Path, Night], store: Path
) -> None:
    shutil.rmtree(store / build.RECORDS)
    shutil.rmtree(store / f"date={DAYS[4]}")  # its Parquet stays

    assert judge(spark, store).tables == whole[1].tables
    files = LocalFiles(str(store))
    for date in DAYS[:2]:
        files.delete(f"date={date}")
        files.delete(f"{manifests.MANIFESTS}/{date}.json")
    used = usable(store)
    after = judge(spark, store)

    assert (used and used.date) == NIGHT
    (rates,) = after.tables["failure_rates"]
    assert (rates["disks"], rates["drive_days"], rates["failures"]) == (3, 8, 1)
    check(store, after)


def test_a_damaged_day_is_left_out_named_and_taken_again_when_it_is_whole(spark: Any, tmp_path: Path) -> None:
    """An old day, of which no report is left: the window's days are verified each night, this one is not."""
    old = reports.date_of(reports.number_of(NIGHT) - nightly.WINDOW_DAYS - 5)
    for date, disk in ((old, "S1"), (NIGHT, "S2")):
        run = host("a01")
        write_run(tmp_path, date, [header(run), smart(run, disk, 0)])
        judge(spark, tmp_path, date)
    shutil.rmtree(tmp_path / f"date={old}")
    shutil.rmtree(tmp_path / build.RECORDS)
    made = manifests.manifest(LocalFiles(str(tmp_path)), old)
    assert made
    path = tmp_path / made.paths("disks")[0]
    content = path.read_bytes()
    path.write_bytes(content[:-9])

    def disks(judged: Night) -> int:
        return sum(row["disks"] for row in judged.tables["failure_rates"])

    first, second = judge(spark, tmp_path), judge(spark, tmp_path)

    for judged in (first, second):
        assert disks(judged) == 1
        (aside,) = judged.aside
        assert str(tmp_path / aside.source) == str(path)
        assert f"the Parquet of {old} is damaged" in aside.problem
    path.write_bytes(content)
    healed = judge(spark, tmp_path)
    assert (disks(healed), healed.aside) == (2, [])
