"""/proc/mdstat: the kernel's own list of md arrays, for those that sysfs does not show."""

from __future__ import annotations

from typing import Dict, List, Tuple

from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple
from agent.sources.raid import arrays as raid
from agent.sources.raid.arrays import Array, Member

# md0 : active raid10 sdd1[3] sdc1[2](F) sdb1[1] sda1[0]
# md1 : active (auto-read-only) raid1 sdf1[1](W) sde1[0]
# md127 : inactive sdb[1](S) sda[0](S)
ROW = pattern(r"(md\S*) : (\w+)((?: \([\w-]+\))*)(.*)")
# sdc1[2](F)
MEMBER = pattern(r"(?<![\w!/.-])([\w!/.-]+)\[(\d{1,9})\]((?:\(\w\))*)")
#       7813772288 blocks super 1.2 512K chunks 2 near-copies [4/3] [UU_U]
COUNTS = pattern(r"\[(\d{1,9})/(\d{1,9})\] \[([U_]+)\]")
COPIES = pattern(r"(\d{1,3}) (near|far|offset)-copies")
#       [==>..................]  recovery = 12.6% (37043392/292945152) finish=127.5min speed=33440K/sec
PROGRESS = pattern(
    r"(recovery|resync|check|repair|reshape) *= *(\d{1,3}(?:\.\d+)?)%(?:.*?finish=(\d{1,9}(?:\.\d+)?)min)?"
)
#         resync=DELAYED
WAITING = pattern(r"(recovery|resync|check|repair|reshape)=(DELAYED|PENDING|REMOTE)")

NOT_RUNNING = {
    "inactive": "assembled but not running",
    "broken": "a member is gone and md stopped the array",
    "readonly": "md set the array read-only",
    "suspended": "all writes wait",
}
# Levels that md never sets read-only by itself, for they have no metadata to write: somebody did, and they run.
WITHOUT_METADATA = ("raid0", "linear")


LEVELS = ("raid", "linear", "multipath", "faulty")


class Row(NamedTuple):
    """An array as /proc/mdstat prints it. state: with its notes, `active (read-only)`. level: empty if not printed.

    devices: the part of the line with the level and the devices. details: the lines below it.
    """

    name: str
    state: str
    level: str
    devices: str
    details: str


class Seen(NamedTuple):
    """What /proc/mdstat says of one array; the array, and whether it is only a container of others."""

    array: Array
    container: bool


def state_of(said: str, degraded: int, members: Tuple[Member, ...], action: str) -> str:
    """The state of an array that md calls `said` and of which `degraded` slots are not in sync."""
    if said in NOT_RUNNING:
        return raid.FAILED
    rebuilding = sum(member.state == raid.REBUILDING for member in members)
    failed = any(member.state == raid.FAILED for member in members if member.slot >= 0)
    if degraded > rebuilding or failed or (degraded and action not in ("recover", "recovery", "reshape")):
        return raid.DEGRADED
    return raid.REBUILDING if degraded or action in ("recover", "resync", "reshape") else raid.OPTIMAL


def parse(text: str) -> Dict[str, Seen]:
    """All arrays that /proc/mdstat lists; the text of a kernel without md is empty, and so is the answer."""
    return {row.name: _seen(row.name, row.state, row.level, row.devices, row.details) for row in rows(text)}


def rows(text: str) -> List[Row]:
    """The arrays of /proc/mdstat as it prints them, in its order."""
    found: List[Row] = []
    lines = text.splitlines()
    for at, line in enumerate(lines):
        match = ROW.match(line)
        if match:
            end = next((to for to in range(at + 1, len(lines)) if not lines[to].startswith(" ")), len(lines))
            name, running, notes, rest = match.groups()
            level = next((word for word in rest.split() if word.startswith(LEVELS)), "")
            found.append(Row(name, running + notes, level, rest, " ".join(lines[at + 1 : end])))
    return found


def devices(row: Row) -> List[Tuple[str, bool]]:
    """Kernel name of each device that a row lists, and whether it is marked as failed."""
    return [(name, "(F)" in flags) for name, _number, flags in MEMBER.findall(row.devices)]


def _seen(name: str, running: str, level: str, rest: str, details: str) -> Seen:
    counts = COUNTS.search(details)
    marks = counts.group(3)[:4096] if counts else ""
    members = _listed_members(rest, marks)
    action, percent, left_s = _listed_progress(details, marks)
    return Seen(
        Array(
            name=name,
            level=level or "unknown level",
            state=_listed_state(level, running, marks, members, action),
            said=running,
            members=members,
            groups=raid.md_mirrors(level, _listed_layout(details), len(marks)),
            action={"recovery": "recover"}.get(action, action),
            percent=percent,
            left_s=left_s,
            disk=name,
        ),
        container="super external:" in details and running.startswith("inactive"),
    )


def _listed_members(rest: str, marks: str) -> Tuple[Member, ...]:
    """Members in their slots. `[UU_U]` says which slots live; the number in brackets is the slot of an original member.

    Numbers grow with every replaced disk, so a number beyond the last slot takes a slot that nobody else holds.
    """
    found: List[Member] = []
    newer: List[str] = []
    for device, number, flags in MEMBER.findall(rest):
        slot = int(number) if int(number) < len(marks) else -1
        if "(F)" in flags:
            found.append(Member(device, slot if slot >= 0 and marks[slot] == "_" else -1, raid.FAILED))
        elif "(S)" in flags or "(J)" in flags or not marks:
            found.append(Member(device, -1, raid.SPARE if "(S)" in flags else raid.ONLINE))
        elif slot >= 0:
            found.append(Member(device, slot, raid.ONLINE if marks[slot] == "U" else raid.REBUILDING))
        else:
            newer.append(device)
    return tuple(_newer_members(newer, found, marks) + found)


def _newer_members(devices: List[str], known: List[Member], marks: str) -> List[Member]:
    """Replacements in the slots that are left; a live slot that no name is left for keeps a member without one."""
    held = {member.slot for member in known if member.state != raid.FAILED}
    live = [slot for slot, mark in enumerate(marks) if mark == "U" and slot not in held]
    gone = [slot for slot, mark in enumerate(marks) if mark == "_" and slot not in held]
    names = iter(devices)
    placed = [Member(next(names, f"the disk in slot {slot}"), slot, raid.ONLINE) for slot in live]
    return placed + [Member(name, slot, raid.REBUILDING) for slot, name in zip(gone, names)]


def _listed_layout(details: str) -> int:
    """raid10's layout number from `2 near-copies`, `2 far-copies` or `2 offset-copies`."""
    copies = {kind: int(number) for number, kind in COPIES.findall(details)}
    return copies.get("near", 1) | (copies.get("far") or copies.get("offset") or 1) << 8


def _listed_progress(details: str, marks: str) -> Tuple[str, float, float]:
    match = PROGRESS.search(details)
    if match:
        action, percent, minutes = match.groups()
        return action, float(percent), float(minutes) * 60 if minutes else -1.0
    waiting = WAITING.search(details)
    # A resynchronisation that waits for its turn, while all disks are in sync, is no work and no news.
    idle = waiting is None or (waiting.group(1) == "resync" and "_" not in marks)
    return ("" if idle or waiting is None else waiting.group(1)), -1.0, -1.0


def _listed_state(level: str, running: str, marks: str, members: Tuple[Member, ...], action: str) -> str:
    if not running.startswith("active") or ("(read-only)" in running and level not in WITHOUT_METADATA):
        return raid.FAILED
    if not marks and any(member.state == raid.FAILED for member in members):
        return raid.FAILED
    named = tuple(member for member in members if member.state != raid.FAILED)
    return state_of("active", marks.count("_"), named, action)
