"""arcconf (Adaptec): `getconfig N`."""

from __future__ import annotations

from typing import Dict, List, Tuple

from agent.host import CannotTell
from agent.patterns import pattern
from agent.sources import raid_arrays as raid
from agent.sources.raid_arrays import Array, Controller, Member

# Logical device number 0          newer: Logical Device number 0
LOGICAL = pattern(r"Logical [Dd]evice number (\d{1,4})$")
#       Device #0
DEVICE = pattern(r"Device #(\d{1,4})$")
#    Group 0, Segment 1                       : Present (Controller:1,Connector:0,Device:1) 7CS009RQ
#    Segment 0   : Present (953869MB, SATA, HDD, Connector:0, Device:0) Z1W1AAAA
SEGMENT = pattern(r"(?:Group (\d{1,4}), )?Segment (\d{1,4})\s*: (\w+)(.*)")
PAIR = pattern(r"([\w./ '-]+?)\s*: (.*)")

LOGICAL_STATES = (
    ("optimal", raid.OPTIMAL),
    ("degraded, rebuilding", raid.REBUILDING),
    ("rebuilding", raid.REBUILDING),
    ("degraded", raid.DEGRADED),
    ("suboptimal", raid.DEGRADED),
    ("interim recovery", raid.DEGRADED),
    ("impacted", raid.DEGRADED),
    ("failed", raid.FAILED),
    ("offline", raid.FAILED),
)
SEGMENT_STATES = {"present": raid.ONLINE, "rebuilding": raid.REBUILDING, "missing": raid.MISSING}
END = "Command completed successfully"
GOOD = ("optimal", "not installed", "ok", "ready", "normal", "zmm optimal", "zero-maintenance mode optimal")


def parse(number: str, text: str) -> Controller:
    """One controller with its logical devices; CannotTell if the text tells of none or does not come to its end."""
    part: Dict[str, str] = {}
    controller = part
    logical: List[Dict[str, str]] = []
    segments: List[List[Tuple[str, str, str]]] = []
    devices: List[Dict[str, str]] = []
    for row in (row.strip() for row in text.splitlines()):
        start, device, segment, pair = (regex.match(row) for regex in (LOGICAL, DEVICE, SEGMENT, PAIR))
        if start or device:
            part = {"number": (start or device).group(1)}  # type: ignore[union-attr]
            (logical if start else devices).append(part)
            if start:
                segments.append([])
        elif segment and segments:
            group, _, state, rest = segment.groups()
            segments[-1].append((group or "0", state, rest.split()[-1] if rest.split() else ""))
        elif pair:
            part.setdefault(pair.group(1), pair.group(2).strip())
    if not logical and "Controller Status" not in controller:
        raise CannotTell(f"arcconf lists nothing of controller {number}")
    if END not in text:
        raise CannotTell(f"arcconf's output of controller {number} is cut short: it does not say that it completed")
    said = controller.get("Controller Status", "Optimal")
    faults = () if said.lower() in GOOD else (f"controller status {said[:60]}",)
    battery = controller.get("Status", "Optimal")
    troubles = [] if battery.lower() in GOOD else [f"battery is {battery[:60]}: the write cache is not safe"]
    troubles += [trouble for trouble in map(_device_trouble, devices) if trouble]
    arrays = tuple(_array(number, facts, rows) for facts, rows in zip(logical, segments))
    model = controller.get("Controller Model", "Adaptec")
    return Controller(f"adaptec {number}", model, arrays, len(devices), faults, tuple(troubles))


def _device_trouble(facts: Dict[str, str]) -> str:
    state, warnings = facts.get("State", ""), facts.get("S.M.A.R.T. warnings", "0")
    if state.lower().startswith(("failed", "offline", "missing")):
        return f"disk {facts['number']} ({facts.get('Serial number', '')}) is {state[:40]}"
    return f"disk {facts['number']} has {warnings[:9]} SMART warnings" if warnings != "0" else ""


def _array(controller: str, facts: Dict[str, str], segments: List[Tuple[str, str, str]]) -> Array:
    said = facts.get("Status of logical device") or facts.get("Status of Logical Device") or ""
    level = facts.get("RAID level") or facts.get("RAID Level") or ""
    members = tuple(
        Member(serial or f"segment {at}", at, SEGMENT_STATES.get(state.lower(), raid.FAILED))
        for at, (_, state, serial) in enumerate(segments)
    )
    return Array(
        name=f"adaptec {controller} ld {facts['number']}",
        level=f"raid{level.split()[0].lower()}" if level.split() else "unknown level",
        state=_state(said) if members else raid.UNKNOWN,
        said=(said[:60] or "nothing") + raid.odd_list(len(members), len(members)),
        members=members,
        groups=_groups(segments) if level.split()[:1] in (["1"], ["10"]) else (),
        action="rebuild" if any(member.state == raid.REBUILDING for member in members) else "",
        disk=facts.get("Disk Name", "").replace("/dev/", "", 1),
    )


def _state(said: str) -> str:
    return next((state for word, state in LOGICAL_STATES if said.lower().startswith(word)), raid.UNKNOWN)


def _groups(segments: List[Tuple[str, str, str]]) -> Tuple[Tuple[int, ...], ...]:
    """The segments of each group mirror each other."""
    found: Dict[str, List[int]] = {}
    for at, (group, _, _) in enumerate(segments):
        found.setdefault(group, []).append(at)
    return tuple(tuple(slots) for slots in found.values() if len(slots) > 1)
