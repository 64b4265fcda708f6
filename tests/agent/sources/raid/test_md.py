"""md: sysfs and /proc/mdstat tell the same of the same array, and nothing that is not there."""

from __future__ import annotations

from typing import Dict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.sources.raid import arrays as raid
from agent.sources.raid import md, mdstat
from agent.sources.raid.arrays import Array
from tests.machine import FakeHost

# hand-made from drivers/md/md.c, md_seq_show
MDSTAT = """\
Personalities : [raid1] [raid10] [raid6] [raid5] [raid4]
md0 : active raid10 sdd1[3] sdc1[2](F) sdb1[1] sda1[0]
      7813772288 blocks super 1.2 512K chunks 2 near-copies [4/3] [UU_U]
      bitmap: 4/59 pages [16KB], 65536KB chunk

md1 : active (auto-read-only) raid1 sdf1[1](W) sde1[0]
      1046528 blocks super 1.2 [2/2] [UU]
        resync=PENDING

md2 : active raid10 sdk1[5] sdj1[3] sdh1[1] sdg1[0] sdl1[6](S)
      7813772288 blocks super 1.2 512K chunks 2 near-copies [4/3] [UU_U]
      [==>..................]  recovery = 12.6% (37043392/292945152) finish=127.5min speed=33440K/sec

md3 : active raid6 sdp1[4] sdo1[2] sdn1[1] sdm1[0]
      7813772288 blocks level 6, 64k chunk, algorithm 2 [4/4] [UUUU]
      [=>...................]  check =  6.1% (61/999) finish=9.5min speed=1K/sec

md4 : broken raid0 nvme1n1p1[1] nvme0n1p1[0]
      7813772288 blocks super 1.2 512k chunks

md125 : inactive sdq1[0](S)
      976630488 blocks super 1.2

md127 : inactive sdr[1](S) sds[0](S)
      5288 blocks super external:imsm

unused devices: <none>
"""


def listed(name: str) -> Array:
    return mdstat.parse(MDSTAT)[name].array


@pytest.mark.parametrize(
    ("name", "level", "state"),
    [
        ("md0", "raid10", raid.DEGRADED),
        ("md1", "raid1", raid.OPTIMAL),
        ("md2", "raid10", raid.REBUILDING),
        ("md3", "raid6", raid.OPTIMAL),
        ("md4", "raid0", raid.FAILED),
        ("md125", "unknown level", raid.FAILED),
    ],
)
def test_what_mdstat_says_of_each_array(name: str, level: str, state: str) -> None:
    assert (listed(name).level, listed(name).state) == (level, state)


def test_a_container_is_told_apart_from_an_array_that_does_not_run() -> None:
    assert {name for name, seen in mdstat.parse(MDSTAT).items() if seen.container} == {"md127"}


def test_mdstat_names_the_failed_disk_and_its_mirror() -> None:
    (exposed,) = raid.exposed(listed("md0"))

    assert (exposed.gone, exposed.last.name) == (("sdc1",), "sdd1")


def test_a_replacement_takes_the_slot_that_is_left_and_is_not_live_before_it_has_its_data() -> None:
    array = listed("md2")
    (exposed,) = raid.exposed(array)

    assert {member.name: (member.slot, member.state) for member in array.members} == {
        "sdg1": (0, raid.ONLINE),
        "sdh1": (1, raid.ONLINE),
        "sdk1": (2, raid.REBUILDING),
        "sdj1": (3, raid.ONLINE),
        "sdl1": (-1, raid.SPARE),
    }
    assert (exposed.gone, exposed.last.name) == (("sdk1",), "sdj1")
    assert (array.percent, array.left_s) == (12.6, 7650.0)


def test_a_number_beyond_the_last_slot_is_an_old_replacement() -> None:
    assert {member.slot for member in listed("md3").members} == {0, 1, 2, 3}
    assert all(member.state == raid.ONLINE for member in listed("md3").members)


@pytest.mark.parametrize(
    ("layout", "disks", "mirrors"),
    [
        (0x102, 4, ((0, 1), (2, 3))),
        (0x102, 3, ((0, 1), (0, 2), (1, 2))),
        (0x103, 3, ((0, 1, 2),)),
        (0x201, 4, ((0, 1), (0, 3), (1, 2), (2, 3))),
        (0x10201, 4, ((0, 1), (0, 3), (1, 2), (2, 3))),
        (0x40201, 4, ((0, 1), (2, 3))),
        (0, 4, ()),
        (0x102, 1, ()),
        (0x102, 10**19, ()),
        (0xFFFF, 4, ()),
    ],
)
def test_which_slots_of_raid10_mirror_each_other(layout: int, disks: int, mirrors: tuple[tuple[int, ...], ...]) -> None:
    assert raid.md_mirrors("raid10", layout, disks) == mirrors


def test_an_array_that_only_mdstat_shows_is_an_array() -> None:
    host = FakeHost(files={"/proc/mdstat": MDSTAT, "/sys/block/sda/size": "8"})

    assert set(md.arrays(host)) == {"md0", "md1", "md2", "md3", "md4", "md125"}


def test_an_array_whose_sysfs_does_not_answer_hides_no_other() -> None:
    files = {"/sys/block/md0/md/level": "raid1\n", "/sys/block/md9/md/level": "raid1\n"}
    found = md.arrays(FakeHost(files={**files, "/sys/block/md9/md/array_state": "clean\n"}))

    assert found["md0"].state == raid.UNKNOWN and "has no state of md0" in found["md0"].said
    assert found["md9"].state == raid.OPTIMAL


@given(st.data())
def test_a_mutilated_mdstat_gives_arrays_that_can_be_judged(data: st.DataObject) -> None:
    start, end = data.draw(st.integers(0, len(MDSTAT))), data.draw(st.integers(0, len(MDSTAT)))
    text = MDSTAT[:start] + data.draw(st.text(max_size=20)) + MDSTAT[end:]
    for name, (array, _) in mdstat.parse(text).items():
        assert array.name == name and array.state in (raid.OPTIMAL, raid.DEGRADED, raid.REBUILDING, raid.FAILED)
        assert all(slot >= 0 for group in array.groups for slot in group)
        raid.exposed(array), raid.lost(array)


@given(st.integers(0, 0xFFFFF), st.integers(0, 40), st.sampled_from(["raid1", "raid10", "raid5", "odd"]))
def test_mirrors_are_within_the_array(layout: int, disks: int, level: str) -> None:
    for group in raid.md_mirrors(level, layout, disks):
        assert set(group) <= set(range(disks)) and len(group) > 1


def one(row: str, details: str) -> Array:
    return mdstat.parse(f"Personalities : [raid1]\n{row}\n      7813772288 blocks super 1.2 {details}\n")["md0"].array


@pytest.mark.parametrize(
    ("row", "details", "state"),
    [
        ("md0 : active raid1 sdb1[1] sda1[0]", "[2/2] [UU]\n        resync=DELAYED", raid.OPTIMAL),
        ("md0 : active raid1 sdb1[1] sda1[0]", "[2/2] [UU]\n        resync=PENDING", raid.OPTIMAL),
        ("md0 : active raid1 sdb1[2] sda1[0]", "[2/1] [U_]\n        recovery=DELAYED", raid.REBUILDING),
        ("md0 : active raid1 sda1[0]", "[2/1] [U_]\n        resync=DELAYED", raid.DEGRADED),
        ("md0 : active raid1 sdb1[1] sda1[0]", "[2/2] [UU]\n      [=>..]  resync =  6.1% (61/999)", raid.REBUILDING),
        ("md0 : active (read-only) raid0 sdb1[1] sda1[0]", "512k chunks", raid.OPTIMAL),
        ("md0 : active (read-only) raid1 sdb1[1] sda1[0]", "[2/2] [UU]", raid.FAILED),
    ],
)
def test_a_resync_that_waits_is_no_work_and_a_read_only_raid0_runs(row: str, details: str, state: str) -> None:
    assert one(row, details).state == state


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"sync_action": "resync", "sync_completed": "delayed"}, raid.OPTIMAL),
        ({"sync_action": "resync", "sync_completed": "61 / 999"}, raid.REBUILDING),
        ({"sync_action": "resync", "sync_completed": "delayed", "degraded": "1"}, raid.DEGRADED),
        ({"level": "raid0", "array_state": "readonly"}, raid.OPTIMAL),
        ({"array_state": "readonly"}, raid.FAILED),
    ],
)
def test_sysfs_says_the_same_of_them(changes: Dict[str, str], state: str) -> None:
    said = {
        "level": "raid1",
        "array_state": "clean",
        "raid_disks": "2",
        "degraded": "0",
        "sync_action": "idle",
        **changes,
    }
    files = {f"/sys/block/md0/md/{name}": f"{word}\n" for name, word in said.items()}
    for at, part in enumerate(("sda1", "sdb1")):
        files[f"/sys/block/md0/md/dev-{part}/state"] = "in_sync\n"
        files[f"/sys/block/md0/md/dev-{part}/slot"] = f"{at}\n"

    assert md.arrays(FakeHost(files=files))["md0"].state == state
