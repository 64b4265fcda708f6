"""A cluster with what its ZooKeeper and its Kafka say, both asked at the same time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from inventory.model import Cluster
from smoketests import readers
from smoketests.cluster.view import ClusterView


def look(
    cluster: Cluster, reports: Mapping[str, Any], settings: Mapping[str, Any] | None = None, **view: Any
) -> ClusterView:
    """The cluster with what its ZooKeeper and its Kafka say, asked at the same time.

    settings: for kafka-python, if not those of client_properties. view: other fields of the ClusterView.
    """
    from smoketests.readers.kafka import client_properties
    from smoketests.readers.kafka import cluster as kafka
    from smoketests.readers.zookeeper import ensemble as zookeeper

    def settings_of() -> Mapping[str, Any]:
        return settings if settings is not None else client_properties.of(cluster.name)

    asked: dict[str, Callable[[float | None], Any]] = {}
    if cluster.zookeeper:
        asked["zookeeper"] = readers.begin(lambda: zookeeper.read(cluster.zookeeper))
    if cluster.kafka:
        asked["kafka"] = readers.begin(lambda: kafka.read(cluster.kafka, settings_of()))
    answers: dict[str, Any] = {}
    problems: dict[str, str] = {}
    for name, answer in asked.items():
        try:
            answers[name] = answer(None)
        except readers.CannotRead as error:
            problems[name] = str(error)
        except Exception as error:  # one broken reader never hides the other, nor the hosts
            problems[name] = f"the reader failed: {type(error).__name__}: {error}"[:300]
    if "zookeeper" in answers and "kafka" in answers:
        from smoketests.readers.kafka import in_sync

        answers["kafka"] = in_sync.worst_of(answers["kafka"], answers["zookeeper"].in_sync)
    return ClusterView(cluster, reports, problems=problems, **answers, **view)
