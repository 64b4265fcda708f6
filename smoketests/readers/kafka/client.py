"""kafka-python's admin client, of which each broker can be asked by its id, and which reads every Kafka from 2.4 on.

kafka-python, as no other client for Python tells log dirs, reassignments and the quorum of the controllers
(confluent-kafka 2.16: librdkafka has none of the three) or asks a broker of one's choice for its own metadata. What
3.0.12 gets wrong is done here with its protocol classes: `describe_cluster` fails where the answer is of version 0, as
of Kafka 2.8 to 3.6 (KeyError 'endpoint_type'), and `describe_metadata_quorum` below version 2, as of 3.3 to 3.7
(KeyError 'error_message'). `_manager` is where its own mixins send their requests; setup.cfg holds it below version 4,
and tests/real/test_kafka_versions.py holds all this against real brokers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

from kafka import KafkaAdminClient
from kafka.errors import IncompatibleBrokerVersion, NoError, for_code
from kafka.protocol.admin import (
    DescribeClusterRequest,
    DescribeConfigsRequest,
    DescribeLogDirsRequest,
    DescribeQuorumRequest,
    ListPartitionReassignmentsRequest,
)
from kafka.protocol.metadata import MetadataRequest

from smoketests.readers.zookeeper.ensemble import Registered

METADATA_TOPIC = "__cluster_metadata"
TOPIC, BROKER = 2, 4
COORDINATOR = 0
Moves = Mapping[tuple[str, int], tuple[tuple[int, ...], tuple[int, ...]]]


class ClusterSaid(NamedTuple):
    """What one broker says of its cluster: who is in it, and who is the controller, -1 for none."""

    cluster_id: str
    controller: int
    brokers: Mapping[int, Registered]


class TopicSaid(NamedTuple):
    """What one broker says of one topic. rows: number, leader, replicas, replicas in sync, offline replicas."""

    error: int
    rows: tuple[tuple[int, int, tuple[int, ...], tuple[int, ...], tuple[int, ...]], ...]


class Setting(NamedTuple):
    """A setting's value, and where it stands, by Kafka's number (1: with the topic, 5: nowhere)."""

    value: str
    source: int


class Client(KafkaAdminClient):  # type: ignore[misc]  # kafka-python has no types
    """broker: whom to ask by id; None for any. Each raises kafka-python's errors and OSError."""

    def describe_cluster(self) -> dict[str, Any]:
        """As kafka-python's, with any version of the answer."""
        said = self.cluster()
        rows = [{"broker_id": row.id, "host": row.host, "port": row.port, "rack": row.rack, "is_fenced": row.fenced}
                for row in said.brokers.values()]  # fmt: skip
        return {"cluster_id": said.cluster_id, "controller_id": said.controller, "brokers": rows}

    def cluster(self, broker: int | None = None) -> ClusterSaid:
        try:
            said = self._ask(DescribeClusterRequest(include_fenced_brokers=True), broker)
        except IncompatibleBrokerVersion:  # before 2.8
            said = self._ask(_metadata([]), broker)
        else:
            _check(said.error_code, said.error_message)
        rows = [_registered(row) for row in said.brokers]
        controller = said.controller_id
        return ClusterSaid(str(said.cluster_id or ""), int(controller), {row.id: row for row in sorted(rows)})

    def topics(self, broker: int | None = None, names: Iterable[str] | None = None) -> dict[str, TopicSaid]:
        """names: of the topics; None for all that we may see."""
        said = self._ask(_metadata(None if names is None else sorted(names)), broker)
        return {str(topic.name): _topic(topic) for topic in said.topics}

    def settings(
        self, topics: Sequence[str], wanted: Sequence[str], broker: int | None = None
    ) -> dict[str, dict[str, Setting]]:
        """What topics are set to; a topic of which nothing may be read is not in it."""
        return self._configs(TOPIC, topics, wanted, broker)

    def own_settings(self, broker: int, wanted: Sequence[str]) -> dict[str, Setting]:
        """What this broker is set to; empty if we may not read it."""
        return self._configs(BROKER, [str(broker)], wanted, broker).get(str(broker), {})

    def log_dirs(self, broker: int) -> list[dict[str, Any]]:
        """Its log dirs with all their replicas, also those of topics that are not shown to us."""
        return [row.to_dict() for row in self._ask(DescribeLogDirsRequest(topics=None), broker).results]

    def quorum(self, broker: int) -> dict[str, Any]:
        """What the active controller says of its quorum, through this broker."""
        wanted = DescribeQuorumRequest.TopicData
        partitions = [wanted.PartitionData(partition_index=0)]
        said = self._ask(
            DescribeQuorumRequest(topics=[wanted(topic_name=METADATA_TOPIC, partitions=partitions)]), broker
        )
        _check(said.error_code, "")
        document = cast("dict[str, Any]", said.to_dict())
        _check(document["topics"][0]["partitions"][0]["error_code"], "")
        return document

    def moves(self, broker: int) -> Moves:
        """Partition -> the replicas that a reassignment brings and takes. In ZooKeeper mode the controller knows."""
        request = ListPartitionReassignmentsRequest(timeout_ms=self.config["request_timeout_ms"], topics=None)
        said = self._ask(request, broker)
        _check(said.error_code, "")
        return {
            (str(topic.name), int(row.partition_index)): (tuple(row.adding_replicas), tuple(row.removing_replicas))
            for topic in said.topics
            for row in topic.partitions
        }

    def meet(self, rows: Iterable[Registered]) -> None:
        """Brokers that somebody else told of can be asked too."""
        known = {node.node_id for node in self._manager.cluster.brokers()}
        for row in rows:
            if row.id not in known:
                at = SimpleNamespace(error_code=0, node_id=row.id, host=row.host, port=row.port)
                self._manager.cluster.add_coordinator(at, COORDINATOR, f"broker {row.id}", synthesize_node_id=False)

    def _ask(self, request: Any, broker: int | None) -> Any:
        async def sent() -> Any:
            return await self._manager.send(request, node_id=broker)

        return self._manager.run(sent)

    def _configs(
        self, kind: int, names: Sequence[str], wanted: Sequence[str], broker: int | None
    ) -> dict[str, dict[str, Setting]]:
        rows = [(kind, name, list(wanted)) for name in names]
        said = self._ask(DescribeConfigsRequest(resources=rows, include_synonyms=False), broker)
        return {
            str(result.resource_name): {
                str(row.name): Setting("" if row.value is None else str(row.value), int(row.config_source))
                for row in result.configs
            }
            for result in said.results
            if not result.error_code
        }


def _metadata(topics: Sequence[str] | None) -> Any:
    names = None if topics is None else [MetadataRequest.MetadataRequestTopic(name=name) for name in topics]
    return MetadataRequest(topics=names, allow_auto_topic_creation=False)


def _check(code: int, message: str | None) -> None:
    error = for_code(code)
    if error is not NoError:
        raise error(message or "")


def _registered(row: Any) -> Registered:
    """A row of DescribeCluster, or of Metadata, where the id has another name."""
    number = row.broker_id if hasattr(row, "broker_id") else row.node_id
    host, port = str(row.host), int(row.port)
    fenced = bool(getattr(row, "is_fenced", False))
    return Registered(int(number), host, port, str(row.rack or ""), (f"{host}:{port}",), fenced)


def _topic(topic: Any) -> TopicSaid:
    rows = sorted(
        (int(row.partition_index), int(row.leader_id), tuple(row.replica_nodes), tuple(sorted(row.isr_nodes)),
         tuple(sorted(row.offline_replicas or ())))
        for row in topic.partitions
    )  # fmt: skip
    return TopicSaid(int(topic.error_code), tuple(rows))
