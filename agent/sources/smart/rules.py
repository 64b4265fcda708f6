"""When a disk's own numbers mean trouble: the rules that the checks smart and raid share, so that they agree.

What counters of bad sectors predict is in smart/prediction.py. Growth is over 7 days unless another period is named.
"""

from __future__ import annotations

from typing import Any, Iterator, List, Mapping, Optional, Tuple

from agent.sources.smart import prediction as smart_prediction
from agent.sources.smart.prediction import above, counted
from agent.sources.smart.report import NVME_TOO_HOT, Facts
from agent.status import CRITICAL, UNKNOWN, Verdict, combine, critical, unknown, warning

# A number above the limit triggers; of wear and spare the limit itself does.
LIMITS: Mapping[str, Any] = {
    **smart_prediction.LIMITS,
    "crc_growth_warning": 0,
    "error_log_growth_warning": 0,
    "grown_defects_warning": 0,
    "grown_defects_growth_critical": 0,
    "uncorrected_warning": 0,
    "uncorrected_growth_critical": 0,
    "media_errors_warning": 0,
    "media_errors_growth_critical": 0,
    "wear_warning": 90,
    "wear_critical": 100,
    "spare_warning": 20,
    "self_tests_failed_critical": 0,
    "too_hot_days_warning": 7,
}

JBOD, RAID, HOT = "replace-jbod-disk", "replace-raid10-disk", "overheating"

# Bits of smartctl's exit status that speak of the disk, see smartctl(8).
PARTIAL, DISK_FAILING, PREFAIL_NOW, FAILED_BEFORE = 4, 8, 16, 32

# Bits of the critical warning in NVMe's health log; its temperature bit is judged with the temperatures.
NVME_BITS = (
    (1, "spare below its threshold"),
    (4, "reliability degraded"),
    (8, "media is read-only"),
    (16, "backup of its volatile memory failed"),
    (32, "persistent memory region unreliable"),
    (0xC0, "a bit that is not yet defined"),
)

# What every NVMe health log holds.
NVME_MUST_TELL = ("nvme_warning_bits", "spare_percent", "wear_percent", "media_errors")

Limits = Mapping[str, Any]


def verdicts(facts: Facts, limits: Limits) -> List[Verdict]:
    """Everything that is wrong with this disk; empty for a well one."""
    playbook = RAID if facts.in_raid else JBOD
    of_the_disk = (_assessment, _attributes, smart_prediction.verdicts, _errors, _wear, _logs)
    found = [verdict._replace(playbook=playbook) for rule in of_the_disk for verdict in rule(facts, limits)]
    found += [*_cable(facts, limits), *_temperature(facts, limits)]
    if not any(verdict.status == CRITICAL for verdict in found):
        found.extend(_untold(facts))
    return found


def trouble(facts: Facts, limits: Limits = LIMITS) -> str:
    """What is wrong with this disk in a few words, worst first; empty when it is well, or when it does not tell."""
    known = [verdict for verdict in verdicts(facts, limits) if verdict.status != UNKNOWN]
    return combine(known, healthy="").reason


def _untold(facts: Facts) -> Iterator[Verdict]:
    """What must be known before a disk may be called well."""
    if facts.smart_enabled is False:
        yield unknown("SMART is disabled; enable it with smartctl --smart=on")
    elif facts.passed is None:
        yield unknown("no overall SMART status reported")
    elif facts.kind == "ata" and not facts.attributes:
        yield unknown("its SMART attributes cannot be read")
    elif facts.kind == "nvme" and None in [getattr(facts, name) for name in NVME_MUST_TELL]:
        yield unknown("its health log cannot be read")
    elif facts.unread:
        yield unknown(f"unreadable counters: {_listed(facts.unread)}")
    elif not facts.whole:
        yield unknown("smartctl's report is truncated")


def _assessment(facts: Facts, limits: Limits) -> Iterator[Verdict]:
    bits = facts.nvme_warning_bits or 0
    named = [words for bit, words in NVME_BITS if bits & bit]
    # Only too hot: then that is the finding, and not a failing disk.
    failing_otherwise = not (facts.too_hot and bits in (0, NVME_TOO_HOT))
    if named:
        yield critical(f"NVMe critical warning 0x{bits:02x}: {', '.join(named)}")
    elif facts.passed is False and failing_otherwise:
        said = [facts.status_text, evidence(facts)]
        yield critical(": ".join(["failed its SMART self-assessment", ", ".join(filter(None, said))]).rstrip(": "))
    elif facts.exit_status & DISK_FAILING and failing_otherwise:
        yield critical("smartctl reports DISK FAILING (bit 3 of its exit status)")


# What a failing disk has counted: all of it belongs into its row, also what is within the limits.
EVIDENCE = (
    ("reallocated_sectors", "reallocated sectors"),
    ("pending_sectors", "pending sectors"),
    ("offline_uncorrectable", "unreadable sectors"),
    ("reported_uncorrectable", "uncorrectable errors"),
    ("grown_defects", "grown defects"),
    ("media_errors", "media errors"),
    ("error_log_entries", "entries in its error log"),
)


def evidence(facts: Facts) -> str:
    """The counts of a disk that are not 0."""
    counts = ((getattr(facts, field), words) for field, words in EVIDENCE)
    return ", ".join(counted(count, words) for count, words in counts if count)


def _attributes(facts: Facts, limits: Limits) -> Iterator[Verdict]:
    if facts.failing_now:
        yield critical(f"failing now by the vendor's threshold: {_listed(facts.failing_now)}")
    elif facts.exit_status & PREFAIL_NOW and not facts.heat_at_threshold:
        yield critical("a pre-fail attribute is at its threshold (bit 4 of smartctl's exit status)")
    if facts.failing_usage:
        yield warning(f"worn to the vendor's threshold: {_listed(facts.failing_usage)}")
    if facts.failed_before:
        yield warning(f"was once at the vendor's threshold: {_listed(facts.failed_before)}")
    known = facts.failing_usage or facts.failed_before or facts.heat_at_threshold
    if facts.exit_status & FAILED_BEFORE and not known:
        yield warning("an attribute was once at the vendor's threshold (bit 5 of smartctl's exit status)")


def _listed(attributes: Tuple[str, ...]) -> str:
    more = f" and {len(attributes) - 3} more" if len(attributes) > 3 else ""
    return ", ".join(attributes[:3]) + more


def _grown(growth: Optional[int]) -> str:
    return f", {growth} of them in 7 days" if growth else ""


def _errors(facts: Facts, limits: Limits) -> Iterator[Verdict]:
    """SAS and NVMe count what ATA drives keep in attributes: some is a warning, more than 7 days ago is critical."""
    wrong = [facts.uncorrected_reads, facts.uncorrected_writes, facts.uncorrected_verifies]
    uncorrected = sum(count or 0 for count in wrong)
    yield from _growing(facts.grown_defects, facts.grown_defects_growth, "grown defects", limits, "grown_defects")
    yield from _growing(
        uncorrected, facts.uncorrected_growth, "uncorrected read, write and verify errors", limits, "uncorrected"
    )
    yield from _growing(facts.media_errors, facts.media_errors_growth, "media errors", limits, "media_errors")


def _growing(count: Optional[int], growth: Optional[int], words: str, limits: Limits, name: str) -> Iterator[Verdict]:
    said = f"{counted(count or 0, words)}{_grown(growth)}, limit {limits[f'{name}_warning']}"
    if growth is not None and growth > limits[f"{name}_growth_critical"]:
        yield critical(said)
    elif count is not None and count > limits[f"{name}_warning"]:
        yield warning(said)


def _wear(facts: Facts, limits: Limits) -> Iterator[Verdict]:
    worn, left, threshold = facts.wear_percent, facts.spare_percent, facts.spare_threshold_percent
    if worn is not None and worn >= limits["wear_warning"]:
        level = critical if worn >= limits["wear_critical"] else warning
        yield level(f"{worn} % of rated writes used, limit {limits['wear_warning']} %: plan its replacement")
    if left is None:
        return
    if threshold and left <= threshold:
        yield critical(f"{left} % of spare blocks left, the drive's threshold is {threshold} %")
    elif facts.kind == "ata" and left <= limits["spare_warning"]:
        yield warning(f"{left} % of spare blocks left, limit {limits['spare_warning']} %: plan its replacement")


def _logs(facts: Facts, limits: Limits) -> Iterator[Verdict]:
    if (facts.self_tests_failed or 0) > limits["self_tests_failed_critical"]:
        yield critical(f"self-test failed ({facts.self_test_failure}) and no extended one has passed since")
    if facts.kind == "ata":
        yield from above(facts.error_log_growth, "new entries in its error log in 7 days", limits, "error_log_growth")


def _cable(facts: Facts, limits: Limits) -> Iterator[Verdict]:
    """A new disk would not repair these."""
    for verdict in above(facts.crc_growth, "new CRC errors in 7 days (attribute 199)", limits, "crc_growth"):
        yield verdict._replace(reason=f"{verdict.reason}: check its cable and backplane")


def _temperature(facts: Facts, limits: Limits) -> Iterator[Verdict]:
    now, limit, trip = facts.temperature_celsius, facts.limit_celsius, facts.trip_celsius
    if now is not None and trip is not None and now >= trip:
        yield critical(f"{now} C, at its trip point of {trip} C", HOT)
    elif facts.too_hot:
        yield warning(f"{'hot' if now is None else f'{now} C'}, above the drive's own limit", HOT)
    elif now is not None and limit is not None and now >= limit:
        yield warning(f"{now} C, rated for less than {limit} C", HOT)
    days = facts.days_since_too_hot
    if not facts.too_hot and days is not None and days < limits["too_hot_days_warning"]:
        yield warning(f"was above the drive's temperature limit, first seen {days:.0f} days ago", HOT)
