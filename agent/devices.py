"""Disks and network interfaces: from udev's database, and from sysfs where no udev daemon runs (containers)."""

from __future__ import annotations

import os
from typing import Any, List, Mapping

from agent.host import CannotTell, Disk, Host, Interface


def disks(host: Host) -> List[Disk]:
    devices = _udev().list_devices(subsystem="block", DEVTYPE="disk")
    return sorted(_disk(host, device.sys_name, dict(device.properties)) for device in devices)


def interfaces(host: Host) -> List[Interface]:
    devices = _udev().list_devices(subsystem="net")
    return sorted(_interface(host, device.sys_name) for device in devices)


def _udev() -> Any:
    """udev's database; pyudev loads its C library only now."""
    import pyudev

    try:
        return pyudev.Context()
    except (ImportError, OSError) as error:
        raise CannotTell(f"devices cannot be listed: {error} (package libudev1, found with ldconfig)") from None


def _sysfs(host: Host, path: str) -> str:
    """A sysfs attribute, or nothing where the driver has none or will not say."""
    try:
        return host.read(path, 4096).strip("\0\n ")
    except CannotTell:
        return ""


def _disk(host: Host, name: str, udev: Mapping[str, str]) -> Disk:
    """One disk from udev's database, and from sysfs where no udev daemon runs (containers)."""
    device = f"/sys/block/{name}/device"
    if name.startswith(("md", "dm-")):
        kind = name[:2]
    else:
        kind = (
            "physical"
            if host.exists(device) and not name.startswith(("loop", "ram", "zram", "nbd", "sr"))
            else "virtual"
        )
    sectors = _sysfs(host, f"/sys/block/{name}/size")
    return Disk(
        name=name,
        kind=kind,
        model=udev.get("ID_MODEL", "").replace("_", " ").strip() or _sysfs(host, f"{device}/model"),
        # Of a SAS disk ID_SERIAL_SHORT is the worldwide name; what is printed on its label is the SCSI serial.
        serial=(
            udev.get("ID_SCSI_SERIAL")
            or udev.get("ID_SERIAL_SHORT")
            or udev.get("SCSI_IDENT_SERIAL")
            or _sysfs(host, f"{device}/serial")
        ),
        wwn=(
            udev.get("ID_WWN_WITH_EXTENSION")
            or udev.get("ID_WWN")
            or _sysfs(host, f"/sys/block/{name}/wwid")
            or _sysfs(host, f"{device}/wwid")
        ),
        size_bytes=int(sectors) * 512 if sectors.isdigit() else 0,
        rotational=_sysfs(host, f"/sys/block/{name}/queue/rotational") == "1",
        bus=udev.get("ID_BUS", "") or ("nvme" if name.startswith("nvme") else ""),
        slot=udev.get("ID_SAS_PATH") or udev.get("ID_PATH", ""),
        dev=_sysfs(host, f"/sys/block/{name}/dev"),
    )


def _interface(host: Host, name: str) -> Interface:
    base = f"/sys/class/net/{name}"
    bus = _sysfs_link(host, f"{base}/device")
    kind = "bond" if host.exists(f"{base}/bonding") else "physical" if bus else "virtual"
    return Interface(
        name=name,
        kind=kind,
        driver=os.path.basename(_sysfs_link(host, f"{base}/device/driver")),
        mac=_sysfs(host, f"{base}/address"),
        pci=os.path.basename(bus),
        bond=os.path.basename(_sysfs_link(host, f"{base}/master")),
    )


def _sysfs_link(host: Host, path: str) -> str:
    try:
        return host.link(path)
    except CannotTell:
        return ""
