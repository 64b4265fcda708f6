"""A flood of words is looked at last, is lost in no case, and is not held in memory while it waits."""

from __future__ import annotations

import time
import tracemalloc

import pytest

from inventory.model import Host
from smoketests import outcome
from smoketests.hearing import Heard
from smoketests.outcome import Finished, Outcome


def said(name: str, lines: int, size: int = 100) -> Outcome:
    return Outcome(Host(name), 0.1, Heard([f"{name}{number}".ljust(size, "x") for number in range(lines)], ["word"], 0))


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


def test_floods_wait_outside_of_memory() -> None:
    finished = Finished()
    tracemalloc.start()
    for number in range(40):
        finished.put(said(f"flood-{number}", 40, 60_000))
        assert finished.take(0) is None
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()

    assert held < 48 << 20  # of 96 MB
    assert sum(1 for _ in finished.rest()) == 40


def test_where_no_room_is_left_for_floods_they_are_looked_at_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcome, "MOST_ASIDE_BYTES", 1 << 20)
    finished = Finished()
    for number in range(3):
        finished.put(said(f"flood-{number}", 10, 60_000))
    began = time.monotonic()

    assert [one.host.name for _ in range(3) if (one := finished.take(5))] == ["flood-1", "flood-2", "flood-0"]
    assert time.monotonic() - began < 5
