"""The first run on a healthy machine that nobody tuned shows no red; nor does the second."""

from __future__ import annotations

import pytest

from agent import engine
from agent.autodetect import guess
from agent.status import CRITICAL
from tests.machine import FakeHost, next_run, run_checks
from tests.machines.untuned import SHAPES, Shape, machine


def red(host: FakeHost) -> list[str]:
    host.expected = guess(host)
    findings = run_checks(host)

    assert {one.check for one in findings} == set(engine.names())
    assert not [one for one in findings if "the check failed" in one.verdict.reason]
    return [f"{one.check} {one.item}: {one.verdict.reason}" for one in findings if one.status == CRITICAL]


def test_there_are_at_least_twelve_shapes() -> None:
    assert len({shape.name for shape in SHAPES}) == len(SHAPES) >= 12


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_healthy_machine_that_nobody_tuned_shows_no_red(shape: Shape) -> None:
    first = machine(shape)
    assert red(first) == []

    second = next_run(first, after_s=3600.0, answers={"uptime_s": first.uptime_s() + 3600.0})
    second.expected = second.expected._replace(roles=(), mounts=(), ports=(), guessed=())
    assert red(second) == []
