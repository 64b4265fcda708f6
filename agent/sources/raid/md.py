"""Linux software RAID: /sys/block/md*/md, and /proc/mdstat as the second witness."""

from __future__ import annotations

import re
from typing import Dict, List, Optional, Tuple

from agent.host import CannotTell, Host, Missing, cached_per_run
from agent.lazy_regex import pattern
from agent.sources.disks import block_devices
from agent.sources.raid import arrays as raid
from agent.sources.raid import mdstat
from agent.sources.raid.arrays import Array, Member

# sync_completed: 74086784 / 585890304
COMPLETED = pattern(r"(\d{1,19}) / (\d{1,19})")

IDLE = ("idle", "frozen", "none", "")


@cached_per_run
def arrays(host: Host) -> Dict[str, Array]:
    """Every md array by name, from sysfs, and from /proc/mdstat those that sysfs does not show."""
    seen = mdstat.parse(_mdstat(host))
    found = {name: row.array for name, row in seen.items() if not row.container}
    for name in block_devices.whole_disks(host):
        if name.startswith("md") and host.exists(f"/sys/block/{name}/md"):
            try:
                array = _from_sysfs(host, name)
            except CannotTell as error:  # one array that does not answer hides no other
                array = Array(name, "unknown level", raid.UNKNOWN, str(error), disk=name)
            if array is None:
                found.pop(name, None)
            else:
                found[name] = array
    return found


def _mdstat(host: Host) -> str:
    try:
        return host.read("/proc/mdstat")
    except Missing:
        return ""


def _from_sysfs(host: Host, name: str) -> Optional[Array]:
    """One array; None for a container of external metadata and for a name that has no array behind it."""
    said = {word: _word(host, name, word) for word in ("level", "array_state", "sync_action")}
    if said["level"] == "container" or said["array_state"] == "clear":
        return None
    if not said["array_state"]:
        raise CannotTell(f"/sys/block/{name}/md has no state of {name}")
    disks = _number(_word(host, name, "raid_disks"))
    members = _members(host, name)
    completed = _word(host, name, "sync_completed")
    degraded = _number(_word(host, name, "degraded"))
    percent, left_s = _progress(completed, _number(_word(host, name, "sync_speed")))
    waits = said["sync_action"] == "resync" and completed == "delayed" and not degraded
    action = said["sync_action"] if said["sync_action"] not in IDLE and not waits else ""
    read_only = said["array_state"] == "readonly" and said["level"] in mdstat.WITHOUT_METADATA
    running = "active" if read_only else said["array_state"]
    return Array(
        name=name,
        level=said["level"] or "unknown level",
        state=mdstat.state_of(running, degraded, members, action),
        said=said["array_state"],
        members=members,
        groups=raid.md_mirrors(said["level"], _number(_word(host, name, "layout")), disks),
        action=action,
        percent=percent,
        left_s=left_s,
        mismatches=_mismatches(host, name, action),
        disk=name,
    )


def _word(host: Host, name: str, attribute: str) -> str:
    """An attribute of an array, or nothing where its level has none."""
    try:
        return host.read(f"/sys/block/{name}/md/{attribute}", 4096).strip()
    except Missing:
        return ""


def _number(text: str) -> int:
    """The number that a text begins with (`4 (3)` while an array is reshaped), or 0.

    >>> _number("4 (3)"), _number("none")
    (4, 0)
    """
    match = re.match(r"\d{1,19}", text)
    return int(match.group()) if match else 0


def _members(host: Host, name: str) -> Tuple[Member, ...]:
    found = []
    for entry in host.list_dir(f"/sys/block/{name}/md"):
        if entry.startswith("dev-"):
            words = _word(host, name, f"{entry}/state").split(",")
            slot = _word(host, name, f"{entry}/slot")
            place = int(slot) if slot.isdigit() else -1
            state, trouble = _member_state(words, place)
            device = entry[len("dev-") :]
            errors = _number(_word(host, name, f"{entry}/errors"))
            found.append(Member(device, place, state, trouble, _disk(host, device), "", errors))
    return tuple(sorted(found, key=lambda member: (member.slot < 0, member.slot, member.name)))


def _member_state(words: List[str], slot: int) -> Tuple[str, str]:
    """What sysfs says of a member: `in_sync`, `faulty`, `spare`, `in_sync,write_error,want_replacement` …"""
    trouble = " and ".join(word.replace("_", " ") for word in words if word in ("want_replacement", "write_error"))
    if "faulty" in words:
        return raid.FAILED, trouble
    if "in_sync" in words or "journal" in words:
        return raid.ONLINE, trouble
    return (raid.REBUILDING if slot >= 0 else raid.SPARE), trouble


def _disk(host: Host, device: str) -> str:
    """The whole disk of a member, or nothing where the kernel no longer has it."""
    try:
        return block_devices.disk_of(host, device)
    except CannotTell:
        return ""


def _progress(completed: str, speed_kib_s: int) -> Tuple[float, float]:
    """Percent done and seconds left, from sectors and KiB/s; -1 where it is not told."""
    match = COMPLETED.match(completed)
    if not match or not int(match.group(2)):
        return -1.0, -1.0
    done, total = int(match.group(1)), int(match.group(2))
    left_s = (total - done) / 2 / speed_kib_s if speed_kib_s and total >= done else -1.0
    return round(min(100.0 * done / total, 100.0), 1), round(left_s)


def _mismatches(host: Host, name: str, action: str) -> int:
    """Sectors that differed between copies in the last check; 0 while one runs and after a repair."""
    if action or _word(host, name, "last_sync_action") not in ("check", ""):
        return 0
    return _number(_word(host, name, "mismatch_cnt"))
