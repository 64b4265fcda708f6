"""The ATA attribute table as facts: what counts as a count, and what is life and spare of an SSD.

A value that cannot be is not a fact: a count above the drive's sectors is packed or means something else, 000 without a
threshold is a value that the drive does not keep. A hard disk has no rated writes, whatever it prints.
"""

from __future__ import annotations

import re
from typing import Any, Dict, FrozenSet, List, Optional, Sequence, Tuple

from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple
from agent.sources.smart import quirks
from agent.sources.smart.report import Facts, most, number, percent


class Attribute(NamedTuple):
    """One row of the ATA table. failed: now, past or empty. prefail: below its threshold, the drive is failing."""

    number: int
    name: str
    value: Optional[int]
    threshold: Optional[int]
    failed: str
    prefail: bool
    raw: str


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
# Three 16-bit words: 188 of Seagate, 10 of HGST and Hitachi, where only the lowest counts (4 of 7,401 HMS5C4040BLE640
# in Backblaze's drive statistics show 65536 times 1, 2 or 5, and none of them failed).
PACKED = (10, 188)
NOT_TOLD = 255
# Of an SSD its value falls with the blocks that are left to replace worn ones.
RETIRED = 5

# Attributes whose normalised value is the share of life that is left, most reliable first. Not 169, however it is
# called: its value is not a percentage on many drives that have it.
NO_LIFE = 169
LIFE_LEFT = ("Percent_Lifetime", "SSD_Life_Left", "Life_Remaining", "Media_Wearout_Indicator", "Wear_Leveling_Count")

# "232 Available_Reservd_Space PO--CK   002   002   010    NOW  0"
# "180 Unused_Rsvd_Blk_Cnt_Tot PO--C-   089   089   010    -    9396"    "170 Reserved_Block_Pct …"
SPARE_LEFT = pattern(
    r"Available_Reserv|(Used|Unused)_Rsvd_Blk_Cnt_Tot|Reserved?_Bl(oc)?k_(Pct|Count)|Unused_Reserve_NAND"
)
SOLID = pattern(r"\bSSD|SSD\b|SOLID.?STATE", re.IGNORECASE)

# "190 Temperature_Case        -O---K   018   018   045    NOW  18": the value is the temperature, not 100 less than it
TOO_HOT_FROM_CELSIUS = 45


def ata_wear(model: str, *given: Any) -> Optional[int]:
    """Percentage Used of an ATA drive, as its statistics log tells: 255 there means that it does not."""
    if quirks.WEAR_STATISTIC in quirks.untrue(model):
        return None
    reported = [percent(value) for value in given]
    return next((value for value in reported if value not in (None, NOT_TOLD)), None)


def with_attributes(facts: Facts, rows: Sequence[Attribute]) -> Facts:
    """The ATA table as facts."""
    facts = facts._replace(rotation_rpm=_rotation(facts, rows), attributes=sum(1 <= row.number <= 255 for row in rows))
    facts = _with_counters(facts, rows, quirks.untrue(facts.model))
    facts = _with_failures(facts, rows)
    return _with_life(facts, rows)


def _rotation(facts: Facts, rows: Sequence[Attribute]) -> Optional[int]:
    """0 for an SSD, also for one that does not say so itself."""
    if facts.rotation_rpm is not None:
        return facts.rotation_rpm
    solid = SOLID.search(facts.model) or any(row.name.startswith(("SSD_", "Wear_Leveling")) for row in rows)
    return 0 if solid else None


def _with_counters(facts: Facts, rows: Sequence[Attribute], untrue: FrozenSet[object]) -> Facts:
    counted: Dict[str, Any] = {}
    unread, implausible = list(facts.unread), list(facts.implausible)
    for row in rows:
        field, word = COUNTERS.get(row.number, ("", ""))
        if not field or row.number in untrue or (row.name and word not in row.name.lower()):
            continue
        count = unpacked(row.raw) if row.number in PACKED else number(row.raw)
        if count is None:
            unread.append(f"attribute {row.number}")
        elif count > most(facts.size_bytes):
            implausible.append(f"attribute {row.number}: {count}")
            count = None
        counted[field] = count
        if row.number == 188:
            counted["slow_commands"] = slow_commands(row.raw)
    return facts._replace(**counted, unread=tuple(unread), implausible=tuple(implausible))


def _with_failures(facts: Facts, rows: Sequence[Attribute]) -> Facts:
    """The attributes at the maker's threshold, those that tell of heat apart from the others."""
    now = facts.temperature_celsius
    about_heat = [row for row in rows if "temperature" in row.name.lower()]
    others = [row for row in rows if row not in about_heat]
    hot = [row for row in about_heat if now is None or now >= TOO_HOT_FROM_CELSIUS or row.value != now]
    believable = now is None or now >= TOO_HOT_FROM_CELSIUS
    return facts._replace(
        failing_now=tuple(_label(row) for row in others if row.failed == "now" and row.prefail),
        failing_usage=tuple(_label(row) for row in others if row.failed == "now" and not row.prefail),
        failed_before=tuple(_label(row) for row in others if row.failed == "past"),
        too_hot=believable and any(row.failed == "now" for row in hot),
        was_too_hot=any(row.failed == "past" for row in hot),
        heat_at_threshold=any(row.failed for row in about_heat),
    )


def _label(row: Attribute) -> str:
    return f"{row.number} {row.name} (value {row.value}, threshold {row.threshold})"


def unpacked(raw: str) -> Optional[int]:
    """A count of three 16-bit words is the lowest of them.

    >>> unpacked("51540393996"), unpacked("1 1 9"), unpacked("33"), unpacked("131072")
    (12, 9, 33, 0)
    """
    words = _words(raw)
    return words[2] if words else number(raw)


def slow_commands(raw: str) -> Optional[int]:
    """The highest of the three words: commands that took more than 7.5 s, time-outs among them.

    >>> slow_commands("30065065985"), slow_commands("7 9 20"), slow_commands("33")
    (7, 7, None)
    """
    words = _words(raw)
    return words[0] if words else None


def _words(raw: str) -> Optional[Tuple[int, int, int]]:
    """Three 16-bit words, highest first, printed one by one or as one number; None for a number that is but one."""
    parts = re.findall(r"\d{1,20}", raw[:80])
    if len(parts) == 3 and all(int(part) <= 0xFFFF for part in parts):
        return int(parts[0]), int(parts[1]), int(parts[2])
    value = number(raw)
    if value is None or value <= 0xFFFF:
        return None
    return value >> 32 & 0xFFFF, value >> 16 & 0xFFFF, value & 0xFFFF


def _with_life(facts: Facts, rows: Sequence[Attribute]) -> Facts:
    """Rated writes and spare blocks, which only SSDs have."""
    if facts.rotation_rpm:
        return facts._replace(wear_percent=None)
    spare = _share(rows, SPARE_LEFT.search) or _share([row for row in rows if row.number == RETIRED], bool)
    others = [row for row in rows if row.number != NO_LIFE]
    worn = next(filter(None, (_share(others, re.compile(name).search) for name in LIFE_LEFT)), None)
    wear = 100 - (worn.value or 0) if worn else None
    solid = facts.rotation_rpm == 0
    return facts._replace(
        wear_percent=wear if facts.wear_percent is None else facts.wear_percent,
        spare_percent=spare.value if spare and solid else facts.spare_percent,
        spare_threshold_percent=spare.threshold if spare and solid else facts.spare_threshold_percent,
    )


def _share(rows: Sequence[Attribute], is_named: Any) -> Optional[Attribute]:
    """The first attribute of this name whose value is a percentage. 000 without a threshold is a value not kept."""
    found: List[Attribute] = [
        row
        for row in rows
        if is_named(row.name) and row.value is not None and row.value <= 100 and (row.value or row.threshold)
    ]
    return found[0] if found else None
