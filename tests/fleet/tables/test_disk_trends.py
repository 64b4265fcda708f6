"""Forecasts of disks: what speeds up, what stands still, bounds that hold, and disks that fail already."""

from __future__ import annotations

import random
import statistics
from typing import Any

import pytest

from agent.checks.disks import smart
from agent.sources.smart import rules as smart_rules
from fleet.digest.trend_lines import trend
from fleet.statistics import trends
from fleet.tables import disk_trends
from fleet.tables.disk_trends import METRICS
from tests.fleet.plain_reference import pace_and_crossing

NIGHT = 20000


def watched(failing: Any = False, limits: Any = None, **counters: Any) -> Any:
    """A disk with its courses: each counter's values, the last of them tonight's."""
    courses = {
        metric: [(NIGHT - len(values) + 1 + n, value) for n, value in enumerate(values) if value is not None]
        for metric, values in counters.items()
    }
    disk = {"cluster": "c", "host": "h", "item": "S1", "disk": "S1", "model": "M", "firmware": "F", "slot": "3"}
    return {**disk, "failing": failing, "spare_threshold_percent": None, **(limits or {}), "courses": courses}


def only(*disks: Any) -> dict[str, Any]:
    (row,) = disk_trends.judged(list(disks), NIGHT)
    return row


def test_what_grows_by_sixty_percent_a_day_crosses_tomorrow() -> None:
    row = only(watched(reallocated=[0.0] * 20 + [20, 32, 51, 82, 131, 210, 336, 549, 879]))

    assert (row["value"], row["days_left"], row["crossing_day"]) == (879, 1, NIGHT + 1)
    assert row["recent_per_day"] > 5 * row["month_per_day"]


def test_three_hundred_a_day_since_yesterday_crosses_in_two_days() -> None:
    row = only(watched(reallocated=[0.0] * 27 + [0, 300, 600]))

    assert (row["days_left"], row["month_per_day"], row["per_day"]) == (2, 0, 250)
    assert row["earliest_day"] == NIGHT + 1
    assert row["latest_day"] is None  # it stood still on the day before


def test_a_steady_pace_is_the_months_with_narrow_bounds() -> None:
    row = only(watched(reallocated=[30.0 * n for n in range(30)]))

    assert (row["per_day"], row["days_left"], row["earliest_day"], row["latest_day"]) == (30, 5, NIGHT + 5, NIGHT + 5)


def test_one_wrong_number_does_not_move_the_months_pace() -> None:
    steady = [10.0 * n for n in range(30)]
    steady[12] = 4000.0

    assert trends.theil_sen(list(enumerate(steady))).per_day == pytest.approx(10, abs=0.5)


def test_a_jump_of_long_ago_is_no_trend() -> None:
    assert disk_trends.judged([watched(reallocated=[0.0] * 3 + [500.0] * 27)], NIGHT) == []


def test_days_without_a_report_share_what_it_rose() -> None:
    points = [(NIGHT - 9, 0.0), (NIGHT - 8, 0.0), (NIGHT, 800.0)]

    assert trends.recent(points) == trends.Recent(100.0, 300.0, 100.0, 100.0)


@pytest.mark.parametrize(
    ("metric", "values", "limits", "days_left"),
    [
        ("media_errors", [0, 0, 0, 1, 2, 3], {}, 0),
        ("reported_uncorrectable", [0, 1, 2, 3], {}, 3),
        ("slow_commands", [0, 1, 2, 3], {}, 2),
        ("crc_errors", [0, 10, 20, 30], {}, None),
        ("spare_percent", [40, 38, 36, 34], {"spare_threshold_percent": 10.0}, 12),
        ("spare_percent", [40, 38, 36, 34], {}, 7),
    ],
)
def test_every_counter_has_its_limit(
    metric: str, values: list[float], limits: dict[str, float], days_left: int | None
) -> None:
    row = only(watched(limits=limits, **{metric: values}))

    assert (row["metric"], row["value"], row["days_left"]) == (metric, values[-1], days_left)


def test_every_count_that_smart_judges_is_followed() -> None:
    """Each limit of the check that is about a count has its counter here."""
    words = {
        "reported_uncorrectable": "reported_uncorrectable", "reallocated": "reallocated", "pending": "pending",
        "slow_commands": "slow_commands", "spin_retries": "spin_retries", "end_to_end_errors": "end_to_end_errors",
        "crc_growth": "crc_errors", "grown_defects": "grown_defects", "uncorrected": "uncorrected_reads",
        "media_errors": "media_errors", "wear": "wear_percent", "spare": "spare_percent",
    }  # fmt: skip
    not_followed = ("error_log_growth", "too_hot", "self_tests_failed", "stands_still", "forget_days")
    judged = {name for name in smart.LIMITS if not name.startswith(not_followed)}

    assert {name for name in judged if not name.startswith(tuple(words))} == set()
    assert set(words.values()) <= set(METRICS)


@pytest.mark.parametrize(
    ("metric", "limit"),
    [
        ("reported_uncorrectable", "reported_uncorrectable_critical"),
        ("slow_commands", "slow_commands_warning"),
        ("spin_retries", "spin_retries_warning"),
        ("end_to_end_errors", "end_to_end_errors_critical"),
        ("media_errors", "media_errors_growth_critical"),
    ],
)
def test_a_limit_is_the_first_count_beyond_that_of_the_check(metric: str, limit: str) -> None:
    assert disk_trends.LIMITS[f"{metric}_limit"] == smart_rules.LIMITS[limit] + 1


def test_a_disk_that_fails_already_is_in_the_list_and_marked() -> None:
    still = only(watched(failing=True, reallocated=[7.0] * 10))
    moving = only(watched(failing=True, reallocated=[30.0 * n for n in range(30)]))

    assert (still["metric"], still["failing"], still["days_left"], still["value"]) == ("status", True, 0, None)
    assert (moving["metric"], moving["failing"], moving["days_left"]) == ("reallocated", True, 5)
    assert (trend(still).age, trend(still).text) == ("failing", "failing: SMART status critical")


def test_the_words_name_the_pace_the_day_and_its_bounds() -> None:
    fast = trend(only(watched(reallocated=[0.0] * 27 + [0, 300, 600]))).text
    spare = trend(only(watched(spare_percent=[float(60 - n) for n in range(30)]))).text

    assert fast == (
        "reallocated sectors 600, +250.00 a day in the last 3 days (+0.00 over the month): reaches 1000 on "
        "2024-10-06 (2024-10-05 at the earliest)"
    )
    assert spare == (
        "spare blocks left 31 %, -1.00 % a day: reaches 20 % on 2024-10-15 (between 2024-10-15 and 2024-10-15)"
    )


def test_the_bounds_hold_the_day_on_which_a_noisy_counter_crosses() -> None:
    """200 disks that grow by 20 to 60 sectors a day: the real day lies within the bounds of nine in ten."""
    dice, within, named = random.Random(11), 0, 0
    for _ in range(200):
        mean = dice.uniform(20, 60)
        values = [0.0]
        while values[-1] < 1000:
            values.append(values[-1] + max(0, round(dice.gauss(mean, mean / 2))))
        crossing = len(values) - 1
        known = min(crossing - 1, max(5, crossing - dice.randrange(2, 15)))
        for row in disk_trends.judged([watched(reallocated=values[: known + 1][-30:])], NIGHT):
            named += 1
            real = NIGHT + crossing - known
            within += row["earliest_day"] <= real and (row["latest_day"] is None or real <= row["latest_day"])

    assert named >= 190
    assert within / named >= 0.9


def test_sens_bounds_hold_the_true_slope_of_nineteen_in_twenty() -> None:
    dice, held = random.Random(5), 0
    for _ in range(400):
        slope = trends.theil_sen([(n, 2.0 * n + dice.gauss(0, 6)) for n in range(30)])
        held += slope.low <= 2.0 <= slope.high

    assert held / 400 == pytest.approx(0.95, abs=0.03)


def test_the_median_of_the_slopes_is_that_of_all_pairs() -> None:
    points = [(0, 3.0), (2, 9.0), (3, 4.0), (7, 30.0)]
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for n, a in enumerate(points) for b in points[n + 1 :]]

    assert trends.theil_sen(points).per_day == statistics.median(slopes)


def test_a_row_that_an_older_version_kept_can_still_be_read() -> None:
    """The summary of a month is made of the nights as they were kept."""
    row = only(watched(reallocated=[30.0 * n for n in range(30)]))
    old = {name: row[name] for name in row if name not in ("failing", "month_per_day", "recent_per_day")}
    del old["earliest_day"], old["latest_day"]

    assert trend(old).text == "reallocated sectors 870, +30.00 a day: reaches 1000 on 2024-10-09"


def test_random_histories_give_what_plain_python_makes_of_them() -> None:
    """2,000 counters with gaps, jumps, falls and still days."""
    dice, named = random.Random(17), 0
    for _ in range(2000):
        metric = dice.choice(METRICS)
        pace, jump, gap = dice.choice((0.0, 0.3, 2.0, 40.0)), dice.choice((0, 0, 9, 300)), dice.choice((0.0, 0.3))
        values: list[float | None] = [float(dice.choice((0, 0, 5, 60)))]
        for _day in range(dice.randrange(1, 29)):
            step = round(dice.expovariate(1 / pace)) if pace else 0
            last = next(value for value in reversed(values) if value is not None)
            values.append(max(0.0, last + step + (jump if dice.random() < 0.1 else 0) - (dice.random() < 0.05)))
            if dice.random() < gap:
                values[-2] = None if len(values) > 2 else values[-2]
        limits = disk_trends.LIMITS
        points = [(NIGHT - len(values) + 1 + n, value) for n, value in enumerate(values) if value is not None]
        expected = pace_and_crossing(
            points, limits[f"{metric}_limit"], limits[f"{metric}_rise"], metric == "spare_percent"
        )
        too_late = expected and expected[4] is not None and expected[4] > limits["horizon_days"]
        rows = disk_trends.judged([watched(**{metric: values})], NIGHT)

        assert bool(rows) == bool(expected and len(points) >= limits["days_least"] and not too_late), values
        for row in rows:
            named += 1
            days = [None if row[n] is None else row[n] - NIGHT for n in ("crossing_day", "earliest_day", "latest_day")]
            assert [row["value"], row["rise"], *days] == [*expected[:2], *expected[4:]], (metric, values)
            assert (row["month_per_day"], row["recent_per_day"]) == pytest.approx(expected[2:4], abs=6e-5)

    assert named > 500
