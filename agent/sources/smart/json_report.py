"""`smartctl --json` (7.0 and later) as facts. Every key may be missing or hold rubbish."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Optional, Tuple

from agent.sources.smart.attributes import Attribute, ata_wear, with_attributes
from agent.sources.smart.report import (
    LIKELY_LIMIT_CELSIUS,
    NVME_TOO_HOT,
    BadReport,
    Facts,
    celsius,
    hours,
    maker,
    number,
    percent,
    share,
    text,
    without_impossible,
)
from agent.sources.smart.self_tests import FAILED_TEST, SelfTest, with_last_status, with_self_tests

# The key that tells what kind of disk it is, where the report does not say.
KINDS = {"ata": "ata_smart_attributes", "scsi": "scsi_vendor", "nvme": "nvme_smart_health_information_log"}

ATA_COUNTERS = (("ata_smart_error_log", "extended", "count"), ("ata_smart_error_log", "summary", "count"))
SCSI_COUNTERS = (
    ("scsi_grown_defect_list",),
    *(("scsi_error_counter_log", kind, "total_uncorrected_errors") for kind in ("read", "write", "verify")),
)


def parse_json(printed: str) -> Facts:
    """The facts in what `smartctl --json` printed; BadReport where that is no report. Every key may be missing."""
    start = printed.find("{")
    try:
        tree, _end = json.JSONDecoder().raw_decode(printed, max(start, 0))
    except (ValueError, RecursionError):
        raise BadReport(
            "smartctl printed no JSON" if start < 0 else "smartctl's JSON is truncated or damaged"
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


def _unread(tree: Any, *paths: Tuple[str, ...]) -> Tuple[str, ...]:
    """Those of these counters that are there and hold no number."""
    given = {" ".join(path): _at(tree, *path) for path in paths}
    return tuple(name for name, value in given.items() if value is not None and number(value) is None)


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
        physical_sector_bytes=number(_at(tree, "physical_block_size")),
        rotation_rpm=number(_at(tree, "rotation_rate")),
        temperature_celsius=celsius(_at(tree, "temperature", "current")),
        limit_celsius=limit,
        trip_celsius=_first(*trip),
        power_on_hours=hours(_at(tree, "power_on_time", "hours")),
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
        wear_percent=ata_wear(facts.model, facts.wear_percent, statistics.get("Percentage Used Endurance Indicator")),
        error_log_entries=_first(
            number(_at(tree, "ata_smart_error_log", "extended", "count")),
            number(_at(tree, "ata_smart_error_log", "summary", "count")),
        ),
        unread=_unread(tree, *ATA_COUNTERS),
    )
    facts = with_attributes(facts, [_attribute(row) for row in _rows(tree, "ata_smart_attributes", "table")])
    for log in ("extended", "standard"):
        tests = _rows(tree, "ata_smart_self_test_log", log, "table")
        if tests:
            return with_self_tests(facts, [_ata_test(row) for row in tests])
    known = isinstance(_at(tree, "ata_smart_self_test_log"), dict)
    facts = with_self_tests(facts, []) if known else facts
    last = _at(tree, "ata_smart_data", "self_test", "status")
    return with_last_status(facts, number(_at(last, "value")), _flag(_at(last, "passed")), text(_at(last, "string")))


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
        unread=_unread(tree, *SCSI_COUNTERS),
        wear_percent=None if facts.rotation_rpm else facts.wear_percent,
    )
    facts = without_impossible(facts)
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
        power_on_hours=_first(facts.power_on_hours, hours(_at(log, "power_on_hours"))),
        spare_percent=share(_at(log, "available_spare")),
        spare_threshold_percent=share(_at(log, "available_spare_threshold")),
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
