"""What an array is, whoever runs it: which of its disks mirror each other, and what would be lost with which."""

from __future__ import annotations

from typing import List, Sequence, Set, Tuple

from agent.named_tuples import NamedTuple

OPTIMAL = "optimal"
DEGRADED = "degraded"
REBUILDING = "rebuilding"
FAILED = "failed"
UNKNOWN = "unknown"

ONLINE = "online"
MISSING = "missing"
SPARE = "spare"

# More than md can have (2048 by its superblock): a number beyond that is rubbish.
MOST_DISKS = 4096


class Member(NamedTuple):
    """One disk of an array. state: online, rebuilding, failed, missing or spare.

    slot: its place in the array, -1 for a spare or where nobody tells. trouble: what its controller says against it.
    disk: its kernel name, where the kernel sees it; behind MegaRAID `bus/0`, and kind is then `megaraid,17`, as
    smartctl wants it. errors: read errors so far that the array could repair.
    """

    name: str
    slot: int
    state: str
    trouble: str = ""
    disk: str = ""
    kind: str = ""
    errors: int = 0


class Array(NamedTuple):
    """One array or virtual disk. state: optimal, degraded, rebuilding, failed or unknown; said: its keeper's own words.

    groups: the slots that hold the same data, one tuple for each mirror. action: what it does beside serving.
    percent and left_s are -1 when nobody tells. disk: the kernel name under which it is used, or empty.
    faults are critical, troubles are warnings: what its keeper says against the whole of it. errors_are: what it counts
    as errors of its members.
    """

    name: str
    level: str
    state: str
    said: str
    members: Tuple[Member, ...] = ()
    groups: Tuple[Tuple[int, ...], ...] = ()
    action: str = ""
    percent: float = -1.0
    left_s: float = -1.0
    mismatches: int = 0
    disk: str = ""
    faults: Tuple[str, ...] = ()
    troubles: Tuple[str, ...] = ()
    errors_are: str = "read errors repaired"


class Controller(NamedTuple):
    """A RAID controller and what it says of itself. faults are critical, troubles warnings, untold cannot be known."""

    name: str
    model: str
    arrays: Tuple[Array, ...]
    disks: int
    faults: Tuple[str, ...] = ()
    troubles: Tuple[str, ...] = ()
    untold: Tuple[str, ...] = ()


class Exposed(NamedTuple):
    """A mirror of which one live member is left: those that are gone, and the last."""

    gone: Tuple[str, ...]
    last: Member


def in_pairs(slots: Sequence[int]) -> Tuple[Tuple[int, ...], ...]:
    """Neighbours mirror each other.

    >>> in_pairs([0, 1, 2, 3])
    ((0, 1), (2, 3))
    """
    return tuple(tuple(slots[at : at + 2]) for at in range(0, len(slots) - 1, 2))


def md_mirrors(level: str, layout: int, disks: int) -> Tuple[Tuple[int, ...], ...]:
    """The slots that hold the same data, of md's raid1 and raid10; nothing for levels with parity or none.

    layout of raid10 (drivers/md/raid10.c, setup_geo): near copies in bits 0-7, far copies in 8-15, far sets in 17-18.

    >>> md_mirrors("raid10", 0x102, 4)
    ((0, 1), (2, 3))
    """
    if disks > MOST_DISKS:
        return ()
    if level == "raid1" and disks > 1:
        return (tuple(range(disks)),)
    near, far = layout & 0xFF, layout >> 8 & 0xFF
    if level != "raid10" or not 1 < near * far <= disks:
        return ()
    in_set = {0: disks, 1: disks // far}.get(layout >> 17 & 3, near * far)
    return tuple(sorted({_copies(first * near, near, far, disks, in_set) for first in range(disks)}))


def _copies(first: int, near: int, far: int, disks: int, in_set: int) -> Tuple[int, ...]:
    """The slots of one chunk: `near` neighbours, each repeated `far` times further on within its set."""
    slots: Set[int] = set()
    for copy in range(near):
        slot = (first + copy) % disks
        start = slot - slot % in_set
        slots.update(start + (slot - start + near * step) % in_set for step in range(far))
    return tuple(sorted(slot % disks for slot in slots))


def odd_list(listed: int, announced: int) -> str:
    """What is odd about a list of disks, in words that go after the state; empty when it is as long as announced.

    >>> odd_list(3, 4), odd_list(0, 0), odd_list(4, 4)
    (', but 3 of its 4 disks are listed', ', but none of its disks is listed', '')
    """
    if not listed:
        return ", but none of its disks is listed"
    return f", but {listed} of its {announced} disks are listed" if listed != announced else ""


def gone_slots(array: Array) -> List[int]:
    """The slots of mirrors in which no member has all its data."""
    live = {member.slot for member in array.members if member.state == ONLINE}
    return sorted({slot for group in array.groups for slot in group} - live)


def lost(array: Array) -> List[Tuple[str, ...]]:
    """The mirrors of which no member is left, by their members' names."""
    gone = set(gone_slots(array))
    return [_names(array, group) for group in array.groups if set(group) <= gone]


def exposed(array: Array) -> List[Exposed]:
    """The mirrors of which one member is left, in the order of their slots."""
    gone = set(gone_slots(array))
    found = {}
    for group in array.groups:
        left = [slot for slot in group if slot not in gone]
        if len(left) == 1 and len(group) > 1:
            last = next(member for member in array.members if member.slot == left[0] and member.state == ONLINE)
            absent = tuple(slot for slot in group if slot in gone)
            found[absent, left[0]] = Exposed(_names(array, absent), last)
    return list(found.values())


def _names(array: Array, slots: Sequence[int]) -> Tuple[str, ...]:
    """The members in these slots. md soon takes a failed disk out of its slot: if there is but one, it is the one."""
    held = {member.slot: member.name for member in array.members if member.slot >= 0}
    homeless = [member.name for member in array.members if member.slot < 0 and member.state == FAILED]
    empty = {slot for group in array.groups for slot in group} - set(held)
    if len(homeless) == len(empty) == 1:
        held[empty.pop()] = homeless[0]
    return tuple(held.get(slot, f"the disk in slot {slot}") for slot in slots)


def mirrors(array: Array) -> List[Tuple[str, ...]]:
    """The members that hold the same data, one tuple for each mirror."""
    return [_names(array, group) for group in array.groups if len(group) > 1]


def settled(array: Array) -> Array:
    """The array in the state that its members show: controllers call one that rebuilds degraded, and lag behind."""
    states = [member.state for member in array.members if member.slot >= 0]
    absent = FAILED in states or MISSING in states
    if array.state == DEGRADED and array.action and REBUILDING in states and not absent:
        return array._replace(state=REBUILDING)
    if array.state in (OPTIMAL, REBUILDING) and absent:
        return array._replace(state=DEGRADED)
    return array
