"""Which disks fail or wear out, and on which day will each cross its limit at this pace?

One row for each counter that the smart check judges and that grew by at least its `…_rise` in 30 days, of disks that
report today. The month's pace is the median of the slopes between all pairs of days (Theil and Sen); the recent one
is the mean of the last three days, of which the newest counts three times and the one before twice, if the counter
grew by `…_rise` in them. The forecast is made with the larger one. Its bounds are the days at the largest and at the
smallest pace that the month (95 %) or the last three days allow, widened by how much the daily steps differ;
`latest_day` is null where the counter may as well be stable. A counter that speeds up further is earlier. Limits
are the smart check's critical ones (warnings of attributes 10 and 188, which have no critical one). CRC errors have
no limit, so no day. Spare blocks fall: their rise and pace are those of what is used up. Disks that fail already are
in the list, and `failing`; if no counter of such a disk grows, it has one row, of the metric `status`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from fleet.rollup.columns import SEEN
from fleet.rollup.disk_series import series
from fleet.statistics import trends
from fleet.tables import Given, Rows

# metric: the limit that it must not reach (None: it has none), and the least rise over the window that counts
METRIC_LIMITS: dict[str, tuple[float | None, float]] = {
    "reallocated": (1000, 5),
    "pending": (17, 3),
    "uncorrectable": (17, 3),
    "grown_defects": (100, 5),
    "wear_percent": (100, 2),
    "reported_uncorrectable": (6, 1),
    "slow_commands": (5, 1),
    "spin_retries": (1, 1),
    "end_to_end_errors": (1, 1),
    "media_errors": (1, 1),
    "uncorrected_reads": (1, 1),
    "uncorrected_writes": (1, 1),
    "uncorrected_verifies": (1, 1),
    "crc_errors": (None, 1),
    "spare_percent": (20, 2),
}
METRICS = tuple(METRIC_LIMITS)
LIMITS: dict[str, Any] = {
    **{f"{metric}_limit": limit for metric, (limit, _rise) in METRIC_LIMITS.items()},
    **{f"{metric}_rise": rise for metric, (_limit, rise) in METRIC_LIMITS.items()},
    "horizon_days": 90,
    "days_least": 3,
}
FALLING = "spare_percent"
STATUS = "status"
# Later is no forecast any more.
LATEST_DAYS = 3650
DISK = ("cluster", "host", "item", "disk", "model", "firmware", "slot", "failing", "spare_threshold_percent")

SQL = f"""
SELECT l.cluster, l.host, l.item, l.disk, l.model, l.firmware, l.slot, l.status = 'critical' AS failing,
  l.spare_threshold_percent, s.day, {", ".join(f"l.{word}" for word in SEEN)},
  {", ".join(f"s.{metric}, s.before_{metric}" for metric in METRICS)}
FROM disk_lives l LEFT JOIN disk_steps s ON s.disk = l.disk
WHERE l.last_day = {{night}} AND (s.disk IS NOT NULL OR l.status = 'critical')
"""


def finish(rows: Rows, given: Given) -> Rows:
    """Of the days on which the counters of a disk moved: its trends, the one that crosses first on top."""
    steps: dict[str, Rows] = {}
    for row in rows:
        steps.setdefault(row["disk"], []).append(row)
    return judged([_course(found, given) for found in steps.values()], given.night)


def _course(steps: Rows, given: Given) -> dict[str, Any]:
    """One disk. courses: each counter's days; of a disk none of whose counters moved there is nothing to follow."""
    moved = [step for step in steps if step["day"] is not None]
    courses = {metric: series(moved, metric, given.first, given.night) for metric in METRICS} if moved else {}
    return {**{name: steps[0][name] for name in DISK}, "courses": courses}


def judged(disks: Rows, night: int) -> Rows:
    """The trends of disks with their courses: {metric: [(day, value)]}."""
    return sorted((trend for disk in disks for trend in _of_disk(disk, night)), key=_order)


def _order(row: dict[str, Any]) -> tuple[Any, ...]:
    left = row["days_left"]
    return (left is None, left or 0, row["cluster"] or "", row["host"], row["item"], row["metric"])


def _of_disk(row: dict[str, Any], night: int) -> Rows:
    disk = {name: row[name] for name in DISK[:-1]}
    found = []
    for metric, points in row["courses"].items():
        if len(points) >= LIMITS["days_least"] and points[-1][0] == night:
            found += [{**disk, **trend} for trend in _trend(metric, points, _limit(metric, row))]
    if row["failing"] and not found:
        nothing = dict.fromkeys(COLUMNS, None)
        found.append({**disk, **nothing, "metric": STATUS, "days_left": 0, "crossing_day": night})
    return found


COLUMNS = (
    *("metric", "value", "rise", "month_per_day", "recent_per_day", "per_day", "limit_value", "days_left"),
    *("crossing_day", "earliest_day", "latest_day"),
)


def _limit(metric: str, row: dict[str, Any]) -> float | None:
    own = row["spare_threshold_percent"] if metric == FALLING else None
    limit = own or METRIC_LIMITS[metric][0]
    return None if limit is None else float(limit)


def _trend(metric: str, told: list[tuple[int, float]], limit: float | None) -> Iterator[dict[str, Any]]:
    """One row, or none where it does not move enough."""
    sign = -1 if metric == FALLING else 1
    points = [(day, sign * value) for day, value in told]
    night, value = points[-1]
    rise, least = value - min(y for _day, y in points), METRIC_LIMITS[metric][1]
    if rise < least:
        return
    month, late = trends.theil_sen(points), trends.recent(points)
    speeds = late.rise >= least
    per_day = max(month.per_day, late.per_day) if speeds else month.per_day
    if per_day <= 0:
        return
    end = None if limit is None else sign * limit - value
    left = _days(end, per_day)
    soonest, last = (_days(end, pace) for pace in _bounds(points, month, late if speeds else None, left or 0))
    if limit is not None and (left is None or left > LIMITS["horizon_days"]):
        return
    yield {
        "metric": metric,
        "value": told[-1][1],
        "rise": rise,
        "month_per_day": round(month.per_day, 4),
        "recent_per_day": round(late.per_day, 4),
        "per_day": round(per_day, 4),
        "limit_value": limit,
        "days_left": left,
        "crossing_day": _day(night, left),
        "earliest_day": _day(night, soonest),
        "latest_day": _day(night, last),
    }


def _bounds(points: trends.Points, month: trends.Slope, late: trends.Recent | None, days: int) -> tuple[float, float]:
    """The largest and the smallest pace: of the month, of the last three days if they count, and what so many days to
    come may differ by themselves."""
    beside = trends.spread(points, days)
    paces = [month.low, month.high, *([late.least, late.most, late.per_day] if late else [])]
    return max(paces) + beside, min(paces) - beside


def _days(left: float | None, pace: float) -> int | None:
    """Whole days until so much is used up; None where it has no end in sight."""
    if left is None or (left > 0 and (pace <= 0 or left / pace > LATEST_DAYS)):
        return None
    return max(0, math.ceil(round(left / pace, 6))) if left > 0 else 0


def _day(night: int, left: int | None) -> int | None:
    return None if left is None else night + left
