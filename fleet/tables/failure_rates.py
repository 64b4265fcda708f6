"""How many of a hundred disks of a model and firmware fail in a year?

Backblaze's way: failures / drive days x 365 x 100, over all history kept, at most a year. A disk fails on the first day
its SMART status is critical (it says so itself, or the inventory misses it); its days after that do not count, and one
that was failed when it was first seen counts for nothing. Bounds: 95 %, exact (Garwood). `chance`: of so many failures
if it failed like all other disks together (binomial, given all failures); null for a fleet of one model.
`suspect`: at least `failures_least`, the rate `factor_least` times that of all others, and the chance so small that at
most `nights_wrong` of the nights of a fleet without a bad model name one, however many models there are (Bonferroni).
Where a rate was published for the model (`--published-rates`), the same is asked against that (`published_chance`:
Poisson, the published rate taken as known); both count as comparisons. `detectable_percent`: the rate that would be
noticed four nights in five; null where none would. What one hot rack or one bad delivery does to a model counts as the
model's.
"""

from __future__ import annotations

from typing import Any

from fleet.rollup.columns import CRITICAL, SEEN, days
from fleet.statistics.intervals import Compared, Exposure, compare
from fleet.tables import Given, Rows

LIMITS = {"failures_least": 3, "factor_least": 2, "nights_wrong": 0.05}

# A disk that never failed is one of many; one that did comes alone, with its days.
SQL = f"""
WITH lives AS (
  SELECT model, firmware, disk, {" + ".join(f"bit_count({word})" for word in SEEN)} AS days,
    ({" | ".join(CRITICAL)}) != 0 AS failed, {", ".join((*SEEN, *CRITICAL))}
  FROM disk_lives
  WHERE model IS NOT NULL
)
SELECT model, firmware, CASE WHEN failed THEN disk END AS failed_disk, count(*) AS disks, sum(days) AS drive_days,
  sum(CASE WHEN failed THEN 1 ELSE 0 END) AS failures,
  {", ".join(f"max(CASE WHEN failed THEN {word} END) AS {word}" for word in (*SEEN, *CRITICAL))}
FROM lives
GROUP BY model, firmware, CASE WHEN failed THEN disk END
"""
NAMES = ("disks", "drive_days", "failures")


def finish(rows: Rows, given: Given) -> Rows:
    """The statistics, highest rate first."""
    rows = _by_model(rows, given.night)
    kinds = [Exposure(int(row["failures"]), float(row["drive_days"])) for row in rows]
    published = [given.published.get(row["model"]) for row in rows]
    compared = compare(kinds, LIMITS["nights_wrong"], published)
    judged = [{**row, **_judged(row, one, rate)} for row, one, rate in zip(rows, compared, published, strict=True)]
    return sorted(judged, key=lambda row: (-row["rate_percent"], row["model"] or "", row["firmware"] or ""))


def _by_model(rows: Rows, night: int) -> Rows:
    """Disks, drive days and failures of each model and firmware."""
    counted: dict[tuple[str, str], list[int]] = {}
    for row in rows:
        told = [int(row[name]) for name in NAMES]
        if row.get("failed_disk") is not None:
            seen, failed = days(row, night), days(row, night, CRITICAL)[0]
            told[1] = sum(day <= failed for day in seen)
            if failed == seen[0]:
                continue
        before = counted.get((row["model"], row["firmware"]), [0, 0, 0])
        counted[row["model"], row["firmware"]] = [old + new for old, new in zip(before, told, strict=True)]
    return [
        {"model": model, "firmware": firmware, **dict(zip(NAMES, told, strict=True))}
        for (model, firmware), told in counted.items()
    ]


def _judged(row: dict[str, Any], one: Compared, published: float | None) -> dict[str, Any]:
    higher = one.is_higher and one.rate >= LIMITS["factor_least"] * (one.others_rate or 0)
    above = one.is_above_published and one.rate >= LIMITS["factor_least"] * (published or 0)
    return {
        "rate_percent": round(one.rate, 2),
        "low_percent": round(one.low, 2),
        "high_percent": round(one.high, 2),
        "others_percent": None if one.others_rate is None else round(one.others_rate, 2),
        "chance": one.p,
        "published_percent": published,
        "published_chance": one.published_p,
        "detectable_percent": None if one.detectable is None else round(one.detectable, 2),
        "suspect": bool((higher or above) and row["failures"] >= LIMITS["failures_least"]),
    }
