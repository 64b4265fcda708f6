"""Faults of a controller itself in storcli's output: its status, its memory, its battery and its write cache."""

from __future__ import annotations

from typing import Any, List, Mapping, Tuple

from agent.sources.raid.storcli_answer import Row, section, table, whole

GOOD = ("optimal", "ok", "na", "n/a", "-", "", "0", "none", "charging", "learning", "optimal/learning")
# BBU Status 32: a learn cycle is under way; 0: all is well
BBU_BITS_AT_REST = 0x20


def complaints(response: Mapping[str, Any]) -> Tuple[List[str], List[str]]:
    """What the controller says of itself, its memory and its battery, as faults and troubles."""
    status = section(response, "Status")
    faults, troubles = [], []
    said = str(status.get("Controller Status", "")).strip()
    if said.lower() in ("failed", "degraded", "fault", "dead"):
        faults.append(f"controller status {said}")
    elif said.lower() not in GOOD:
        troubles.append(f"controller status {said}")
    if whole(status.get("Memory Uncorrectable Errors")):
        faults.append(f"{whole(status.get('Memory Uncorrectable Errors'))} uncorrectable errors in its memory")
    preserved = status.get("Any Offline VD Cache Preserved") or status.get("Preserved Cache Present") or ""
    if str(preserved).lower() == "yes":
        troubles.append("its cache holds unwritten data of an offline virtual drive")
    packs = _packs(response)
    for pack in packs:
        state = str(pack.get("State", pack.get("Status", ""))).strip()
        if state.lower() not in GOOD:
            what = pack.get("Model") or pack.get("Type") or "battery"
            troubles.append(f"{what} {state}: write cache not protected")
    bits = str(status.get("BBU Status", "")).strip().lower()
    if not packs and bits not in GOOD and whole(bits) & ~BBU_BITS_AT_REST:
        troubles.append(f"battery status {bits}: write cache not protected")
    return faults, troubles


def _packs(response: Mapping[str, Any]) -> List[Row]:
    """What keeps the cache while there is no power, as either generation of the tool calls it."""
    return [row for name in ("BBU_Info", "Cachevault_Info", "Energy Pack Info") for row in table(response, name)]


# storcli: "Cache": "NRWTD" (no read ahead, write-through, direct)
# storcli2: "CurrentCache": "NR,WT", "DefaultCache": "NR,WB"
def writes_through(controller: str, row: Row, disks: List[Row], response: Mapping[str, Any]) -> str:
    """That it writes through where it should not: against its setting, or hard disks behind a cache with a battery."""
    group, _, number = str(row.get("DG/VD", "-/-")).partition("/")
    now, wanted = str(row.get("CurrentCache", row.get("Cache", ""))), str(row.get("DefaultCache", ""))
    if "WT" not in now:
        return ""
    if "WB" in wanted:
        return f"{controller}/v{number}: write-through although set to write-back: check its battery"
    hard = [disk for disk in disks if str(disk.get("DG")).strip() == group and disk.get("Med") == "HDD"]
    return (
        f"{controller}/v{number}: write-through, write cache not used: writes are slow"
        if (hard and _packs(response))
        else ""
    )
