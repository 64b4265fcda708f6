"""disk_balance: one disk much fuller than its neighbours is told, by name."""

from __future__ import annotations

import pytest

from agent.checks.disks import disk_balance
from agent.expected import Expected, ExpectedMount
from agent.host import Stuck
from agent.status import Finding
from tests.agent.jbod import EXPECTED, broker, usage
from tests.machine import FakeHost, next_run, run_checks


def asked(host: FakeHost) -> Finding:
    (finding,) = run_checks(host, "disk_balance")
    return finding


@pytest.mark.parametrize(
    ("fullest", "status"), [(30.0, "ok"), (49.9, "ok"), (50.0, "warning"), (50.1, "warning"), (100.0, "warning")]
)
def test_the_edges_of_the_spread(fullest: float, status: str) -> None:
    facts = disk_balance.Facts((("/kafka/d1", 30.0), ("/kafka/d2", fullest), ("/kafka/d3", 30.0)), ())

    assert disk_balance.judge(facts, disk_balance.LIMITS).status == status


def test_the_fullest_and_the_emptiest_are_named_until_they_are_balanced() -> None:
    host = broker(answers={"touch usage /kafka/d1": usage(81), "touch usage /kafka/d2": usage(40)})

    finding = asked(host)

    assert (finding.item, finding.status, finding.verdict.playbook) == ("data mounts", "warning", "full-disk")
    assert finding.verdict.reason == (
        "41 points between /kafka/d1 (81 % used) and /kafka/d2 (40 %), of 2 data mounts, limit 20 points"
    )
    assert asked(next_run(host, answers={"touch usage /kafka/d1": usage(45)})).status == "ok"


@pytest.mark.parametrize(
    "expected",
    [
        Expected(),
        Expected(roles=("broker",), mounts=(ExpectedMount("/kafka/d1"),)),
        EXPECTED._replace(layout="raid10"),
    ],
)
def test_what_has_nothing_to_balance_is_left_alone(expected: Expected) -> None:
    finding = asked(broker(expected=expected))

    assert finding.status == "skipped"
    assert "nothing to balance" in finding.verdict.reason


def test_a_machine_whose_layout_nobody_said_is_asked_when_it_has_two_data_mounts() -> None:
    assert asked(broker(expected=EXPECTED._replace(layout=""))).status == "ok"


def test_a_hung_disk_is_unknown_and_hides_no_spread_between_the_others() -> None:
    mounts = tuple(ExpectedMount(f"/kafka/{name}") for name in ("d1", "d2")) + (ExpectedMount("/"),)
    answers = {"touch stat /kafka/d1": Stuck("stat", 4.0), "touch usage /kafka/d2": usage(90)}

    finding = asked(broker(answers=answers, expected=EXPECTED._replace(mounts=mounts)))

    assert finding.status == "unknown"
    assert "/kafka/d1 does not respond (see mounts); 80 points between /kafka/d2" in finding.verdict.reason


def test_no_disk_that_answers_is_unknown() -> None:
    answers = {f"touch stat /kafka/{name}": Stuck("stat", 4.0) for name in ("d1", "d2")}

    assert asked(broker(answers=answers)).status == "unknown"
