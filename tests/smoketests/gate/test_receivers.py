"""Where the replicas of a broker that goes for good may go: bytes, room and racks, not numbers (W5)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smoketests.gate import receivers
from smoketests.gate.receivers import NoPlace
from smoketests.readers.kafka.model import LogDir, Partition
from smoketests.readers.zookeeper.ensemble import Registered

GB, TB = 10**9, 10**12


def brokers(*racks: str) -> list[Registered]:
    """Brokers 1, 2, … in these racks."""
    return [Registered(number, f"kafka-{number}", 9092, rack) for number, rack in enumerate(racks, 1)]


def log_dir(broker: int, used: int, replicas: int = 10, total: int | None = 8 * TB, path: str = "/kafka/d1") -> LogDir:
    usable = None if total is None else total - used
    return LogDir(broker, path, "", total, usable, used, replicas)


def one(number: int, *replicas: int, size: int | None = 100 * GB) -> Partition:
    return Partition("t", number, replicas[0], replicas, replicas, size_bytes=size)


def taken(moves: dict[Partition, tuple[int, ...]]) -> list[int]:
    return [new for row, replicas in sorted(moves.items()) for new in replicas if new not in row.replicas]


def test_twenty_replicas_of_two_terabytes_do_not_all_go_to_the_broker_with_few_huge_ones() -> None:
    """Broker 3 holds 2 replicas of 3 TB each, broker 4 holds 50 small ones: by number, all went to 3."""
    rows = [one(number, 1, 2) for number in range(20)] + [one(30, 3, 2, size=3 * TB), one(31, 3, 2, size=3 * TB)]
    rows += [one(number, 4, 2, size=GB) for number in range(40, 90)]
    disks = receivers.disks_of([log_dir(2, TB), log_dir(3, 6 * TB, 2), log_dir(4, 50 * GB, 50)])

    moves = receivers.place(rows, brokers("", "", "", ""), (1,), disks)
    assert taken(moves) == [4] * 20
    assert all(disk.percent() <= 80 for disk in disks)


def test_a_full_broker_takes_nothing_though_its_neighbours_are_in_the_same_racks() -> None:
    disks = receivers.disks_of([log_dir(2, TB), log_dir(3, int(7.7 * TB)), log_dir(4, 2 * TB)])

    assert taken(receivers.place([one(0, 1, 2)], brokers("a", "b", "a", "a"), (1,), disks)) == [4]
    with pytest.raises(NoPlace, match=r"t-0 \(100.0 GB\) has no room: even broker 3 /kafka/d1 would be 98 % full"):
        receivers.place([one(0, 1, 2)], brokers("a", "b", "a", "b"), (1,), disks)


def test_a_disk_is_judged_and_not_the_sum_of_a_brokers_disks() -> None:
    """Kafka puts a new partition into the log dir with the fewest, whatever its room: here the full one."""
    trap = [log_dir(3, int(7.7 * TB), 1, path="/kafka/d1"), log_dir(3, 0, 5, path="/kafka/d2")]
    disks = receivers.disks_of([log_dir(2, TB), *trap, log_dir(4, 4 * TB)])

    assert taken(receivers.place([one(0, 1, 2)], brokers("", "", "", ""), (1,), disks)) == [4]


def test_log_dirs_that_share_a_file_system_are_one_disk() -> None:
    rows = [log_dir(3, 2 * TB, 4, path="/kafka/a"), log_dir(3, 2 * TB, 6, path="/kafka/b"), log_dir(3, TB, path="/c")]

    assert [(disk.path, disk.replicas) for disk in receivers.disks_of(rows)] == [("/kafka/a", 10), ("/c", 10)]


def test_where_nobody_tells_a_size_bytes_decide() -> None:
    disks = receivers.disks_of([log_dir(2, TB, total=None), log_dir(3, 3 * TB, 1, None), log_dir(4, TB, 90, None)])

    assert taken(receivers.place([one(0, 1, 2)], brokers("", "", "", ""), (1,), disks)) == [4]


def test_two_brokers_that_go_at_once_give_nothing_to_each_other() -> None:
    disks = receivers.disks_of([log_dir(3, TB), log_dir(4, TB)])

    assert receivers.place([one(0, 1, 2)], brokers("a", "b", "a", "b"), (1, 2), disks) == {one(0, 1, 2): (3, 4)}


SIZES = st.one_of(st.none(), st.integers(0, 2 * TB))


@given(
    st.lists(st.tuples(st.permutations(range(1, 7)), st.integers(1, 5), SIZES), max_size=20),
    st.lists(st.integers(0, 8 * TB), min_size=6, max_size=6), st.lists(st.sampled_from("abc"), min_size=6, max_size=6),
)  # fmt: skip
def test_no_disk_is_filled_and_no_rack_given_up(
    wanted: list[tuple[list[int], int, int | None]], used: list[int], racks: list[str]
) -> None:
    rows = [one(number, *order[:count], size=size) for number, (order, count, size) in enumerate(wanted)]
    disks = receivers.disks_of(log_dir(number, bytes_) for number, bytes_ in enumerate(used, 1) if number != 1)
    before = [disk.percent() for disk in disks]
    try:
        moves = receivers.place(rows, brokers(*racks), (1,), disks)
    except NoPlace:
        return

    assert set(moves) == {row for row in rows if 1 in row.replicas}
    for row, new in moves.items():
        assert 1 not in new and len(set(new)) == len(row.replicas)
        assert len({racks[n - 1] for n in new}) >= len({racks[n - 1] for n in row.replicas})
    for disk, percent in zip(disks, before):
        assert disk.percent() == percent or disk.percent() <= receivers.MOST_PERCENT
