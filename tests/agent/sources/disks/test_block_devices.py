"""From a mount down to the disks in their slots, through whatever lies between."""

from typing import Any

import pytest

from agent.expected import Expected, ExpectedMount
from agent.host import CannotTell, Disk, NotApplicable
from agent.machine.live import LiveHost
from agent.sources.disks import block_devices
from tests.machine import FakeHost


def disk(name: str, kind: str = "physical", **known: Any) -> Disk:
    return Disk(
        name,
        kind,
        **{**dict.fromkeys(("model", "serial", "wwn", "bus", "slot", "dev"), ""), **known},
        size_bytes=1 << 40,
        rotational=True,
    )


# hand-made: sda, sdb with one partition each; md0 on both partitions; an LVM volume dm-0 on md0; an NVMe disk
FILES = {
    "/sys/block/sda/sda1/partition": "1\n",
    "/sys/block/sda/dev": "8:0\n",
    "/sys/block/sdb/sdb1/partition": "1\n",
    "/sys/block/sdb/dev": "8:16\n",
    "/sys/block/nvme0n1/dev": "259:0\n",
    "/sys/block/md0/slaves/sda1": "",
    "/sys/block/md0/slaves/sdb1": "",
    "/sys/block/dm-0/slaves/md0": "",
    "/proc/self/mountinfo": (
        "30 1 8:1 / /kafka/d1 rw - xfs /dev/sda1 rw\n"
        "31 1 253:0 / /kafka/all rw - xfs /dev/mapper/vg-data rw\n"
        "32 1 0:45 / /kafka/b rw - btrfs /dev/sdb1 rw\n"
    ),
}
LINKS = {
    "link /sys/dev/block/8:1": "/sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda/sda1",
    "link /sys/dev/block/253:0": "/sys/devices/virtual/block/dm-0",
    "link /dev/mapper/vg-data": "/dev/dm-0",
    "disks": [disk("sda", model="ST8000NM0055", serial="ZA1BC2", slot="pci-ata-1"), disk("sdb"), disk("md0", "md")],
}


def machine(**given: Any) -> FakeHost:
    return FakeHost(files=FILES, answers=LINKS, **given)


@pytest.mark.parametrize(
    ("device", "disks"),
    [
        ("8:1", ["sda"]),
        ("sda1", ["sda"]),
        ("sdb", ["sdb"]),
        ("nvme0n1", ["nvme0n1"]),
        ("md0", ["sda", "sdb"]),
        ("253:0", ["sda", "sdb"]),
        ("/dev/mapper/vg-data", ["sda", "sdb"]),
        ("/dev/sdb1", ["sdb"]),
    ],
)
def test_a_device_stands_on_these_disks(device: str, disks: list[str]) -> None:
    assert block_devices.behind(machine(), device) == disks


@pytest.mark.parametrize("device", ["8:99", "sdz", "sda2", "/dev/mapper/gone", "", ":"])
def test_a_device_that_is_not_there_cannot_be_told(device: str) -> None:
    with pytest.raises(CannotTell):
        block_devices.behind(machine(), device)


@pytest.mark.parametrize(
    ("path", "disks"), [("/kafka/d1", ["sda"]), ("/kafka/all/", ["sda", "sdb"]), ("/kafka/b", ["sdb"])]
)
def test_a_mount_stands_on_these_disks(path: str, disks: list[str]) -> None:
    assert block_devices.behind_mount(machine(), path) == disks


def test_nothing_mounted_cannot_be_told() -> None:
    with pytest.raises(CannotTell, match="nothing is mounted at /kafka/d9"):
        block_devices.behind_mount(machine(), "/kafka/d9")


def test_slaves_that_go_round_in_a_circle_end() -> None:
    host = FakeHost(files={"/sys/block/dm-0/slaves/dm-1": "", "/sys/block/dm-1/slaves/dm-0": ""})

    with pytest.raises(CannotTell, match="is its own parent device"):
        block_devices.behind(host, "dm-0")


def test_a_disk_is_described_as_a_person_finds_it() -> None:
    assert block_devices.describe(machine(), "sda") == "sda (ST8000NM0055, serial ZA1BC2, slot pci-ata-1)"
    assert block_devices.describe(machine(), "sdb") == "sdb"
    assert block_devices.describe(FakeHost(), "sdb") == "sdb"


def test_disks_that_carry_data_are_those_below_the_expected_mounts() -> None:
    mounts = tuple(ExpectedMount(path) for path in ("/kafka/d1", "/kafka/b", "/kafka/gone"))

    assert block_devices.carrying_data(machine(expected=Expected(mounts=mounts))) == {
        "sda": ["/kafka/d1"],
        "sdb": ["/kafka/b"],
    }


def test_without_known_mounts_every_physical_disk_of_a_broker_may_carry_data() -> None:
    assert block_devices.carrying_data(machine(expected=Expected(roles=("broker",)))) == {"sda": [], "sdb": []}
    with pytest.raises(NotApplicable):
        block_devices.carrying_data(machine())


def test_no_mount_that_can_be_followed_is_not_an_empty_answer() -> None:
    with pytest.raises(CannotTell, match="nothing is mounted at /kafka/gone"):
        block_devices.carrying_data(machine(expected=Expected(mounts=(ExpectedMount("/kafka/gone"),))))


def test_the_root_of_this_very_machine_stands_on_a_block_device() -> None:
    host = LiveHost()
    try:
        whole = block_devices.whole_disks(host)
        found = block_devices.behind_mount(host, "/")
    except CannotTell as error:
        pytest.skip(f"the root of this machine is no block device: {error}")
    finally:
        host.close()

    assert found and set(found) <= set(whole)
