"""The mount table and fstab: what they say is read whole, and rubbish in them is left out."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.host import CannotTell, Missing
from agent.sources.disks import file_system, mount_table
from agent.sources.disks.mount_table import FstabEntry, Mount
from tests.machine import FakeHost

# Recorded on this kind of machine: Debian 12, an ext4 after an error, an XFS, and mounts of the system.
MOUNTINFO = r"""22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw,discard
61 27 7:0 / /kafka/my\040disk rw,relatime - ext4 /dev/loop0 rw,errors=remount-ro,emergency_ro
62 27 7:1 / /kafka/d2 rw,noatime - xfs /dev/mapper/vg-d2 rw,inode64,logbufs=8,logbsize=32k,noquota
"""


def host(mountinfo: str = MOUNTINFO, fstab: str = "", **links: str) -> FakeHost:
    files = {"/proc/self/mountinfo": mountinfo, "/etc/fstab": fstab, "/dev/disk/by-label/x": ""}
    return FakeHost(files=files, answers={f"link {path}": target for path, target in links.items()})


def test_the_examples_in_the_documentation_hold() -> None:
    for module in (mount_table, file_system):
        result = doctest.testmod(module)
        assert (result.failed, result.attempted > 0) == (0, True)


def test_a_mount_table_is_read_with_blanks_tags_and_both_kinds_of_options() -> None:
    mounts = mount_table.parse_mountinfo(MOUNTINFO)

    assert [mount.path for mount in mounts] == ["/proc", "/", "/kafka/my disk", "/kafka/d2"]
    assert mounts[2] == Mount(
        "/kafka/my disk", "/dev/loop0", "ext4", ("rw", "relatime", "errors=remount-ro", "emergency_ro"), "7:0", 61
    )
    assert mounts[1].source == "/dev/vda"


def test_a_read_only_file_system_behind_a_writable_mount_keeps_its_option() -> None:
    (mount,) = mount_table.parse_mountinfo("61 27 7:0 / /d rw,relatime - ext4 /dev/loop0 ro\n")

    assert mount.options == ("rw", "relatime", "ro")


def test_the_mount_on_top_counts() -> None:
    machine = host("1 0 8:1 / /d rw - ext4 /dev/sda1 rw\n2 1 8:2 / /d rw - xfs /dev/sda2 rw\n")

    mount = mount_table.mount_at(machine, "/d/")

    assert mount and mount.source == "/dev/sda2"


@pytest.mark.parametrize(
    ("path", "holder"),
    [("/kafka/d2/topic-0", "/kafka/d2"), ("/kafka/d2", "/kafka/d2"), ("/kafka/d22", "/"), ("/kafka", "/"), ("/", "/")],
)
def test_the_mount_that_holds_a_path(path: str, holder: str) -> None:
    mount = mount_table.mount_of(host(), path)

    assert mount and mount.path == holder


def test_fstab_is_read_without_its_comments_and_short_rows() -> None:
    text = "# comment\n\nUUID=1 / ext4 defaults 0 1\n/dev/sdb1\t/my\\040disk xfs noatime,nofail\nbroken row\n"

    assert mount_table.parse_fstab(text) == [
        FstabEntry("UUID=1", "/", "ext4", ("defaults",)),
        FstabEntry("/dev/sdb1", "/my disk", "xfs", ("noatime", "nofail")),
    ]


def test_the_last_entry_of_fstab_counts_and_no_fstab_is_an_empty_one() -> None:
    machine = host(fstab="/dev/a /d ext4 defaults\n/dev/b /d/ xfs defaults\n")
    entry = mount_table.fstab_entry(machine, "/d")
    assert entry and entry.source == "/dev/b"

    del machine.files["/etc/fstab"]
    assert mount_table.fstab_entry(FakeHost(), "/d") is None


def test_a_source_is_followed_through_udevs_links() -> None:
    links = {"/dev/disk/by-label/my\\x20disk": "/dev/sdb1", "/dev/mapper/vg-d2": "/dev/dm-3", "/dev/sdc": "/dev/sdc"}
    machine = host(**links)

    assert mount_table.device(machine, 'LABEL="my disk"') == "sdb1"
    assert mount_table.device(machine, "/dev/mapper/vg-d2") == "dm-3"
    assert mount_table.device(machine, "sdc") == "sdc"
    with pytest.raises(Missing, match="no device LABEL=other on this machine"):
        mount_table.device(machine, "LABEL=other")
    with pytest.raises(CannotTell, match="udev") as told:
        mount_table.device(machine, "UUID=1")
    assert not isinstance(told.value, Missing)


@pytest.mark.parametrize(
    ("options", "effect"),
    [
        ("defaults", ""),
        ("noatime", "noatime"),
        ("noatime,relatime", ""),
        ("ro,rw", ""),
        ("rw,ro", "ro"),
        ("users", "nodev,noexec,nosuid"),
        ("users,exec", "nodev,nosuid"),
        ("sync,async", ""),
        ("nodiratime,lazytime,errors=remount-ro", "lazytime,nodiratime"),
    ],
)
def test_which_options_of_an_entry_come_into_effect(options: str, effect: str) -> None:
    assert ",".join(sorted(mount_table.in_effect(options.split(",")))) == effect


rubbish = st.text() | st.binary().map(lambda raw: raw.decode("utf-8", "replace"))


@given(rubbish | st.builds(lambda cut, more: MOUNTINFO[:cut] + more, st.integers(0, 400), st.text(max_size=40)))
def test_any_mount_table_gives_well_typed_mounts(text: str) -> None:
    for mount in mount_table.parse_mountinfo(text):
        assert isinstance(mount.number, int)
        assert all(isinstance(field, str) for field in (mount.path, mount.source, mount.fstype, mount.dev))
        assert all(isinstance(option, str) for option in mount.options)


@given(rubbish)
def test_any_fstab_gives_well_typed_entries(text: str) -> None:
    for entry in mount_table.parse_fstab(text):
        assert entry.source and entry.path and isinstance(entry.options, tuple)


@given(st.text(min_size=1).filter(lambda name: "\x00" not in name))
def test_any_path_survives_the_kernels_way_of_writing_it(name: str) -> None:
    path = "/" + name
    written = "".join(f"\\{ord(letter):03o}" if letter in " \t\n\\" else letter for letter in path)

    assert mount_table.unescape(written) == path


@given(st.text(max_size=30))
def test_any_path_has_a_unit_name_in_one_folder(path: str) -> None:
    unit = mount_table.mount_unit("/" + path.replace("\x00", ""))

    assert unit.startswith("/etc/systemd/system/") and unit.count("/") == 4
