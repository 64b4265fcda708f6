"""/proc/diskstats: three lengths of line, one meaning."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.host import CannotTell
from agent.sources.disks import diskstats
from agent.sources.disks.diskstats import DiskStats
from tests.machine import FakeHost

# hand-made: a kernel 4.9 line, one with discards (4.18), one with flushes too (5.5)
OLD = "   8       0 sda 100 1 800 300 50 2 400 200 3 450 500\n"
DISCARDS = "   8      16 sdb 100 1 800 300 50 2 400 200 0 450 500 7 0 64 1\n"
FLUSHES = " 259       0 nvme0n1 100 1 800 300 50 2 400 200 0 450 500 7 0 64 1 9 4\n"


def test_every_length_of_line_is_read() -> None:
    assert diskstats.parse(OLD + DISCARDS + FLUSHES) == {
        "sda": DiskStats(100, 300, 50, 200, 3, 450, 0),
        "sdb": DiskStats(100, 300, 50, 200, 0, 450, 7),
        "nvme0n1": DiskStats(100, 300, 50, 200, 0, 450, 16),
    }


def test_a_list_without_a_disk_cannot_be_told() -> None:
    with pytest.raises(CannotTell, match="lists no disk"):
        diskstats.diskstats(FakeHost(files={"/proc/diskstats": "rubbish\n"}))


@given(st.one_of(st.text(), st.text(alphabet="0123456789 sda\n-²", max_size=200)))
def test_rubbish_gives_whole_numbers_or_nothing(text: str) -> None:
    for stats in diskstats.parse(text + "\n" + OLD[:30] + text).values():
        assert all(isinstance(number, int) and number >= 0 for number in stats)


@given(st.integers(0, len(FLUSHES)))
def test_a_line_cut_short_gives_a_disk_or_none(end: int) -> None:
    assert set(diskstats.parse(FLUSHES[:end])) <= {"nvme0n1"}
