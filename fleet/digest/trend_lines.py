"""Rows of disk_trends -> lines to read. Pure; no HTML."""

from __future__ import annotations

from fleet.digest.table_lines import Line, Row, between, place, places
from fleet.nights.forecasts import DAYS, Score
from fleet.nights.night import Rows
from fleet.store import reports

METRICS = {
    "reallocated": ("reallocated sectors", ""),
    "pending": ("pending sectors", ""),
    "uncorrectable": ("uncorrectable sectors", ""),
    "grown_defects": ("grown defects", ""),
    "wear_percent": ("wear", " %"),
    "reported_uncorrectable": ("uncorrectable errors", ""),
    "slow_commands": ("commands slower than 7.5 s", ""),
    "spin_retries": ("spin-up retries", ""),
    "end_to_end_errors": ("end-to-end errors", ""),
    "media_errors": ("media errors", ""),
    "uncorrected_reads": ("uncorrected reads", ""),
    "uncorrected_writes": ("uncorrected writes", ""),
    "uncorrected_verifies": ("uncorrected verifications", ""),
    "crc_errors": ("CRC errors (cable or backplane)", ""),
    "spare_percent": ("spare blocks left", " %"),
}
TODO = {"crc_errors": ""}
# Sooner is more than a warning.
CRITICAL_DAYS = 14


# What agent.sources.smart.prediction measured; a test holds it equal. The source stands in bench/README.md.
SMART_WORTH = (
    "Of 100 disks with a smart warning from their counters, about 14 failed within 30 days; of 100 critical ones, "
    "about 19 (11,342 drives of one fleet, 40 days in 2013: Backblaze's drive statistics)."
)


def score(found: Score | None) -> list[Line]:
    """`of 40 disks named in October 22 failed within 30 days`; nothing where too little is known."""
    if not found:
        return []
    share = f"{100 * found.failed / found.named:.0f} %; 95 %: {100 * found.low:.0f} to {100 * found.high:.0f} %"
    text = f"of {found.named} disks named in {found.month} {found.failed} failed within {DAYS} days ({share})"
    missed = f"; of {found.fell} disks that failed since, {found.foretold} had been predicted" if found.fell else ""
    return [Line("", "forecasts", found.month, text + missed)]


def trends(rows: Rows) -> list[Line]:
    """Forecasts, the first day first; then the disks that fail already and count nothing more, in one line."""
    moving = [trend(row) for row in rows if row["limit_value"] is not None]
    endless = [trend(row) for row in rows if row["limit_value"] is None and row["metric"] in METRICS]
    failing = [row for row in rows if row["metric"] not in METRICS]
    return [*moving, *_failing(failing), *endless]


def _failing(rows: Rows) -> list[Line]:
    if len(rows) <= 1:
        return [trend(row) for row in rows]
    count = len({(row["cluster"], row["item"]) for row in rows})
    text = f"{count} more disks are failing: SMART status critical, no counter rising"
    return [Line("critical", places(rows), "smart", text, "replace-jbod-disk", "failing")]


def trend(row: Row) -> Line:
    slot = f"slot {row['slot']}" if row["slot"] else ""
    what = " ".join(filter(None, (row["item"], slot, row["model"])))
    left, failing = row["days_left"], row.get("failing", False)
    age = "failing" if failing else "" if left is None else f"{left:.0f} d left"
    level = "critical" if failing or (left is not None and left <= CRITICAL_DAYS) else "warning"
    todo = TODO.get(row["metric"], "replace-jbod-disk")
    return Line(level, what=what, text=_pace(row), todo=todo, age=age, **place(row))


def _pace(row: Row) -> str:
    if row["metric"] not in METRICS:
        return "failing: SMART status critical"
    name, unit = METRICS[row["metric"]]
    sign = -1 if row["metric"] == "spare_percent" else 1
    text = f"{name} {row['value']:.0f}{unit}, {sign * row['per_day']:+.2f}{unit} a day"
    if "month_per_day" in row and row["recent_per_day"] == row["per_day"] != row["month_per_day"]:
        text += f" in the last 3 days ({sign * row['month_per_day']:+.2f} over the month)"
    if row["limit_value"] is None:
        return text
    limit = f"{row['limit_value']:.0f}{unit}"
    if not row["days_left"]:
        return f"{text}: beyond the limit of {limit}"
    return f"{text}: reaches {limit} on {reports.date_of(int(row['crossing_day']))}{between(row)}"
