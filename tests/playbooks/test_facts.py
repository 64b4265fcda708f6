"""Facts from what a machine says, and the last look before a disk is overwritten.

The machines here answer from a table, since this one has no md, no device mapper and no disks to lose; loop devices
behind a real sshd are in tests/real/test_playbooks.py, real disks and arrays in the rack.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbooks.fact_schema import Fact, fact
from playbooks.facts import Choice, NotFound, md
from playbooks.run import disk_safety
from playbooks.view import View
from tests.playbooks.fake_machine import Told, disk, found, lsblk, part

UUID = "0c9f1d6e-8f0a-4a53-9a4c-3f1f6d1f7a11"
MDSTAT = """Personalities : [raid10]
md0 : active raid10 sdd2[3] sdc2[2](F) sdb2[1] sda2[0]
      7812235264 blocks super 1.2 512K chunks 2 near-copies [4/3] [UU_U]
unused devices: <none>
"""
DETAIL = "MD_LEVEL=raid10\n" + "".join(
    f"MD_DEVICE_dev_sd{name}2_ROLE={role}\nMD_DEVICE_dev_sd{name}2_DEV=/dev/sd{name}2\n"
    for name, role in (("a", "0"), ("b", "1"), ("c", "spare"), ("d", "3"))
)


def raid() -> Told:
    array = disk("md0", type="raid10")
    disks = [disk(f"sd{name}", f"SER-{name.upper()}", part(f"sd{name}1"), part(f"sd{name}2", array)) for name in "abd"]
    disks.append(disk("sdc", "SER-C", part("sdc1"), part("sdc2", fstype="linux_raid_member")))
    return Told(
        {"lsblk": lsblk(*disks), "mdadm --detail --export /dev/md0": DETAIL},
        {"/proc/mdstat": MDSTAT, "/proc/self/mountinfo": "", "/sys/block/md0/md/raid_disks": "4",
         "/sys/block/md0/md/layout": "258", **{f"/sys/class/block/sd{one}2/partition": "2" for one in "abcd"}},
    )  # fmt: skip


def test_a_member_that_failed_is_found_by_its_serial_number_with_its_partner() -> None:
    member = found("md-disk", raid(), Choice(disk="SER-C"))

    assert member.words("device") == "/dev/sdc" and member.words("member") == "/dev/sdc2"
    assert (member.words("array"), member.words("partition_number")) == ("/dev/md0", "2")
    assert (member.words("partner_serial"), member.words("partner_device")) == ("SER-D", "/dev/sdd")


def test_the_one_failed_member_of_an_array_is_meant_by_its_finding() -> None:
    finding = {"check": "raid", "item": "md0", "status": "critical"}

    assert found("md-disk", raid(), findings=[finding]).words("serial") == "SER-C"


def test_without_a_hint_all_members_are_listed() -> None:
    with pytest.raises(NotFound) as caught:
        found("md-disk", raid())

    assert "--disk SERIAL" in str(caught.value) and str(caught.value).count("/dev/md0: ") == 4


@given(st.text(max_size=200))
def test_rubbish_in_mdstat_is_no_array_or_one_of_names(text: str) -> None:
    assert all(row.name.startswith("md") and row.name.isascii() for row in md.named(f"{text}\nmd;é : active raid1\n"))


def jbod(*disks: object, mountinfo: str = "", fstab: str = "", **files: str) -> Told:
    return Told(
        {"lsblk": json.dumps({"blockdevices": disks})},
        {"/proc/self/mountinfo": mountinfo, "/etc/fstab": fstab, **files},
        {"/sys/class/block/sdc/holders": [], "/sys/block/sdc/device": ["enclosure_device:Slot 03"]},
        {"/sys/block/sdc/device/enclosure_device:Slot 03": "/sys/devices/0:0:8:0/enclosure/0:0:8:0/Slot 03"},
    )


MOUNTED = "36 1 9:sdc /  /kafka/d3 rw,noatime - xfs /dev/sdc rw\n".replace("  ", " ")


def test_a_data_disk_has_its_mount_its_uuid_and_its_slot() -> None:
    machine = jbod(
        disk("sda", "SYS", part("sda1", mountpoint="/")), disk("sdc", "ZA1BC2", fstype="xfs", uuid=UUID),
        mountinfo=MOUNTED, fstab=f"UUID={UUID} /kafka/d3 xfs noatime 0 2\nUUID=x / ext4 defaults 0 1\n",
    )  # fmt: skip

    one = found("jbod-disk", machine)

    assert (one.words("serial"), one.words("device"), one.words("mount")) == ("ZA1BC2", "/dev/sdc", "/kafka/d3")
    assert (one.words("uuid"), one.words("fstab"), one.words("slot")) == (UUID, f"UUID={UUID}", "Slot 03")


def test_a_disk_that_is_gone_is_still_known_by_its_mount() -> None:
    gone = jbod(disk("sda", "SYS"), mountinfo=MOUNTED, fstab=f"UUID={UUID} /kafka/d3 xfs noatime 0 2\n")

    one = found("jbod-disk", gone, Choice(item="/kafka/d3"))

    assert (one.words("device"), one.words("fstab"), one.words("serial")) == ("/dev/sdc", f"UUID={UUID}", "")


def test_of_several_empty_disks_the_one_that_is_newer_than_the_plan_is_meant() -> None:
    machine = jbod(disk("sdc", "SPARE"), disk("sdd", "NEW"))
    machine.commands |= {"wipefs": "# offset,uuid,label,type\n", "blkid": ""}
    with pytest.raises(NotFound, match="several candidates for empty-disk"):
        found("empty-disk", machine)

    assert found("empty-disk", machine, disks_before=("SPARE",)).words("serial") == "NEW"


@pytest.mark.parametrize("answer", ["", "{}", "[]", '{"blockdevices": 3}', "[" * 2000])
def test_an_odd_answer_of_lsblk_is_told(answer: str) -> None:
    with pytest.raises(NotFound, match=r"unexpected output from lsblk|no jbod-disk found"):
        found("jbod-disk", Told({"lsblk": answer}, {"/proc/self/mountinfo": MOUNTED, "/etc/fstab": "x /y z w"}))


@given(st.recursive(st.none() | st.integers() | st.text(max_size=9), lambda inner: st.lists(inner, max_size=3) |
                    st.dictionaries(st.sampled_from(["kname", "children", "size", "mountpoint", "serial"]), inner),
                    max_leaves=8))  # fmt: skip
def test_rubbish_of_lsblk_is_told_in_words(rows: object) -> None:
    machine = Told({"lsblk": json.dumps({"blockdevices": rows})}, {"/proc/self/mountinfo": "", "/etc/fstab": ""})
    try:
        found("empty-disk", machine)
    except NotFound as error:
        assert "empty-disk" in str(error)


TARGET = fact("empty-disk", {"device": "/dev/sdc", "serial": "NEW", "size_bytes": 4_000_000_000_000})
OLD = fact("jbod-disk", {"device": "/dev/sdc", "serial": "OLD", "size_bytes": 4_000_000_000_000})
IN_USE = {
    "a mount": (disk("sdc", "NEW", mountpoint="/x"), "is mounted at /x"),
    "a mounted partition": (disk("sdc", "NEW", part("sdc1", mountpoint="/x")), "/dev/sdc1 is mounted at /x"),
    "swap": (disk("sdc", "NEW", part("sdc1", mountpoint="[SWAP]")), "is mounted at [SWAP]"),
    "an array": (disk("sdc", "NEW", disk("md0", type="raid10")), "/dev/md0 (raid10) is built on it"),
    "a volume": (disk("sdc", "NEW", part("sdc1", disk("dm-0", type="lvm"))), "/dev/dm-0 (lvm) is built on it"),
    "an array that sleeps": (disk("sdc", "NEW", part("sdc1", fstype="linux_raid_member")), "is a linux_raid_member"),
    "a volume group that sleeps": (disk("sdc", "NEW", fstype="LVM2_member"), "is a LVM2_member"),
    "an encrypted disk": (disk("sdc", "NEW", fstype="crypto_LUKS"), "is a crypto_LUKS"),
    "the system": (disk("sdc", "NEW", part("sdc1", mountpoint="/boot")), "is a system disk"),
    "another disk": (disk("sdc", "OTHER"), "/dev/sdc has serial OTHER, the plan is for serial NEW"),
    "a disk without a serial number": (disk("sdc"), "has serial (unknown)"),
    "a smaller disk": (disk("sdc", "NEW", size=3_999_999_999_999), "the disk to be replaced has"),
    "no disk": (disk("sdx", "NEW"), "disk /dev/sdc no longer exists"),
}  # fmt: skip


@pytest.mark.parametrize(("row", "said"), IN_USE.values(), ids=IN_USE)
def test_what_is_in_use_or_not_the_disk_is_never_overwritten(row: object, said: str) -> None:
    machine = jbod(row, **{"/proc/swaps": "Filename Type\n"})
    machine.commands |= {"wipefs": "", "blkid": ""}

    assert any(said in one for one in disk_safety.refusals(View(machine), TARGET, OLD, untouched=True))


def test_an_empty_disk_of_the_right_serial_may_be_overwritten() -> None:
    machine = jbod(disk("sdc", "NEW"), **{"/proc/swaps": "Filename Type\n"})
    machine.commands |= {"wipefs": "# offset,uuid,label,type\n", "blkid": ""}

    assert disk_safety.refusals(View(machine), TARGET, OLD, untouched=True) == []


def test_what_holds_a_disk_without_a_name_in_lsblk_is_seen_too() -> None:
    machine = jbod(disk("sdc", "NEW"), **{"/proc/swaps": "Filename Type\n"})
    machine.folders["/sys/class/block/sdc/holders"] = ["bcache0"]
    machine.commands |= {"wipefs": "", "blkid": ""}

    assert disk_safety.refusals(View(machine), TARGET, OLD, untouched=True) == ["/dev/sdc is held by bcache0"]


def test_a_disk_that_cannot_be_looked_at_is_never_overwritten() -> None:
    (said,) = disk_safety.refusals(View(Told()), TARGET, OLD, untouched=True)

    assert "cannot check the disk" in said


def test_a_device_that_is_another_disk_by_now_stops_a_step_that_names_it() -> None:
    view = View(jbod(disk("sdc", "OTHER")))

    assert disk_safety.moved(view, iter([("disk", OLD, "device")])) == [
        "disk.device /dev/sdc now has serial OTHER, had OLD"
    ]
    assert (
        disk_safety.moved(view, iter([("disk", Fact("jbod-disk", {**OLD.values, "device": "/dev/sdx"}), "device")]))
        == []
    )


def test_a_broker_that_does_not_run_is_known_by_its_unit() -> None:
    machine = Told(
        {"ps ": "1 root systemd /sbin/init\n", "id -u": "0",
         "systemctl list-unit-files": "kafka.service enabled enabled\nkafka-exporter.service enabled enabled\n",
         "systemctl show": "ExecStart={ path=/opt/x ; argv[]=/opt/x /etc/kafka/server.properties ; }\nUser=kafka\n"},
        {"/etc/kafka/server.properties": "broker.id=7\nlog.dirs=/kafka/d1,/kafka/d2\nlisteners=PLAINTEXT://:9092\n"},
    )  # fmt: skip

    broker = found("broker", machine)

    assert (broker.words("unit"), broker.words("user"), broker.words("id")) == ("kafka.service", "kafka", "7")
    assert (broker.words("log_dirs"), broker.words("ports")) == ("/kafka/d1,/kafka/d2", "9092")
    assert broker.words("pid") == ""
