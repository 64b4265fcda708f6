"""What is asked of a Kafka that answers: half answers, odd ones and none are told, never taken for well."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import pytest

from smoketests.readers import CannotRead
from smoketests.readers.kafka import brokers
from smoketests.readers.kafka import cluster as kafka
from smoketests.readers.kafka import quorum as kafka_quorum
from smoketests.readers.kafka import topics as kafka_topics
from smoketests.readers.kafka.client import Setting, TopicSaid
from smoketests.readers.kafka.cluster import Quorum, Voter
from smoketests.readers.kafka.requests import MOST_UNTOLD, Questions


def quorum(leader: int, **voters: int) -> dict[str, Any]:
    rows = [{"replica_id": int(name[1:]), "last_caught_up_timestamp": at} for name, at in voters.items()]
    return {"topics": [{"partitions": [{"leader_id": leader, "current_voters": rows}]}]}


def test_how_far_the_voters_are_behind() -> None:
    assert kafka_quorum.parse(quorum(1, v1=10_000, v2=9_500, v3=-1)) == Quorum(
        1, (Voter(1, 0), Voter(2, 500), Voter(3, kafka.NEVER))
    )
    assert kafka_quorum.parse(quorum(1, v1=-1, v2=-1)) == Quorum(1, (Voter(1, None), Voter(2, None)))


def asked(ask: Any, optional: bool = False, seconds: float = 20.0) -> tuple[Any, list[str]]:
    """What a question gives, and what is then untold."""
    questions = Questions(seconds)
    return questions.begin("the quorum", ask, optional)(), questions.untold


@pytest.mark.parametrize(("optional", "told"), [(True, 0), (False, 1)])
def test_what_an_old_broker_cannot_have_is_not_missing(optional: bool, told: int) -> None:
    from kafka.errors import IncompatibleBrokerVersion

    def ask() -> None:
        raise IncompatibleBrokerVersion("ListPartitionReassignments needs 2.4")

    answer, untold = asked(ask, optional)

    assert answer is None and len(untold) == told


@pytest.mark.parametrize("optional", [True, False])
def test_what_a_new_broker_does_not_answer_is_missing_though_an_old_one_may_lack_it(optional: bool) -> None:
    from kafka.errors import RequestTimedOutError

    def ask() -> None:
        raise RequestTimedOutError

    _answer, untold = asked(ask, optional)

    assert len(untold) == 1 and untold[0].startswith("the quorum cannot be read: RequestTimedOutError")


def test_a_quorum_that_is_described_oddly_is_untold() -> None:
    answer, untold = asked(lambda: kafka_quorum.parse({"topics": []}), optional=True)

    assert answer is None and untold == ["the quorum cannot be read: IndexError list index out of range"]


def test_a_question_without_an_answer_is_untold_when_the_clock_runs_out() -> None:
    over = threading.Event()
    answer, untold = asked(over.wait, seconds=0.1)
    over.set()

    assert answer is None and untold == ["the quorum cannot be read: no reply within 0 s"]


def test_a_broker_that_hangs_or_fails_never_hides_what_the_others_say() -> None:
    over = threading.Event()

    def ask(broker: int) -> int:
        if broker == 2:
            over.wait()
        if broker in (3, 4):
            raise CannotRead("it names none")
        return broker * 10

    questions = Questions(1.0)
    said = questions.begin_each("log dirs", range(1, 40), ask)()
    over.set()

    assert said == {broker: broker * 10 for broker in range(1, 40) if broker not in (2, 3, 4)}
    assert questions.untold == [
        "log dirs of broker 2 cannot be read: no reply within 1 s",
        "log dirs of brokers 3, 4 cannot be read: it names none",
    ]


def test_untold_is_bounded_however_much_is_missing() -> None:
    questions = Questions(1)
    for number in range(100):
        questions.tell(f"topic {number}" * 200)

    assert len(questions.untold) == MOST_UNTOLD + 1 and max(map(len, questions.untold)) == 300


def topic_said(*numbers: int, error: int = 0) -> TopicSaid:
    return TopicSaid(error, tuple((number, 1, (1, 2), (1,), (2,)) for number in numbers))


@pytest.mark.parametrize(
    ("topic", "sentence"),
    [
        (topic_said(error=29), "topic t cannot be read (the client needs DESCRIBE on every topic)"),
        (topic_said(error=5), "topic t cannot be read (error 5)"),
        (topic_said(), "topic t cannot be read (it has no partitions)"),
        (topic_said(0, 2), "topic t cannot be read (only 2 of its partitions are reported)"),
    ],
)
def test_half_a_topic_is_told(topic: TopicSaid, sentence: str) -> None:
    untold: list[str] = []
    rows = list(kafka_topics.partitions({"t": topic, "u": topic_said(1, 0)}, {}, {}, {}, untold.append))

    assert untold == [sentence] and len(rows) == 2 + len(topic.rows)
    assert rows[-1].offline == (2,) and rows[-1].unclean is None and rows[-1].min_isr is None


def test_a_log_dir_that_failed_and_one_of_an_old_broker() -> None:
    sizes: dict[tuple[str, int], int] = {("t", 0): 7}
    failed = brokers.log_dir(3, {"error_code": 56, "log_dir": "/d1", "topics": []}, sizes)
    parts = [{"partition_index": 0, "partition_size": 5}, {"partition_index": 1, "partition_size": 9}]
    old = {"error_code": 0, "log_dir": "/d2", "topics": [{"name": "t", "partitions": parts}], "total_bytes": -1}

    assert failed == kafka.LogDir(3, "/d1", "KAFKA_STORAGE_ERROR", None, None, 0, 0)
    assert brokers.log_dir(3, old, sizes) == kafka.LogDir(3, "/d2", "", None, None, 14, 2)
    assert sizes == {("t", 0): 7, ("t", 1): 9}, "the larger replica counts"


class Client:
    """A stand-in for our Kafka client with the answers of one broker."""

    def __init__(self, log_dirs: list[dict[str, Any]], **settings: str) -> None:
        self._log_dirs = log_dirs
        self._settings = {name.replace("_", "."): Setting(value, 5) for name, value in settings.items()}

    def log_dirs(self, broker: int) -> list[dict[str, Any]]:
        return self._log_dirs

    def own_settings(self, broker: int, wanted: Any) -> dict[str, Setting]:
        return self._settings


ONE_DIR: list[dict[str, Any]] = [{"error_code": 0, "log_dir": "/d1", "topics": []}]
RATE = "leader_replication_throttled_rate"


@pytest.mark.parametrize(
    ("settings", "throttled"),
    [({}, False), ({RATE: str(2**63 - 1)}, False), ({RATE: ""}, False), ({RATE: "1000000"}, True)],
)
def test_a_limit_is_a_throttle_and_the_largest_number_is_none(settings: dict[str, Any], throttled: bool) -> None:
    assert brokers.ask(Client(ONE_DIR, log_retention_hours="168", **settings), 1).throttled is throttled


def test_a_broker_that_may_not_be_asked_is_not_one_without_faults() -> None:
    with pytest.raises(CannotRead, match="no log dirs reported; the client needs DESCRIBE on the cluster"):
        brokers.ask(Client([], log_retention_hours="168"), 1)
    with pytest.raises(CannotRead, match="the client needs DESCRIBE_CONFIGS"):
        brokers.ask(Client(ONE_DIR), 1)


def test_what_only_the_controllers_know_is_told_by_the_first_broker_that_reaches_them() -> None:
    from kafka.errors import NotControllerError

    over = threading.Event()

    def ask(broker: int) -> str:
        if broker == 1:
            over.wait()
        if broker == 2:
            raise NotControllerError
        return f"through {broker}"

    questions = Questions(20)
    said = questions.begin_any("the quorum", [1, 2, 3], ask)()
    over.set()

    assert said == "through 3" and questions.untold == []


def test_why_nobody_could_tell_is_the_reason_of_the_controller() -> None:
    from kafka.errors import ClusterAuthorizationFailedError, NotControllerError

    def ask(broker: int) -> None:
        raise ClusterAuthorizationFailedError if broker == 2 else NotControllerError

    questions = Questions(20)

    assert questions.begin_any("reassignments", [1, 2, 3], ask)() is None
    assert len(questions.untold) == 1 and "ClusterAuthorizationFailedError" in questions.untold[0]


def test_many_brokers_without_an_answer_do_not_crowd_out_what_else_cannot_be_read() -> None:
    questions = Questions(20.0)
    for broker in range(200):
        questions.tell(f"log dirs of broker {broker} cannot be read: error {broker}")
    questions.tell("quorum cannot be read: no reply within 22 s")
    for number in range(200):
        questions.tell(f"topic t{number} cannot be read (error 29)")
    questions.tell("reassignments cannot be read: no reply within 22 s")

    kinds = Counter(sentence.split(" ")[0] for sentence in questions.untold)
    assert kinds == {"log": MOST_UNTOLD + 1, "quorum": 1, "topic": MOST_UNTOLD + 1, "reassignments": 1}
    assert "topic … and more that cannot be read" in questions.untold


def test_a_replica_of_a_failed_log_dir_is_not_in_sync_though_the_isr_still_lists_it() -> None:
    rows = ((0, 1, (1, 2, 3), (1, 2, 3), ()), (1, 1, (1, 2, 3), (1, 2, 3), (3,)), (2, -1, (3,), (3,), (3,)))
    found = list(kafka_topics.partitions({"orders": TopicSaid(0, rows)}, {}, {}, {}, pytest.fail))

    assert [row.isr for row in found] == [(1, 2, 3), (1, 2), ()]
    assert [row.offline for row in found] == [(), (3,), (3,)]
