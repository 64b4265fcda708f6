"""What the counters of bad sectors predict for an ATA disk, by its own history.

Growth and several signs together predict more than height: on 11,342 drives followed day by day, every failure that a
high count of reallocated sectors predicted was also predicted by its growth or by pending sectors beside it, and a high
count that was stable had 60 false alarms and no true one. So a height counts only until a month shows no growth, and
only on disks with sectors of 4 KiB, whose stronger correction gives a sector up much later. A growth of 9 to 30 in
30 days alone had 43 false alarms and one true one. Makers differ: see RARELY_REALLOCATE.
One bad place (a sector of 4 KiB, counted as 8) is no prediction: `disk_errors` reports when it is read again.
An SSD retires blocks as its daily work: it is judged by its life and its spare, and by what the host could not read.
"""

from __future__ import annotations

from typing import Any, Iterator, Mapping, Optional

from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple
from agent.sources.smart.report import Facts
from agent.status import Verdict, critical, warning

# A number above the limit triggers; of pending sectors the limit itself does.
LIMITS: Mapping[str, Any] = {
    "reported_uncorrectable_critical": 5,
    "reallocated_warning": 31,
    "reallocated_where_rare_warning": 8,
    "reallocated_critical": 1000,
    "reallocated_growth_critical": 30,
    "reallocated_growth_30_days_warning": 30,
    "reallocated_with_pending_warning": 8,
    "pending_warning": 24,
    "pending_critical": 1000,
    "pending_growing_critical": 16,
    "pending_growth_30_days_warning": 4,
    "slow_commands_warning": 4,
    "spin_retries_warning": 0,
    "end_to_end_errors_critical": 0,
    "stands_still_after_days": 30,
}


class Family(NamedTuple):
    """models: a regular expression on the model's name, from its beginning. source: where its figures come from."""

    models: str
    source: str


# Disks that give up a sector so rarely that a few say what many say on others.
RARELY_REALLOCATE = (
    Family(
        r"(HGST|Hitachi) H|H(DN|DS|DT|MS|UA|UH|US)\d",
        "Backblaze's drive statistics: of 7,401 HMS5C4040BLE640 seen last in 2019, 32 had more than 8 reallocated "
        "sectors, and 10 of them failed that day; of 12,460 ST8000, 337 and 95. Of 6,495 Hitachi and HGST of 2013, 45 "
        "had more than 8 and new ones among them, and 9 of those failed within 40 days",
    ),
)


class Worth(NamedTuple):
    """What the warnings were worth on recorded drives. came_true, critical_came_true: of 100 drives warned of, or
    called critical, those that failed within 30 days. false: of 100 that stayed well, those warned of. foretold: of
    100 that failed, those warned of before, the median by lead_days.
    """

    came_true: int
    critical_came_true: int
    false: int
    foretold: int
    lead_days: int

    def __str__(self) -> str:
        return (
            f"Of 100 disks that it warns of by their counters, about {self.came_true} failed within 30 days, and about "
            f"{self.critical_came_true} of 100 that it called critical; of 100 disks that stayed healthy it warned of "
            f"{self.false}. It predicted {self.foretold} of 100 failures, half of them {self.lead_days} days or more "
            "ahead (11,342 drives of one fleet, 40 days in 2013: Backblaze's drive statistics; bench/README.md)."
        )


# bench/smart_histories.py prints these figures and says whether they still hold.
MEASURED = Worth(came_true=14, critical_came_true=19, false=2, foretold=60, lead_days=15)


def _in_lines(text: str, most: int) -> str:
    """As textwrap would, which takes 3 ms of each run to load.

    >>> _in_lines("to be or not", 6)
    'to be\\nor not'
    """
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > most:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)


# For `smoke explain smart` and for mails.
WORTH = str(MEASURED)
WORTH_IN_LINES = _in_lines(WORTH, 118)

LARGE_SECTOR_BYTES = 4096
# Disks below may have sectors of 512 bytes.
LARGE_BYTES = 3_900_000_000_000
PENDING = (
    ("pending_sectors", "pending_growth", "pending sectors (attribute 197)"),
    ("offline_uncorrectable", "offline_uncorrectable_growth", "sectors unreadable in its offline scan (attribute 198)"),
)

Limits = Mapping[str, Any]


def verdicts(facts: Facts, limits: Limits) -> Iterator[Verdict]:
    """What its counters predict, worst first within each; nothing for a disk without counters."""
    yield from _uncorrectable(facts, limits)
    if facts.rotation_rpm != 0:
        yield from _reallocated(facts, limits)
        yield from _slow(facts, limits)
    for field, growth, words in PENDING:
        yield from _pending(facts, field, growth, words, limits)
    yield from above(facts.spin_retries, "spin-up retries (attribute 10)", limits, "spin_retries")
    yield from above(facts.end_to_end_errors, "end-to-end errors (attribute 184)", limits, "end_to_end_errors")


def stands_still(facts: Facts, grown: Optional[int], limits: Limits) -> bool:
    """Whether a month of history shows that a counter no longer moves."""
    return grown == 0 and (facts.history_days or 0.0) >= limits["stands_still_after_days"]


def _uncorrectable(facts: Facts, limits: Limits) -> Iterator[Verdict]:
    count, grown = facts.reported_uncorrectable or 0, facts.reported_uncorrectable_growth_30_days
    said = f"{counted(count, 'uncorrectable errors')} reported to the host (attribute 187){_more(0, grown)}"
    if not count or stands_still(facts, grown, limits):
        return
    if count > limits["reported_uncorrectable_critical"]:
        yield critical(f"{said}, limit {limits['reported_uncorrectable_critical']}")
    elif facts.reallocated_sectors and facts.rotation_rpm != 0:
        yield warning(f"{said}, and {counted(facts.reallocated_sectors, 'reallocated sectors')} (attribute 5)")
    elif grown:
        yield warning(said)


def _reallocated(facts: Facts, limits: Limits) -> Iterator[Verdict]:
    count, week = facts.reallocated_sectors, facts.reallocated_growth or 0
    month = max(week, facts.reallocated_growth_30_days or 0)
    if count is None:
        return
    said = f"{counted(count, 'reallocated sectors')} (attribute 5)"
    lately = _has_large_sectors(facts) and not stands_still(facts, facts.reallocated_growth_30_days, limits)
    rare = any(pattern(family.models).match(facts.model) for family in RARELY_REALLOCATE)
    most = limits["reallocated_where_rare_warning" if rare else "reallocated_warning"]
    waiting = max(facts.pending_sectors or 0, facts.offline_uncorrectable or 0)
    if week > limits["reallocated_growth_critical"]:
        yield critical(f"{said}, {week} of them in 7 days, limit {limits['reallocated_growth_critical']}")
    elif count > limits["reallocated_critical"] and (month or waiting or lately):
        yield critical(f"{said}{_more(week, month)}, limit {limits['reallocated_critical']}")
    elif month > limits["reallocated_growth_30_days_warning"]:
        yield warning(f"{said}, {month} of them in 30 days, limit {limits['reallocated_growth_30_days_warning']}")
    elif count > limits["reallocated_with_pending_warning"] and waiting:
        yield warning(f"{said}, and {waiting} pending or unreadable (attributes 197, 198)")
    elif count > most and (lately or (rare and month)):
        yield warning(f"{said}{_more(week, month)}, limit {most}")


def _has_large_sectors(facts: Facts) -> bool:
    """Whether it has sectors of 4 KiB; one that does not tell has them by its size, and may have without one."""
    if facts.physical_sector_bytes:
        return facts.physical_sector_bytes >= LARGE_SECTOR_BYTES
    return not facts.size_bytes or facts.size_bytes >= LARGE_BYTES


def _slow(facts: Facts, limits: Limits) -> Iterator[Verdict]:
    if not stands_still(facts, facts.slow_commands_growth_30_days, limits):
        words = "commands that took more than 7.5 s (attribute 188)"
        yield from above(facts.slow_commands, words, limits, "slow_commands")


def _pending(facts: Facts, field: str, growth: str, words: str, limits: Limits) -> Iterator[Verdict]:
    count, week = getattr(facts, field), getattr(facts, growth) or 0
    month = max(week, getattr(facts, f"{growth}_30_days") or 0)
    if count is None:
        return
    said = f"{count} {words}{_more(week, month)}, limit {limits['pending_warning']}"
    if count >= limits["pending_critical"] or (week and count > limits["pending_growing_critical"]):
        yield critical(said)
    elif count >= limits["pending_warning"]:
        yield warning(said)
    elif month > limits["pending_growth_30_days_warning"]:
        yield warning(f"{count} {words}, {month} of them in 30 days")


def _more(week: int, month: Optional[int]) -> str:
    if week:
        return f", {week} of them in 7 days"
    return f", {month} of them in 30 days" if month else ""


def above(value: Optional[int], words: str, limits: Limits, name: str) -> Iterator[Verdict]:
    """The worst limit of this name that the value is above; a disk that does not say is not judged by this number."""
    levels = [(critical, limits.get(f"{name}_critical")), (warning, limits.get(f"{name}_warning"))]
    given = [(level, limit) for level, limit in levels if limit is not None]
    for level, limit in given:
        if value is not None and value > limit:
            yield level(f"{counted(value, words)}, limit {given[-1][1]}")
            return


SINGULAR = pattern(r"\b(error|sector|defect|command)s\b|\b(retr|entr)ies\b")


def counted(count: int, words: str) -> str:
    """
    >>> counted(1, "new entries in its error log"), counted(2, "grown defects")
    ('1 new entry in its error log', '2 grown defects')
    """
    if count != 1:
        return f"{count} {words}"
    return f"1 {SINGULAR.sub(lambda match: match[1] or f'{match[2]}y', words)}"
