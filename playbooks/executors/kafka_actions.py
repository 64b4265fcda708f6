"""What a playbook does through Kafka: move leaders away and back, drain a broker, cancel reassignments.

Each action first shows what it would do. Only a drain moves data.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from inventory.errors import SmokeError
from inventory.model import Cluster
from playbooks.executors import kafka_moves, kafka_throttle
from playbooks.executors.kafka_moves import CannotMove, Moves
from playbooks.model import MB_PER_SECOND
from smoketests.gate.receivers import MOST_PERCENT
from smoketests.readers import CannotRead
from smoketests.readers.kafka import client_properties
from smoketests.readers.kafka import cluster as reader
from smoketests.readers.kafka.model import KafkaFacts, Partition

ELECT, AWAY, DRAIN, CANCEL = "elect-preferred", "move-leaders-away", "drain-broker", "cancel-reassignments"
PREFERRED = 0
# so many replicas are copied at a time; the brokers have clients to serve
AT_ONCE = 20
LOOK_EVERY_S = 5.0

Show = Callable[[str], None]
Order = Mapping[str, Sequence[int]]


class ActFailed(SmokeError):
    """Kafka refused, or did not end in time; the message says what."""


@dataclass(frozen=True)
class KafkaPlan:
    """What an act would do. moves: partition -> its replicas then. leaders: to be elected. words: for a person.

    throttle: what holds the copying back meanwhile. under_way: moves of a drain that was begun before.
    """

    act: str
    words: tuple[str, ...]
    moves: Moves = field(default_factory=dict)
    leaders: tuple[Partition, ...] = ()
    cancelled: tuple[Partition, ...] = ()
    throttle: kafka_throttle.Settings = field(default_factory=dict)
    under_way: tuple[Partition, ...] = ()

    @property
    def empty(self) -> bool:
        return not (self.moves or self.leaders or self.cancelled or self.under_way)

    @property
    def before(self) -> dict[str, list[int]]:
        """The order of replicas that it changes, to put it back."""
        return {one.name: list(one.replicas) for one in self.moves}


def look(cluster: Cluster) -> KafkaFacts:
    """What the cluster says of itself now. CannotRead where the partitions are not told either."""
    facts = reader.read(cluster.kafka, client_properties.of(cluster.name))
    if facts.partitions is None:
        raise CannotRead("; ".join(facts.untold) or "no partition data from Kafka")
    return facts


def plan(
    act: str, facts: KafkaFacts, broker: int | None, before: Order, most_percent: float = MOST_PERCENT,
    mb_per_second: int = MB_PER_SECOND,
) -> KafkaPlan:  # fmt: skip
    """What there is to do. before: the order of replicas before leaders were moved away. CannotMove.

    most_percent: how full a drain may make a disk. mb_per_second: so much of it each broker sends and takes at most.
    """
    partitions = facts.partitions or ()
    if act == CANCEL:
        return cancel(partitions)
    if act == ELECT:
        return _elect(partitions, broker, before)
    if broker is None:
        raise CannotMove(f"{act} requires a broker id, and none is known for this machine")
    if act == AWAY:
        return _away(partitions, broker)
    return _drain(facts, broker, most_percent, mb_per_second)


def _drain(facts: KafkaFacts, broker: int, most_percent: float, mb_per_second: int) -> KafkaPlan:
    partitions = facts.partitions or ()
    under_way = tuple(one for one in partitions if broker in one.removing)
    rest = [one for one in partitions if one not in under_way]
    moves = kafka_moves.drain(rest, facts.brokers, broker, facts.log_dirs or (), most_percent)
    size = sum(one.size_bytes or 0 for one in moves) / 1e9
    words = [
        f"copies {len(moves)} replicas of broker {broker} to other brokers, {size:.1f} GB",
        *kafka_moves.words(moves),
    ]
    if under_way:
        words.append(f"{len(under_way)} more are already being copied")
    living = [one.id for one in facts.brokers if not one.fenced]
    throttle = kafka_throttle.wanted(moves, living, facts.throttled or (), mb_per_second) if moves else {}
    if throttle:
        words.append(f"throttled to {mb_per_second} MB/s per broker until the copy has finished")
    return KafkaPlan(DRAIN, tuple(words), moves, throttle=throttle, under_way=under_way)


def cancel(partitions: Sequence[Partition]) -> KafkaPlan:
    """Call off what is under way of these partitions."""
    moving = tuple(one for one in partitions if one.adding or one.removing)
    return KafkaPlan(CANCEL, (f"cancels {len(moving)} reassignments", *(one.name for one in moving[:10])),
                  cancelled=moving)  # fmt: skip


def _elect(partitions: Sequence[Partition], broker: int | None, before: Order) -> KafkaPlan:
    moves = kafka_moves.back(partitions, before)
    whose = "" if broker is None else f" of broker {broker}"
    put_back = [one._replace(replicas=moves.get(one, one.replicas)) for one in partitions]
    leaders = tuple(kafka_moves.home(put_back, broker))
    words = (f"restores the replica order of {len(moves)} partitions and elects {len(leaders)} preferred "
             f"leaders{whose}; no data moves")  # fmt: skip
    return KafkaPlan(ELECT, (words, *(one.name for one in leaders[:10])), moves, leaders)


def _away(partitions: Sequence[Partition], broker: int) -> KafkaPlan:
    moves = kafka_moves.last_place(partitions, broker)
    stuck = kafka_moves.stuck(partitions, broker)
    leaders = tuple(one._replace(replicas=new) for one, new in moves.items() if one.leader == broker)
    words = [
        f"moves {len(leaders)} leaders of broker {broker} to other brokers; no data moves",
        *kafka_moves.words(moves),
    ]
    words += [f"{name} keeps its leader: no other replica is in sync" for name in stuck[:10]]
    return KafkaPlan(AWAY, tuple(words), moves, leaders)


def carry_out(wanted: KafkaPlan, cluster: Cluster, seconds: float, show: Show) -> None:
    """Do it, and wait until it is so. ActFailed, CannotRead."""
    until = time.monotonic() + seconds
    admin = reader.connect(cluster.kafka, client_properties.of(cluster.name))
    try:
        kafka_throttle.put(admin, wanted.throttle)
        _wait(admin, dict.fromkeys(wanted.under_way, ()), until, show)
        for batch in _batches(wanted):
            _reassign(admin, batch)
            _wait(admin, batch, until, show)
        if wanted.cancelled:
            _reassign(admin, dict.fromkeys(wanted.cancelled))
        if wanted.leaders:
            _elected(admin, wanted.leaders)
    except Exception as error:
        raise _failure(error) from error
    finally:
        admin.close()


def unthrottle(items: Sequence[str], cluster: Cluster) -> None:
    """Take away what a drain set, by the items of its journal. ActFailed, CannotRead."""
    admin = reader.connect(cluster.kafka, client_properties.of(cluster.name))
    try:
        kafka_throttle.take_away(admin, items)
    except Exception as error:
        raise _failure(error) from error
    finally:
        admin.close()


def _failure(error: Exception) -> Exception:
    """kafka-python's own errors in our words; anything else as it is."""
    from kafka.errors import KafkaError

    if isinstance(error, (KafkaError, OSError)):
        return ActFailed(f"Kafka: {type(error).__name__} {error}"[:300].strip())
    return error


def _batches(wanted: KafkaPlan) -> list[Moves]:
    """A drain goes step by step; changes of order all at once."""
    rows = sorted(wanted.moves.items())
    size = AT_ONCE if wanted.act == DRAIN else max(len(rows), 1)
    return [dict(rows[start : start + size]) for start in range(0, len(rows), size)]


def _reassign(admin: Any, moves: Mapping[Partition, Sequence[int] | None]) -> None:
    asked = {_topic_partition(one): None if new is None else list(new) for one, new in moves.items()}
    answers = admin.alter_partition_reassignments(asked)
    for key in asked:
        error = answers.get(key, "no reply")
        gone = asked[key] is None and getattr(error, "__name__", "") == "NoReassignmentInProgressError"
        if error is not None and not gone:
            raise ActFailed(f"{key.topic}-{key.partition}: {getattr(error, '__name__', error)}")


def _wait(admin: Any, batch: Moves, until: float, show: Show) -> None:
    """Until none of these moves is under way; a person sees how many are left."""
    if not batch:
        return
    asked = [_topic_partition(one) for one in batch]
    told = -1
    while True:
        left = len([key for key in admin.list_partition_reassignments(asked) if key in asked])
        if not left:
            return
        if left != told:
            show(f"   {left} of {len(batch)} partitions are still being moved")
            told = left
        if time.monotonic() > until:
            raise ActFailed(f"timed out: {left} partitions are still being moved; Kafka continues in the background")
        time.sleep(min(LOOK_EVERY_S, max(until - time.monotonic(), 0.1)))


def _elected(admin: Any, leaders: Sequence[Partition]) -> None:
    wanted: dict[str, list[int]] = {}
    for one in leaders:
        wanted.setdefault(one.topic, []).append(one.number)
    admin.elect_leaders(PREFERRED, wanted)


def _topic_partition(one: Partition) -> Any:
    from kafka import TopicPartition

    return TopicPartition(one.topic, one.number)


__all__ = ["ActFailed", "CannotMove", "CannotRead", "KafkaPlan", "cancel", "carry_out", "look", "plan",
           "unthrottle"]  # fmt: skip
