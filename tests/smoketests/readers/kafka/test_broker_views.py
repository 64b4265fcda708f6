"""What several brokers say, side by side: whose word counts, and what is taken as true where they differ."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smoketests.readers.kafka import broker_views
from smoketests.readers.kafka import quorum as kafka_quorum
from smoketests.readers.kafka import topics as kafka_topics
from smoketests.readers.kafka.broker_views import View
from smoketests.readers.kafka.client import ClusterSaid, Setting, TopicSaid
from smoketests.readers.kafka.model import NEVER, Dispute, Doubt, Quorum, Voter
from smoketests.readers.kafka.requests import Questions
from smoketests.readers.kafka.topics import Defaults, Settings
from smoketests.readers.zookeeper.ensemble import Registered

Row = tuple[int, int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]


def row(number: int = 0, leader: int = 1, isr: Sequence[int] = (1, 2, 3), replicas: Sequence[int] = (1, 2, 3)) -> Row:
    return number, leader, tuple(replicas), tuple(isr), ()


def cluster(alive: Collection[int], controller: int = 1, fenced: Collection[int] = ()) -> ClusterSaid:
    rows = {n: Registered(n, f"k{n}", 9092, "", (), n in fenced) for n in sorted({*alive, *fenced})}
    return ClusterSaid("c1", controller, rows)


def view(broker: int, *rows: Row, alive: Collection[int] = (1, 2, 3), **fields: Any) -> View:
    return View(broker, cluster(alive, **fields), {"orders": TopicSaid(0, rows or (row(),))})


def test_brokers_that_agree_are_taken_at_their_word() -> None:
    views = [view(number) for number in (1, 2, 3)]
    topics, disputes = broker_views.merged(views)

    assert topics == {"orders": TopicSaid(0, (row(),))} and disputes == []
    assert broker_views.doubts(views, (), None, kraft=False) == []
    assert [one.fenced for one in broker_views.members(views)] == [False] * 3


@pytest.mark.parametrize("fenced", [(), (2,)])
def test_a_broker_that_the_others_list_as_fenced_or_gone_is_not_believed(fenced: tuple[int, ...]) -> None:
    """W2: broker 2 is cut off from the controllers and tells the metadata of before; Kafka 4 names the fenced, too."""
    old = view(2, row(leader=2, isr=(1, 2)), alive=(1, 2))
    new = view(1, row(leader=1, isr=(1,)), alive=(1,), fenced=fenced)
    counted = broker_views.believed([old, new])
    topics, _disputes = broker_views.merged(counted)

    assert counted == [new] and topics["orders"].rows == (row(leader=1, isr=(1,)),)
    assert broker_views.doubts([old, new], (), None, kraft=True) == [
        Doubt(2, "its metadata is stale: broker 1 lists it as fenced or gone")
    ]
    assert [one.id for one in broker_views.members(counted) if not one.fenced] == [1]


def test_a_broker_that_just_started_and_knows_nothing_yet_does_not_outvote_the_other_one() -> None:
    empty, well = View(2, cluster(()), {}), view(1, alive=(1, 2))

    assert broker_views.believed([well, empty]) == [well]
    assert broker_views.doubts([well, empty], (), None, kraft=False) == [
        Doubt(2, "it has no metadata yet (just started)")
    ]


def test_a_broker_that_is_behind_the_controllers_is_doubted_though_nobody_misses_it_yet() -> None:
    quorum = Quorum(11, (Voter(11, 0),), (Voter(1, 300), Voter(2, 3100), Voter(3, NEVER)))
    views = [view(number) for number in (1, 2, 3)]

    assert broker_views.doubts(views, (), quorum, kraft=True) == [
        Doubt(2, "its metadata is stale: 3.1 s behind the controllers"),
        Doubt(3, "its metadata is stale: it fetches nothing from the controllers"),
    ]


def test_a_broker_of_which_the_controllers_have_not_heard_for_long_is_no_observer_any_more() -> None:
    quorum = Quorum(11, (Voter(11, 0),), (Voter(1, 300),))

    assert set(kafka_quorum.late(quorum, [1, 2])) == {2}
    assert kafka_quorum.late(Quorum(11, (Voter(11, 0),)), [1, 2]) == {}, "a version that names no observers"
    assert kafka_quorum.late(Quorum(1, (Voter(1, None), Voter(2, None))), [1, 2]) == {}, "and one without times"


def test_where_brokers_differ_for_good_only_what_all_name_is_in_sync_and_it_is_said_who_says_what() -> None:
    views = [view(1, row(isr=(1, 2))), view(2, row(leader=2)), view(3, row(isr=(1, 2)))]
    topics, disputes = broker_views.merged(views)

    assert topics["orders"].rows == (row(isr=(1, 2)),)
    words = "brokers 1, 3: leader 1, in sync 1, 2; broker 2: leader 2, in sync 1, 2, 3"
    assert disputes == [Dispute("orders", 0, words)]


def test_in_zookeeper_mode_a_broker_that_names_another_controller_is_doubted() -> None:
    views = [view(1, controller=3), view(2, controller=1), view(3, controller=3)]

    assert broker_views.doubts(views, (), None, kraft=False) == [
        Doubt(2, "it names broker 1 as the controller, others name broker 3")
    ]
    assert broker_views.doubts(views, (), None, kraft=True) == [], "in KRaft mode each names any broker"


def test_a_living_broker_without_an_answer_is_doubted() -> None:
    assert broker_views.doubts([view(1)], [3], None, kraft=False) == [Doubt(3, "no reply")]


ROWS = st.builds(
    row, st.integers(0, 2), st.integers(-1, 3), st.sets(st.integers(1, 3)).map(lambda isr: tuple(sorted(isr)))
)
VIEWS = st.lists(st.lists(ROWS, max_size=3, unique_by=lambda one: one[0]), min_size=1, max_size=4)


@given(VIEWS)
def test_what_is_taken_as_true_is_never_better_than_what_any_broker_says(tables: list[list[Row]]) -> None:
    views = [View(n, cluster((1, 2, 3)), {"t": TopicSaid(0, tuple(rows))}) for n, rows in enumerate(tables, 1)]
    topics, _disputes = broker_views.merged(views)

    for number, *_rest, isr, _offline in topics["t"].rows:
        for said in itertools.chain.from_iterable(tables):
            assert said[0] != number or set(isr) <= set(said[3])


class Controllers:
    """A stand-in: broker 2 fetched so many ms ago each time it is asked of."""

    def __init__(self, *behind_ms: int) -> None:
        self.behind_ms = list(behind_ms)

    def quorum(self, broker: int) -> dict[str, Any]:
        from kafka.errors import KafkaConnectionError

        if broker != 1:
            raise KafkaConnectionError
        said = [{"replica_id": one, "last_caught_up_timestamp": 100_000 - late}
                for one, late in ((1, 300), (2, self.behind_ms.pop(0)))]  # fmt: skip
        voters = [{"replica_id": 11, "last_caught_up_timestamp": 100_000}]
        return {"topics": [{"partitions": [{"leader_id": 11, "current_voters": voters, "observers": said}]}]}


@pytest.mark.parametrize(
    ("behind_ms", "late"), [((300,), False), ((900, 400), False), ((900, 1900), True), ((9000, 10_000), True)]
)
def test_a_broker_that_seems_late_is_looked_at_again(
    behind_ms: tuple[int, ...], late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that collects garbage catches up; one that was cut off a second ago does not."""
    monkeypatch.setattr(kafka_quorum, "CATCH_UP_S", 0.0)
    quorum = kafka_quorum.now(Controllers(*behind_ms), Questions(20), [1, 2])

    assert bool(kafka_quorum.late(quorum, [1, 2])) is late


class Brokers:
    """A stand-in for our Kafka client: brokers that hear of a change one question later than the others."""

    def __init__(self, now: dict[str, TopicSaid], late: dict[int, int] | None = None) -> None:
        self.now, self._late, self.asked = now, late or {}, 0

    def cluster(self, broker: int) -> ClusterSaid:
        return cluster((1, 2, 3))

    def topics(self, broker: int, names: Collection[str] | None) -> dict[str, TopicSaid]:
        self.asked += 1
        self._late[broker] = self._late.get(broker, 0) - 1
        if self._late[broker] >= 0:
            return {name: TopicSaid(0, (row(leader=3),)) for name in names or ()}
        return {name: self.now.get(name, TopicSaid(broker_views.NO_SUCH_TOPIC, ())) for name in names or self.now}


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_views, "PAUSES_S", (0.0,) * 4)
    monkeypatch.setattr(kafka_topics, "PAUSES_S", (0.0,) * 3)


def test_what_brokers_hear_of_one_after_the_other_is_asked_again() -> None:
    views = [view(1, row(leader=2)), view(2), view(3)]
    client = Brokers({"orders": TopicSaid(0, (row(leader=2),))}, late={2: 1, 3: 2})
    broker_views.settle(client, views, lambda: 20.0)

    assert broker_views.merged(views) == ({"orders": TopicSaid(0, (row(leader=2),))}, [])


def test_a_broker_that_dies_while_it_is_asked_again_is_doubted_and_asked_no_more() -> None:
    from kafka.errors import RequestTimedOutError

    class Dying(Brokers):
        def topics(self, broker: int, names: Collection[str] | None) -> dict[str, TopicSaid]:
            if broker == 3:
                self.asked += 1
                raise RequestTimedOutError
            return {"orders": TopicSaid(0, (row(isr=(1, 2)),))}

    views = [view(1, row(isr=(1, 2))), view(2), view(3)]
    client = Dying({})
    broker_views.settle(client, views, lambda: 20.0)

    assert client.asked == 1 and broker_views.doubts(views, (), None, kraft=False) == [Doubt(3, "no reply")]
    assert broker_views.merged(views)[0]["orders"].rows == (row(isr=(1, 2)),)


def test_topics_made_and_deleted_meanwhile_are_asked_again_and_one_that_is_gone_does_not_count() -> None:
    """F2"""
    views = [view(1), view(2), view(3)]
    views[0].topics["gone"] = TopicSaid(0, (row(),))
    views[1].topics["new"] = TopicSaid(0, (row(leader=-1, isr=()),))
    client = Brokers({"orders": TopicSaid(0, (row(),)), "new": TopicSaid(0, (row(leader=3),))})
    broker_views.settle(client, views, lambda: 20.0)

    assert broker_views.merged(views) == (
        {"orders": TopicSaid(0, (row(),)), "new": TopicSaid(0, (row(leader=3),))}, []
    )  # fmt: skip


def test_a_partition_that_stays_without_a_leader_is_told_so() -> None:
    views = [view(number, row(leader=-1, isr=(2,))) for number in (1, 2, 3)]
    broker_views.settle(Brokers({"orders": TopicSaid(0, (row(leader=-1, isr=(2,)),))}), views, lambda: 20.0)

    assert broker_views.merged(views)[0]["orders"].rows == (row(leader=-1, isr=(2,)),)


class Settled(Brokers):
    """`settings` of topics that exist."""

    def settings(self, topics: Sequence[str], wanted: Any, broker: int) -> dict[str, dict[str, Setting]]:
        return {name: {kafka_topics.MINIMUM: Setting("2", 1)} for name in topics if name in self.now}


def test_a_topic_deleted_before_its_settings_were_read_does_not_count() -> None:
    """F2"""
    topics = {"orders": TopicSaid(0, (row(),)), "gone": TopicSaid(0, (row(),))}
    found = kafka_topics.settings_of_all(Settled({"orders": topics["orders"]}), topics, 1)

    assert set(topics) == set(found) == {"orders"} and found["orders"].min_isr == 2


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (Settings(1, False, False), (1, False)),
        (Settings(1, False, False, own_min_isr=False, own_unclean=False), (2, True)),
        (Settings(3, None, False, own_min_isr=False), (2, None)),
    ],
)
def test_of_brokers_that_differ_the_strictest_default_counts_and_a_topics_own_setting_above_all(
    said: Settings, expected: tuple[int, bool | None]
) -> None:
    """W3: a configuration that is rolled half."""
    defaults = {1: Defaults(1, False), 2: Defaults(2, True), 3: Defaults(9, None)}

    assert tuple(kafka_topics.strictest(said, (1, 2, 4), defaults)) == expected
