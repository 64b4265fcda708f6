"""What ZooKeeper and Kafka say of a cluster: one reader each, every question under a deadline, answers typed.

Only here does the controller talk to them; the judges in smoketests/cluster see the facts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from inventory.model import Cluster
from smoketests.cluster.view import ClusterView

Answer = TypeVar("Answer")


class CannotRead(Exception):
    """The reader could not tell; the message is the reason, for a person."""


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
        asked["zookeeper"] = begin(lambda: zookeeper.read(cluster.zookeeper))
    if cluster.kafka:
        asked["kafka"] = begin(lambda: kafka.read(cluster.kafka, settings_of()))
    answers: dict[str, Any] = {}
    problems: dict[str, str] = {}
    for name, answer in asked.items():
        try:
            answers[name] = answer(None)
        except CannotRead as error:
            problems[name] = str(error)
        except Exception as error:  # one broken reader never hides the other, nor the hosts
            problems[name] = f"the reader failed: {type(error).__name__}: {error}"[:300]
    if "zookeeper" in answers and "kafka" in answers:
        from smoketests.readers.zookeeper import partitions as zookeeper_partitions

        answers["kafka"] = zookeeper_partitions.worst_of(answers["kafka"], answers["zookeeper"].in_sync)
    return ClusterView(cluster, reports, problems=problems, **answers, **view)


class NotYet(Exception):
    """It has not come back."""


def begin(ask: Callable[[], Answer]) -> Callable[[float | None], Answer]:
    """Start it in a thread of its own; what is returned waits so many seconds for the answer, then raises NotYet."""
    done: list[tuple[Any, Exception | None]] = []

    def work() -> None:
        try:
            done.append((ask(), None))
        except Exception as error:
            done.append((None, error))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()

    def wait(seconds: float | None) -> Answer:
        thread.join(seconds)
        if not done:
            raise NotYet
        value, error = done[0]
        if error is not None:
            raise error
        return value  # type: ignore[no-any-return]

    return wait


def within(seconds: float, what: str, ask: Callable[[], Answer]) -> Answer:
    """The answer of something that may never come back; CannotRead then, and what hangs is left behind."""
    try:
        return begin(ask)(seconds)
    except NotYet:
        raise CannotRead(f"{what} gave no answer in {seconds:.0f} s") from None


def address(text: str, default_port: int) -> tuple[str, int]:
    """`zk1:2181`, `[2001:db8::1]:2181`, `zk1` -> host and port; CannotRead if it is neither."""
    host, separator, port = text.strip().rpartition(":")
    if not separator or text.strip().endswith("]"):
        host, port = text.strip(), str(default_port)
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise CannotRead(f"{text[:80]!r} is no address such as host:{default_port}")
    return host, int(port)
