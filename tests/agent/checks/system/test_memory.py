"""memory: how much there is, how much is left, and whether swap is in use."""

from __future__ import annotations

from typing import Any, Sequence

import pytest

from agent.checks.system import memory
from agent.expected import Expected
from agent.host import Memory
from tests.machine import FakeHost, run_checks

HEALTHY = memory.Facts(67.1, 33.5, 50.0, 0, 0, True, True)
GIB = 1 << 30


def status(**facts: Any) -> str:
    return memory.judge(HEALTHY._replace(**facts), memory.LIMITS).status


@pytest.mark.parametrize(
    ("percent", "expected"),
    [(100.0, "ok"), (10.0, "ok"), (9.99, "warning"), (5.0, "warning"), (4.99, "critical"), (0.0, "critical")],
)
def test_the_edges_of_what_is_available(percent: float, expected: str) -> None:
    assert status(available_percent=percent) == expected


@pytest.mark.parametrize(("total", "expected"), [(33.0, "ok"), (32.0, "ok"), (31.9, "warning"), (8.0, "warning")])
def test_the_edges_of_what_a_broker_should_have(total: float, expected: str) -> None:
    assert status(total_gb=total) == expected
    assert status(total_gb=total, broker=False) == "ok"


@pytest.mark.parametrize(("used", "expected"), [(0, "ok"), (1, "warning"), (4000, "warning")])
def test_swap_in_use_is_for_kafka_machines_a_warning(used: int, expected: str) -> None:
    assert status(swap_used_mb=used, swap_total_mb=8192) == expected
    assert status(swap_used_mb=used, swap_total_mb=8192, kafka_machine=False) == "ok"


def machine(total: int, available: int, swap_used: int = 0, roles: Sequence[str] = ("broker",)) -> FakeHost:
    return FakeHost(
        answers={"memory": Memory(total, available, 8 * GIB, swap_used)}, expected=Expected(roles=tuple(roles))
    )


def test_a_machine_of_32_gib_less_what_its_kernel_keeps_is_large_enough() -> None:
    (finding,) = run_checks(machine(32 * GIB - 700 * (1 << 20), 20 * GIB), "memory")

    assert finding.status == "ok"


def test_all_that_is_wrong_is_said_at_once_and_the_worst_leads() -> None:
    (finding,) = run_checks(machine(16 * GIB, GIB // 2, 300 << 20), "memory")

    assert (finding.item, finding.status, finding.verdict.playbook) == ("memory", "critical", "out-of-memory")
    assert finding.verdict.reason.startswith("only 0.5 of 17.2 GB RAM available (3 %)")
    assert "300 MB of 8192 MB swap in use" in finding.verdict.reason and "for a broker" in finding.verdict.reason


def test_swap_in_use_alone_leads_to_tuning() -> None:
    (finding,) = run_checks(machine(64 * GIB, 32 * GIB, 300 << 20), "memory")

    assert (finding.status, finding.verdict.playbook) == ("warning", "tune-os")


def test_a_small_machine_without_kafka_is_well() -> None:
    (finding,) = run_checks(machine(2 * GIB, GIB, 300 << 20, roles=()), "memory")

    assert finding.status == "ok"


@pytest.mark.parametrize(("total", "available"), [(0, 0), (-1, 5), (GIB, -1)])
def test_nonsense_is_not_judged(total: int, available: int) -> None:
    (finding,) = run_checks(machine(total, available), "memory")

    assert finding.status == "unknown" and "check failed" not in finding.verdict.reason
