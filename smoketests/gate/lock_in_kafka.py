"""The maintenance lock as a log: a topic of one partition with a record for each take, renewal and release.

All who read the topic from its start to its end find the same holder: a claim counts if the lock was free at its place
in the log, by the time that the leading broker added to it (LogAppendTime). Each record is acknowledged by all replicas
in sync, of which there are two where three brokers are live, so one broker may fail. Kafka has no other way to let only
one of two writers win. The limits: another broker's clock counts once that leads the partition, and whoever may write
to the topic can falsify it.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from smoketests.gate.lock import CannotLock, Held, Lock, from_json, to_json

TOPIC = "_fleet-smoke-maintenance"
REPLICAS = 3
# longer than any maintenance: what keeps a lock is the record of whoever took it
RETENTION_MS = 90 * 24 * 3600 * 1000
ANSWER_S = 20.0
TAKE, RENEW, RELEASE = "take", "renew", "release"


class Said(NamedTuple):
    """One record. at: seconds since the epoch by the broker. lock: who claims it; its times are not used."""

    at: float
    verb: str
    lock: Lock
    minutes: float


def holder(log: Iterable[Said]) -> Lock | None:
    """Who holds the lock behind these records of one cluster, in their order; also if it expired since."""
    now: Lock | None = None
    for one in log:
        until = one.at + one.minutes * 60
        if one.verb == TAKE and (now is None or now.id == one.lock.id or now.expired(one.at)):
            now = replace(one.lock, since=one.at, until=until)
        elif one.verb == RENEW and now is not None and now.id == one.lock.id:
            now = replace(now, until=max(now.until, until))
        elif one.verb == RELEASE and now is not None and now.id == one.lock.id:
            now = None
    return now


def parse(at_ms: int, value: bytes | None) -> Said | None:
    """A record; None for what is none of ours."""
    try:
        said = json.loads((value or b"").decode("utf-8", "replace"))
        minutes = float(said["minutes"])
        if said["verb"] not in (TAKE, RENEW, RELEASE) or not 0 <= minutes < 1e6:
            return None
        return Said(at_ms / 1000, said["verb"], from_json(json.dumps(said["lock"]), TOPIC), minutes)
    except (ValueError, TypeError, KeyError, RecursionError, CannotLock):
        return None


class InKafka:
    """servers: `host:port` of brokers; a login is that of the readers (SMOKE_KAFKA_CLIENT)."""

    def __init__(self, cluster: str, servers: Sequence[str]) -> None:
        from smoketests.readers.kafka import client_properties

        self._cluster, self._servers = cluster, list(servers)
        self._settings = dict(client_properties.of(cluster))

    def take(self, wanted: Lock, minutes: float) -> Lock:
        return self._say(Said(0, TAKE, wanted, minutes))

    def renew(self, ours: Lock, minutes: float) -> Lock:
        return self._say(Said(0, RENEW, ours, minutes))

    def release(self, ours: Lock) -> bool:
        with self._words():
            before = self._holder()
            if before is None or before.id != ours.id:
                return False
            self._append(Said(0, RELEASE, ours, 0))
            return True

    def held(self) -> list[Lock]:
        with self._words():
            found = self._holder()
            return [found] if found else []

    def _say(self, one: Said) -> Lock:
        """Append it, and read who holds the lock then. Held, CannotLock."""
        with self._words():
            self._ensure_topic()
            now = self._holder(self._append(one))
        if now is None:
            raise CannotLock(
                f"the lock {one.lock.id} of {self._cluster} is gone from {TOPIC}: another user released it"
            )
        if now.id != one.lock.id:
            raise Held(now)
        return now

    def _append(self, one: Said) -> int:
        """Its offset, once all replicas in sync have it."""
        from kafka import KafkaProducer

        value = json.dumps({"verb": one.verb, "minutes": one.minutes, "lock": json.loads(to_json(one.lock))}).encode()
        # sent again where no answer came; the same claim twice is one
        producer = KafkaProducer(bootstrap_servers=self._servers, acks="all", max_block_ms=int(ANSWER_S * 1000),
                                 request_timeout_ms=int(ANSWER_S * 500), delivery_timeout_ms=int(ANSWER_S * 1000),
                                 **self._settings)  # fmt: skip
        try:
            sent = producer.send(TOPIC, value, key=self._cluster.encode(), partition=0)
            return int(sent.get(ANSWER_S).offset)
        finally:
            producer.close(timeout=5)

    def _holder(self, to: int = -1) -> Lock | None:
        """Behind the record of this offset, or behind the last that is there; nobody where there is no topic."""
        return holder(one for one in self._log(to) if one.lock.cluster == self._cluster)

    def _log(self, to: int) -> Iterator[Said]:
        from kafka import KafkaConsumer, TopicPartition

        consumer = KafkaConsumer(bootstrap_servers=self._servers, enable_auto_commit=False,
                                 auto_offset_reset="earliest", consumer_timeout_ms=int(ANSWER_S * 1000),
                                 **self._settings)  # fmt: skip
        try:
            if TOPIC not in consumer.topics():
                return
            partition = TopicPartition(TOPIC, 0)
            consumer.assign([partition])
            end = to + 1 if to >= 0 else int(consumer.end_offsets([partition])[partition])
            consumer.seek_to_beginning(partition)
            while consumer.position(partition) < end:
                record = next(consumer, None)
                if record is None:
                    raise CannotLock(f"{TOPIC} could not be read to its end within {ANSWER_S:.0f} s")
                if record.offset < end and (said := parse(record.timestamp, record.value)):
                    yield said
        finally:
            consumer.close()

    def _ensure_topic(self) -> None:
        from kafka.errors import TopicAlreadyExistsError

        from smoketests.readers.kafka import cluster as reader

        admin = reader.connect(self._servers, self._settings)
        try:
            if TOPIC in admin.list_topics():
                return
            living = len(admin.describe_cluster()["brokers"])
            replicas = min(REPLICAS, living)
            configs = {"message.timestamp.type": "LogAppendTime", "retention.ms": str(RETENTION_MS),
                       "min.insync.replicas": str(max(replicas - 1, 1)), "unclean.leader.election.enable": "false",
                       "cleanup.policy": "delete"}  # fmt: skip
            with contextlib.suppress(TopicAlreadyExistsError):  # by another controller, this moment
                admin.create_topics({TOPIC: {"num_partitions": 1, "replication_factor": replicas, "configs": configs}})
        finally:
            admin.close()

    @contextlib.contextmanager
    def _words(self) -> Iterator[None]:
        """Kafka's errors as sentences."""
        from kafka.errors import KafkaError

        from smoketests.readers import CannotRead

        try:
            yield
        except (KafkaError, CannotRead, OSError) as error:
            said = f"{type(error).__name__} {error}".strip()
            raise CannotLock(f"the lock of {self._cluster} in Kafka's topic {TOPIC}: {said}"[:300]) from error
