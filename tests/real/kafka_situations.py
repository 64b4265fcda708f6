"""A gate's question about a real Kafka: what it says is read from real servers, its hosts are made by hand, all well.

The agent is not asked, so that a question takes no more than the reading of Kafka; whole hosts are in gate_site.py.
"""

from __future__ import annotations

from smoketests.gate.situation import Situation
from smoketests.readers.kafka import KafkaFacts
from tests.smoketests.gate import situations

CLUSTER_ID = "c1"


def name_of(broker: int) -> str:
    return f"kafka-a0{broker}"


def asked_of(facts: KafkaFacts | None, *leaving: int, why: str = "", purpose: str = "reboot") -> Situation:
    """These brokers leave. why: Kafka could not be read at all. Every broker is on a host of its own, kafka-a0N, where
    the agent sees it; so the real servers, which share loopback, are named in the facts."""
    if facts is None:
        return situations.situation(*map(name_of, leaving), kafka_says=None, problems={"kafka": why}, kraft=True)
    rows = tuple(
        row._replace(host=name_of(row.id), endpoints=(f"{name_of(row.id)}:{row.port}",)) for row in facts.brokers
    )
    said = facts._replace(cluster_id=CLUSTER_ID, brokers=rows)
    zookeeper = situations.ensemble(brokers=[row.id for row in rows if not row.fenced])
    return situations.situation(
        *map(name_of, leaving), kafka_says=said, kraft=facts.quorum is not None, purpose=purpose,
        zookeeper_says=None if facts.quorum else zookeeper,
    )  # fmt: skip
