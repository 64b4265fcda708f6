"""Disks and network interfaces, straight from /sys and from udev's database below /run/udev/data.

The same as libudev tells, in a twentieth of its time; where no udev daemon runs (containers), from sysfs alone.
"""

from __future__ import annotations

import os
from typing import Dict, List, Mapping

from agent.host import CannotTell, Disk, Host, Interface

UDEV_DATABASE = "/run/udev/data"
VIRTUAL = ("loop", "ram", "zram", "nbd", "sr")
ATTRIBUTE_BYTES = 4096
# A disk's record has some 2 kB, most of them the names of its links.
RECORD_BYTES = 1 << 20


def disks(host: Host) -> List[Disk]:
    return sorted(_disk(host, name) for name in host.list_dir("/sys/block"))


def interfaces(host: Host) -> List[Interface]:
    """/sys/class/net also holds a file, `bonding_masters`."""
    base = "/sys/class/net"
    return sorted(_interface(host, name) for name in host.list_dir(base) if os.path.isdir(f"{base}/{name}"))


def parse_record(text: str) -> Dict[str, str]:
    """A device's record in udev's database: the properties among its lines.

    S:disk/by-id/wwn-0x5000c500a1b2c3d4
    I:2140523
    E:ID_SERIAL_SHORT=ZA1BC2DE
    """
    rows = [row[2:].partition("=") for row in text.split("\n") if row.startswith("E:")]
    return {name: value for name, _, value in rows}


def _disk(host: Host, name: str) -> Disk:
    """name: as below /sys/block, where `/` of `cciss/c0d0` is `!`."""
    base = f"/sys/block/{name}"
    device = f"{base}/device"
    dev, sectors = _sysfs(host, f"{base}/dev"), _sysfs(host, f"{base}/size")
    udev = _udev_record(host, dev)
    return Disk(
        name=name.replace("!", "/"),
        kind=_kind(name, os.path.exists(device)),
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
            or _sysfs(host, f"{base}/wwid")
            or _sysfs(host, f"{device}/wwid")
        ),
        size_bytes=int(sectors) * 512 if sectors.isdigit() else 0,
        rotational=_sysfs(host, f"{base}/queue/rotational") == "1",
        bus=udev.get("ID_BUS", "") or ("nvme" if name.startswith("nvme") else ""),
        slot=udev.get("ID_SAS_PATH") or udev.get("ID_PATH", ""),
        dev=dev,
    )


def _kind(name: str, has_hardware: bool) -> str:
    if name.startswith(("md", "dm-")):
        return name[:2]
    return "physical" if has_hardware and not name.startswith(VIRTUAL) else "virtual"


def _udev_record(host: Host, dev: str) -> Mapping[str, str]:
    """What udev knows of a block device; nothing where it has no record of it."""
    try:
        return parse_record(host.read(f"{UDEV_DATABASE}/b{dev}", RECORD_BYTES)) if dev else {}
    except CannotTell:
        return {}


def _sysfs(host: Host, path: str) -> str:
    """A sysfs attribute, or nothing where the driver has none or will not say."""
    try:
        return host.read(path, ATTRIBUTE_BYTES).strip("\0\n ")
    except CannotTell:
        return ""


def _interface(host: Host, name: str) -> Interface:
    base = f"/sys/class/net/{name}"
    pci = _target(f"{base}/device")
    return Interface(
        name=name,
        kind="bond" if os.path.isdir(f"{base}/bonding") else "physical" if pci else "virtual",
        driver=_target(f"{base}/device/driver"),
        mac=_sysfs(host, f"{base}/address"),
        pci=pci,
        bond=_target(f"{base}/master"),
    )


def _target(path: str) -> str:
    """The name of what a link in sysfs points at; empty where there is none."""
    try:
        return os.path.basename(os.readlink(path))
    except OSError:
        return ""
