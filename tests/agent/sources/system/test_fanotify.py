"""fanotify marks: what the kernel writes of a scanner, and rubbish."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.host import Descriptors, Missing
from agent.sources.system import fanotify
from tests.machine import FakeHost

# Recorded here from `fatrace -c` (Linux 6.18).
FATRACE = """pos:	0
flags:	02
mnt_id:	17
ino:	1038
fanotify flags:200 event-flags:8000
fanotify sdev:fe00000 mflags:0 mask:400003fb ignored_mask:0
"""

# Hand-made from the kernel's Documentation/filesystems/proc.rst: a mount with permission events, and a directory.
ON_ACCESS = """fanotify flags:10 event-flags:0
fanotify mnt_id:1b mflags:0 mask:10020 ignored_mask:40000000
fanotify ino:4f969 sdev:800013 mflags:0 mask:3b ignored_mask:40000000 fhandle-bytes:8 fhandle-type:1 f_handle:69f90400
"""


def test_the_mark_of_fatrace_is_its_file_system() -> None:
    (mark,) = fanotify.parse_marks(FATRACE)

    assert mark == fanotify.Mark("filesystem", "254:0", 0, 0x400003FB)
    assert mark.sees_content and not mark.holds_up


def test_a_mount_mark_and_an_inode_mark_are_told_apart() -> None:
    mount, inode = fanotify.parse_marks(ON_ACCESS)

    assert (mount.kind, mount.mount, mount.holds_up) == ("mount", 27, True)
    assert (inode.kind, inode.dev, inode.holds_up) == ("inode", "8:19", False)


@pytest.mark.parametrize("mask", ["8000", "40000300", "fc0"])
def test_who_only_hears_of_errors_names_or_moves_is_no_scanner(mask: str) -> None:
    (mark,) = fanotify.parse_marks(f"fanotify sdev:800011 mflags:0 mask:{mask} ignored_mask:0")

    assert not mark.sees_content


def listening(files: dict[str, object]) -> fanotify.Listeners:
    host = FakeHost(
        files={"/proc/self/mountinfo": "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n", **files},
        answers={"descriptors anon_inode:[fanotify]": Descriptors(((311, 3),), ())},
    )
    return fanotify.listeners(host)


def test_a_mount_of_a_container_is_found_in_its_own_table() -> None:
    seen = listening(
        {
            "/proc/311/fdinfo/3": "fanotify mnt_id:ff mflags:0 mask:20 ignored_mask:0\n",
            "/proc/311/mountinfo": "255 1 8:17 / /host/kafka rw - xfs /dev/sdb1 rw\n",
        }
    ).seen

    assert [(listener.pid, listener.marks[0].dev) for listener in seen] == [(311, "8:17")]


def test_a_listener_that_ended_meanwhile_is_not_there() -> None:
    assert listening({"/proc/311/fdinfo/3": Missing("ended")}).seen == ()


@given(st.one_of(st.text(), st.builds(lambda cut, junk: ON_ACCESS[:cut] + junk, st.integers(0, 200), st.text())))
def test_rubbish_gives_typed_marks_or_none(text: str) -> None:
    for mark in fanotify.parse_marks(text):
        assert mark.kind in ("filesystem", "mount", "inode")
        assert isinstance(mark.mount, int) and isinstance(mark.mask, int)
        assert (mark.dev == "") == (mark.kind == "mount")
