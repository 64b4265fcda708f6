"""swappiness: 60 is what a fresh install has, and what a broker must not have."""

import pytest

from agent.checks import swappiness
from agent.expected import Expected
from agent.host import Memory
from tests.machine import HandmadeHost, run_checks

HEALTHY = swappiness.Facts(swappiness=1, swap_total_bytes=0, swap_used_bytes=0)


def machine(value: str, roles: tuple[str, ...] = ("broker",)) -> HandmadeHost:
    return HandmadeHost(
        files={"/proc/sys/vm/swappiness": value},
        answers={"memory": Memory(64 << 30, 32 << 30, 0, 0)},
        expected=Expected(roles=roles),
    )


@pytest.mark.parametrize(
    ("value", "status"), [(0, "ok"), (1, "ok"), (2, "warning"), (30, "warning"), (31, "critical"), (60, "critical")]
)
def test_the_edges_of_the_limits(value: int, status: str) -> None:
    assert swappiness.judge(HEALTHY._replace(swappiness=value), swappiness.LIMITS).status == status


def test_a_broker_with_the_default_of_a_fresh_install_is_critical() -> None:
    (finding,) = run_checks(machine("60\n"), "swappiness")

    assert (finding.item, finding.status, finding.facts["swappiness"]) == ("vm.swappiness", "critical", 60)
    assert finding.verdict.playbook == "tune-os"


def test_a_machine_without_kafka_is_left_alone() -> None:
    (finding,) = run_checks(machine("60\n", roles=()), "swappiness")

    assert finding.status == "skipped"


@pytest.mark.parametrize("rubbish", ["", "sixty", "\x00", "1 2"])
def test_rubbish_in_the_setting_is_unknown(rubbish: str) -> None:
    (finding,) = run_checks(machine(rubbish), "swappiness")

    assert finding.status == "unknown"
