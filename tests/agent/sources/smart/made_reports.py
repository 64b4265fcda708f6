"""smartctl reports for tests, hand-made from the documented formats: the same disks as JSON and as text."""

from __future__ import annotations

import copy
import json
from typing import Any, Dict, List, Mapping, Optional

from agent.host import Answer, Disk

REPORT = "-a -n standby -l scttempsts -l devstat"
ATTRIBUTE_NAMES = {
    5: ("Reallocated_Sector_Ct", True),
    9: ("Power_On_Hours", False),
    10: ("Spin_Retry_Count", True),
    184: ("End-to-End_Error", False),
    187: ("Reported_Uncorrect", False),
    188: ("Command_Timeout", False),
    190: ("Airflow_Temperature_Cel", False),
    194: ("Temperature_Celsius", False),
    197: ("Current_Pending_Sector", False),
    198: ("Offline_Uncorrectable", False),
    199: ("UDMA_CRC_Error_Count", False),
}
HEALTHY = {5: "0", 9: "41234", 10: "0", 187: "0", 188: "4 4 4", 194: "35 (Min/Max 20/48)", 197: "0", 198: "0", 199: "0"}


def attribute(number: int, raw: str, when_failed: str = "") -> Dict[str, Any]:
    name, prefail = ATTRIBUTE_NAMES[number]
    return {
        "id": number,
        "name": name,
        "value": 100,
        "worst": 100,
        "thresh": 10,
        "when_failed": when_failed,
        "flags": {"prefailure": prefail},
        "raw": {"string": raw},
    }


def ata(
    serial: str = "ZA1BC2DE", passed: Optional[bool] = True, exit_status: int = 0, **changes: Any
) -> Dict[str, Any]:
    """A SATA drive. changes: a5="9" sets a raw value, failed={5: "now"}, anything else a top-level key."""
    raw = {**HEALTHY, **{int(key[1:]): value for key, value in changes.items() if key[1:].isdigit()}}
    failed: Mapping[int, str] = changes.pop("failed", {})
    report: Dict[str, Any] = {
        "smartctl": {"version": [7, 3], "exit_status": exit_status},
        "device": {"name": "/dev/sdb", "type": "sat", "protocol": "ATA"},
        "model_name": "ST8000NM0055-1RM112",
        "serial_number": serial,
        "wwn": {"naa": 5, "oui": 3152, "id": 2712847316},
        "firmware_version": "SN04",
        "user_capacity": {"bytes": 8001563222016},
        "physical_block_size": 4096,
        "rotation_rate": 7200,
        "smart_support": {"available": True, "enabled": True},
        "smart_status": {} if passed is None else {"passed": passed},
        "temperature": {"current": 35, "op_limit_max": 60},
        "power_on_time": {"hours": 41234},
        "ata_smart_attributes": {"table": [attribute(key, raw[key], failed.get(key, "")) for key in sorted(raw)]},
        "ata_smart_error_log": {"summary": {"count": 2}},
        "ata_smart_self_test_log": {"standard": {"table": [self_test("Extended offline", "Completed without error")]}},
    }
    report.update({key: value for key, value in changes.items() if not key[1:].isdigit()})
    return report


def self_test(kind: str, outcome: str, hours: int = 41000) -> Dict[str, Any]:
    return {"type": {"string": kind}, "status": {"string": outcome}, "lifetime_hours": hours}


def sas(serial: str = "Z1Z0AAAA", passed: Optional[bool] = True, **changes: Any) -> Dict[str, Any]:
    counters = {"total_uncorrected_errors": 0, "total_errors_corrected": 91223}
    return {
        "smartctl": {"version": [7, 3], "exit_status": 0 if passed else 8},
        "device": {"name": "/dev/sdc", "type": "scsi", "protocol": "SCSI"},
        "scsi_vendor": "SEAGATE",
        "scsi_product": "ST4000NM0023",
        "scsi_revision": "0004",
        "scsi_model_name": "SEAGATE ST4000NM0023",
        "serial_number": serial,
        "logical_unit_id": "0x5000c5004d5c7f5b",
        "user_capacity": {"bytes": 4000787030016},
        "rotation_rate": 7200,
        "smart_support": {"available": True, "enabled": True},
        "smart_status": {} if passed is None else {"passed": passed},
        "temperature": {"current": 34, "drive_trip": 60},
        "power_on_time": {"hours": 28212},
        "scsi_grown_defect_list": 0,
        "scsi_error_counter_log": {kind: dict(counters) for kind in ("read", "write", "verify")},
        **changes,
    }


def nvme(serial: str = "S4GANX0K100001", bits: int = 0, **log: Any) -> Dict[str, Any]:
    return {
        "smartctl": {"version": [7, 3], "exit_status": 8 if bits else 0},
        "device": {"name": "/dev/nvme0", "type": "nvme", "protocol": "NVMe"},
        "model_name": "SAMSUNG MZQLB1T9HAJR-00007",
        "serial_number": serial,
        "firmware_version": "EDA5402Q",
        "nvme_total_capacity": 1920383410176,
        "smart_status": {"passed": not bits, "nvme": {"value": bits}},
        "temperature": {"current": 33},
        "power_on_time": {"hours": 17161},
        "nvme_smart_health_information_log": {
            "critical_warning": bits,
            "temperature": 33,
            "available_spare": 100,
            "available_spare_threshold": 10,
            "percentage_used": 3,
            "media_errors": 0,
            "num_err_log_entries": 7,
            "power_on_hours": 17161,
            **log,
        },
    }


ATA_TEXT = """\
smartctl 6.6 2017-11-05 r4594 [x86_64-linux-4.19.0-21-amd64] (local build)
Copyright (C) 2002-17, Bruce Allen, Christian Franke, www.smartmontools.org

=== START OF INFORMATION SECTION ===
Device Model:     ST8000NM0055-1RM112
Serial Number:    ZA1BC2DE
LU WWN Device Id: 5 000c50 0a1b2c3d4
Firmware Version: SN04
User Capacity:    8,001,563,222,016 bytes [8.00 TB]
Sector Sizes:     512 bytes logical, 4096 bytes physical
Rotation Rate:    7200 rpm
SMART support is: Available - device has SMART capability.
SMART support is: Enabled

=== START OF READ SMART DATA SECTION ===
SMART overall-health self-assessment test result: {health}

SMART Attributes Data Structure revision number: 10
Vendor Specific SMART Attributes with Thresholds:
ID# ATTRIBUTE_NAME          FLAG     VALUE WORST THRESH TYPE      UPDATED  WHEN_FAILED RAW_VALUE
{rows}

SMART Error Log Version: 1
ATA Error Count: 2

SMART Self-test log structure revision number 1
Num  Test_Description    Status                  Remaining  LifeTime(hours)  LBA_of_first_error
{tests}

SCT Status Version:                  3
Current Temperature:                    35 Celsius
Specified Max Operating Temperature:    60 Celsius

"""

SAS_TEXT = """\
smartctl 6.6 2017-11-05 r4594 [x86_64-linux-4.19.0-21-amd64] (local build)
Copyright (C) 2002-17, Bruce Allen, Christian Franke, www.smartmontools.org

=== START OF INFORMATION SECTION ===
Vendor:               SEAGATE
Product:              ST4000NM0023
Revision:             0004
User Capacity:        4,000,787,030,016 bytes [4.00 TB]
Logical block size:   512 bytes
Rotation Rate:        7200 rpm
Logical Unit id:      0x5000c5004d5c7f5b
Serial number:        Z1Z0AAAA
Device type:          disk
Transport protocol:   SAS (SPL-3)
SMART support is:     Available - device has SMART capability.
SMART support is:     Enabled
Temperature Warning:  Enabled

=== START OF READ SMART DATA SECTION ===
SMART Health Status: {health}

Current Drive Temperature:     34 C
Drive Trip Temperature:        60 C

Elements in grown defect list: {defects}

Error counter log:
           Errors Corrected by           Total   Correction     Gigabytes    Total
               ECC          rereads/    errors   algorithm      processed    uncorrected
           fast | delayed   rewrites  corrected  invocations   [10^9 bytes]  errors
read:   91223        0         0     91223      91223     114317.470           0
write:         0        0         0     91223          0      37823.553           {uncorrected}
verify:    91223        0         0     91223      91223      17317.470           0

Non-medium error count:        5

Accumulated power on time, hours:minutes 28212:36
"""

NVME_TEXT = """\
smartctl 6.6 2017-11-05 r4594 [x86_64-linux-4.19.0-21-amd64] (local build)
Copyright (C) 2002-17, Bruce Allen, Christian Franke, www.smartmontools.org

=== START OF INFORMATION SECTION ===
Model Number:                       SAMSUNG MZQLB1T9HAJR-00007
Serial Number:                      S4GANX0K100001
Firmware Version:                   EDA5402Q
PCI Vendor/Subsystem ID:            0x144d
Total NVM Capacity:                 1,920,383,410,176 [1.92 TB]
Unallocated NVM Capacity:           0
Number of Namespaces:               1

=== START OF SMART DATA SECTION ===
SMART overall-health self-assessment test result: {health}

SMART/Health Information (NVMe Log 0x02, NSID 0xffffffff)
Critical Warning:                   0x{bits:02x}
Temperature:                        33 Celsius
Available Spare:                    100%
Available Spare Threshold:          10%
Percentage Used:                    3%
Data Units Read:                    20,406,369 [10.4 TB]
Power Cycles:                       9
Power On Hours:                     17,161
Media and Data Integrity Errors:    0
Error Information Log Entries:      7
Warning  Comp. Temperature Time:    0
Critical Comp. Temperature Time:    0

"""

LONG_FAILED = {"": "-", "now": "FAILING_NOW", "past": "In_the_past"}
SHORT_FAILED = {"": "-", "now": "NOW", "past": "Past"}


def ata_text(report: Mapping[str, Any], health: str = "PASSED", short: bool = False) -> str:
    """The same drive as `smartctl -a` prints it, or with the shorter table of `-x`."""
    rows: List[str] = []
    for row in report["ata_smart_attributes"]["table"]:
        start = f"{row['id']:3} {row['name']:23} "
        numbers = f"{row['value']:03}   {row['worst']:03}   {row['thresh']:03}    "
        raw, prefail = row["raw"]["string"], row["flags"]["prefailure"]
        if short:
            flags = "PO--CK" if prefail else "-O--CK"
            rows.append(f"{start}{flags}   {numbers}{SHORT_FAILED[row['when_failed']]}    {raw}")
        else:
            flags = "0x0033   " if prefail else "0x0032   "
            kind = "Pre-fail  Always   " if prefail else "Old_age   Always   "
            rows.append(f"{start}{flags}{numbers}{kind}    {LONG_FAILED[row['when_failed']]}       {raw}")
    tests = [
        f"#{place:2}  {test['type']['string']:18}  {test['status']['string']:22}    00%  {test['lifetime_hours']:6}   -"
        for place, test in enumerate(report["ata_smart_self_test_log"]["standard"]["table"], 1)
    ]
    text = ATA_TEXT.format(health=health, rows="\n".join(rows), tests="\n".join(tests))
    if short:
        text = text.replace(
            "SMART Self-test log structure revision number 1", "SMART Extended Self-test Log Version: 1 (1 sectors)"
        ).replace("ATA Error Count: 2", "Device Error Count: 2")
    return text


def sas_text(health: str = "OK", defects: int = 0, uncorrected: int = 0) -> str:
    return SAS_TEXT.format(health=health, defects=defects, uncorrected=uncorrected)


def nvme_text(bits: int = 0) -> str:
    return NVME_TEXT.format(health="FAILED!" if bits else "PASSED", bits=bits)


def printed(report: Mapping[str, Any]) -> Answer:
    """What `smartctl --json` answers."""
    return Answer(int(report["smartctl"].get("exit_status", 0)), json.dumps(report), "")


def scan(*devices: str) -> Dict[str, Answer]:
    """The scan's command and answer; a device is "/dev/sda sat" or "/dev/bus/0 megaraid,8"."""
    rows = [dict(zip(("name", "type"), device.split())) for device in devices]
    return {"smartctl --json --scan": Answer(0, json.dumps({"smartctl": {"exit_status": 0}, "devices": rows}), "")}


def asked(path: str, kind: str = "", as_json: bool = True) -> str:
    """The command that reads one disk."""
    return f"smartctl {'--json ' if as_json else ''}{REPORT} {f'-d {kind} ' if kind else ''}{path}"


def disk(name: str, serial: str = "", **changes: Any) -> Disk:
    known: Dict[str, Any] = {
        "kind": "physical",
        "model": "ST8000NM0055-1RM112",
        "wwn": "",
        "size_bytes": 8001563222016,
        "rotational": True,
        "bus": "ata",
        "slot": "",
        "dev": "8:0",
    }
    return Disk(name=name, serial=serial, **{**known, **changes})


def changed(report: Mapping[str, Any], **changes: Any) -> Dict[str, Any]:
    """A copy with other top-level keys."""
    return {**copy.deepcopy(dict(report)), **changes}
