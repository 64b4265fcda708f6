"""What a Kafka cluster reports, typed."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import NamedTuple

from smoketests.readers.zookeeper.ensemble import Registered


class Partition(NamedTuple):
    """leader: -1 for none. min_isr, unclean, size_bytes: None where not told.

    adding, removing: replicas that a reassignment under way brings and takes. offline: replicas on a dead broker or in
    a failed log dir; those are never in `isr`, whatever Kafka still says. unclean: unclean.leader.election.enable.
    size_bytes: of the largest replica.
    """

    topic: str
    number: int
    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    min_isr: int | None = None
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    offline: tuple[int, ...] = ()
    unclean: bool | None = None
    size_bytes: int | None = None

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.number}"


NEVER = -1


class Voter(NamedTuple):
    """A KRaft controller. behind_ms: since it last had all that the leader has, NEVER, or None where not told.

    endpoints: host:port of its listeners; a broker before 3.9 tells none.
    """

    id: int
    behind_ms: int | None
    endpoints: tuple[str, ...] = ()


class Quorum(NamedTuple):
    """leader: -1 for none. observers: the brokers that are no voters; none where the version does not tell."""

    leader: int
    voters: tuple[Voter, ...]
    observers: tuple[Voter, ...] = ()


class Doubt(NamedTuple):
    """A broker that gave no view of the cluster, or one that does not count, and why."""

    broker: int
    why: str


class Dispute(NamedTuple):
    """A partition of which brokers whose view counts say different things again and again. words: who says what."""

    topic: str
    number: int
    words: str


class LogDir(NamedTuple):
    """One log dir of one broker. error: Kafka's name for what is wrong with it, empty if nothing is.

    total_bytes, usable_bytes: of its file system; None where the broker is older than 3.3, or the dir has failed.
    replicas_bytes, replicas: what Kafka keeps there. future: how many of them are being copied there from another dir.
    """

    broker: int
    path: str
    error: str
    total_bytes: int | None
    usable_bytes: int | None
    replicas_bytes: int
    replicas: int
    future: int = 0


class KafkaFacts(NamedTuple):
    """partitions: None where they could not be read. quorum: None in a cluster that uses ZooKeeper.

    controller: the active one; of a KRaft cluster, the leader of its quorum. untold: what could not be read, a
    sentence each. log_dirs: None if no broker told; a broker that did not is in untold. throttled: the topics and
    brokers whose replication is throttled ("topic orders", "broker 1"); None if that could not be read. version: of
    a broker. tells_moves: False where its reassignments are not told, as before Kafka 2.4.
    partitions: of what the brokers say the worst; `doubts` are brokers whose word does not count, `disputes` what the
    others do not agree on. replicas: (topic, partition, broker) -> (log dir, bytes), as each broker reports its own.
    """

    cluster_id: str
    controller: int | None
    brokers: tuple[Registered, ...]
    partitions: tuple[Partition, ...] | None
    quorum: Quorum | None
    untold: tuple[str, ...] = ()
    log_dirs: tuple[LogDir, ...] | None = None
    throttled: tuple[str, ...] | None = None
    version: str = ""
    tells_moves: bool = True
    doubts: tuple[Doubt, ...] = ()
    disputes: tuple[Dispute, ...] = ()
    replicas: Mapping[tuple[str, int, int], tuple[str, int]] = types.MappingProxyType({})
