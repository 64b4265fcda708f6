"""What is deleted when: the days that fell out since the last time, and never the history at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleet.archive import manifests, retention
from fleet.store import reports
from fleet.store.files import LocalFiles
from tests.fleet.archive import test_manifests
from tests.fleet.history import NIGHT, write_run

DAY = reports.number_of(NIGHT)
KEEP = 30


def fill(store: Path, days: int) -> Path:
    for back in range(days):
        write_run(store, reports.date_of(DAY - back), ["x"])
    return store


def apply(store: Path, night: int = DAY, keep: int = KEEP, raw: int = 0, prune: bool = False) -> retention.Done:
    return retention.apply(LocalFiles(str(store)), reports.date_of(night), retention.Wanted(keep, raw, prune))


def left(store: Path) -> int:
    return len(reports.dates(LocalFiles(str(store))))


def test_each_night_deletes_the_day_that_fell_out(tmp_path: Path) -> None:
    fill(tmp_path, KEEP + 1)

    assert apply(tmp_path) == ([reports.date_of(DAY - KEEP)], [], [])
    assert apply(tmp_path) == ([], [], [])
    assert apply(tmp_path, DAY + 1).deleted == [reports.date_of(DAY - KEEP + 1)]


def test_nights_that_were_missed_are_made_up_for(tmp_path: Path) -> None:
    apply(fill(tmp_path, KEEP))

    assert len(apply(tmp_path, DAY + 10).deleted) == 10


@pytest.mark.parametrize("ahead", [40, 400, 12000])
def test_a_clock_that_runs_ahead_does_not_delete_the_history(tmp_path: Path, ahead: int) -> None:
    apply(fill(tmp_path, KEEP))

    done = apply(tmp_path, DAY + ahead)

    assert len(done.deleted) <= retention.AT_ONCE
    assert left(tmp_path) == KEEP - len(done.deleted)
    assert done.deleted == [] or ahead <= KEEP + retention.AT_ONCE


def test_a_smaller_number_of_days_deletes_no_history_unless_it_is_told_to(tmp_path: Path) -> None:
    apply(fill(tmp_path, 100), keep=100)

    kept = apply(tmp_path, DAY + 1, keep=KEEP)
    pruned = apply(tmp_path, DAY + 1, keep=KEEP, prune=True)

    assert (len(kept.deleted), len(kept.older)) == (1, 70)
    assert (len(pruned.deleted), pruned.older, left(tmp_path)) == (70, [], KEEP - 1)


def test_a_run_of_a_wrong_clock_is_named_and_not_deleted(tmp_path: Path) -> None:
    write_run(fill(tmp_path, KEEP + 1), "2000-01-01", ["x"])

    assert apply(tmp_path) == ([reports.date_of(DAY - KEEP)], [], ["2000-01-01"])


def test_an_old_night_that_is_run_again_deletes_nothing(tmp_path: Path) -> None:
    apply(fill(tmp_path, KEEP))

    assert apply(tmp_path, DAY - 10) == ([], [], [])
    assert apply(tmp_path, DAY + 1).deleted == [reports.date_of(DAY - KEEP + 1)]


def test_reports_are_deleted_only_where_the_archive_holds_all_of_them(tmp_path: Path) -> None:
    """Three days: whole in the archive, not in it at all, and with a report that came late."""
    night = DAY + 3
    for date in (NIGHT, reports.date_of(DAY + 1), reports.date_of(DAY + 2)):
        write_run(tmp_path, date, ["x"])
    test_manifests.keep(tmp_path)

    done = apply(tmp_path, night, keep=0, raw=2, prune=True)

    assert done.raw_deleted == [NIGHT]
    assert manifests.dates(LocalFiles(str(tmp_path)))[0] == NIGHT
    assert left(tmp_path) == 2


def test_a_late_report_keeps_the_reports_of_its_day(tmp_path: Path) -> None:
    write_run(tmp_path, NIGHT, ["x"])
    test_manifests.keep(tmp_path)
    write_run(tmp_path, NIGHT, ["x"], run_id="late")

    assert apply(tmp_path, DAY + 3, keep=0, raw=2, prune=True).raw_deleted == []
    assert left(tmp_path) == 1


def test_a_day_is_deleted_with_its_archive(tmp_path: Path) -> None:
    write_run(tmp_path, NIGHT, ["x"])
    test_manifests.keep(tmp_path)

    assert apply(tmp_path, DAY + KEEP).deleted == [NIGHT]
    assert [path for path in tmp_path.rglob("*") if NIGHT in path.name] == []
