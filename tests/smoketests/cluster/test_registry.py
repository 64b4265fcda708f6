"""What every cluster check must do, whatever the hosts say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.report import FIELDS
from smoketests import cluster
from smoketests.cluster.view import ClusterView
from smoketests.commands import explain
from tests.smoketests.cluster.views import answered, host, said, view

HOST_CHECKS = sorted({check for name in cluster.names() for check in cluster.load(name).READS})


def test_the_folder_is_the_registry_and_a_name_that_a_host_check_has_is_told_apart() -> None:
    assert set(cluster.names()) == {
        "reach", "broker_ids", "zk_quorum", "cluster_disk_balance", "slow_disk", "clock_skew", "drift", "ports",
        "shared_fate", "partitions", "topology",
    }  # fmt: skip


@pytest.mark.parametrize("name", cluster.names())
def test_every_fact_that_is_read_is_one_that_the_agent_tells(name: str) -> None:
    for check, kind in cluster.load(name).READS.items():
        assert set(kind._fields) <= set(explain.facts(check)), f"{name} reads {check}"


@pytest.mark.parametrize("name", cluster.names())
def test_every_check_explains_itself(name: str) -> None:
    module: Any = cluster.load(name)
    question, _, rest = module.__doc__.partition("\n")

    assert question.endswith("?")
    assert "Ok again:" in rest and "Unknown:" in rest
    assert module.LIMITS is not None


@pytest.mark.parametrize("name", cluster.names())
def test_a_check_that_breaks_is_a_row_and_hides_no_other(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_arguments: Any) -> Any:
        raise RuntimeError("boom")

    monkeypatch.setattr(cluster.load(name), "judge", broken)
    records = cluster.judge_all(view({1: [], 2: []}))

    assert [r["reason"] for r in records if r["check"] == name] == ["the check failed: RuntimeError: boom"]
    assert {record["check"] for record in records} == set(cluster.names())


def test_records_have_the_shape_of_an_agents_and_the_identity_of_the_inventory() -> None:
    seen = view({1: [], 2: []}, host_fields={1: {"rack": "r7"}})
    records = cluster.judge_all(seen, run_id="run", at="2026-11-20T03:12:00Z")

    assert all(set(record) == set(FIELDS) for record in records)
    assert all(record["cluster"] == "prod-a" and record["run_id"] == "run" for record in records)
    (row,) = [record for record in records if record["host"] == "kafka-a01" and record["check"] == "reach"]
    assert (row["rack"], row["role"], row["layout"]) == ("r7", "broker", "jbod")
    json.dumps(records)


def test_a_host_may_be_left_out_of_a_cluster_check_with_a_reason() -> None:
    seen = view({1: []}, silent=[2], host_fields={2: {"skip": {"reach": "in repair until Friday"}}})
    (row,) = [r for r in cluster.judge_all(seen, ["reach"]) if r["host"] == "kafka-a02"]

    assert (row["status"], row["reason"]) == ("skipped", "in repair until Friday")


def test_the_inventorys_limits_of_the_cluster_stand_above_the_checks_own() -> None:
    slow = {"kafka-a01": answered(seconds=30)}
    seen = view({1: []})
    strict = view({1: []}, limits={"reach": {"answer_s_warning": 10}})

    assert _reach(ClusterView(seen.cluster, slow)) == "ok"
    assert _reach(ClusterView(strict.cluster, slow)) == "warning"


def _reach(seen: ClusterView) -> str:
    (row,) = cluster.judge_all(seen, ["reach"])
    return str(row["status"])


def test_an_empty_cluster_gives_rows_and_no_exception() -> None:
    records = cluster.judge_all(view({}))

    assert {record["check"] for record in records} == set(cluster.names())
    assert not [r for r in records if "the check failed" in r["reason"]]


words = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20), st.just("\x1b[31m"), st.just("../..")
)
values = st.recursive(words, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner))


def facts_of(check: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from(explain.facts(check)), values, max_size=12)


rows = st.sampled_from(HOST_CHECKS).flatmap(
    lambda check: st.builds(
        lambda item, status, facts: {**said(check, item, status), "facts": facts},
        st.sampled_from(["sda", "-", "/kafka/d1", "vm.swappiness", "\x1b]0;x\x07"]),
        st.sampled_from(["ok", "warning", "critical", "unknown", "skipped"]),
        st.one_of(facts_of(check), values),
    )
)


@given(st.lists(rows, max_size=8))
@settings(max_examples=80)
def test_a_hostile_host_breaks_no_check(hostile: list[dict[str, Any]]) -> None:
    healthy = [said("clock", synchronised=True, offset_ms=1.0, source="chronyd")]
    records = cluster.judge_all(view({1: hostile, 2: healthy, 3: healthy, 4: healthy}))

    assert not [record["reason"] for record in records if "the check failed" in record["reason"]]
    assert {record["check"] for record in records} == set(cluster.names())
    others = [r for r in records if r["host"] in ("kafka-a02", "kafka-a03", "kafka-a04")]
    assert not [r for r in others if r["status"] not in ("ok", "skipped")], "it changed another host's row"


@given(st.dictionaries(st.sampled_from(["kernel", "clock"]), values))
@settings(max_examples=30)
def test_a_hostile_header_breaks_no_check(header: dict[str, Any]) -> None:
    one = host(1)
    seen = view({1: [], 2: [], 3: []}, headers={1: header}, windows={one.name: (0.0, 1.0), "kafka-a02": (0.0, 1.0)})

    assert not [r for r in cluster.judge_all(seen) if "the check failed" in r["reason"]]
