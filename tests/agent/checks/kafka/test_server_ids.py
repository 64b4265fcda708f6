"""server_ids: which node of which cluster a server is, and whether its disks say the same."""

from __future__ import annotations

from typing import Any, Dict, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.host import Stuck, Touched
from agent.sources.kafka import java_properties, node_ids
from agent.status import Finding
from tests.agent.servers import BROKER_CONFIG, ZOOKEEPER_CONFIG, broker, machine, zookeeper
from tests.machine import FakeHost, by_item, run_checks

CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"


def meta(node: Optional[int] = 3, cluster: str = CLUSTER, name: str = "broker.id") -> Touched:
    """As Kafka writes it: a comment with the date, then its rows."""
    row = f"{name}={node}\n" if node is not None else ""
    return Touched("", {"text": f"#\n#Thu Nov 20 03:12:00 UTC 2026\n{row}version=0\ncluster.id={cluster}\n"})


def kafka_machine(d1: Any, d2: Any, config: str = "", **given_: Any) -> FakeHost:
    answers: Dict[str, Any] = {
        "touch read /kafka/d1/meta.properties": d1, "touch read /kafka/d2/meta.properties": d2,
    }  # fmt: skip
    if config:
        answers[f"touch read {BROKER_CONFIG}"] = Touched("", {"text": config})
    return machine(broker(), answers=answers, **given_)


def look_at(host: FakeHost, item: str = "broker") -> Finding:
    found = by_item(run_checks(host, "server_ids"))
    assert item in found and "check failed" not in found[item].verdict.reason, found
    return found[item]


def test_a_broker_tells_its_node_and_its_cluster() -> None:
    finding = look_at(kafka_machine(meta(), meta()))

    assert (finding.status, finding.verdict.reason) == ("ok", f"node 3 of cluster {CLUSTER}")
    assert (
        finding.facts["stored"] == (3,) and finding.facts["configured"] == 3 and finding.facts["roles"] == ("broker",)
    )


def test_a_combined_kraft_server_is_broker_and_controller_whatever_the_inventory_says() -> None:
    config = "node.id=5\nprocess.roles=broker,controller\nlog.dirs=/kafka/d1,/kafka/d2\n"
    finding = look_at(kafka_machine(meta(5, name="node.id"), meta(5), config, roles=("controller",)))

    assert (finding.status, finding.facts["roles"]) == ("ok", ("broker", "controller"))


def test_a_configuration_that_names_another_node_than_the_disks_is_critical() -> None:
    finding = look_at(kafka_machine(meta(4), meta(4)))

    assert finding.status == "critical"
    said = f"{BROKER_CONFIG} names node 3, its log dirs belong to node 4: it does not start again"
    assert finding.verdict.reason == said


@pytest.mark.parametrize(
    ("other", "words"), [(meta(7), "belong to nodes 3 and 7"), (meta(3, "another"), "belong to clusters Mk")]
)
def test_a_disk_that_came_from_elsewhere_is_critical(other: Touched, words: str) -> None:
    finding = look_at(kafka_machine(meta(), other))

    assert finding.status == "critical" and words in finding.verdict.reason


@pytest.mark.parametrize("dead", [Stuck("read", 5.0), Touched("EIO", {})])
def test_a_dead_disk_does_not_keep_the_others_from_telling(dead: Any) -> None:
    finding = look_at(kafka_machine(dead, meta()))

    assert (finding.status, finding.facts["stored"], finding.facts["untold"]) == ("ok", (3,), ("/kafka/d1",))


def test_an_id_that_the_broker_made_up_is_told_by_its_disks() -> None:
    finding = look_at(kafka_machine(meta(1001), meta(1001), "broker.id=-1\nlog.dirs=/kafka/d1,/kafka/d2\n"))

    assert (finding.status, finding.facts["configured"], finding.facts["stored"]) == ("ok", None, (1001,))


def test_a_zookeeper_server_tells_its_myid() -> None:
    answers = {"touch read /var/lib/zookeeper/myid": Touched("", {"text": "2\n"})}
    finding = look_at(machine(zookeeper(), answers=answers, roles=("zookeeper",)), "zookeeper")

    assert (finding.status, finding.facts["stored"]) == ("ok", (2,))
    assert ZOOKEEPER_CONFIG in finding.facts["config_path"]


def test_a_machine_without_servers_is_left_alone() -> None:
    (finding,) = run_checks(machine(roles=()), "server_ids")

    assert finding.status == "skipped"


def test_a_configuration_that_cannot_be_read_is_unknown() -> None:
    answers = {f"touch read {BROKER_CONFIG}": Touched("EACCES", {}), "is_root": False}
    finding = look_at(machine(broker(), answers=answers))

    assert (finding.status, finding.verdict.reason) == ("unknown", f"needs root: {BROKER_CONFIG} cannot be read")


@given(st.text())
def test_rubbish_in_meta_properties_names_no_odd_node(text: str) -> None:
    said = java_properties.parse(text)
    found = node_ids.number(said.get("node.id") or said.get("broker.id") or text)

    assert found is None or 0 <= found < 2**31
