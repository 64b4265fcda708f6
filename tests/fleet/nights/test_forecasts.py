"""The forecasts of a night are kept, and what became of them stands in the mail when enough is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fleet.archive import retention
from fleet.digest import night_digest, trend_lines
from fleet.nights import forecasts
from fleet.nights.forecasts import Told, scored
from fleet.nights.night import Night
from fleet.render import plain_text
from fleet.statistics.intervals import binomial_interval
from fleet.store import reports
from fleet.store.files import LocalFiles
from tests.fleet.history import NIGHT

FIRST, LAST = reports.number_of("2026-10-01"), reports.number_of("2026-10-31")


def nights(named: dict[str, str], failed: dict[str, str], first: int = FIRST, last: int = LAST + 30) -> dict[int, Told]:
    """named, failed: disk -> the first date of it; from then on it is."""
    return {
        day: Told(
            frozenset(d for d, date in named.items() if reports.number_of(date) <= day),
            frozenset(d for d, date in failed.items() if reports.number_of(date) <= day),
        )
        for day in range(first, last + 1)
    }


def test_of_the_disks_named_in_a_month_those_that_failed_in_thirty_days_count() -> None:
    named = {f"D{n}": "2026-10-05" for n in range(38)} | {"late": "2026-10-31", "never": "2026-10-02"}
    failed = {f"D{n}": "2026-11-03" for n in range(21)}
    failed |= {"D37": "2026-11-05", "late": "2026-11-30", "unforeseen": "2026-10-20"}

    found = scored(nights(named, failed), FIRST, LAST)

    assert found
    assert (found.month, found.named, found.failed) == ("October 2026", 40, 22)  # D37 failed after 31 days
    assert (found.fell, found.foretold) == (24, 23)
    (line,) = trend_lines.score(found)
    assert line.text == (
        "of 40 disks named in October 2026 22 failed within 30 days (55 %; 95 %: 38 to 71 %); "
        "of 24 disks that failed since, 23 had been predicted"
    )


def test_a_disk_that_failed_before_it_was_named_is_no_forecast() -> None:
    named = {f"D{n}": "2026-10-10" for n in range(5)} | {"old": "2026-10-12"}

    found = scored(nights(named, {"old": "2026-10-12", "D0": "2026-10-11"}), FIRST, LAST)

    assert found and (found.named, found.failed) == (5, 1)


@pytest.mark.parametrize(
    ("first", "last", "count"), [(FIRST + 15, LAST + 30, 9), (FIRST, LAST + 10, 9), (FIRST, LAST + 30, 4)]
)
def test_with_too_few_nights_or_disks_nothing_is_said(first: int, last: int, count: int) -> None:
    assert scored(nights({f"D{n}": "2026-10-05" for n in range(count)}, {}, first, last), FIRST, LAST) is None
    assert trend_lines.score(None) == []


def row(disk: str, days_left: int | None = 5, failing: bool = False) -> dict[str, Any]:
    return {"disk": disk, "days_left": days_left, "failing": failing}


def test_a_store_keeps_what_each_night_named_and_judges_the_month_that_is_over(tmp_path: Path) -> None:
    files = LocalFiles(str(tmp_path))
    for day in range(FIRST, LAST + 31):
        failing = day > LAST
        trends = [row(f"D{n}", failing=failing and n < 3) for n in range(8)]
        forecasts.keep(files, reports.date_of(day), [*trends, row("cable", None), row("D1")])

    assert forecasts.score(files, "2026-11-29") is None  # September is not known
    found = forecasts.score(files, "2026-11-30")

    assert found and (found.month, found.named, found.failed) == ("October 2026", 8, 0)
    assert forecasts.score(files, "2026-12-15") == found


def test_a_forecast_that_cannot_be_read_is_a_night_that_is_not_known(tmp_path: Path) -> None:
    files = LocalFiles(str(tmp_path))
    for day in range(FIRST, LAST + 31):
        forecasts.keep(files, reports.date_of(day), [row(f"D{n}") for n in range(8)])
    files.replace(f"{forecasts.FORECASTS}/2026-10-07.json", b'{"named": 3')
    files.replace(f"{forecasts.FORECASTS}/2026-10-08.json", b"[]")

    found = forecasts.score(files, "2026-11-30")

    assert found and found.named == 8


def test_forecasts_go_with_their_day(tmp_path: Path) -> None:
    files = LocalFiles(str(tmp_path))
    for date in ("2026-08-01", "2026-11-18"):
        forecasts.keep(files, date, [row("D1")])

    retention.apply(files, "2026-11-19", retention.Wanted(keep_days=60, prune=True))

    assert [entry.name for entry in files.list(forecasts.FORECASTS)] == ["2026-11-18.json"]


@pytest.mark.parametrize(
    ("count", "tries", "low", "high"), [(0, 10, 0.0, 0.3085), (22, 40, 0.3849, 0.7074), (10, 10, 0.6915, 1.0)]
)
def test_the_bounds_of_a_share_are_those_of_the_tables(count: int, tries: int, low: float, high: float) -> None:
    assert binomial_interval(count, tries) == pytest.approx((low, high), abs=0.0005)


def empty(**more: Any) -> Night:
    from fleet import tables

    nothing: dict[str, Any] = {name: [] for name in tables.names()}
    return Night(NIGHT, {**nothing, **more}, [], [], 30, 1)


def finding(check: str, status: str = "critical", change: str = "new") -> dict[str, Any]:
    told = {"change": change, "cluster": "c", "host": "h", "rack": "r", "check_name": check, "item": "S1"}
    return {**told, "status": status, "age_days": 0, "reason": "5 pending", "playbook": "", "source": "s"}


def test_how_often_a_warning_of_smart_comes_true_stands_where_one_is_listed() -> None:
    with_one = plain_text.text(night_digest.digest(empty(changes=[finding("smart")])))
    without = plain_text.text(
        night_digest.digest(empty(changes=[finding("mounts"), finding("smart", change="resolved")]))
    )

    assert " ".join(with_one.split()).count(trend_lines.SMART_WORTH) == 1
    assert "11,342" not in without


def test_the_figures_are_those_that_the_agent_measured() -> None:
    from agent.sources.smart.prediction import MEASURED, WORTH

    said = trend_lines.SMART_WORTH
    assert f"about {MEASURED.came_true} failed within 30 days" in said
    assert f"of 100 critical ones, about {MEASURED.critical_came_true} (" in said
    assert all(words in WORTH for words in ("11,342 drives of one fleet, 40 days in 2013: Backblaze", "30 days"))
    assert said.rpartition("(")[2].removesuffix(").") in WORTH


def test_the_score_stands_in_the_mail() -> None:
    found = forecasts.Score("October 2026", 40, 22, 0.38, 0.71, 0, 0)
    text = plain_text.text(night_digest.digest(empty()._replace(score=found)))

    assert "FORECAST ACCURACY" in text
    assert "of 40 disks named in October 2026 22 failed within 30 days (55 %; 95 %: 38" in " ".join(text.split())
