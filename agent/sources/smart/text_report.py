"""smartctl older than 7.0 has no JSON: its text through pySMART, as the same facts that the JSON reader gives.

pySMART starts up to nine smartctl for one disk, without a deadline, and drops the exit status. Here it is handed
one report that `Host.run` fetched (deadline and exit status are kept) and everything it asks is answered from it.
What pySMART does not read (the worldwide name, trip points, the statistics log) is read from the same text.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, Optional, Tuple

from agent.host import Answer
from agent.lazy_regex import pattern
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
    sector_bytes,
    share,
    text,
    without_impossible,
)
from agent.sources.smart.self_tests import SelfTest, with_last_status_line, with_self_tests

FLAGS = "POSRCK"  # bit 0 is P

# "  5 Reallocated_Sector_Ct   PO--CK   100   100   010    -    0"  (smartctl -x; a `+` behind the flags: more of them)
SHORT_ROW = pattern(r"^\s*(\d+) (\S+)\s+([A-Z-]{6})\+?\s+(\d+|---)\s+(\d+|---)\s+(\d+|---)\s+(\S+)\s+(\S.*)$")
# "  5 Reallocated_Sector_Ct   0x0033   ---   ---   010    Pre-fail  Always       -       0"  (smartctl -a)
LONG_ROW = pattern(r"^(\s*\d+ \S+\s+0x[0-9a-f]{4}\s+)(\d+|---)(\s+)(\d+|---)(\s+\S.*)$")
# "0x05  0x058  1              60  ---  Specified Maximum Operating Temperature"
STATISTIC = pattern(r"^0x[0-9a-f]{2}\s+0x[0-9a-f]{3}\s+\d\s+(\d+)\s+\S+\s+(\S.*)$")
# "SMART overall-health self-assessment test result: PASSED"   "SMART Health Status: OK"
HEALTH = pattern(r"^SMART (?:overall-health self-assessment test result|Health Status): *(.*)$")


def read(answer: Answer) -> Facts:
    """The facts in a report that smartctl printed as text; BadReport where it is none or is cut short."""
    if answer.out and not answer.out.endswith("\n"):
        raise BadReport("smartctl's output is truncated")
    lines = as_minus_a(answer.out.splitlines())
    fields = _fields(lines)
    kind = _kind(lines, fields)
    if not kind:
        raise BadReport("smartctl printed no report")
    device = _device(lines, kind, answer.code)
    # Of ATA and NVMe drives smartctl always ends with an empty line; its text may break off at the end of a line too.
    whole = kind == "scsi" or answer.out.endswith("\n\n")
    facts = _common(lines, fields, device)._replace(kind=kind, exit_status=answer.code, whole=whole)
    facts = {"ata": _ata, "scsi": _scsi, "nvme": _nvme}[kind](facts, lines, fields, device)
    tests = [SelfTest(text(test.type), text(test.status), number(test.hours)) for test in device.tests]
    facts = with_self_tests(facts, tests) if tests or _has_test_log(lines) else facts
    return facts if tests or kind != "ata" else with_last_status_line(facts, lines)


def as_minus_a(lines: List[str]) -> List[str]:
    """The report in the shape of `smartctl -a`, which pySMART knows: -x has another table and another log title."""
    shaped = []
    for line in lines[:20_000]:
        line = line[:400].replace("SMART Extended Self-test Log Version:", "SMART Self-test log structure, version")
        short, long = SHORT_ROW.match(line), LONG_ROW.match(line)
        if short:
            line = _long_row(*short.groups())
        elif long:
            line = long.expand(r"\1{}\3{}\5").format(*(word.replace("-", "0") for word in long.group(2, 4)))
        shaped.append(line)
    return shaped


def _long_row(row_id: str, name: str, flags: str, value: str, worst: str, threshold: str, fail: str, raw: str) -> str:
    bits = sum(1 << place for place, letter in enumerate(FLAGS) if letter in flags)
    failed = {"NOW": "FAILING_NOW", "Past": "In_the_past"}.get(fail, "-")
    kind = "Pre-fail" if bits & 1 else "Old_age"
    value, worst = value.replace("-", "0"), worst.replace("-", "0")
    return f"{row_id} {name} 0x{bits:04x} {value} {worst} {threshold} {kind} Always {failed} {raw}"


def _fields(lines: List[str]) -> Dict[str, str]:
    """The lines `Name:   value`, the first of each name."""
    found: Dict[str, str] = {}
    for line in lines:
        name, separator, value = line.partition(":")
        if separator and not line.startswith((" ", "\t", "#")):
            found.setdefault(" ".join(name.split()), value.strip())
    return found


def _kind(lines: List[str], fields: Dict[str, str]) -> str:
    if "Number of Namespaces" in fields or any(line.startswith("SMART/Health Information (NVMe") for line in lines):
        return "nvme"
    if "ATA Version is" in fields or "Device Model" in fields or any("Specific SMART Attr" in line for line in lines):
        return "ata"
    if "Product" in fields or "Vendor" in fields or "SMART Health Status" in fields:
        return "scsi"
    return ""


def _device(lines: List[str], kind: str, code: int) -> Any:
    """pySMART's reading of the report."""
    from pySMART import Device
    from pySMART.smartctl import Smartctl

    class OneReport(Smartctl):  # type: ignore[misc]
        """Answers every question of pySMART from the one report; starts nothing, and keeps no options."""

        def all(self, disk: str, interface: Optional[str] = None) -> List[str]:
            return list(lines)

        def info(self, disk: str, interface: Optional[str] = None) -> List[str]:
            return list(lines)

        def generic_call(self, params: List[str], pass_options: bool = False) -> Tuple[List[str], int]:
            """What a disk answers that has no such log: `-l sataphy`, `-l sasphy`, `-l background`."""
            return [], 4

    try:
        return Device("/dev/reported", interface=kind, smartctl=OneReport(smartctl_path="smartctl", options=[]))
    except StopIteration:  # it ran out of lines
        raise BadReport("smartctl's output is truncated") from None
    except Exception as error:  # it guards few of its conversions
        raise BadReport(f"pySMART cannot parse smartctl's output: {type(error).__name__}: {error}"[:160]) from error


def _common(lines: List[str], fields: Dict[str, str], device: Any) -> Facts:
    health = next((match.group(1).strip() for match in map(HEALTH.match, lines) if match), "")
    named = next(filter(None, (text(fields.get(name)) for name in ("Product", "Device Model", "Model Number"))), "")
    model = named or text(device.model)  # pySMART takes Dell's "Add. Product Id" for the model
    wwn = fields.get("LU WWN Device Id", "") or fields.get("Logical Unit id", "").lower()
    sizes = (fields.get(name) for name in ("User Capacity", "Namespace 1 Size/Capacity", "Total NVM Capacity"))
    support = " ".join(line for line in lines if line.startswith("SMART support is:"))
    return Facts(
        vendor=text(fields.get("Vendor")) or maker(model),
        model=model,
        serial=text(device.serial),
        wwn=_wwn(wwn),
        firmware=text(device.firmware),
        size_bytes=next(filter(None, map(number, sizes)), None),
        physical_sector_bytes=sector_bytes(fields.get("Sector Sizes") or fields.get("Sector Size") or ""),
        rotation_rpm=0 if device.is_ssd else number(device.rotation_rate),
        smart_available=False if "Unavailable" in support else True if "Available" in support else None,
        smart_enabled=False if "Disabled" in support else True if "Enabled" in support else None,
        passed=True if health in ("PASSED", "OK") else None if not health or "UNKNOWN" in health else False,
    )


def _wwn(words: str) -> str:
    """`5 000cca 22dc5b0f3` or `0x5000c5004d5c7f5b`; a hidden one is nothing."""
    word = re.sub(r"^0x|\s", "", words)
    return f"0x{word}" if re.fullmatch(r"[0-9a-f]{16}", word) else ""


def _has_test_log(lines: List[str]) -> bool:
    return any("Self-test log" in line or "No self-tests have been logged" in line for line in lines)


def _ata(facts: Facts, lines: List[str], fields: Dict[str, str], device: Any) -> Facts:
    statistics = {match.group(2): match.group(1) for match in map(STATISTIC.match, lines) if match}
    rows = [_attribute(row) for row in device.attributes if row is not None]
    raw_hours = next((row.raw for row in rows if row.number == 9), None)
    count = fields.get("ATA Error Count") or fields.get("Device Error Count")
    limit = statistics.get("Specified Maximum Operating Temperature")
    limits = [limit, fields.get("Specified Max Operating Temperature")]
    trip = fields.get("Min/Max Temperature Limit", "").rpartition("/")[2].strip()
    now = [celsius(fields.get("Current Temperature")), *(_degrees(rows, number) for number in (194, 190))]
    facts = facts._replace(
        temperature_celsius=next((degrees for degrees in now if degrees is not None), None),
        limit_celsius=next(filter(None, (celsius(limit, LIKELY_LIMIT_CELSIUS) for limit in limits)), None),
        trip_celsius=celsius(trip, LIKELY_LIMIT_CELSIUS),
        power_on_hours=hours(raw_hours),
        wear_percent=ata_wear(facts.model, statistics.get("Percentage Used Endurance Indicator")),
        error_log_entries=number(count) if count else 0 if "No Errors Logged" in lines else None,
    )
    return with_attributes(facts, rows)


def _attribute(row: Any) -> Attribute:
    """One of pySMART's attributes; its own numbers for the raw value take the first word of three."""
    failed = {"FAILING_NOW": "now", "In_the_past": "past"}.get(row.when_failed, "")
    return Attribute(
        row.num, text(row.name), number(row.value), number(row._thresh), failed, bool(row.flags & 1), str(row.raw)
    )


def _degrees(rows: List[Attribute], wanted: int) -> Optional[int]:
    return next((celsius(row.raw) for row in rows if row.number == wanted), None)


def _scsi(facts: Facts, lines: List[str], fields: Dict[str, str], device: Any) -> Facts:
    seen = device.if_attributes.diagnostics
    said = fields.get("SMART Health Status", "")
    facts = facts._replace(
        status_text="" if facts.passed else text(said),
        too_hot="TEMPERATURE" in said.upper(),
        temperature_celsius=celsius(fields.get("Current Drive Temperature")),
        trip_celsius=celsius(fields.get("Drive Trip Temperature"), LIKELY_LIMIT_CELSIUS),
        power_on_hours=hours(seen.Power_On_Hours),
        grown_defects=number(seen.Reallocated_Sector_Ct),
        uncorrected_reads=number(seen._Uncorrected_Reads),
        uncorrected_writes=number(seen._Uncorrected_Writes),
        uncorrected_verifies=number(seen._Uncorrected_Verifies),
        unread=_unread(lines, fields),
        wear_percent=None if facts.rotation_rpm else percent(fields.get("Percentage used endurance indicator")),
    )
    return without_impossible(facts)


# "read:   4183120        2         0   4183122   4183122      70291.229           0"
ERROR_COUNTS = pattern(r"^(read|write|verify): .*?(\S+)\s*$")


def _unread(lines: List[str], fields: Dict[str, str]) -> Tuple[str, ...]:
    """Those counters of a SAS disk that are there and hold no number."""
    counts = {match.group(1): match.group(2) for match in map(ERROR_COUNTS.match, lines) if match}
    if "Elements in grown defect list" in fields:
        counts["grown defects"] = fields["Elements in grown defect list"]
    return tuple(name for name, count in counts.items() if number(count) is None)


def _nvme(facts: Facts, lines: List[str], fields: Dict[str, str], device: Any) -> Facts:
    seen = device.if_attributes
    if not hasattr(seen, "criticalWarning"):
        raise BadReport("smartctl's output describes two kinds of drive")
    return facts._replace(
        smart_available=None,
        smart_enabled=None,
        nvme_warning_bits=number(seen.criticalWarning),
        too_hot=bool((seen.criticalWarning or 0) & NVME_TOO_HOT),
        temperature_celsius=celsius(seen.temperature),
        limit_celsius=celsius(fields.get("Warning Comp. Temp. Threshold"), LIKELY_LIMIT_CELSIUS),
        trip_celsius=celsius(fields.get("Critical Comp. Temp. Threshold"), LIKELY_LIMIT_CELSIUS),
        power_on_hours=hours(seen.powerOnHours),
        spare_percent=share(seen.availableSpare),
        spare_threshold_percent=share(seen.availableSpareThreshold),
        wear_percent=percent(seen.percentageUsed),
        media_errors=number(seen.integrityErrors),
        error_log_entries=number(seen.errorEntries),
        rotation_rpm=0,
    )
