"""How many errors every DIMM corrected on each of the last 30 days, one row a DIMM: columns and SELECTs.

A rise is null on a day on which the DIMM was not seen. The counter is reset by every boot: another boot id, and a
fall, count as a start from zero. The SELECTs keep to what Spark and DuckDB both understand.
"""

from __future__ import annotations

from fleet.rollup import ring

DAYS = 30
RISES = ring.names("rise", DAYS)
LAST = ("corrected", "uncorrected", "boot_id")
COLUMNS = ", ".join(
    ["cluster STRING", "host STRING", "item STRING", "day INT", "corrected DOUBLE", "uncorrected DOUBLE",
     "boot_id STRING", *(f"{name} DOUBLE" for name in RISES)]
)  # fmt: skip


def fold(before: int, night: int) -> str:
    """The rows of `known_dimms` (a roll-up up to the day `before`) and of `fresh_dimms` (flat rows of days since then)
    -> the roll-up up to `night`."""
    pairs = zip(RISES, ring.days(night, DAYS), strict=True)
    rises = ", ".join(
        f"max(CASE WHEN fresh AND day = {day} THEN rise ELSE {name} END) AS {name}" for name, day in pairs
    )
    return f"""
WITH sightings AS (
  SELECT cluster, host, item, day, {", ".join(LAST)}, TRUE AS fresh,
    {", ".join(f"CAST(NULL AS DOUBLE) AS {name}" for name in RISES)}
  FROM fresh_dimms
  WHERE corrected IS NOT NULL AND day > {night - DAYS}
  UNION ALL
  SELECT cluster, host, item, day, {", ".join(LAST)}, FALSE AS fresh, {ring.kept("rise", DAYS, before, night)}
  FROM known_dimms
  WHERE day > {night - DAYS}
), steps AS (
  SELECT *, lag(corrected) OVER w AS before, boot_id != lag(boot_id) OVER w AS rebooted,
    lead(day) OVER w IS NULL AS is_last
  FROM sightings
  WINDOW w AS (PARTITION BY cluster, host, item ORDER BY day)
), risen AS (
  SELECT *, CASE WHEN before IS NULL THEN 0e0
    WHEN corrected >= before AND NOT coalesce(rebooted, FALSE) THEN corrected - before ELSE corrected END AS rise
  FROM steps
)
SELECT cluster, host, item, max(day) AS day,
  {", ".join(f"max(CASE WHEN is_last THEN {name} END) AS {name}" for name in LAST)}, {rises}
FROM risen
GROUP BY cluster, host, item
"""


def latest(made: int, night: int) -> str:
    """`dimm_days` of a night, from the rows of a roll-up up to the day `made`. rise_0: tonight's, rise_1: last night's,
    and so on."""
    return f"""
SELECT cluster, host, item, day AS last_day, corrected, uncorrected, {ring.back("rise", DAYS, made, night)}
FROM rolled_dimms
WHERE day > {night - DAYS}
"""
