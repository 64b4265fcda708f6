"""Dell BOSS and its kin (Marvell's M.2 mirrors for booting): `mvcli info -o vd`, as `mnv_cli` of the NVMe ones has it.

The card hides behind an ordinary AHCI or NVMe driver; the name of its virtual disk identifies it.
"""

from __future__ import annotations

from typing import Dict, List

from agent.host import CannotTell, Host
from agent.lazy_regex import pattern
from agent.sources.disks import block_devices
from agent.sources.raid import arrays as raid
from agent.sources.raid.arrays import Array, Controller, Member
from agent.sources.raid.tools import first_tool, whole

# DELLBOSS VD        Dell BOSS-N1        ThinkSystem M.2 VD        SMC VD
MODEL = pattern(r"DELLBOSS|Dell BOSS|ThinkSystem M\.2.*VD|^SMC VD$")
NVME_MODEL = pattern(r"BOSS-N1")
MVCLI = ("mvcli", "/opt/marvell/storage/cli/mvcli", "/opt/dell/mvcli/mvcli")
MNV_CLI = ("mnv_cli", "/opt/marvell/mnvcli/dell/mnv_cli", "/opt/marvell/mnvcli/lenovo/mnv_cli")
STATES = {
    "functional": raid.OPTIMAL,
    "optimal": raid.OPTIMAL,
    "online": raid.OPTIMAL,
    "degraded": raid.DEGRADED,
    "partially optimal": raid.DEGRADED,
    "rebuilding": raid.REBUILDING,
    "offline": raid.FAILED,
    "failed": raid.FAILED,
    "missing": raid.FAILED,
}
# BGA progress:    rebuilding is 15% done
PROGRESS = pattern(r"rebuild\w{0,20} is (\d{1,3})% done")
WORST_LAST = (raid.OPTIMAL, raid.UNKNOWN, raid.REBUILDING, raid.DEGRADED, raid.FAILED)


def controllers(host: Host) -> List[Controller]:
    """The card, if one of its virtual disks is there."""
    try:
        disks = [disk for disk in block_devices.disks(host).values() if MODEL.search(disk.model)]
    except CannotTell:
        return []  # other checks say that the disks cannot be listed
    if not disks:
        return []
    tools = MNV_CLI if any(NVME_MODEL.search(disk.model) for disk in disks) else MVCLI
    _, answer = first_tool(host, tools, f"{tools[0]} from Dell", "info", "-o", "vd")
    return [Controller("boss", disks[0].model, tuple(parse(whole(tools[0], answer))), 0)]


def parse(text: str) -> List[Array]:
    """The virtual disks of `info -o vd`; CannotTell if it tells of none, or counts others than it lists."""
    disks: List[Dict[str, str]] = []
    counted = ""
    for row in text.splitlines():
        name, colon, value = (part.strip() for part in row[:400].partition(":"))
        if name.lower() in ("id", "vd id"):
            disks.append({})
        if name.startswith("Total # of VD"):
            counted = value
        elif colon and disks:
            disks[-1].setdefault(name.lower(), value)
    if not disks:
        raise CannotTell("mvcli lists no virtual disk")
    if counted != str(len(disks)):
        raise CannotTell(f"mvcli counts {counted or 'no'} virtual disks and lists {len(disks)}: output truncated")
    return [_array(facts) for facts in disks]


def _array(facts: Dict[str, str]) -> Array:
    said = [facts[name] for name in ("status", "vd status") if facts.get(name)] or ["nothing"]
    worst = max(said, key=lambda word: WORST_LAST.index(STATES.get(word.lower(), raid.UNKNOWN)))
    progress = PROGRESS.search(facts.get("bga progress", ""))
    state = STATES.get(worst.lower(), raid.UNKNOWN)
    if progress and state == raid.DEGRADED:
        state = raid.REBUILDING
    numbers = facts.get("pd raid setup", "").split()[:64]
    return Array(
        name=f"boss vd {(facts.get('id') or facts.get('vd id') or '?')[:4]}",
        level=(facts.get("raid mode") or "unknown level").lower()[:20],
        state=state,
        said=worst[:60],
        members=tuple(Member(f"M.2 disk {number[:4]}", at, raid.ONLINE) for at, number in enumerate(numbers)),
        action="rebuild" if progress else "",
        percent=min(float(progress.group(1)), 100.0) if progress else -1.0,
    )
