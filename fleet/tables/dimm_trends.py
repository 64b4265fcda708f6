"""Which DIMMs correct more and more errors?

The counter is reset by every boot, so its rises are added up: another boot id, and a fall, count as a start from zero.
"""

from __future__ import annotations

from fleet.rollup.dimms import DAYS
from fleet.tables import Given, Row, Rows

LIMITS = {"week_rise_least": 10, "rising_days_least": 3}
WEEK = 7
RISES = tuple(f"rise_{back}" for back in range(DAYS))

# What rose too little, or too seldom, in the last seven days is left out before it is collected.
SQL = f"""
SELECT cluster, host, item, CASE WHEN last_day = {{night}} THEN corrected END AS corrected,
  CASE WHEN last_day = {{night}} THEN uncorrected END AS uncorrected, {", ".join(RISES)}
FROM dimm_days
WHERE {" + ".join(f"coalesce({name}, 0)" for name in RISES[:WEEK])} >= {{week_rise_least}}
  OR {" + ".join(f"CASE WHEN {name} > 0 THEN 1 ELSE 0 END" for name in RISES[:WEEK])} >= {{rising_days_least}}
"""


def finish(rows: Rows, _given: Given) -> Rows:
    """The largest rise of the week on top."""
    found = [row for row in map(_summed, rows) if _rises(row)]
    return sorted(found, key=lambda row: (-row["week_rise"], row["cluster"] or "", row["host"], row["item"]))


def _summed(row: Row) -> Row:
    """Of the first day on which it was seen in the window, nothing is known of what it rose by."""
    seen = [back for back in range(DAYS) if row[f"rise_{back}"] is not None]
    rises = {back: float(row[f"rise_{back}"]) for back in seen if back != max(seen)}
    week = [rise for back, rise in rises.items() if back < WEEK]
    return {
        **{name: row[name] for name in ("cluster", "host", "item", "corrected", "uncorrected")},
        "rise": sum(rises.values()),
        "week_rise": sum(week),
        "week_before_rise": sum(rise for back, rise in rises.items() if WEEK <= back < 2 * WEEK),
        "rising_days": sum(rise > 0 for rise in week),
    }


def _rises(row: Row) -> bool:
    return bool(row["week_rise"] >= LIMITS["week_rise_least"] or row["rising_days"] >= LIMITS["rising_days_least"])
