"""What is known of every disk up to a day, in one row, and the days on which its counters moved: columns and SELECTs.

`disk_lives` has one row a disk. On which days it was reported, and on which its SMART status was critical, stand there
as bits, 62 days a word. A word belongs to every seventh block of 62 days and is reset with the next one, so that
nothing is ever shifted: 7 words hold 372 days and those of the block that is not full yet.

`disk_steps` has a row for each day on which a counter differs from the day on which the disk was seen before; with the
bits this is the whole course of every counter, in a hundredth of the rows. The SELECTs keep to what Spark and DuckDB
both understand.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleet.ingest import facts

# Of the roll-up: raised when its columns or their meaning change. Older ones are then made anew from the days' Parquet.
LAYOUT = 2
YEAR_DAYS = 365
WORD_DAYS = 62
WORDS = 7
# They differ every day, and say nothing of a wear that a counter would not say.
NOT_FOLLOWED = ("size_bytes", "power_on_hours", "temperature")
METRICS = tuple(
    column for column, kind in facts.FOLLOWED["smart"].values() if kind == "DOUBLE" and column not in NOT_FOLLOWED
)
SEEN = tuple(f"seen{word}" for word in range(WORDS))
CRITICAL = tuple(f"crit{word}" for word in range(WORDS))
TEXTS = ("disk", "cluster", "host", "item", "slot", "status", "model", "firmware")
BEFORE = tuple(f"before_{metric}" for metric in METRICS)
COLUMNS = ", ".join(
    [f"{name} STRING" for name in TEXTS]
    + ["day INT", "before_day INT"]
    + [f"{name} DOUBLE" for name in (*METRICS, *BEFORE)]
    + [f"{name} BIGINT" for name in (*SEEN, *CRITICAL)]
)


def blocks(day: int) -> list[int]:
    """For each word, the first day of the block that it belongs to when `day` is the last one."""
    last = day // WORD_DAYS
    return [(last - (last - word) % WORDS) * WORD_DAYS for word in range(WORDS)]


def days(words: Mapping[str, Any], night: int, names: tuple[str, ...] = SEEN) -> list[int]:
    """The days of a row of `disk_lives`, oldest first."""
    found = []
    for name, first in zip(names, blocks(night), strict=True):
        word = int(words[name] or 0)
        found += [first + bit for bit in range(WORD_DAYS) if word >> bit & 1]
    return sorted(found)


def _masks(first: int, night: int) -> list[int]:
    """The bits of each word that are days of first to night."""
    return [
        sum(1 << bit for bit in range(WORD_DAYS) if first <= start + bit <= night) for start in blocks(night)
    ]  # fmt: skip


def _bits(when: str, night: int, names: tuple[str, ...]) -> str:
    """The words of one day's row."""
    return ", ".join(
        f"CASE WHEN {when} AND day BETWEEN {start} AND {start + WORD_DAYS - 1} "
        f"THEN CAST(1 AS BIGINT) << (day - {start}) ELSE CAST(0 AS BIGINT) END AS {name}"
        for name, start in zip(names, blocks(night), strict=True)
    )


def _kept(before: int, night: int, names: tuple[str, ...]) -> str:
    """The words of an earlier row: those whose block has not changed since."""
    pairs = zip(names, blocks(before), blocks(night), strict=True)
    return ", ".join(name if then == now else f"CAST(0 AS BIGINT) AS {name}" for name, then, now in pairs)


def fold(before: int, night: int) -> str:
    """The rows of `known_disks` (a roll-up up to the day `before`) and of `fresh_disks` (flat rows of days since then)
    -> the roll-up up to `night`. is_last: a row of `disk_lives`; stepped: one of `disk_steps`."""
    words = (*SEEN, *CRITICAL)
    metrics = ", ".join(METRICS)
    return f"""
WITH sightings AS (
  SELECT disk, cluster, host, item, slot, status, model, firmware, day, {metrics},
    {_bits("TRUE", night, SEEN)}, {_bits("status = 'critical'", night, CRITICAL)}, TRUE AS fresh
  FROM fresh_disks
  UNION ALL
  SELECT disk, cluster, host, item, slot, status, model, firmware, day, {metrics},
    {_kept(before, night, SEEN)}, {_kept(before, night, CRITICAL)}, FALSE AS fresh
  FROM known_disks
), followed AS (
  SELECT disk, cluster, host, item, slot, status, day, fresh, {metrics},
    max_by(model, CASE WHEN model IS NOT NULL THEN day END) OVER so_far AS model,
    nullif(max_by(coalesce(firmware, ''), CASE WHEN model IS NOT NULL THEN day END) OVER so_far, '') AS firmware,
    {", ".join(f"bit_or({word}) OVER so_far AS {word}" for word in words)},
    lag(day) OVER by_day AS before_day, lead(day) OVER by_day IS NULL AS is_last,
    {", ".join(f"lag({metric}) OVER by_day AS before_{metric}" for metric in METRICS)}
  FROM sightings
  WINDOW by_day AS (PARTITION BY disk ORDER BY day, cluster, host, item),
    so_far AS (PARTITION BY disk ORDER BY day, cluster, host, item ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
), marked AS (
  SELECT *, fresh AND before_day IS NOT NULL
    AND ({" OR ".join(f"{metric} IS DISTINCT FROM before_{metric}" for metric in METRICS)}) AS stepped
  FROM followed
)
SELECT {", ".join(column.split()[0] for column in COLUMNS.split(", "))}, is_last, stepped
FROM marked
WHERE (is_last OR stepped) AND {" | ".join(SEEN)} != 0
"""


def lives(first: int, made: int, night: int) -> str:
    """`disk_lives` of a night, of the days from `first` on, from the rows of a roll-up up to the day `made`."""
    kept = zip(blocks(made), blocks(night), _masks(first, night), strict=True)
    masks = [mask if then == now else 0 for then, now, mask in kept]
    words = [
        f"{name} & {mask} AS {name}" for names in (SEEN, CRITICAL) for name, mask in zip(names, masks, strict=True)
    ]
    seen = " | ".join(f"({name} & {mask})" for name, mask in zip(SEEN, masks, strict=True))
    return (
        f"SELECT {', '.join(TEXTS)}, day AS last_day, {', '.join(METRICS)}, {', '.join(words)} "
        f"FROM rolled_lives WHERE ({seen}) != 0"
    )


def steps(first: int, night: int) -> str:
    """`disk_steps` of the days of a window."""
    return (
        f"SELECT disk, day, before_day, {', '.join((*METRICS, *BEFORE))} "
        f"FROM rolled_steps WHERE day BETWEEN {first} AND {night}"
    )
