"""Plans of random clusters, judged by rules that share no code with what makes them."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable

import pytest

from placement import plan as plans
from placement import questions, rules
from placement.errors import Impossible, PlacementError
from placement.plan import Plan
from placement.questions import Options
from placement.snapshot import Broker, LogDir, Partition, Snapshot
from placement.summary import Side, summarise
from tests.placement.made_clusters import TB, cluster

CLUSTERS = range(50)


@functools.cache
def some(seed: int) -> Snapshot:
    """Racks of unequal size, two disk sizes, JBOD, dead brokers and new ones, by chance."""
    rng = random.Random(seed)
    racks = [rng.randint(1, 5) for _ in range(rng.randint(1, 4))]
    while sum(racks) < 4:
        racks[0] += 1
    capacities = rng.choice([(12 * TB,), (6 * TB, 12 * TB), (3 * TB, 12 * TB, 6 * TB)])
    made = cluster(
        racks, rng.randint(20, 300), seed, rng.randint(1, 3), rng.choice((0.2, 0.5)), rng.choice((0, 0, 1, 3)),
        capacities, rng.random() < 0.5,
    )  # fmt: skip
    return jbod(made, rng.randint(2, 6)) if rng.random() < 0.5 else made


def jbod(made: Snapshot, disks: int) -> Snapshot:
    """The same with several log dirs a broker, the replicas over them in turn."""
    on: dict[tuple[int, str], int] = {}
    partitions = []
    for at, row in enumerate(made.partitions):
        dirs = tuple(f"/d{(at + one) % disks}" for one in row.replicas)
        for one, path, size in zip(row.replicas, dirs, row.sizes_bytes, strict=True):
            on[one, path] = on.get((one, path), 0) + (size or 0)
        partitions.append(row._replace(log_dirs=dirs))
    brokers = []
    for broker in made.brokers:
        each = broker.capacity_bytes // disks
        dirs_of = tuple(
            LogDir(f"/d{at}", each, max(each - on.get((broker.id, f"/d{at}"), 0), 0), "", f"/d{at}")
            for at in range(disks)
        )
        brokers.append(broker._replace(log_dirs=dirs_of))
    return made._replace(brokers=tuple(brokers), partitions=tuple(partitions))


QUESTIONS: dict[str, Callable[[Snapshot], Plan]] = {
    "level": lambda made: questions.level(made, "level"),
    "level wide": lambda made: questions.level(made, "level", Options(band_percent=10)),
    "drain": lambda made: questions.drain(made, [made.brokers[0].id], "drain"),
    "dead": lambda made: questions.drain(dead(made, 1), [made.brokers[1].id], "drain"),
    "replace": lambda made: questions.replace(made, made.brokers[0].id, made.brokers[-1].id, "replace"),
    "disk": lambda made: questions.disk(made, 2, made.brokers[2].log_dirs[0].path, "disk"),
    "fewer": lambda made: questions.replicas(made, 1, "replicas"),
    "more": lambda made: questions.replicas(made, 4, "replicas"),
    "leaders": lambda made: questions.leaders(made, "leaders"),
}
FACTORS = {"fewer": 1, "more": 4}


def dead(made: Snapshot, at: int) -> Snapshot:
    one = made.brokers[at]
    partitions = tuple(row._replace(in_sync=tuple(x for x in row.in_sync if x != one.id)) for row in made.partitions)
    brokers = tuple(row._replace(live=row.id != one.id) for row in made.brokers)
    return made._replace(brokers=brokers, partitions=partitions)


@pytest.mark.parametrize("question", QUESTIONS)
def test_no_plan_of_random_clusters_breaks_a_hard_rule(question: str) -> None:
    planned = 0
    for seed in CLUSTERS:
        made = some(seed)
        try:
            plan = QUESTIONS[question](made)
        except Impossible:
            continue
        planned += 1
        at = dead(made, 1) if question == "dead" else made
        assert rules.broken(at, plan, new_factor=FACTORS.get(question)) == [], f"seed {seed}"
    assert planned >= len(CLUSTERS) // 5


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_same_snapshot_gives_the_same_bytes(question: str) -> None:
    def text(seed: int) -> str:
        try:
            return plans.dumps(QUESTIONS[question](some.__wrapped__(seed)))
        except PlacementError as error:
            return str(error)

    assert [text(seed) for seed in range(6)] == [text(seed) for seed in range(6)]


def moved(made: Snapshot, plan: Plan) -> Snapshot:
    """The cluster once Kafka has carried it out."""
    after = {change.name: change for change in plan.changes}
    rows = []
    for row in made.partitions:
        if change := after.get(row.name):
            many = len(change.after)
            size = (row.size_bytes,) * many
            row = row._replace(replicas=change.after, in_sync=change.after, sizes_bytes=size, log_dirs=("/d",) * many)
        rows.append(row)
    return made._replace(partitions=tuple(rows))


@pytest.mark.parametrize("question", ["level", "drain", "leaders", "more", "fewer"])
def test_undo_restores_the_map(question: str) -> None:
    for seed in range(10):
        made = some(seed)
        try:
            plan = QUESTIONS[question](made)
        except Impossible:
            continue
        later = moved(made, plan)
        again = moved(later, plans.undo(plan, later))

        assert [row.replicas for row in again.partitions] == [row.replicas for row in made.partitions]


def sides(made: Snapshot, plan: Plan) -> tuple[Side, Side]:
    summary = summarise(made, plan)
    return summary.before, summary.after


def test_levelling_is_never_worse_than_before() -> None:
    for seed in CLUSTERS:
        made = some(seed)
        before, after = sides(made, questions.level(made, "level"))

        assert after.used_percent_max <= before.used_percent_max + 0.01, seed
        assert after.fewest_racks >= before.fewest_racks, seed
        if len(made.partitions[0].replicas) > 1:  # a single replica takes its leader along
            assert after.leaders_max <= max(before.leaders_max, -(-len(made.partitions) // len(made.brokers))), seed


@pytest.mark.parametrize("percent", [1, 2, 5])
def test_levelling_moves_hardly_more_than_the_least_possible(percent: int) -> None:
    for racks, many, new in (([4, 4, 4], 2000, 0), ([12, 11, 11], 4000, 0), ([6, 6, 6, 6], 1500, 4)):
        for seed in (1, 2):
            made = cluster(racks, many, seed, used=0.4, new=new)
            plan = questions.level(made, "level", Options(band_percent=percent))

            assert plan.moved_bytes <= 1.05 * plan.least_bytes, (racks, seed)


def test_a_level_cluster_is_left_alone() -> None:
    made = cluster([4, 4, 4], 600, used=0.4)
    level = moved(made, questions.level(made, "level"))

    assert questions.level(level, "again").changes == ()


def test_draining_moves_only_what_lay_on_the_broker() -> None:
    made = cluster([4, 4, 4], 300, used=0.4)
    plan = questions.drain(made, [3], "drain")

    assert {change.name for change in plan.changes} == {row.name for row in made.partitions if 3 in row.replicas}
    assert all(len(change.adding) == 1 and 3 not in change.after for change in plan.changes)
    assert plan.moved_bytes == sum(row.size_bytes or 0 for row in made.partitions if 3 in row.replicas)


def test_a_replacement_takes_the_same_slots_in_the_same_order() -> None:
    made = cluster([4, 4, 4], 300, used=0.4, new=1)
    plan = questions.replace(made, 0, 12, "replace")

    assert all(tuple(12 if one == 0 else one for one in change.before) == change.after for change in plan.changes)


def test_a_dead_disk_goes_to_the_brokers_other_disks_where_it_fits() -> None:
    made = jbod(cluster([4, 4, 4], 300, used=0.3), 4)
    plan = questions.disk(made, 2, "/d1", "disk")

    assert plan.changes and all(change.before == change.after for change in plan.changes)
    paths = {change.log_dirs[change.after.index(2)] for change in plan.changes}
    assert paths <= {"/d0", "/d2", "/d3"}


def tiny(
    *brokers: Broker, replicas: tuple[int, ...] = (0, 1), in_sync: tuple[int, ...] = (0, 1), size: int | None = TB
) -> Snapshot:
    row = Partition("orders", 0, replicas, in_sync, replicas[0], (size,) * len(replicas), ("/d",) * len(replicas))
    return Snapshot("c", "id", "2026-01-01T00:00:00Z", brokers, (row,))


def broker(number: int, free: float = 10, **fields: object) -> Broker:
    made = Broker(number, f"kafka-{number}", "", (LogDir("/d", 12 * TB, int(free * TB), "", "/d"),))
    return made._replace(**fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (tiny(broker(0), broker(1)), "no other broker may take a replica"),
        (tiny(broker(0), broker(1), broker(2, free=2)), "needs 1.0 TB, the roomiest legal log dir takes 200.0 GB"),
        (tiny(broker(0), broker(1), broker(2, live=False)), "no other broker may take a replica"),
        (tiny(broker(0), broker(1), broker(2, trouble=("smart ZA1: 40 reallocated",))), "no other broker may take"),
        (tiny(broker(0), broker(1), broker(2, unknown=("power -: timed out",))), "no other broker may take"),
        (tiny(broker(0, live=False), broker(1), broker(2), in_sync=(0,)), "no other in-sync replica than on broker 0"),
        (tiny(broker(0), broker(1), broker(2), size=None), "1 partitions have no known size: orders-0"),
        (tiny(broker(0, rack="a"), broker(1), broker(2)), "brokers 1, 2 have no rack and others have one"),
    ],
)
def test_what_cannot_be_says_why(made: Snapshot, sentence: str) -> None:
    with pytest.raises(PlacementError) as error:
        questions.drain(made, [0], "drain")

    assert sentence in str(error.value)


def test_a_broker_of_which_something_is_unknown_may_be_accepted() -> None:
    made = tiny(broker(0), broker(1), broker(2, unknown=("power -: timed out",)))

    plan = questions.drain(made, [0], "drain", Options(accept=(2,)))

    assert plan.changes[0].after == (2, 1)
    assert rules.broken(made, plan, accepted=(2,)) == [] and rules.broken(made, plan) != []


def test_a_partition_that_is_being_moved_is_left_alone() -> None:
    made = cluster([4, 4, 4], 300, used=0.4)
    busy = made._replace(partitions=tuple(row._replace(adding=(11,)) for row in made.partitions))

    assert questions.level(busy, "level", Options(band_percent=0.1)).changes == ()


def test_a_dead_broker_takes_no_part_in_levelling_and_is_named() -> None:
    made = dead(cluster([4, 4, 4], 300, used=0.4, skewed=True), 1)
    plan = questions.level(made, "level")

    assert not any({1} & ({*change.before} ^ {*change.after}) for change in plan.changes)
    assert any("brokers 1 take no part" in note for note in plan.notes)


def test_only_the_topics_that_were_asked_for_move() -> None:
    made = cluster([4, 4, 4], 300, used=0.4)
    plan = questions.drain(made, [3], "drain", Options(topics="topic000[12]"))

    assert {change.topic for change in plan.changes} == {"topic0001", "topic0002"}


def test_a_broker_with_a_critical_finding_receives_nothing_accepted_or_not() -> None:
    made = tiny(broker(0), broker(1), broker(2, trouble=("smart ZA1: failing",)))

    with pytest.raises(Impossible):
        questions.drain(made, [0], "drain", Options(accept=(2,)))


@pytest.mark.parametrize(("factor", "after"), [(2, (2, 3)), (1, (2,))])
def test_fewer_replicas_keep_those_that_are_in_sync(factor: int, after: tuple[int, ...]) -> None:
    made = tiny(*map(broker, (2, 3)), broker(1, live=False), replicas=(1, 2, 3), in_sync=(2, 3))

    plan = questions.replicas(made, factor, "replicas")

    assert plan.changes[0].after == after and rules.broken(made, plan, new_factor=factor) == []
    wrong = plan._replace(changes=(plan.changes[0]._replace(after=(1, 3)[:factor]),))
    assert rules.broken(made, wrong, new_factor=factor) != []


def test_log_dirs_of_one_file_system_share_its_room() -> None:
    """Kafka reports the file system's bytes for each of them."""
    two = tuple(LogDir(f"/d/{at}", 10 * TB, 4 * TB) for at in (1, 2))
    made = tiny(broker(0), broker(1), broker(2)._replace(log_dirs=two), size=3 * TB)

    assert made.brokers[2].capacity_bytes == 10 * TB
    with pytest.raises(Impossible, match=r"takes 2\.5 TB"):
        questions.drain(made, [0], "drain")


def test_what_lay_on_a_disk_that_died_goes_to_other_brokers() -> None:
    """Kafka lists no replica of a dir that has failed: its size and path are unknown, and it is out of sync."""
    dead_dir = (LogDir("/d1", 10 * TB, 8 * TB), LogDir("/d2", 0, 0, "KAFKA_STORAGE_ERROR"))
    row = Partition("orders", 0, (0, 1), (1,), 1, (None, TB), ("", "/d"))
    made = tiny(broker(0)._replace(log_dirs=dead_dir), broker(1), broker(2))._replace(partitions=(row,))

    plan = questions.disk(made, 0, "/d2", "disk")

    assert plan.changes[0].after == (2, 1) and rules.broken(made, plan) == []
    with pytest.raises(PlacementError, match="no replica of it is out of sync"):
        questions.disk(made._replace(partitions=()), 0, "/d2", "disk")


def test_a_dead_broker_without_a_rack_does_not_stop_the_others() -> None:
    """Kafka does not say the rack of a broker that is not registered."""
    racks = [broker(at, rack=rack) for at, rack in ((1, "a"), (2, "b"), (3, "c"))]
    made = tiny(broker(0, live=False), *racks, in_sync=(1,))

    assert questions.drain(made, [0], "drain").changes[0].after[0] in (2, 3)


def test_what_stays_on_a_drained_broker_is_noted() -> None:
    made = cluster([4, 4, 4], 300, used=0.4)
    busy = made._replace(partitions=(made.partitions[0]._replace(adding=(11,)), *made.partitions[1:]))
    leaver = busy.partitions[0].replicas[0]

    plan = questions.drain(busy, [leaver], "drain")

    assert f"1 partitions STAY on broker {leaver}: 1 being reassigned, 0 not chosen by --topics" in plan.notes


def test_undo_on_jbod_names_the_log_dirs_of_before() -> None:
    made = jbod(cluster([4, 4, 4], 300, used=0.3, new=1), 4)
    for plan in (questions.replace(made, 0, 12, "replace"), questions.disk(made, 2, "/d1", "disk")):
        after = {change.name: change for change in plan.changes}
        later = tuple(
            row._replace(replicas=after[row.name].after, in_sync=after[row.name].after, log_dirs=tuple(
                new if new != "any" else old for new, old in zip(after[row.name].log_dirs, row.log_dirs, strict=True)
            )) if row.name in after else row
            for row in made.partitions
        )  # fmt: skip
        way_back = plans.undo(plan, made._replace(partitions=later))

        assert len(way_back.changes) == len(plan.changes)
        lay = {row.name: dict(zip(row.replicas, row.log_dirs, strict=True)) for row in made.partitions}
        for change in way_back.changes:
            for one, path in zip(change.after, change.log_dirs, strict=True):
                assert path in ("any", lay[change.name][one])
        assert any(path != "any" for change in way_back.changes for path in change.log_dirs)


def test_a_dead_broker_sends_nothing() -> None:
    made = dead(cluster([4, 4, 4], 300, used=0.3), 1)
    plan = questions.drain(made, [1], "drain")
    summary = summarise(made, plan, 10**6)

    # three brokers of its rack receive it all; the dead one would take three times as long to send it
    assert summary.hours is not None and summary.hours < plan.moved_bytes / 10**6 / 3600 / 2
