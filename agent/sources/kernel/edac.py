"""The memory controllers' error counters: /sys/devices/system/edac/mc, in its present and its older layout."""

from __future__ import annotations

import re
from typing import Dict, List, Optional, Sequence

from agent.host import CannotTell, Host, Missing, NotApplicable, cached_per_run
from agent.named_tuples import NamedTuple
from agent.sources.kernel.memory_lines import slot_not_told

BASE = "/sys/devices/system/edac/mc"
DMI = "/sys/class/dmi/id"

# What a hypervisor gives as its machine's vendor, or product.
VIRTUAL_VENDORS = ("QEMU", "VMware", "Xen", "innotek GmbH", "Bochs", "Parallels", "oVirt", "OpenStack", "Nutanix",
                   "Red Hat", "Google", "DigitalOcean", "Firecracker")  # fmt: skip
VIRTUAL_PRODUCTS = ("Virtual Machine", "KVM", "VirtualBox", "VMware", "Standard PC", "HVM domU")


class Dimm(NamedTuple):
    """One DIMM, or what a controller could not assign to one. Counts are since boot, None where nobody counts."""

    item: str
    location: str
    corrected: Optional[int]
    uncorrected: Optional[int]


@cached_per_run
def dimms(host: Host) -> List[Dimm]:
    """Every DIMM that a driver watches; NotApplicable on a virtual machine, CannotTell where no driver is loaded."""
    try:
        controllers = [name for name in host.list_dir(BASE) if re.fullmatch(r"mc\d{1,4}", name, re.ASCII)]
    except Missing:
        controllers = []
    if not controllers:
        proof = virtual_machine(host)
        if proof:
            raise NotApplicable(f"a virtual machine has no DIMMs of its own ({proof})")
        raise CannotTell("no EDAC driver: memory errors are not counted (load the driver of this chipset)")
    return _distinct([dimm for name in controllers for dimm in _of_controller(host, name)])


def _distinct(found: Sequence[Dimm]) -> List[Dimm]:
    """Labels that the firmware gave twice get their place added."""
    labels = [dimm.item for dimm in found]
    return [
        dimm._replace(item=f"{dimm.item} ({dimm.location})") if labels.count(dimm.item) > 1 else dimm for dimm in found
    ]


def _of_controller(host: Host, name: str) -> List[Dimm]:
    base = f"{BASE}/{name}"
    parts = host.list_dir(base)
    # `rank0` where the driver knows only rows and channels
    by_dimm = [_dimm(host, base, part) for part in parts if re.fullmatch(r"(?:dimm|rank)\d{1,4}", part, re.ASCII)]
    counted = by_dimm if any(dimm.corrected is not None for dimm in by_dimm) else []
    # RHEL 7 has the DIMMs, but counts by row and channel
    rows = [part for part in parts if re.fullmatch(r"csrow\d{1,4}", part, re.ASCII)]
    found = counted or [dimm for row in rows for dimm in _of_row(host, base, row)] or by_dimm
    return [*found, *_not_assigned(host, base, name, found)]


def _dimm(host: Host, base: str, part: str) -> Dimm:
    place = f"{base}/{part}"
    where = _word(host, f"{place}/dimm_location") or part
    location = f"{base.rpartition('/')[2]} {where}"
    corrected, uncorrected = (_count(host, f"{place}/dimm_{kind}_count") for kind in ("ce", "ue"))
    return Dimm(_word(host, f"{place}/dimm_label") or location, location, corrected, uncorrected)


def _of_row(host: Host, base: str, row: str) -> List[Dimm]:
    """The channels of a row; many drivers count uncorrected errors only for the row, or only for the controller."""
    place = f"{base}/{row}"
    channels = sorted({part.split("_")[0] for part in host.list_dir(place) if re.match(r"ch\d{1,4}_ce_count$", part)})
    location = f"{base.rpartition('/')[2]} {row}"
    found = [
        Dimm(
            _word(host, f"{place}/{channel}_dimm_label") or f"{location} {channel}",
            f"{location} {channel}",
            _count(host, f"{place}/{channel}_ce_count"),
            _count(host, f"{place}/{channel}_ue_count"),
        )
        for channel in channels
    ]
    if found:
        return found
    return [Dimm(location, location, *(_count(host, f"{place}/{kind}_count") for kind in ("ce", "ue")))]


def _not_assigned(host: Host, base: str, name: str, found: Sequence[Dimm]) -> List[Dimm]:
    """Errors that the controller counted and assigned to no DIMM."""
    left: Dict[str, int] = {}
    reported = {"ce": [dimm.corrected or 0 for dimm in found], "ue": [dimm.uncorrected or 0 for dimm in found]}
    for kind, counts in reported.items():
        total, unknown = (_count(host, f"{base}/{kind}{part}_count") for part in ("", "_noinfo"))
        left[kind] = max((total or 0) - sum(counts), unknown or 0)
    if any(left.values()) or not found:
        return [Dimm(slot_not_told(name[2:]), name, left["ce"], left["ue"])]
    return []


def _count(host: Host, path: str) -> Optional[int]:
    try:
        count = host.read_int(path)
    except CannotTell:
        return None
    return count if count >= 0 else None


def _text(host: Host, path: str) -> str:
    try:
        return host.read(path, 1 << 16)
    except CannotTell:
        return ""


def _word(host: Host, path: str) -> str:
    return " ".join(_text(host, path).split())[:80]


def virtual_machine(host: Host) -> str:
    """What proves that this is a virtual machine; empty if nothing does."""
    if re.search(r"^flags\s*:.*\bhypervisor\b", _text(host, "/proc/cpuinfo"), re.MULTILINE):
        return "the processor shows a hypervisor"
    vendor, product = _word(host, f"{DMI}/sys_vendor"), _word(host, f"{DMI}/product_name")
    if vendor.startswith(VIRTUAL_VENDORS) or product.startswith(VIRTUAL_PRODUCTS):
        return f"{vendor} {product}".strip()
    # Xen's first machine has a /sys/hypervisor too, but sees the real hardware
    if _word(host, "/sys/hypervisor/uuid").strip("0-"):
        return "/sys/hypervisor"
    return ""
