"""A flood of words is looked at last, and is lost in no case."""

from __future__ import annotations

import pytest

from inventory.model import Host
from smoketests.remote.agent_output import AgentOutput
from smoketests.remote.outcome import Finished, Outcome


def said(name: str, lines: int, size: int = 100) -> Outcome:
    heard = AgentOutput([f"{name}{number}".ljust(size, "x") for number in range(lines)], ["word"], 0, size=lines * size)
    return Outcome(Host(name), 0.1, heard)


FLOODS = {"a few long lines": (20, 60_000), "many short ones": (15_000, 3)}


@pytest.mark.parametrize(("lines", "size"), FLOODS.values(), ids=FLOODS)
def test_a_flood_is_looked_at_after_the_reports_that_came_later(lines: int, size: int) -> None:
    finished = Finished()
    flood = said("flood", lines, size)
    for one in (said("good-1", 150), flood, flood._replace(host=Host("flood-2")), said("good-2", 150)):
        finished.put(one)
    taken = [finished.take(5) for _ in range(4)]

    assert [one.host.name for one in taken if one] == ["good-1", "good-2", "flood", "flood-2"]
    assert taken[2] == flood
    assert finished.take(0) is None


def test_when_the_time_is_over_floods_are_told_as_well() -> None:
    finished = Finished()
    for one in (said("flood", 3000), said("good", 1)):
        finished.put(one)
    assert finished.take(0) == said("good", 1)

    assert finished.take(0) is None
    assert list(finished.rest()) == [said("flood", 3000)]
