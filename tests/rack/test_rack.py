"""The table on booted hosts: each fault is seen and healed, nothing else alarms, and a healthy rack is silent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from tests.rack import course, faults, image, results
from tests.rack.course import Course
from tests.rack.rack import Rack, rack

TABLE = faults.load()
SHORT_RUNS, RUNS = 2, 50
HOUR_S = 3600


@pytest.fixture(scope="module")
def booted() -> Iterator[Rack]:
    try:
        image.build()
    except image.CannotBuild as error:
        pytest.skip(str(error))
    with rack() as up:
        yield up


@pytest.fixture(scope="module")
def short(booted: Rack) -> Mapping[str, Course]:
    """The short set's courses, hosts side by side."""
    done = course.run_all(booted, faults.chosen(TABLE, short=True), print)
    return {one.fault.name: one for one in done}


@pytest.mark.slow
@pytest.mark.rack_short
@pytest.mark.timeout(HOUR_S)
def test_a_healthy_rack_is_silent(booted: Rack) -> None:
    assert course.healthy(booted, SHORT_RUNS).alarms == []


@pytest.mark.slow
@pytest.mark.rack_short
@pytest.mark.timeout(HOUR_S)
@pytest.mark.parametrize("name", [fault.name for fault in faults.chosen(TABLE, short=True)])
def test_a_fault_is_seen_and_healed_and_nothing_else_alarms(name: str, short: Mapping[str, Course]) -> None:
    done = short[name]

    assert done.is_good, (done.said, done.other, done.problem)


@pytest.mark.slow
@pytest.mark.rack
@pytest.mark.timeout(4 * HOUR_S)
def test_the_whole_table(booted: Rack) -> None:
    """Writes RESULTS.md, whatever comes of it."""
    healthy = course.healthy(booted, RUNS)
    done = course.run_all(booted, TABLE, print)
    results.write(str(results.RESULTS), results.render(done, healthy))

    assert not healthy.alarms
    assert [one.fault.name for one in done if not one.is_good] == []
