"""What one run hands to the next."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.state import DAY_S, INCIDENTS_PER_ITEM, Incident, State

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
