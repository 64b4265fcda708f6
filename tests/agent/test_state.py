"""What one run hands to the next."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent import report
from agent.state import DAY_S, INCIDENTS_PER_ITEM, Incident, State
from agent.status import Finding
from tests.machine import run_checks, story

NOW = 1_795_000_000.0


def after(state: State, seconds: float, boot: str = "boot-1") -> State:
    return State(boot, NOW + seconds, state.dump())


def test_a_counter_grows_from_run_to_run_and_is_unknown_at_first() -> None:
    first = State("boot-1", NOW)
    assert first.delta("resets", 5) is None

    second = after(first, 60)
    delta = second.delta("resets", 8)

    assert delta is not None
    assert (delta.change, delta.seconds) == (3, 60.0)


def test_a_counter_that_fell_was_reset_and_counts_from_zero() -> None:
    first = State("boot-1", NOW)
    first.delta("resets", 5)

    delta = after(first, 60).delta("resets", 2)

    assert delta is not None
    assert delta.change == 2


def test_a_reboot_forgets_counters_cursors_and_incidents_but_not_history_and_first_seen() -> None:
    first = State("boot-1", NOW)
    first.delta("resets", 5)
    first.set_cursor("kmsg", 900)
    first.add_incidents("disk_errors", "sda", [Incident("medium", NOW)])
    first.growth("reallocated", 3, days=7)
    first.remember("roles", ["broker"])
    first.first_seen("smart", "ZA1", in_trouble=True)

    second = after(first, 60, boot="boot-2")

    assert second.delta("resets", 6) is None
    assert second.cursor("kmsg") is None
    assert second.incidents("disk_errors", "sda") == []
    assert second.growth("reallocated", 9, days=7) == 6
    assert second.remembered("roles") == ["broker"]
    assert second.first_seen("smart", "ZA1", in_trouble=True) == NOW


def test_growth_over_seven_days_forgets_what_is_older() -> None:
    state = State("boot-1", NOW)
    grown = []
    for day, value in enumerate([0, 5, 10, 10, 10, 10, 10, 10, 10, 10]):
        state = after(state, day * DAY_S)
        grown.append(state.growth("reallocated", value, days=7))

    assert grown == [None, 5, 10, 10, 10, 10, 10, 10, 5, 0]


def test_runs_every_minute_do_not_let_the_history_grow_without_end() -> None:
    state = State("boot-1", NOW)
    for minute in range(2000):
        state = after(state, minute * 60)
        state.growth("reallocated", minute, days=7)

    assert len(json.loads(state.dump())["history"]["reallocated"]) <= 8


def test_a_number_that_stands_still_for_a_month_costs_one_row_and_is_known_for_a_month() -> None:
    state = State("boot-1", NOW)
    for day in range(61):
        state = after(state, day * DAY_S)
        grown = state.growths("pending", 7, 7, 30)

    assert json.loads(state.dump())["history"]["pending"] == [[int(NOW), int(NOW + 60 * DAY_S), 7]]
    assert (grown, state.known_days("pending")) == ([0, 0], 60)


def test_the_history_of_a_disk_that_went_away_is_forgotten_after_a_month_and_a_damaged_one_at_once() -> None:
    state = State("boot-1", NOW)
    state.growth("gone", 7, 7)
    damaged = json.loads(state.dump())
    damaged["history"]["damaged"] = {"not": "rows"}

    later = State("boot-1", NOW + 30 * DAY_S, json.dumps(damaged))
    assert sorted(json.loads(later.dump())["history"]) == ["gone"]
    assert json.loads(after(later, 31 * DAY_S).dump())["history"] == {}


def test_growth_is_told_over_a_week_and_over_a_month_from_one_memory() -> None:
    state = State("boot-1", NOW)
    for day, value in enumerate([0] * 5 + [3] * 10 + [9] * 5):
        state = after(state, day * DAY_S)
        grown = state.growths("pending", value, 7, 30)

    assert grown == [6, 9]


def test_the_history_of_an_older_agent_counts() -> None:
    old = json.loads(State("boot-1", NOW).dump())
    old["history"] = {"reallocated": [[NOW - 6 * DAY_S, 2], [NOW - DAY_S, 5]]}

    assert State("boot-1", NOW, json.dumps(old)).growth("reallocated", 9, days=7) == 7


@pytest.mark.parametrize(
    "rows",
    [
        None,
        7,
        "x",
        [7],
        [[]],
        [["a", 1, 2]],
        [[NOW, None, 2]],
        [[9e99, 9e99, 1]],
        [[True, 1]],
        [[10**400, 10**400, 1]],
        [[NOW, NOW, float("nan")]],
    ],
)
def test_a_damaged_history_is_left_out_and_mended_by_the_next_run(rows: object) -> None:
    damaged = json.loads(State("boot-1", NOW).dump())
    damaged["history"] = {"reallocated": rows}
    state = State("boot-1", NOW, json.dumps(damaged))

    assert state.growth("reallocated", 9, days=7) is None
    assert after(state, DAY_S).growth("reallocated", 11, days=7) == 2


def test_incidents_stay_in_order_and_go_after_a_week() -> None:
    state = State("boot-1", NOW)
    state.add_incidents("nic", "eth0", [Incident("reset", NOW - 5), Incident("reset", NOW - 50)])

    assert [incident.at for incident in state.incidents("nic", "eth0")] == [NOW - 50, NOW - 5]
    assert after(state, 6 * DAY_S).incident_items("nic") == ["eth0"]
    assert after(state, 8 * DAY_S).incidents("nic", "eth0") == []


def test_a_flood_of_incidents_keeps_the_latest() -> None:
    state = State("boot-1", NOW)
    state.add_incidents("nic", "eth0", [Incident("reset", NOW - number) for number in range(10_000)])

    kept = state.incidents("nic", "eth0")

    assert len(kept) == INCIDENTS_PER_ITEM
    assert kept[-1].at == NOW


def test_an_item_that_is_no_longer_found_is_forgotten() -> None:
    first = State("boot-1", NOW)
    first.first_seen("smart", "gone", in_trouble=True)
    first.first_seen("raid", "md0", in_trouble=True)
    second = after(first, 60)
    second.first_seen("smart", "here", in_trouble=False)

    third = after(second, 120)

    assert third.first_seen("smart", "gone", in_trouble=True) == NOW + 120
    assert third.first_seen("raid", "md0", in_trouble=True) == NOW, "the raid check did not run: nothing is known of it"


@pytest.mark.parametrize("damaged", ["{", "[]", '"x"', '{"schema":2}', '{"schema":1}', '{"schema":1,"boot_id":3}'])
def test_a_damaged_state_says_so(damaged: str) -> None:
    with pytest.raises(ValueError, match=r"state|schema|Expecting"):
        State("boot-1", NOW, damaged)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_json_is_a_state_or_a_value_error(anything: object) -> None:
    try:
        State("boot-1", NOW, json.dumps(anything))
    except ValueError:
        return
    raise AssertionError("no such JSON is a state")


RUBBISH: list[object] = [7, -1, 1e300, True, None, "x", "", [], [1], ["a", 2], {}, {"a": 1}, {"a": [1]}, [[1, 2], "x"]]


@pytest.mark.parametrize("rubbish", RUBBISH, ids=repr)
def test_a_memory_with_any_leaves_hurts_one_run_at_most(rubbish: object) -> None:
    """Every note, position, counter, incident and time that a real run left is replaced, on a recorded machine."""
    told = remembered_by("healthy_jbod_broker")
    for section in ("notes", "cursors", "counters", "findings", "stuck", "incidents", "history"):
        told[section] = dict.fromkeys(told[section], rubbish) | {"mounts\t-": rubbish, "guess.mounts": rubbish}
    told["at"] = rubbish if isinstance(rubbish, (int, float)) and not isinstance(rubbish, bool) else told["at"]

    state = run_with("healthy_jbod_broker", json.dumps(told))[1]
    findings, _after = run_with("healthy_jbod_broker", state)

    failed = [row.verdict.reason for row in findings if "the check failed" in row.verdict.reason]
    assert [reason for reason in failed if "RecordingGap" not in reason] == [], "without memory it asks other questions"


@given(st.recursive(st.none() | st.integers() | st.floats() | st.text(), lambda inner: st.lists(inner, max_size=3)))
def test_any_row_of_any_section_is_taken_or_left_out(rubbish: object) -> None:
    told = json.loads(State("boot-1", NOW).dump())
    for section in ("notes", "cursors", "counters", "findings", "stuck", "incidents", "history"):
        told[section] = {"x": rubbish, "smart\tsda": rubbish}
    state = State("boot-1", NOW + 1, json.dumps(told))
    report.timestamp(state.first_seen("smart", "sda", in_trouble=True))
    report.timestamp(state.previous_at or 0)
    state.delta("x", 1)
    state.growth("x", 1, 7)
    state.set_stuck("smart", "sda", True)
    state.add_incidents("x", "y", [Incident("z", NOW)])
    assert State("boot-1", NOW + 2, state.dump()).previous_at == NOW + 1


def test_a_memory_nested_without_end_is_damaged_not_a_crash() -> None:
    for depth in (50, 900, 100_000):
        deep = "[" * depth + "]" * depth
        whole = State("boot-1", NOW).dump().replace('"notes":{}', f'"notes":{{"x":{deep}}}')
        try:
            State("boot-1", NOW, whole).dump()
        except ValueError as error:
            assert "deep" in str(error)


def test_a_check_that_always_fails_does_not_cost_the_memory_in_every_run() -> None:
    first = State("boot-1", NOW)
    first.remember("a", 1)
    first.remember("kafka.roster", [])
    second = after(first, 60)
    second.distrust()
    third = after(second, 120)
    third.distrust()
    third.remember("b", 2)
    fourth = after(third, 180)

    assert (third.remembered("a"), third.remembered("kafka.roster"), fourth.remembered("b")) == (None, [], 2)


def remembered_by(name: str) -> dict[str, Any]:
    """What two runs on a recorded machine leave."""
    told: dict[str, Any] = json.loads(run_with(name, run_with(name, "")[1])[1])
    assert len(told["notes"]) > 3 and told["cursors"] and told["findings"]
    return told


def run_with(name: str, text: str) -> tuple[list[Finding], str]:
    host = story(name)
    host.state = State(host.boot_id(), host.now(), text)
    return run_checks(host), host.state.dump()


def test_a_counter_that_one_run_misread_did_not_grow() -> None:
    first = State("boot-1", NOW)
    first.delta("resets", 500)
    misread = after(first, 60)
    misread.delta("resets", 0)

    again = after(misread, 60).delta("resets", 500)
    more = after(misread, 60).delta("resets", 503)
    reset = after(misread, 60).delta("resets", 7)

    assert [delta and delta.change for delta in (again, more, reset)] == [0, 3, 7]


@pytest.mark.parametrize(
    ("seen", "grown"),
    [
        ((500, 0, 500), 0),
        ((500, 500, 0, 502), 2),
        ((500, 0, 30), 30),  # a drive that was given a new counter
        ((500, 0, 0, 500), 500),  # two runs saw it
        ((0, 0, 8), 8),
    ],
)
def test_a_slow_number_that_one_run_misread_did_not_grow(seen: tuple[int, ...], grown: int) -> None:
    state = State("boot-1", NOW)
    for hours, value in enumerate(seen[:-1], 1):
        state.growth("crc", value, 7.0)
        state = after(state, hours * 3600)

    assert state.growth("crc", seen[-1], 7.0) == grown
