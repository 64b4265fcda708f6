"""Rates of few failures: bounds against published tables, and how often a fleet without a bad model raises one."""

from __future__ import annotations

import random
from typing import Any

import pytest

from fleet.digest import table_lines
from fleet.statistics.intervals import (
    Compared,
    Exposure,
    binomial_at_least,
    compare,
    poisson_at_least,
    poisson_interval,
)
from fleet.tables import Given, failure_rates


# Garwood's exact 95 % bounds, as in any table of them (Biometrika 28, 1936).
@pytest.mark.parametrize(
    ("count", "low", "high"),
    [(0, 0.0, 3.689), (1, 0.025, 5.572), (3, 0.619, 8.767), (10, 4.795, 18.390), (50, 37.11, 65.92)],
)
def test_the_bounds_of_a_count_are_those_of_the_tables(count: int, low: float, high: float) -> None:
    assert poisson_interval(count) == pytest.approx((low, high), abs=0.006)


def test_chances_add_up() -> None:
    assert poisson_at_least(0, 3.0) == 1.0
    assert poisson_at_least(1, 3.0) == pytest.approx(1 - 2.718281828**-3)
    assert binomial_at_least(2, 3, 0.5) == pytest.approx(0.5)
    assert binomial_at_least(3, 3, 0.9) == pytest.approx(0.729)
    assert binomial_at_least(1, 0, 0.9) == 0.0


def draw(kinds: list[tuple[float, float]], dice: random.Random) -> list[Compared]:
    """kinds: drive days and true rate (percent a year) of each model."""
    return compare([Exposure(poisson(dice, days * rate / 36500), days) for days, rate in kinds])


def poisson(dice: random.Random, mean: float) -> int:
    """Knuth's: as many as fit into one unit of time."""
    count, time = 0, dice.expovariate(1.0)
    while time < mean:
        count, time = count + 1, time + dice.expovariate(1.0)
    return count


YEAR = 365.0
ALIKE = {
    "one model": [(10_000 * YEAR, 1.5)],
    "99 % one model": [(9_900 * YEAR, 1.5), (100 * YEAR, 1.5)],
    "48 models": [((30 + 40 * n) * YEAR, 1.5) for n in range(48)],
}


@pytest.mark.parametrize("fleet", ALIKE.values(), ids=ALIKE.keys())
def test_of_fleets_whose_models_are_all_alike_at_most_one_night_in_twenty_raises_any(
    fleet: list[tuple[float, float]],
) -> None:
    dice, nights = random.Random(7), 100

    raised = sum(any(one.is_higher for one in draw(fleet, dice)) for _ in range(nights))

    assert raised <= 0.05 * nights


def test_a_model_at_ten_percent_among_a_hundred_disks_is_found_in_most_nights() -> None:
    dice, nights = random.Random(7), 100
    fleet = [(9_900 * YEAR, 1.5), (100 * YEAR, 10.0)]

    found = [draw(fleet, dice) for _ in range(nights)]

    assert sum(night[1].is_higher for night in found) >= 0.7 * nights
    assert sum(night[0].is_higher for night in found) == 0


def test_the_detectable_rate_is_noticed_four_nights_in_five() -> None:
    dice, nights = random.Random(7), 300
    (_, small) = compare([Exposure(150, 9_900 * YEAR), Exposure(0, 100 * YEAR)])
    assert small.detectable is not None

    found = sum(
        compare([Exposure(150, 9_900 * YEAR), Exposure(poisson(dice, small.detectable), 100 * YEAR)])[1].is_higher
        for _ in range(nights)
    )

    assert found / nights == pytest.approx(0.8, abs=0.05)


def test_a_fleet_of_one_model_is_compared_with_its_published_rate_or_not_at_all() -> None:
    fleet = [Exposure(40, 1_000 * YEAR)]

    (alone,) = compare(fleet)
    (against,) = compare(fleet, published=[1.5])
    (as_published,) = compare(fleet, published=[4.0])

    assert (alone.p, alone.is_higher, alone.others_rate, alone.detectable) == (None, False, None, None)
    assert (against.is_above_published, as_published.is_above_published) == (True, False)
    assert (against.is_higher, against.p, against.detectable is None) == (False, None, False)


def test_a_model_that_was_not_watched_yet_is_not_judged() -> None:
    (first, second) = compare([Exposure(0, 0.0), Exposure(3, 1000.0)])

    assert (first.p, first.rate, second.is_higher) == (None, 0.0, False)


@pytest.mark.parametrize("fleet", ALIKE.values(), ids=ALIKE.keys())
def test_with_published_rates_too_at_most_one_night_in_twenty_raises_any(fleet: list[tuple[float, float]]) -> None:
    dice, nights = random.Random(7), 100
    rates = [rate for _days, rate in fleet]

    raised = 0
    for _ in range(nights):
        drawn = [Exposure(poisson(dice, days * rate / 36500), days) for days, rate in fleet]
        found = compare(drawn, published=rates)
        raised += any(one.is_higher or one.is_above_published for one in found)

    assert raised <= 9  # 5 of 100 and two standard deviations: one comparison is made at 5 %, no less


def rows(*counts: tuple[str, int, int, int]) -> list[dict[str, object]]:
    return [
        {"model": model, "firmware": "1", "disks": disks, "drive_days": days, "failures": failures}
        for model, disks, days, failures in counts
    ]


def finish(told: list[dict[str, object]]) -> list[dict[str, Any]]:
    return failure_rates.finish(told, Given(20000, 19971))


def test_a_fleet_of_one_model_names_none_whatever_fails() -> None:
    (only,) = finish(rows(("HGST", 1000, 30_000, 3)))

    assert (only["suspect"], only["others_percent"], only["chance"]) == (False, None, None)


def test_three_failures_in_a_hundred_disks_are_named_and_three_in_a_thousand_are_not() -> None:
    small, large = finish(rows(("bad", 100, 3_000, 3), ("good", 5000, 150_000, 3)))

    assert (small["model"], small["suspect"], large["suspect"]) == ("bad", True, False)
    assert (small["rate_percent"], small["low_percent"], small["high_percent"]) == (36.5, 7.53, 106.67)
    assert 0 < small["chance"] < 0.001


def test_disks_that_never_failed_say_what_rate_would_be_noticed() -> None:
    (_bad, good) = finish(rows(("a", 5000, 150_000, 9), ("b", 100, 3_000, 0)))

    assert (good["rate_percent"], good["suspect"]) == (0.0, False)
    assert 30 < good["detectable_percent"] < 90


def test_a_fleet_of_one_model_that_fails_more_than_published_is_named() -> None:
    told = rows(("HGST", 1000, 300_000, 40), ("ST", 10, 3000, 0))[:1]
    (as_published,) = failure_rates.finish(told, Given(20000, 19971, {"HGST": 4.0}))
    (above,) = failure_rates.finish(told, Given(20000, 19971, {"HGST": 1.5}))

    assert (as_published["suspect"], as_published["published_percent"]) == (False, 4.0)
    assert (above["suspect"], above["chance"]) == (True, None)
    assert above["published_chance"] < 1e-6
    (line,) = table_lines.suspects([above])
    assert line.text == (
        "5 % a year (95 %: 3 to 7), published 1.5 %: 40 of 1000 disks; expected by chance once in over a million nights"
    )


def test_no_disks_at_all_are_no_error() -> None:
    assert finish([]) == []
