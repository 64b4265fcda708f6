"""A gate's question about a real Kafka: what it says is read from real servers, its hosts are made by hand, all well.

The agent is not asked, so that a question takes no more than the reading of Kafka; whole hosts are in gate_site.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from smoketests.gate.context import GateContext
from smoketests.readers.kafka.cluster import KafkaFacts
from tests.smoketests.cluster.views import said
from tests.smoketests.gate import situations

CLUSTER_ID = "c1"


def name_of(broker: int) -> str:
    return f"kafka-a0{broker}"


def asked_of(
    facts: KafkaFacts | None, *leaving: int, brokers: Sequence[int] = (1, 2, 3), down: Sequence[int] = (), why: str = ""
) -> GateContext:
    """These of the brokers leave for a reboot. why: Kafka could not be read at all. down: whose process the agent does
    not see. Every broker is on a host of its own, kafka-a0N, where the agent sees it; so the real servers, which share
    loopback, are named in the facts."""
    names = [name_of(number) for number in leaving]
    hosts = [situations.broker(number) for number in brokers]
    found = {name_of(one): [situations.runs("broker", ids=(one,), cluster=CLUSTER_ID)] for one in brokers}
    found.update({name_of(one): [said("server_ids")] for one in down})
    if facts is None:
        return situations.situation(
            *names, hosts=hosts, found=found, kafka_says=None, problems={"kafka": why}, kraft=True
        )
    rows = tuple(
        row._replace(host=name_of(row.id), endpoints=(f"{name_of(row.id)}:{row.port}",)) for row in facts.brokers
    )
    said_so = facts._replace(cluster_id=CLUSTER_ID, brokers=rows)
    kraft = facts.quorum is not None or any(why.startswith("quorum") for why in facts.untold)
    alive = tuple(row for row in rows if not row.fenced)
    zookeeper = None if kraft else situations.ensemble()._replace(brokers=alive)
    return situations.situation(
        *names, hosts=hosts, found=found, kafka_says=said_so, kraft=kraft, zookeeper_says=zookeeper
    )
