"""How many days until a mount is full?

From the second day on, and never from one: at the median of its daily steps of two weeks, of which one of three days
ago counts half (so the last three days outweigh all before), of two steps at the smaller. What came at once is thus no
trend after three days; a deletion (a fall of one point or more) does not count. Where data are deleted again and again
(two falls or more in the two weeks) the mount fills at the pace at which its highest levels rise, and is full when one
of them is; if it is above all of them by a point, at the pace since the last deletion. A mount that did not grow fast
enough on any of the last three days is not named, nor one that fills by less than a point over its days, nor one whose
growth of five days or more may be chance.
`earliest_day` and `latest_day` hold the day in 95 % of the cases, if the steps to come differ as much as those before;
few steps are taken to differ by half of their mean. `latest_day` is null where the mount may as well never fill.
"""

from __future__ import annotations

import math
from typing import Any

from fleet.rollup.mounts import DAYS
from fleet.statistics import mount_growth
from fleet.tables import Given, Rows

LIMITS = {"horizon_days": 21, "window_days": DAYS, "recent_days": 3, "sure_days": 5, "least_points": 1}
# Later is no forecast any more.
LATEST_DAYS = 3650
USED = tuple(f"used_{back}" for back in range(DAYS))

# What cannot be full in time, by the fastest of the last three days, is left out before it is collected.
SQL = f"""
SELECT m.cluster, m.host, m.item, m.used_0 + m.free_bytes AS size_bytes, {", ".join(f"m.{name}" for name in USED)}
FROM mount_days m
JOIN fleet f ON f.cluster = m.cluster AND f.host = m.host
WHERE m.used_0 + m.free_bytes > 0
  AND coalesce({", ".join(f"m.{name}" for name in USED[1:])}) IS NOT NULL
  AND coalesce(greatest(m.used_0 - m.used_1, m.used_1 - m.used_2, m.used_2 - m.used_3)
    * {{horizon_days}} * 1.000001 >= m.free_bytes OR m.used_1 + m.used_2 + m.used_3 IS NULL, TRUE)
"""


def finish(rows: Rows, given: Given) -> Rows:
    """Of the days of each mount that may be full soon: its forecast, the one that is full first on top."""
    found = [forecast for row in rows if (forecast := _of_mount(row, given.night))]
    return sorted(found, key=lambda row: (row["days_left"], row["cluster"] or "", row["host"], row["item"]))


def _of_mount(row: dict[str, Any], night: int) -> dict[str, Any] | None:
    known = ((night - back, row[name]) for back, name in enumerate(USED))
    points = [(day, float(used)) for day, used in reversed([*known]) if used is not None]
    used, size = points[-1][1], float(row["size_bytes"])
    least = LIMITS["least_points"] * size / 100
    if mount_growth.fastest(points, LIMITS["recent_days"]) * LIMITS["horizon_days"] < size - used:
        return None
    pace = mount_growth.pace(points, least)
    if not pace or pace.per_day * (points[-1][0] - points[0][0]) < least:
        return None
    left = _days(size, pace, night, 0.0)
    if left is not None and left < 0:  # the peak that was to be the last is over, and it is not full
        return None
    beside = pace.beside(left or 0)
    unsure = pace.steps >= LIMITS["sure_days"] - 1 and beside >= pace.per_day
    if left is None or left > LIMITS["horizon_days"] or unsure:
        return None
    soonest, last = _days(size, pace, night, beside), _days(size, pace, night, -beside)
    return {
        **{name: row[name] for name in ("cluster", "host", "item")},
        "used_bytes": used,
        "size_bytes": size,
        "used_percent": round(100 * used / size, 1),
        "points_per_day": round(100 * pace.per_day / size, 2),
        "days_left": left,
        "full_day": night + left,
        "earliest_day": None if soonest is None else night + max(soonest, 0),
        "latest_day": None if last is None else night + last,
    }


def _days(size: float, pace: mount_growth.Pace, night: int, more: float) -> int | None:
    """Whole days from the night on until it is full at a pace that is so much larger; None: not in sight.

    Below 0: it should have been full before.
    """
    per_day = pace.per_day + more
    if per_day <= 0 or (size - pace.full) / per_day > LATEST_DAYS:
        return None
    return math.floor(round((size - pace.full) / per_day, 6)) - (night - pace.since)
