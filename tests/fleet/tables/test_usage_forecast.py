"""Forecasts of mounts: from the second day on, with bounds that hold, not fooled by deletions and by moved data."""

from __future__ import annotations

import random
from typing import Any

import pytest

from fleet.digest.table_lines import filling as line
from fleet.statistics import mount_growth
from fleet.tables import Given, usage_forecast
from tests.fleet.plain_reference import days_to_full

NIGHT = 20000
GB = 1e9
SIZE = 1000 * GB
GIVEN = Given(NIGHT, NIGHT - 29)


def forecast(*percents: float) -> dict[str, Any] | None:
    """percents: of the days up to tonight."""
    first = NIGHT - len(percents) + 1
    days = by_day({first + n: percent / 100 * SIZE for n, percent in enumerate(percents)})
    rows = usage_forecast.finish([{"cluster": "c", "host": "h", "item": "/d", "size_bytes": SIZE, **days}], GIVEN)
    return rows[0] if rows else None


def by_day(used: dict[int, float]) -> dict[str, float | None]:
    """As the view `mount_days` has them: used_0 of the night, used_1 of the night before."""
    return {name: used.get(NIGHT - back) for back, name in enumerate(usage_forecast.USED)}


def left(*percents: float) -> int | None:
    row = forecast(*percents)
    return row["days_left"] if row else None


def test_one_point_is_no_forecast() -> None:
    assert forecast(97) is None


def test_a_peak_that_was_to_fill_it_and_did_not_is_no_forecast() -> None:
    """Retention that deletes at another height each time: the next peak is overdue, and the mount is at 72 %."""
    assert forecast(64, 70, 76, 80, 60, 74, 88, 62, 80, 96, 60, 64, 68, 72) is None


def test_the_second_day_is_a_forecast_with_wide_bounds() -> None:
    row = forecast(70, 76)

    assert row
    assert (row["days_left"], row["full_day"], row["points_per_day"]) == (4, NIGHT + 4, 6)
    assert (row["earliest_day"], row["latest_day"]) == (NIGHT + 1, None)


def test_the_bounds_narrow_with_the_days() -> None:
    widths = []
    for days in (5, 8, 14):
        row = forecast(*(81 + 1.2 * n for n in range(-days, 1)))
        assert row
        widths.append((row["latest_day"] or NIGHT + 400) - row["earliest_day"])

    assert widths == sorted(widths, reverse=True)
    assert widths[-1] <= 20


def test_steady_growth_is_full_when_it_is_full() -> None:
    assert left(*(81 - 1.2 * back for back in range(13, -1, -1))) == 15


def test_data_that_moved_in_at_once_are_no_trend() -> None:
    assert left(50, 50, 50, 50, 80) is None
    assert left(50, 50, 80, 80, 80) is None


def test_one_deletion_hides_no_growth_and_makes_none() -> None:
    growing = [70, 72, 74, 76, 78, 80, 82, 84, 64, 66, 68, 70, 72, 74]

    assert left(*growing) == 13
    assert left(*growing[:9]) == 18  # on the night of the deletion itself
    assert left(90, 90, 90, 60, 60, 60) is None


def test_data_that_are_deleted_again_and_again_do_not_fill_a_mount() -> None:
    saw = [60, 68, 76, 84, 60, 68, 76, 84, 60, 68, 76, 84, 60, 68]

    assert all(left(*saw[:days]) is None for days in range(10, 15))


def test_highest_levels_that_rise_fill_it_though_data_are_deleted() -> None:
    row = forecast(60, 70, 80, 62, 72, 83, 65, 75, 86, 68, 78, 89, 71, 81)

    assert row
    assert (row["points_per_day"], row["days_left"]) == (1, 9)  # 89 % two nights ago, one point a day


def test_deletions_that_stopped_are_a_trend() -> None:
    assert left(60, 68, 76, 60, 68, 76, 60, 68, 76, 84, 92) == 1


def test_growth_that_speeds_up_is_seen_after_three_days() -> None:
    assert left(*(50 + 0.1 * n for n in range(11)), 56, 61, 66) == 6


def test_what_goes_up_and_down_is_no_trend() -> None:
    dice = random.Random(2)
    named = sum(left(*(88 + dice.uniform(-0.7, 0.7) for _ in range(14))) is not None for _ in range(300))

    assert named <= 15


def test_the_bounds_hold_the_day_of_nineteen_mounts_in_twenty() -> None:
    """Daily growth with a third to a half of its mean as deviation, known for 4 to 13 days."""
    dice, held, named = random.Random(4), 0, 0
    for _ in range(600):
        mean, share = dice.uniform(1, 4), dice.uniform(0.2, 0.5)
        used = [40.0]
        while used[-1] < 100:
            used.append(used[-1] + max(0.0, dice.gauss(mean, share * mean)))
        real = len(used) - 2  # the last day on which there was space
        known = dice.randrange(4, 14)
        place = max(known, real - dice.randrange(1, 18))
        row = forecast(*used[max(0, place - known) : place + 1]) if place < real else None
        if row:
            named += 1
            ahead = NIGHT + real - place
            held += row["earliest_day"] <= ahead and (row["latest_day"] is None or ahead <= row["latest_day"])

    assert named > 300
    assert held / named >= 0.93


@pytest.mark.parametrize(("degrees", "value"), [(2, 4.303), (3, 3.182), (5, 2.571), (10, 2.228), (30, 2.042)])
def test_students_t_is_that_of_the_tables(degrees: float, value: float) -> None:
    assert mount_growth.student(degrees) == pytest.approx(value, rel=0.04)


def test_the_words_name_the_day_and_its_bounds() -> None:
    second, steady = forecast(70, 76), forecast(*(81 - 1.2 * back for back in range(13, -1, -1)))

    assert second and steady
    assert line(second).text == "76 % used, +6.0 points a day: full on 2024-10-08 (2024-10-05 at the earliest)"
    assert "(between 2024-10-" in line(steady).text


def test_no_space_at_all_is_no_error() -> None:
    assert left(99, 100) == 0


def test_random_histories_give_what_plain_python_makes_of_them() -> None:
    """3,000 mounts that fill, stand, are emptied once or again and again, with days that were not reported."""
    dice, named = random.Random(23), 0
    for _ in range(3000):
        pace, every = dice.choice((0.0, 0.2, 1.5, 6.0)), dice.choice((0, 0, 3, 5))
        value, days = dice.uniform(40, 95), dice.randrange(1, 15)
        percents: dict[int, float] = {}
        for day in range(NIGHT - days + 1, NIGHT + 1):
            value += pace * dice.uniform(0.5, 1.5) + dice.choice((0, 0, 0, 0, 0, 0, 12)) - dice.uniform(0, 0.3)
            value -= 4 * pace if every and day % every == 0 else 0
            value = min(max(value, 5.0), 100.0)
            if day == NIGHT or dice.random() > 0.1:
                percents[day] = value
        points = [(day, percent / 100 * SIZE) for day, percent in percents.items()]
        expected = days_to_full(points, SIZE, usage_forecast.LIMITS) if len(points) > 1 else None
        in_time = expected and expected[0] is not None and expected[0] <= usage_forecast.LIMITS["horizon_days"]
        mount = {"cluster": "c", "host": "h", "item": "/d", "size_bytes": SIZE}
        rows = usage_forecast.finish([{**mount, **by_day(dict(points))}], GIVEN)

        assert bool(rows) == bool(in_time), points
        for row in rows:
            named += 1
            found = [None if row[n] is None else row[n] - NIGHT for n in ("full_day", "earliest_day", "latest_day")]
            assert (*found,) == expected, points

    assert named > 400
