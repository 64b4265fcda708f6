"""What was used of every mount on each of the last 14 days, one row a mount: columns and SELECTs.

The SELECTs keep to what Spark and DuckDB both understand.
"""

from __future__ import annotations

from fleet.rollup import ring

DAYS = 14
USED = ring.names("used", DAYS)
COLUMNS = ", ".join(
    [
        "cluster STRING",
        "host STRING",
        "item STRING",
        "day INT",
        "free_bytes DOUBLE",
        *(f"{name} DOUBLE" for name in USED),
    ]
)
# Sizes are at most 1e18 either way (see flat_tables); max_by of what may be null differs from engine to engine.
UNKNOWN = "-1e19"


def fold(before: int, night: int) -> str:
    """The rows of `known_mounts` (a roll-up up to the day `before`) and of `fresh_mounts` (flat rows of days since
    then) -> the roll-up up to `night`. Days on which nothing was said of what is used do not count."""
    return f"""
WITH sightings AS (
  SELECT cluster, host, item, day, free_bytes, {ring.fresh("used_bytes", "used", DAYS, night)}
  FROM fresh_mounts
  WHERE used_bytes IS NOT NULL AND day > {night - DAYS}
  UNION ALL
  SELECT cluster, host, item, day, free_bytes, {ring.kept("used", DAYS, before, night)}
  FROM known_mounts
  WHERE day > {night - DAYS}
)
SELECT cluster, host, item, max(day) AS day,
  nullif(max_by(coalesce(free_bytes, {UNKNOWN}), day), {UNKNOWN}) AS free_bytes, {ring.merged("used", DAYS)}
FROM sightings
GROUP BY cluster, host, item
"""


def latest(made: int, night: int) -> str:
    """`mount_days` of a night, from the rows of a roll-up up to the day `made`: the mounts that were reported tonight.
    used_0: what is used tonight, used_1: last night, and so on; null where it was not reported."""
    return f"""
SELECT cluster, host, item, free_bytes, {ring.back("used", DAYS, made, night)}
FROM rolled_mounts
WHERE day = {night}
"""
