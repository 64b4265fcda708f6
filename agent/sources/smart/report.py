"""One smartctl report on one disk: plain numbers, whichever reader read them.

json_report.py reads `smartctl --json` (7.0 and later), text_report.py the text of older ones. What both share
is here (what counts as a number), in attributes.py (the ATA table) and in self_tests.py.
"""

from __future__ import annotations

import re
from typing import Any, Dict, Optional, Tuple

from agent.host import CannotTell
from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple


class Facts(NamedTuple):
    """One disk. None: the disk does not say. Growth is over the last 7 days, None where there is no earlier run.

    path: what smartctl was asked, such as /dev/sdb or "/dev/bus/0 megaraid,3". kind: ata, scsi, nvme or empty.
    limit_celsius: the highest temperature it is made to work at; trip_celsius: where it calls itself too hot.
    failing_now, failing_usage, failed_before: attributes at or below the maker's threshold: those that foretell
    failure, those that tell of wear, and those that were there once and recovered.
    rotation_rpm: 0 of an SSD. slow_commands: those of a Seagate drive that took more than 7.5 s.
    unread: counters that are there and hold no number; implausible: those with a number that cannot be.
    heat_at_threshold: an attribute about the temperature is or was at its threshold, believable or not.
    whole: whether the report came to its end. history_days: for how long earlier runs have known its counters.
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
    physical_sector_bytes: Optional[int] = None
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
    heat_at_threshold: bool = False
    attributes: int = 0
    failing_now: Tuple[str, ...] = ()
    failing_usage: Tuple[str, ...] = ()
    failed_before: Tuple[str, ...] = ()
    reallocated_sectors: Optional[int] = None
    spin_retries: Optional[int] = None
    end_to_end_errors: Optional[int] = None
    reported_uncorrectable: Optional[int] = None
    command_timeouts: Optional[int] = None
    slow_commands: Optional[int] = None
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
    implausible: Tuple[str, ...] = ()
    whole: bool = True
    reallocated_growth: Optional[int] = None
    pending_growth: Optional[int] = None
    offline_uncorrectable_growth: Optional[int] = None
    crc_growth: Optional[int] = None
    grown_defects_growth: Optional[int] = None
    uncorrected_growth: Optional[int] = None
    media_errors_growth: Optional[int] = None
    error_log_growth: Optional[int] = None
    reallocated_growth_30_days: Optional[int] = None
    pending_growth_30_days: Optional[int] = None
    offline_uncorrectable_growth_30_days: Optional[int] = None
    reported_uncorrectable_growth_30_days: Optional[int] = None
    slow_commands_growth_30_days: Optional[int] = None
    history_days: Optional[float] = None
    days_since_too_hot: Optional[float] = None
    in_raid: bool = False
    vanished: str = ""


HIGHEST = (1 << 63) - 1
LIKELY_CELSIUS = range(1, 150)
LIKELY_LIMIT_CELSIUS = range(50, 130)  # 40 is what some makers merely recommend
NVME_TOO_HOT = 2
SECTOR_BYTES = 512
HIGHEST_COUNT = (1 << 32) - 1
MOST_HOURS = 40 * 8766

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


def hours(given: Any) -> Optional[int]:
    """A time that a disk can have run for; some print rubbish such as 894169."""
    value = number(given)
    return value if value is not None and value <= MOST_HOURS else None


def most(size_bytes: Optional[int]) -> int:
    """The highest count of anything that a disk of this size can have: that of its sectors."""
    return min(size_bytes // SECTOR_BYTES, HIGHEST_COUNT) if size_bytes else HIGHEST_COUNT


def without_impossible(facts: Facts) -> Facts:
    """The facts of a SAS disk without counts above those of its sectors, which are named as such."""
    fields = ("grown_defects", "uncorrected_reads", "uncorrected_writes", "uncorrected_verifies")
    wrong = {field: getattr(facts, field) for field in fields if (getattr(facts, field) or 0) > most(facts.size_bytes)}
    said = tuple(f"{field.replace('_', ' ')}: {count}" for field, count in wrong.items())
    gone: Dict[str, Any] = dict.fromkeys(wrong)
    return facts._replace(implausible=facts.implausible + said, **gone)


# "Sector Sizes:     512 bytes logical, 4096 bytes physical"    "Sector Size:      512 bytes logical/physical"
PHYSICAL = pattern(r"(\d{1,6}) bytes (?:logical/)?physical")


def sector_bytes(words: str) -> Optional[int]:
    match = PHYSICAL.search(words)
    return number(match.group(1)) if match else None


def celsius(given: Any, likely: range = LIKELY_CELSIUS) -> Optional[int]:
    """A temperature, or None for a value that no disk has."""
    value = number(given)
    return value if value in likely else None


def percent(given: Any) -> Optional[int]:
    """A share, which may be above 100 (of NVMe up to 255, that and more)."""
    value = number(given)
    return value if value is not None and value <= 255 else None


def share(given: Any) -> Optional[int]:
    """A share that cannot be above 100."""
    value = percent(given)
    return value if value is not None and value <= 100 else None


def text(given: Any) -> str:
    """One short line of plain text; the dashes and stars of a hidden serial number are nothing."""
    if not isinstance(given, str):
        return ""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in given[:200]).split())[:80]
    return line if any(letter.isalnum() for letter in line) else ""


def maker(model: str) -> str:
    """Who made it, from the model's name; empty where the name does not say."""
    return next((name for begins, name in MAKERS if re.match(begins, model.upper())), "")
