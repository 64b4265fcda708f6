"""How many of a hundred disks of a model and firmware fail in a year?

Backblaze's way: failures / drive days x 365 x 100, over the window. A disk fails on the first day its SMART status is
critical (it says so itself, or the inventory misses it); its days after that do not count, and one that came into the
window already failed counts for nothing. Bounds: 95 %, exact (Garwood). `chance`: of so many failures if it failed like
all other disks together (binomial, given all failures); null for a fleet of one model.
`suspect`: at least `failures_least`, the rate `factor_least` times that of all others, and the chance so small that at
most `nights_wrong` of the nights of a fleet without a bad model name one, however many models there are (Bonferroni).
Where a rate was published for the model (`--published-rates`), the same is asked against that (`published_chance`:
Poisson, the published rate taken as known); both count as comparisons. `detectable_percent`: the rate that would be
noticed four nights in five; null where none would. What one hot rack or one bad delivery does to a model counts as the
model's.
"""

from __future__ import annotations

from typing import Any

from fleet.given import Given, Rows
from fleet.statistics import Compared, Exposure, compare

LIMITS = {"failures_least": 3, "factor_least": 2, "nights_wrong": 0.05}

SQL = """
WITH ranked AS (
  SELECT disk, model, firmware, sum(days) OVER w AS days, min(first_day) OVER w AS first_day,
    min(failed_day) OVER w AS failed_day,
    row_number() OVER (PARTITION BY disk ORDER BY model IS NULL, last_day DESC, firmware) AS place
  FROM lives
  WINDOW w AS (PARTITION BY disk)
), until_failure AS (
  SELECT disk, count(*) AS days FROM watched WHERE day <= failed_day GROUP BY disk
), models AS (
  SELECT r.model, r.firmware, count(*) AS disks, sum(coalesce(u.days, r.days)) AS drive_days,
    sum(CASE WHEN r.failed_day IS NOT NULL THEN 1 ELSE 0 END) AS failures
  FROM ranked r LEFT JOIN until_failure u ON u.disk = r.disk
  WHERE r.place = 1 AND r.model IS NOT NULL AND (r.failed_day IS NULL OR r.failed_day > r.first_day)
  GROUP BY r.model, r.firmware
)
SELECT model, firmware, disks, drive_days, failures FROM models ORDER BY model, firmware
"""


def finish(rows: Rows, given: Given) -> Rows:
    """The statistics, highest rate first."""
    kinds = [Exposure(int(row["failures"]), float(row["drive_days"])) for row in rows]
    published = [given.published.get(row["model"]) for row in rows]
    compared = compare(kinds, LIMITS["nights_wrong"], published)
    judged = [{**row, **_judged(row, one, rate)} for row, one, rate in zip(rows, compared, published, strict=True)]
    return sorted(judged, key=lambda row: (-row["rate_percent"], row["model"] or "", row["firmware"] or ""))


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
