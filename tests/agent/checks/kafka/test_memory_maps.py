"""memory_maps: mappings of the broker against vm.max_map_count, and the setting itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.checks.kafka import memory_maps
from agent.host import NoPermission, ProcessUse
from agent.sources.kafka import processes as kafka
from tests.agent.servers import broker, machine, zookeeper
from tests.machine import by_item, next_run, run_checks

BROKER = memory_maps.Facts(pid=4242, maps=1000, max_map_count=300_000)
SETTING = memory_maps.Facts(pid=0, maps=0, max_map_count=300_000)
PATH = "/proc/sys/vm/max_map_count"


@pytest.mark.parametrize(
    ("maps", "status"),
    [(0, "ok"), (209_999, "ok"), (210_000, "warning"), (254_999, "warning"), (255_000, "critical")],
)
def test_the_edges_of_the_use(maps: int, status: str) -> None:
    assert memory_maps.judge(BROKER._replace(maps=maps), memory_maps.LIMITS).status == status


@pytest.mark.parametrize(
    ("most", "status"), [(262_144, "ok"), (262_143, "warning"), (65_530, "warning"), (0, "warning")]
)
def test_the_edges_of_the_setting(most: int, status: str) -> None:
    assert memory_maps.judge(SETTING._replace(max_map_count=most), memory_maps.LIMITS).status == status


def test_a_broker_near_the_default_of_a_fresh_install_is_told_with_the_setting() -> None:
    host = machine(broker(), files={PATH: "65530\n"}, answers={"process_use 4242": ProcessUse(1, 100_000, 60_000)})

    found = by_item(run_checks(host, "memory_maps"))
    assert (found["vm.max_map_count"].status, found["broker"].status) == ("warning", "critical")
    assert found["broker"].verdict.reason == "process 4242 has 60000 of 65530 memory mappings (92 %)"
    assert found["broker"].verdict.playbook == "tune-os"


def test_a_well_tuned_broker_is_ok() -> None:
    found = run_checks(machine(broker(), files={PATH: "262144\n"}), "memory_maps")

    assert [finding.status for finding in found] == ["ok", "ok"]


def test_zookeeper_alone_is_not_asked() -> None:
    (finding,) = run_checks(machine(zookeeper(), roles=("zookeeper",), files={PATH: "65530\n"}), "memory_maps")

    assert finding.status == "skipped"


def test_what_only_root_may_count_is_unknown_and_the_setting_is_told_all_the_same() -> None:
    host = machine(broker(), files={PATH: "65530\n"}, answers={"process_use 4242": NoPermission("needs root: maps")})

    found = by_item(run_checks(host, "memory_maps"))
    assert (found["vm.max_map_count"].status, found["broker"].status) == ("warning", "unknown")


def test_a_stopped_broker_keeps_its_row() -> None:
    before = machine(broker(), files={PATH: "262144\n"})
    kafka.known_servers(before)

    found = by_item(run_checks(next_run(before, answers={"processes": []}), "memory_maps"))
    assert found["broker"].status == "skipped" and "is not running" in found["broker"].verdict.reason


@given(st.text())
def test_rubbish_in_the_setting_is_unknown(text: str) -> None:
    for finding in run_checks(machine(broker(), files={PATH: text}), "memory_maps"):
        assert "check failed" not in finding.verdict.reason
        assert finding.status == "unknown" or int(text.strip(), 0) is not None
