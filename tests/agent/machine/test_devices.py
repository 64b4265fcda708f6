"""Disks and interfaces as the agent reads them are those that libudev tells of."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.host import Host, Missing
from agent.machine import devices

ROOT = pathlib.Path(__file__).parents[3]
# As udev writes it of a SAS disk (hand-made from `udevadm info` and /run/udev/data of a real one).
SAS = """S:disk/by-id/wwn-0x5000c500a1b2c3d4
S:disk/by-path/pci-0000:03:00.0-sas-phy4-lun-0
I:2140523
E:ID_BUS=scsi
E:ID_MODEL=ST8000NM0075____
E:ID_SCSI_SERIAL=ZA1BC2DE
E:ID_SERIAL_SHORT=5000c500a1b2c3d4
E:ID_WWN=0x5000c500a1b2c3d4
E:ID_PATH=pci-0000:03:00.0-sas-phy4-lun-0
E:ID_FS_LABEL=a=b c
E:EMPTY=
G:systemd
Q:systemd
V:1
"""
# Prints what pyudev and what we read, in a mount namespace of our own where udev has a record of each disk.
COMPARE = """
import json, os, sys
record = sys.argv[1]
for name in os.listdir("/sys/block") if record else []:
    with open(f"/sys/block/{name}/dev") as file, open(f"/run/udev/data/b{file.read().strip()}", "w") as made:
        made.write(record.replace("ZA1BC2DE", f"SERIAL{name}"))
import pyudev
from agent.machine import devices
from agent.machine.live import LiveHost
host, context = LiveHost(), pyudev.Context()
theirs = {one.sys_name: dict(one.properties) for one in context.list_devices(subsystem="block", DEVTYPE="disk")}
ours = {disk.name: disk for disk in devices.disks(host)}
records = {name: dict(devices._udev_record(host, disk.dev)) for name, disk in ours.items()}
links = {one.sys_name: one.attributes.get("address") for one in context.list_devices(subsystem="net")}
drivers = {one.sys_name: one.parent.driver if one.parent else "" for one in context.list_devices(subsystem="net")}
print(json.dumps({
    "theirs": theirs, "records": records, "disks": [disk._asdict() for disk in ours.values()],
    "macs": {name: (mac or b"").decode() for name, mac in links.items()},
    "interfaces": {one.name: one._asdict() for one in devices.interfaces(host)}, "drivers": drivers}))
os._exit(0)
"""


def compared(record: str) -> dict[str, Any]:
    mounted = 'mount -t tmpfs none /run && mkdir -p /run/udev/data && exec "$@"'
    answer = subprocess.run(
        ["unshare", "--mount", "sh", "-c", mounted, "sh", sys.executable, "-c", COMPARE, record],
        cwd=ROOT, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    return dict(json.loads(answer.stdout))


@pytest.mark.root
@pytest.mark.parametrize("record", [SAS, ""], ids=["udev has a record", "no udev daemon"])
def test_disks_and_interfaces_are_those_that_libudev_tells_of(record: str) -> None:
    seen = compared(record)

    assert seen["theirs"] and seen["theirs"].keys() == seen["records"].keys()
    for name, told in seen["theirs"].items():
        ours = seen["records"][name]
        assert {key: told[key] for key in ours if key in told} == {key: ours[key] for key in ours if ours[key]}
        assert bool(ours) == bool(record) and (not record or ours["ID_SCSI_SERIAL"] == f"SERIAL{name}")
    assert {name: row["mac"] for name, row in seen["interfaces"].items()} == seen["macs"]
    assert {name: row["driver"] for name, row in seen["interfaces"].items()} == {
        name: driver or "" for name, driver in seen["drivers"].items()
    }


class Tree(Host):
    """A machine whose files lie below a folder."""

    def __init__(self, folder: pathlib.Path) -> None:
        super().__init__()
        self.folder = folder

    def read(self, path: str, limit: int = 1 << 20) -> str:
        try:
            return (self.folder / path[1:]).read_text()[:limit]
        except OSError:
            raise Missing(path) from None

    def list_dir(self, path: str) -> list[str]:
        return sorted(os.listdir(self.folder / path[1:]))


def test_a_disk_of_an_old_controller_has_a_slash_in_its_name_and_none_in_sysfs(tmp_path: pathlib.Path) -> None:
    for path, text in {
        "sys/block/cciss!c0d0/dev": "104:0\n",
        "sys/block/cciss!c0d0/size": "286677120\n",
        "run/udev/data/b104:0": SAS,
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)

    (disk,) = devices.disks(Tree(tmp_path))

    assert (disk.name, disk.path, disk.dev) == ("cciss/c0d0", "/dev/cciss/c0d0", "104:0")
    assert disk.size_bytes == 286677120 * 512
    assert (disk.model, disk.serial, disk.wwn) == ("ST8000NM0075", "ZA1BC2DE", "0x5000c500a1b2c3d4")
    assert disk.slot == "pci-0000:03:00.0-sas-phy4-lun-0"


@given(st.text())
def test_a_record_of_rubbish_gives_names_and_values_of_its_own_lines(text: str) -> None:
    for name, value in devices.parse_record(text).items():
        assert f"E:{name}" in text and value in text and "\n" not in name + value
