"""What one smartctl report says of one disk: plain numbers, whichever reader read them.

`parse_json` reads `smartctl --json` (7.0 and later); agent/sources/pysmart.py reads the text of older ones.
"""

from __future__ import annotations

from typing import NamedTuple, Optional, Tuple


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
    passed: Optional[bool] = None
    status_text: str = ""
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
    in_raid: bool = False
    vanished: str = ""
