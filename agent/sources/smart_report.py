"""What one smartctl report says of one disk: plain numbers, whichever reader read them.

smart_json.py reads `smartctl --json` (7.0 and later), pysmart.py the text of older ones. What both must do alike
stands here: what counts as a number, what an ATA attribute means, which self-tests failed.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from agent.host import CannotTell
from agent.patterns import pattern


class Facts(NamedTuple):
    """One disk. None: the disk does not say. Growth is over the last 7 days, None where there is no earlier run.

    path: what smartctl was asked, such as /dev/sdb or "/dev/bus/0 megaraid,3". kind: ata, scsi, nvme or empty.
    limit_celsius: the highest temperature it is made to work at; trip_celsius: where it calls itself too hot.
    failing_now, failing_usage, failed_before: attributes at or below the maker's threshold: those that foretell
    failure, those that tell of wear, and those that were there once and recovered.
    unread: counters that are there and hold no number. whole: whether the report came to its end.
    """

    path: str = ""
    slot: str = ""
    kind: str = ""
    vendor: str = ""
    model: str = ""
    serial: str = ""
    wwn: str = ""
    firmware: str = ""
    size_bytes: Optional[int] = None
    rotation_rpm: Optional[int] = None
    temperature_celsius: Optional[int] = None
    limit_celsius: Optional[int] = None
    trip_celsius: Optional[int] = None
    power_on_hours: Optional[int] = None
    smart_available: Optional[bool] = None
    smart_enabled: Optional[bool] = None
    passed: Optional[bool] = None
    status_text: str = ""
    too_hot: bool = False
    was_too_hot: bool = False
    attributes: int = 0
    failing_now: Tuple[str, ...] = ()
    failing_usage: Tuple[str, ...] = ()
    failed_before: Tuple[str, ...] = ()
    reallocated_sectors: Optional[int] = None
    spin_retries: Optional[int] = None
    end_to_end_errors: Optional[int] = None
    reported_uncorrectable: Optional[int] = None
    command_timeouts: Optional[int] = None
    pending_sectors: Optional[int] = None
    offline_uncorrectable: Optional[int] = None
    crc_errors: Optional[int] = None
    grown_defects: Optional[int] = None
    uncorrected_reads: Optional[int] = None
    uncorrected_writes: Optional[int] = None
    uncorrected_verifies: Optional[int] = None
    nvme_warning_bits: Optional[int] = None
    spare_percent: Optional[int] = None
    spare_threshold_percent: Optional[int] = None
    wear_percent: Optional[int] = None
    media_errors: Optional[int] = None
    error_log_entries: Optional[int] = None
    self_tests_failed: Optional[int] = None
    self_test_failure: str = ""
    exit_status: int = 0
    messages: Tuple[str, ...] = ()
    unread: Tuple[str, ...] = ()
    whole: bool = True
    reallocated_growth: Optional[int] = None
    pending_growth: Optional[int] = None
    offline_uncorrectable_growth: Optional[int] = None
    crc_growth: Optional[int] = None
    grown_defects_growth: Optional[int] = None
    uncorrected_growth: Optional[int] = None
    media_errors_growth: Optional[int] = None
    error_log_growth: Optional[int] = None
    days_since_too_hot: Optional[float] = None
    in_raid: bool = False
    vanished: str = ""


HIGHEST = (1 << 63) - 1
LIKELY_CELSIUS = range(1, 150)
LIKELY_LIMIT_CELSIUS = range(50, 130)  # 40 is what some makers merely recommend
NVME_TOO_HOT = 2

# What these attributes are called where they mean what they should; some drives use the number for something else.
COUNTERS = {
    5: ("reallocated_sectors", ""),
    10: ("spin_retries", "spin"),
    184: ("end_to_end_errors", "end-to-end"),
    187: ("reported_uncorrectable", "uncor"),
    188: ("command_timeouts", "timeout"),
    197: ("pending_sectors", "pending"),
    198: ("offline_uncorrectable", "offline"),
    199: ("crc_errors", "crc"),
}

# Attributes whose normalised value is the share of life that is left, most reliable first.
LIFE_LEFT = ("Percent_Lifetime", "SSD_Life_Left", "Life_Remaining", "Media_Wearout_Indicator", "Wear_Leveling_Count")

MAKERS = (
    (r"ST\d|SEAGATE", "Seagate"),
    (r"WDC|WD\d|WUH|WUS|WESTERN", "Western Digital"),
    (r"HGST|HUS|HUH|HTS|HTE|HDN", "HGST"),
    (r"HITACHI|HUA|HDS|HCS", "Hitachi"),
    (r"TOSHIBA|MG0|KXG|KPM", "Toshiba"),
    (r"SAMSUNG|MZ", "Samsung"),
    (r"INTEL|SSDPE|SSDSC", "Intel"),
    (r"MICRON|MTFD", "Micron"),
    (r"KIOXIA|KCM|KCD", "Kioxia"),
    (r"CRUCIAL|CT\d", "Crucial"),
    (r"KINGSTON", "Kingston"),
)


class BadReport(CannotTell):
    """What smartctl printed is not a report on a disk."""


class Attribute(NamedTuple):
    """One row of the ATA table. failed: now, past or empty. prefail: below its threshold, the drive is failing."""

    number: int
    name: str
    value: Optional[int]
    threshold: Optional[int]
    failed: str
    prefail: bool
    raw: str


class SelfTest(NamedTuple):
    kind: str
    outcome: str
    hours: Optional[int]


def number(given: Any) -> Optional[int]:
    """A count, or None for what can be none: not a number, negative, or all ones."""
    if isinstance(given, str):
        match = re.match(r"\s*(0x[0-9a-fA-F]{1,16}|\d{1,3}(?:[,.\u2019\u202f\u00a0]\d{3})+(?!\d)|\d{1,40})", given)
        if not match:
            return None
        word = match.group(1)
        given = int(word, 16) if word.startswith("0x") else int(re.sub(r"\D", "", word))
    if isinstance(given, bool) or not isinstance(given, int):
        return None
    return given if 0 <= given <= HIGHEST else None


def celsius(given: Any, likely: range = LIKELY_CELSIUS) -> Optional[int]:
    """A temperature, or None for a value that no disk has."""
    value = number(given)
    return value if value in likely else None


def percent(given: Any) -> Optional[int]:
    value = number(given)
    return value if value is not None and value <= 255 else None


def text(given: Any) -> str:
    """One short line of plain text; the dashes and stars of a hidden serial number are nothing."""
    if not isinstance(given, str):
        return ""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in given[:200]).split())[:80]
    return line if any(letter.isalnum() for letter in line) else ""


def maker(model: str) -> str:
    """Who made it, from the model's name; empty where the name does not say."""
    return next((name for begins, name in MAKERS if re.match(begins, model.upper())), "")


def with_attributes(facts: Facts, rows: Sequence[Attribute]) -> Facts:
    """The ATA table as facts."""
    counted: Dict[str, Any] = {}
    unread = list(facts.unread)
    for row in rows:
        field, word = COUNTERS.get(row.number, ("", ""))
        if field and (not row.name or word in row.name.lower()):
            counted[field] = unpacked(row.raw) if row.number == 188 else number(row.raw)
            unread += [f"attribute {row.number}"] if counted[field] is None else []
    hot = [row for row in rows if "temperature" in row.name.lower()]
    others = [row for row in rows if row not in hot]
    return facts._replace(
        **counted,
        unread=tuple(unread),
        failing_now=tuple(_label(row) for row in others if row.failed == "now" and row.prefail),
        failing_usage=tuple(_label(row) for row in others if row.failed == "now" and not row.prefail),
        failed_before=tuple(_label(row) for row in others if row.failed == "past"),
        too_hot=any(row.failed == "now" for row in hot),
        was_too_hot=any(row.failed == "past" for row in hot),
        wear_percent=_wear(rows) if facts.wear_percent is None else facts.wear_percent,
        attributes=sum(1 <= row.number <= 255 for row in rows),
    )


def _label(row: Attribute) -> str:
    return f"{row.number} {row.name} (value {row.value}, threshold {row.threshold})"


def unpacked(raw: str) -> Optional[int]:
    """Attribute 188 of a Seagate is three 16-bit words, of which the lowest counts.

    >>> unpacked("51540393996"), unpacked("1 1 9"), unpacked("33")
    (12, 9, 33)
    """
    words = re.findall(r"\d+", raw[:80])
    value = number(words[-1]) if len(words) == 3 else number(raw)
    return value & 0xFFFF if value is not None and value > 0xFFFF else value


def _wear(rows: Sequence[Attribute]) -> Optional[int]:
    for name in LIFE_LEFT:
        for row in rows:
            if name in row.name and row.value is not None and row.value <= 100:
                return 100 - row.value
    return None


# What failed tests are called: "Completed: read failure", "Fatal or unknown error", "Completed, segment failed",
# "Failed in first segment", "Unknown error, incomplete", "Completed: handling damage??"
FAILED_TEST = pattern(r"fail|fatal|damage|unknown error", re.IGNORECASE)


def with_self_tests(facts: Facts, tests: Sequence[SelfTest]) -> Facts:
    """Self-tests, newest first: those that failed since the last extended one that went well."""
    failed: List[SelfTest] = []
    for test in tests:
        if FAILED_TEST.search(test.outcome) and not test.outcome.startswith("Abort"):
            failed.append(test)
        elif re.match("Completed", test.outcome) and re.search("extended|long", test.kind, re.IGNORECASE):
            break
    if not failed:
        return facts._replace(self_tests_failed=0)
    newest = failed[0]
    at = "" if newest.hours is None else f" at {newest.hours} h"
    return facts._replace(self_tests_failed=len(failed), self_test_failure=f"{newest.kind}: {newest.outcome}{at}")
