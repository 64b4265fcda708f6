"""What one smartctl report says of one disk: plain numbers, whichever reader read them.

`parse_json` reads `smartctl --json` (7.0 and later); agent/sources/pysmart.py reads the text of older ones.
"""

from __future__ import annotations

import json
import re
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from agent.host import CannotTell


class Facts(NamedTuple):
    """One disk. None: the disk does not say. Growth is over the last 7 days, None where there is no earlier run.

    path: what smartctl was asked, such as /dev/sdb or "/dev/bus/0 megaraid,3". kind: ata, scsi, nvme or empty.
    limit_celsius: the highest temperature it is made to work at; trip_celsius: where it calls itself too hot.
    failing_now, failing_usage, failed_before: attributes at or below the maker's threshold: those that foretell
    failure, those that tell of wear, and those that were there once and recovered.
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
KINDS = {"ata": "ata_smart_attributes", "scsi": "scsi_vendor", "nvme": "nvme_smart_health_information_log"}

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
    return next((name for pattern, name in MAKERS if re.match(pattern, model.upper())), "")


def with_attributes(facts: Facts, rows: Sequence[Attribute]) -> Facts:
    """The ATA table as facts."""
    counted: Dict[str, Any] = {}
    for row in rows:
        field, word = COUNTERS.get(row.number, ("", ""))
        if field and (not row.name or word in row.name.lower()):
            counted[field] = unpacked(row.raw) if row.number == 188 else number(row.raw)
    hot = [row for row in rows if "temperature" in row.name.lower()]
    others = [row for row in rows if row not in hot]
    return facts._replace(
        **counted,
        failing_now=tuple(_label(row) for row in others if row.failed == "now" and row.prefail),
        failing_usage=tuple(_label(row) for row in others if row.failed == "now" and not row.prefail),
        failed_before=tuple(_label(row) for row in others if row.failed == "past"),
        too_hot=any(row.failed == "now" for row in hot),
        was_too_hot=any(row.failed == "past" for row in hot),
        wear_percent=_wear(rows) if facts.wear_percent is None else facts.wear_percent,
        attributes=len(rows),
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
FAILED_TEST = re.compile(r"fail|fatal|damage|unknown error", re.IGNORECASE)


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


class BadReport(CannotTell):
    """What smartctl printed is not a report on a disk."""


def parse_json(printed: str) -> Facts:
    """The facts in what `smartctl --json` printed; BadReport where that is no report. Every key may be missing."""
    start = printed.find("{")
    try:
        tree, _end = json.JSONDecoder().raw_decode(printed, max(start, 0))
    except (ValueError, RecursionError):
        raise BadReport(
            "smartctl printed no JSON" if start < 0 else "smartctl's JSON is cut short or damaged"
        ) from None
    if not isinstance(_at(tree, "smartctl"), dict):
        raise BadReport("smartctl's JSON is not a report")
    facts = _common(tree)
    reader = {"ata": _ata, "scsi": _scsi, "nvme": _nvme}.get(facts.kind)
    return reader(tree, facts) if reader else facts


def _at(tree: Any, *keys: str) -> Any:
    """The value at this path, None where the path ends early."""
    for key in keys:
        tree = tree.get(key) if isinstance(tree, dict) else None
    return tree


def _rows(tree: Any, *keys: str) -> List[Any]:
    found = _at(tree, *keys)
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []


def _flag(given: Any) -> Optional[bool]:
    return given if isinstance(given, bool) else None


def _first(*values: Optional[int]) -> Optional[int]:
    return next((value for value in values if value is not None), None)


def _common(tree: Any) -> Facts:
    kind = text(_at(tree, "device", "protocol")).lower()
    if kind not in KINDS:
        kind = next((name for name, key in KINDS.items() if key in tree), "")
    names = ("scsi_product", "model_name", "scsi_model_name")
    model = next(filter(None, (text(_at(tree, name)) for name in names)), "")
    limit = _first(
        celsius(_at(tree, "temperature", "op_limit_max"), LIKELY_LIMIT_CELSIUS),
        celsius(_at(tree, "nvme_composite_temperature_threshold", "warning"), LIKELY_LIMIT_CELSIUS),
    )
    trip = [
        celsius(_at(tree, "temperature", "limit_max"), LIKELY_LIMIT_CELSIUS),
        celsius(_at(tree, "temperature", "critical_limit_max"), LIKELY_LIMIT_CELSIUS),
        celsius(_at(tree, "temperature", "drive_trip"), LIKELY_LIMIT_CELSIUS),
        celsius(_at(tree, "nvme_composite_temperature_threshold", "critical"), LIKELY_LIMIT_CELSIUS),
    ]
    return Facts(
        kind=kind,
        vendor=text(_at(tree, "scsi_vendor")) or maker(model),
        model=model,
        serial=text(_at(tree, "serial_number")),
        wwn=_wwn(tree),
        firmware=text(_at(tree, "firmware_version")) or text(_at(tree, "scsi_revision")),
        size_bytes=_first(number(_at(tree, "user_capacity", "bytes")), number(_at(tree, "nvme_total_capacity"))),
        rotation_rpm=number(_at(tree, "rotation_rate")),
        temperature_celsius=celsius(_at(tree, "temperature", "current")),
        limit_celsius=limit,
        trip_celsius=_first(*trip),
        power_on_hours=number(_at(tree, "power_on_time", "hours")),
        smart_available=_flag(_at(tree, "smart_support", "available")),
        smart_enabled=_flag(_at(tree, "smart_support", "enabled")),
        passed=_flag(_at(tree, "smart_status", "passed")),
        wear_percent=_first(
            percent(_at(tree, "endurance_used", "current_percent")),
            percent(_at(tree, "scsi_percentage_used_endurance_indicator")),
        ),
        exit_status=number(_at(tree, "smartctl", "exit_status")) or 0,
        messages=tuple(filter(None, (text(row.get("string")) for row in _rows(tree, "smartctl", "messages")[:5]))),
    )


def _wwn(tree: Any) -> str:
    naa, oui, own = (number(_at(tree, "wwn", part)) for part in ("naa", "oui", "id"))
    if naa is not None and oui is not None and own is not None:
        return f"0x{naa:x}{oui:06x}{own:09x}"
    return text(_at(tree, "logical_unit_id")).lower()


def _ata(tree: Any, facts: Facts) -> Facts:
    statistics = {
        text(row.get("name")): row.get("value")
        for page in _rows(tree, "ata_device_statistics", "pages")
        for row in _rows(page, "table")
        if _at(row, "flags", "valid") is not False
    }
    limit = celsius(statistics.get("Specified Maximum Operating Temperature"), LIKELY_LIMIT_CELSIUS)
    facts = facts._replace(
        limit_celsius=_first(limit, facts.limit_celsius),
        wear_percent=_first(facts.wear_percent, percent(statistics.get("Percentage Used Endurance Indicator"))),
        error_log_entries=_first(
            number(_at(tree, "ata_smart_error_log", "extended", "count")),
            number(_at(tree, "ata_smart_error_log", "summary", "count")),
        ),
    )
    facts = with_attributes(facts, [_attribute(row) for row in _rows(tree, "ata_smart_attributes", "table")])
    for log in ("extended", "standard"):
        tests = _rows(tree, "ata_smart_self_test_log", log, "table")
        if tests:
            return with_self_tests(facts, [_ata_test(row) for row in tests])
    known = isinstance(_at(tree, "ata_smart_self_test_log"), dict)
    return with_self_tests(facts, []) if known else facts


def _attribute(row: Dict[str, Any]) -> Attribute:
    raw = _at(row, "raw", "string")
    failed = text(row.get("when_failed")).lower()
    return Attribute(
        number(row.get("id")) or 0,
        text(row.get("name")),
        number(row.get("value")),
        number(row.get("thresh")),
        "now" if "now" in failed else "past" if "past" in failed else "",
        _at(row, "flags", "prefailure") is True,
        raw if isinstance(raw, str) and raw.strip() else str(number(_at(row, "raw", "value"))),
    )


def _ata_test(row: Dict[str, Any]) -> SelfTest:
    outcome = text(_at(row, "status", "string"))
    if _at(row, "status", "passed") is False and not FAILED_TEST.search(outcome):
        outcome = f"failed: {outcome}"
    return SelfTest(text(_at(row, "type", "string")), outcome, number(row.get("lifetime_hours")))


def _scsi(tree: Any, facts: Facts) -> Facts:
    def uncorrected(kind: str) -> Optional[int]:
        return number(_at(tree, "scsi_error_counter_log", kind, "total_uncorrected_errors"))

    said = text(_at(tree, "smart_status", "scsi", "ie_string"))
    facts = facts._replace(
        grown_defects=number(_at(tree, "scsi_grown_defect_list")),
        uncorrected_reads=uncorrected("read"),
        uncorrected_writes=uncorrected("write"),
        uncorrected_verifies=uncorrected("verify"),
        status_text=said,
        too_hot="TEMPERATURE" in said.upper(),
    )
    tests = [
        tree[key] for key in (f"scsi_self_test_{index}" for index in range(20)) if isinstance(_at(tree, key), dict)
    ]
    rows = [
        SelfTest(
            text(_at(row, "code", "string")),
            text(_at(row, "result", "string")),
            number(_at(row, "power_on_time", "hours")),
        )
        for row in tests
    ]
    return with_self_tests(facts, rows) if rows else facts


def _nvme(tree: Any, facts: Facts) -> Facts:
    log = _at(tree, "nvme_smart_health_information_log")
    bits = _first(number(_at(log, "critical_warning")), number(_at(tree, "smart_status", "nvme", "value")))
    facts = facts._replace(
        nvme_warning_bits=bits,
        too_hot=bool((bits or 0) & NVME_TOO_HOT),
        temperature_celsius=_first(facts.temperature_celsius, celsius(_at(log, "temperature"))),
        power_on_hours=_first(facts.power_on_hours, number(_at(log, "power_on_hours"))),
        spare_percent=percent(_at(log, "available_spare")),
        spare_threshold_percent=percent(_at(log, "available_spare_threshold")),
        wear_percent=_first(percent(_at(log, "percentage_used")), facts.wear_percent),
        media_errors=number(_at(log, "media_errors")),
        error_log_entries=number(_at(log, "num_err_log_entries")),
        rotation_rpm=0,
    )
    rows = [
        SelfTest(
            text(_at(row, "self_test_code", "string")),
            text(_at(row, "self_test_result", "string")),
            number(row.get("power_on_hours")),
        )
        for row in _rows(tree, "nvme_self_test_log", "table")
    ]
    return with_self_tests(facts, rows) if rows else facts
