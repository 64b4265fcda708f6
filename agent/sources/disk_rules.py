"""When a disk's own numbers mean trouble: the rules that the checks smart and raid share, so that they agree.

The sector numbers are tuned on labelled drive histories, so that an alarm is worth a walk to the rack. Growth is over
7 days and says more than height.
"""

from __future__ import annotations

from typing import Any, Iterator, List, Mapping, Optional, Tuple

from agent.patterns import pattern
from agent.sources.smart_report import NVME_TOO_HOT, Facts
from agent.status import CRITICAL, UNKNOWN, Verdict, combine, critical, unknown, warning

# A number above the limit triggers; of pending sectors and wear the limit itself does.
LIMITS: Mapping[str, Any] = {
    "reported_uncorrectable_warning": 0,
    "reported_uncorrectable_critical": 5,
    "reallocated_warning": 50,
    "reallocated_critical": 1000,
    "reallocated_growth_warning": 4,
    "reallocated_growth_critical": 30,
    "pending_warning": 8,
    "pending_growing_critical": 16,
    "spin_retries_warning": 0,
    "end_to_end_errors_critical": 0,
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
    of_the_disk = (_assessment, _attributes, _sectors, _errors, _wear, _logs)
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
        yield unknown("SMART is switched off; switch it on with smartctl --smart=on")
    elif facts.passed is None:
        yield unknown("no overall SMART status, so it cannot be told whether it is failing")
    elif facts.kind == "ata" and not facts.attributes:
        yield unknown("its SMART attributes cannot be read")
    elif facts.kind == "nvme" and None in [getattr(facts, name) for name in NVME_MUST_TELL]:
        yield unknown("its health log cannot be read")
    elif facts.unread:
        yield unknown(f"no number where a count should be: {_listed(facts.unread)}")
    elif not facts.whole:
        yield unknown("smartctl's report is cut short")


def _assessment(facts: Facts, limits: Limits) -> Iterator[Verdict]:
    bits = facts.nvme_warning_bits or 0
    named = [words for bit, words in NVME_BITS if bits & bit]
    # Only too hot: then that is the finding, and not a failing disk.
    failing_otherwise = not (facts.too_hot and bits in (0, NVME_TOO_HOT))
    if named:
        yield critical(f"NVMe critical warning 0x{bits:02x}: {', '.join(named)}")
    elif facts.passed is False and failing_otherwise:
        yield critical("failed its own overall assessment" + (f": {facts.status_text}" if facts.status_text else ""))
    elif facts.exit_status & DISK_FAILING and failing_otherwise:
        yield critical("smartctl says DISK FAILING (bit 3 of its exit status)")


def _attributes(facts: Facts, limits: Limits) -> Iterator[Verdict]:
    if facts.failing_now:
        yield critical(f"failing now by the maker's threshold: {_listed(facts.failing_now)}")
    elif facts.exit_status & PREFAIL_NOW:
        yield critical("an attribute that foretells failure is at its threshold (bit 4 of smartctl's exit status)")
    if facts.failing_usage:
        yield warning(f"worn to the maker's threshold: {_listed(facts.failing_usage)}")
    if facts.failed_before:
        yield warning(f"was once at the maker's threshold: {_listed(facts.failed_before)}")
    known = facts.failing_usage or facts.failed_before or facts.too_hot or facts.was_too_hot
    if facts.exit_status & FAILED_BEFORE and not known:
        yield warning("an attribute was once at the maker's threshold (bit 5 of smartctl's exit status)")


def _listed(attributes: Tuple[str, ...]) -> str:
    more = f" and {len(attributes) - 3} more" if len(attributes) > 3 else ""
    return ", ".join(attributes[:3]) + more


def _sectors(facts: Facts, limits: Limits) -> Iterator[Verdict]:
    yield from _above(
        facts.reported_uncorrectable,
        "uncorrectable errors reported to the host (attribute 187)",
        limits,
        "reported_uncorrectable",
    )
    yield from _above(facts.reallocated_sectors, "reallocated sectors (attribute 5)", limits, "reallocated")
    yield from _above(
        facts.reallocated_growth, "sectors newly reallocated in 7 days (attribute 5)", limits, "reallocated_growth"
    )
    yield from _pending(facts.pending_sectors, facts.pending_growth, "pending sectors (attribute 197)", limits)
    yield from _pending(
        facts.offline_uncorrectable,
        facts.offline_uncorrectable_growth,
        "sectors unreadable in its own scan (attribute 198)",
        limits,
    )
    yield from _above(facts.spin_retries, "spin-up retries (attribute 10)", limits, "spin_retries")
    yield from _above(facts.end_to_end_errors, "end-to-end errors (attribute 184)", limits, "end_to_end_errors")


def _above(value: Optional[int], words: str, limits: Limits, name: str) -> Iterator[Verdict]:
    """The worst limit of this name that the value is above; a disk that does not say is not judged by this number."""
    levels = [(critical, limits.get(f"{name}_critical")), (warning, limits.get(f"{name}_warning"))]
    given = [(level, limit) for level, limit in levels if limit is not None]
    for level, limit in given:
        if value is not None and value > limit:
            yield level(f"{_counted(value, words)}, should be at most {given[-1][1]}")
            return


SINGULAR = pattern(r"\b(error|sector|defect)s\b|\b(retr|entr)ies\b")


def _counted(count: int, words: str) -> str:
    """
    >>> _counted(1, "new entries in its error log"), _counted(2, "grown defects")
    ('1 new entry in its error log', '2 grown defects')
    """
    if count != 1:
        return f"{count} {words}"
    return f"1 {SINGULAR.sub(lambda match: match[1] or f'{match[2]}y', words)}"


def _pending(count: Optional[int], growth: Optional[int], words: str, limits: Limits) -> Iterator[Verdict]:
    if count is None:
        return
    said = f"{count} {words}{_grown(growth)}, should be below {limits['pending_warning']}"
    if growth and count > limits["pending_growing_critical"]:
        yield critical(said)
    elif count >= limits["pending_warning"]:
        yield warning(said)


def _grown(growth: Optional[int]) -> str:
    return f", {growth} more within 7 days" if growth else ""


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
    said = f"{_counted(count or 0, words)}{_grown(growth)}, should be at most {limits[f'{name}_warning']}"
    if growth is not None and growth > limits[f"{name}_growth_critical"]:
        yield critical(said)
    elif count is not None and count > limits[f"{name}_warning"]:
        yield warning(said)


def _wear(facts: Facts, limits: Limits) -> Iterator[Verdict]:
    worn, left, threshold = facts.wear_percent, facts.spare_percent, facts.spare_threshold_percent
    if worn is not None and worn >= limits["wear_warning"]:
        level = critical if worn >= limits["wear_critical"] else warning
        yield level(
            f"{worn} % of its rated writes used, should be below {limits['wear_warning']} %: plan its replacement"
        )
    if left is not None and threshold and left <= threshold:
        yield critical(f"{left} % of its spare blocks left, its own threshold is {threshold} %")


def _logs(facts: Facts, limits: Limits) -> Iterator[Verdict]:
    if (facts.self_tests_failed or 0) > limits["self_tests_failed_critical"]:
        yield critical(f"self-test failed ({facts.self_test_failure}) and no extended one has passed since")
    if facts.kind == "ata":
        yield from _above(facts.error_log_growth, "new entries in its error log in 7 days", limits, "error_log_growth")


def _cable(facts: Facts, limits: Limits) -> Iterator[Verdict]:
    """A new disk would not mend these."""
    for verdict in _above(facts.crc_growth, "new CRC errors in 7 days (attribute 199)", limits, "crc_growth"):
        yield verdict._replace(reason=f"{verdict.reason}: check its cable and backplane")


def _temperature(facts: Facts, limits: Limits) -> Iterator[Verdict]:
    now, limit, trip = facts.temperature_celsius, facts.limit_celsius, facts.trip_celsius
    if now is not None and trip is not None and now >= trip:
        yield critical(f"{now} C, at its own trip point of {trip} C", HOT)
    elif facts.too_hot:
        yield warning(f"{'hot' if now is None else f'{now} C'}, beyond what the drive itself allows", HOT)
    elif now is not None and limit is not None and now >= limit:
        yield warning(f"{now} C, made for less than {limit} C", HOT)
    days = facts.days_since_too_hot
    if not facts.too_hot and days is not None and days < limits["too_hot_days_warning"]:
        yield warning(f"was hotter than the drive allows, first noticed {days:.0f} days ago", HOT)
