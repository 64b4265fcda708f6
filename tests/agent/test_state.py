"""What one run hands to the next."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent import report
from agent.state import Incident, State
from agent.status import Finding
from tests.machine import run_checks, story

NOW = 1_795_000_000.0
DAY = 86400


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
        state = after(state, day * DAY)
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
        state = after(state, day * DAY)
        grown = state.growths("pending", 7, 7, 30)

    assert json.loads(state.dump())["history"]["pending"] == [[int(NOW), int(NOW + 60 * DAY), 7]]
    assert (grown, state.known_days("pending")) == ([0, 0], 60)


def test_the_history_of_a_disk_that_went_away_is_forgotten_after_a_month_and_a_damaged_one_at_once() -> None:
    state = State("boot-1", NOW)
    state.growth("gone", 7, 7)
    damaged = json.loads(state.dump())
    damaged["history"]["damaged"] = {"not": "rows"}

    later = State("boot-1", NOW + 30 * DAY, json.dumps(damaged))
    assert sorted(json.loads(later.dump())["history"]) == ["gone"]
    assert json.loads(after(later, 31 * DAY).dump())["history"] == {}


def test_growth_is_told_over_a_week_and_over_a_month_from_one_memory() -> None:
    state = State("boot-1", NOW)
    for day, value in enumerate([0] * 5 + [3] * 10 + [9] * 5):
        state = after(state, day * DAY)
        grown = state.growths("pending", value, 7, 30)

    assert grown == [6, 9]


def test_the_history_of_an_older_agent_counts() -> None:
    old = json.loads(State("boot-1", NOW).dump())
    old["history"] = {"reallocated": [[NOW - 6 * DAY, 2], [NOW - DAY, 5]]}

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
    assert after(state, DAY).growth("reallocated", 11, days=7) == 2


def test_incidents_stay_in_order_and_go_after_a_week() -> None:
    state = State("boot-1", NOW)
    state.add_incidents("nic", "eth0", [Incident("reset", NOW - 5), Incident("reset", NOW - 50)])

    assert [incident.at for incident in state.incidents("nic", "eth0")] == [NOW - 50, NOW - 5]
    assert after(state, 6 * DAY).incident_items("nic") == ["eth0"]
    assert after(state, 8 * DAY).incidents("nic", "eth0") == []


def test_a_flood_of_incidents_keeps_the_latest() -> None:
    state = State("boot-1", NOW)
    state.add_incidents("nic", "eth0", [Incident("reset", NOW - number) for number in range(10_000)])

    kept = state.incidents("nic", "eth0")

    assert len(kept) == 200
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
        st.none() | st.booleans() | st.integers() | st.text(max_size=9),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["schema", "at", "x"]), inner),
        max_leaves=9,
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
    first.remember("kafka.known_servers", [])
    second = after(first, 60)
    second.distrust()
    third = after(second, 120)
    third.distrust()
    third.remember("b", 2)
    fourth = after(third, 180)

    assert (third.remembered("a"), third.remembered("kafka.known_servers"), fourth.remembered("b")) == (None, [], 2)


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


def dumped(state: State) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(state.dump())
    return told


def remembering(**sections: Any) -> State:
    """A run a minute after one that left these sections."""
    return State("boot-1", NOW + 60, json.dumps({**dumped(State("boot-1", NOW)), **sections}))


def test_the_text_of_a_memory_has_schema_1_and_only_that_is_read() -> None:
    told = dumped(State("boot-1", NOW))

    assert (told["schema"], told["boot_id"], told["at"]) == (1, "boot-1", NOW)
    for other in (0, 2, "1", None):
        with pytest.raises(ValueError, match="schema"):
            State("boot-1", NOW, json.dumps({**told, "schema": other}))


@pytest.mark.parametrize(
    "damage", [{"at": "x"}, {"at": None}, {"boot_id": 3}, {"counters": []}, {"notes": None}, {"stuck": 0}]
)
def test_a_memory_with_a_section_of_another_kind_is_refused(damage: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(damage))):
        remembering(**damage)


def test_a_memory_with_a_whole_number_for_its_time_is_read() -> None:
    assert remembering(at=int(NOW)).previous_at == NOW


def test_the_first_run_knows_of_none_before_and_the_next_knows_when_it_was() -> None:
    first = State("boot-1", NOW)
    second = after(first, 60)

    assert (first.previous_at, first.same_boot, first.now) == (None, False, NOW)
    assert (second.previous_at, second.same_boot, second.now) == (NOW, True, NOW + 60)
    assert after(second, 120, boot="boot-2").same_boot is False


def test_a_memory_as_it_was_given_is_kept_beside_the_new_one() -> None:
    text = State("boot-1", NOW).dump()
    second = State("boot-1", NOW + 60, text)
    second.remember("roles", ["broker"])

    assert second.given == text
    assert second.remembered("roles") is None, "what this run notes is for the next"


# --- counters


def test_a_counter_that_stands_still_did_not_grow_and_a_clock_set_back_gives_no_negative_time() -> None:
    first = State("boot-1", NOW)
    first.delta("resets", 5)

    same, back = after(first, 60).delta("resets", 5), after(first, -60).delta("resets", 7)

    assert (same, back) == ((0, 60.0), (2, 0.0))


def test_what_a_run_sees_between_two_is_the_growth_of_each() -> None:
    state, grown = State("boot-1", NOW), []
    for minute, value in enumerate([500, 0, 500, 501, 400, 401]):
        state = after(state, 60 * minute)
        delta = state.delta("resets", value)
        grown.append(delta and delta.change)

    assert grown == [None, 0, 0, 1, 400, 1]


@pytest.mark.parametrize(("value", "change"), [(499, 497), (500, 0), (501, 1), (2, 0), (1, 1)])
def test_a_counter_was_misread_only_if_it_is_back_where_it_was(value: int, change: int) -> None:
    first = State("boot-1", NOW)
    first.delta("resets", 500)
    fallen = after(first, 60)
    fallen.delta("resets", 2)

    delta = after(fallen, 120).delta("resets", value)

    assert delta == (change, 120.0 - 60.0)


def test_after_a_reboot_a_counter_is_not_compared_with_the_boot_before_later_either() -> None:
    first = State("boot-1", NOW)
    first.delta("resets", 5)
    other = after(first, 60, boot="boot-2")

    assert after(other, 120, boot="boot-2").delta("resets", 7) is None
    assert dumped(other)["counters"] == {}


# --- slow numbers


def grown_after(seconds: float, days: float = 7) -> int | None:
    first = State("boot-1", NOW)
    first.growth("reallocated", 3, days)
    return after(first, seconds).growth("reallocated", 5, days)


def test_growth_is_over_so_many_days_to_the_second() -> None:
    assert (grown_after(7 * DAY), grown_after(7 * DAY + 1)) == (2, None)
    assert (grown_after(31 * DAY, 60), grown_after(31 * DAY + 1, 60)) == (2, None), "no number is known for longer"
    assert grown_after(-60) is None, "a run that is yet to come by this clock"


def test_a_number_that_fell_and_stayed_there_grew_from_the_lowest() -> None:
    state = State("boot-1", NOW)
    for hour, value in enumerate([9, 2, 2, 6]):
        state = after(state, hour * 3600)
        grown = state.growth("pending", value, 7)

    assert grown == 4


def test_of_a_number_that_changes_with_every_run_a_value_is_kept_each_twelve_hours() -> None:
    kept: dict[int, list[int]] = {}
    for step_h in (6, 11, 12, 13):
        state = State("boot-1", NOW)
        for run in range(9):
            state = after(state, run * step_h * 3600)
            state.growth("written", run, 7)
        kept[step_h] = [row[2] for row in dumped(state)["history"]["written"]]

    assert kept == {6: [0, 2, 4, 6, 8], 11: [0, 2, 4, 6, 8], 12: list(range(9)), 13: list(range(9))}


def test_of_a_slow_number_64_values_are_kept_the_newest_last() -> None:
    asked = remembering(history={"x": [[NOW - 30 * DAY + n, NOW - 30 * DAY + n, n] for n in range(90)]})
    assert [row.value for row in asked.history("x", 99)] == list(range(90))
    assert [row[2] for row in dumped(asked)["history"]["x"]] == [*range(26, 89), 99]


def test_a_number_that_stood_still_is_one_stretch_from_its_first_run_to_its_last() -> None:
    state = State("boot-1", NOW)
    for hour, value in enumerate([3, 3, 3, 4]):
        state = after(state, hour * 3600)
        earlier = state.history("pending", value)

    assert earlier == [(NOW, NOW + 2 * 3600, 3)]
    assert dumped(state)["history"]["pending"] == [[NOW, NOW + 7200, 3], [NOW + 10800, NOW + 10800, 4]]


def test_a_slow_number_is_known_since_the_first_run_that_saw_it() -> None:
    first = State("boot-1", NOW)
    assert first.known_days("pending") == 0
    first.growth("pending", 3, 7)
    second = after(first, 3 * DAY)
    second.growth("pending", 4, 7)

    assert (second.known_days("pending"), after(second, 4 * DAY).known_days("pending")) == (3, 4)


@pytest.mark.parametrize(
    ("row", "good"),
    [
        ([NOW - 10, NOW - 5, 4], True),
        ([NOW - 10, 4], True),
        ([0, NOW, 4], True),
        ([NOW - 5, NOW - 10, 4], False),  # ends before it begins
        ([NOW - 5, NOW + 61, 4], False),  # is yet to come
        ([NOW - 5, NOW + 60, 4], True),
        ([NOW - 10, NOW - 5, 2**63], False),
        ([NOW - 10, NOW - 5, 2**63 - 1024], True),
        ([NOW - 10, NOW - 5, 0], True),
        ([NOW - 10, NOW - 5, -1], False),
        ([NOW - 10, NOW - 5, True], False),
        ([NOW - 10, NOW - 5, "4"], False),
        ([NOW - 10, NOW - 5, 4, 4], False),
        ([NOW - 10], False),
    ],
)
def test_a_row_of_history_counts_if_it_is_whole(row: list[Any], good: bool) -> None:
    assert [one.value for one in remembering(history={"x": [row]}).history("x", 7)] == ([row[-1]] if good else [])


def test_a_number_that_one_run_alone_saw_lower_is_told_from_one_that_was_lower_for_longer() -> None:
    def grown(*rows: list[float]) -> int | None:
        return remembering(history={"x": [list(row) for row in rows]}).growth("x", 9, 7)

    assert grown([NOW - 30, NOW - 30, 9], [NOW - 20, NOW - 20, 2]) == 0
    assert grown([NOW - 30, NOW - 30, 9], [NOW - 20, NOW - 10, 2]) == 7
    assert grown([NOW - 30, NOW - 30, 10], [NOW - 20, NOW - 20, 2]) == 7, "it did not come back to what it was"
    assert grown([NOW - 30, NOW - 30, 8], [NOW - 20, NOW - 20, 2]) == 1
    assert grown([NOW - 20, NOW - 20, 2]) == 7, "the first that any run saw"
    assert grown([NOW - 30, NOW - 30, 2], [NOW - 20, NOW - 20, 2]) == 7


# --- positions and notes


def test_a_position_is_read_in_the_same_boot_and_a_note_is_forgotten_when_it_is_said() -> None:
    first = State("boot-1", NOW)
    first.set_cursor("kmsg", 900)
    first.remember("roles", ["broker"])
    second = after(first, 60)
    assert (second.cursor("kmsg"), second.remembered("roles")) == (900, ["broker"])
    second.remember("roles", None)
    second.remember("never noted", None)
    third = after(second, 120)

    assert (third.cursor("kmsg"), third.remembered("roles")) == (900, None)
    assert dumped(third)["notes"] == {}


# --- incidents


def test_an_incident_happened_once_where_nobody_says_more() -> None:
    assert Incident("reset", NOW) == ("reset", NOW, 1, "")


def test_an_incident_is_remembered_for_seven_days_to_the_second() -> None:
    first = State("boot-1", NOW)
    first.add_incidents("nic", "eth0", [Incident("reset", NOW, 2, "eth0: reset")])

    assert after(first, 7 * DAY).incidents("nic", "eth0") == [("reset", NOW, 2, "eth0: reset")]
    assert after(first, 7 * DAY + 1).incidents("nic", "eth0") == []
    last, late = after(first, 7 * DAY), after(first, 7 * DAY + 1)
    for state in (last, late):
        state.add_incidents("nic", "eth0", [])
    assert (last.incident_items("nic"), late.incident_items("nic")) == (["eth0"], [])


def test_an_incident_of_a_clock_that_was_set_back_since_is_no_news_for_ever() -> None:
    first = State("boot-1", NOW)
    first.add_incidents("nic", "eth0", [Incident("reset", NOW + 3600)])

    assert [one.at for one in after(first, 60).incidents("nic", "eth0")] == [NOW + 60]
    assert [one.at for one in after(first, 7200).incidents("nic", "eth0")] == [NOW + 3600]


def test_a_flood_of_one_kind_does_not_push_out_another() -> None:
    state = State("boot-1", NOW)
    state.add_incidents("nic", "eth0", [Incident("timeout", NOW - 9000)])
    state.add_incidents("nic", "eth0", [Incident("reset", NOW - number) for number in range(1000)])
    kept = state.incidents("nic", "eth0")

    assert (len(kept), kept[0].kind) == (201, "timeout")
    assert [one.at for one in kept[1:]] == [NOW - number for number in reversed(range(200))]


def test_subjects_and_items_are_apart() -> None:
    state = State("boot-1", NOW)
    state.add_incidents("nic", "eth0", [Incident("reset", NOW)])
    state.add_incidents("disk", "sda", [Incident("medium", NOW)])
    state.add_incidents("disk", "sdb", [])

    assert (state.incident_items("nic"), state.incident_items("disk")) == (["eth0"], ["sda"])
    assert (state.incident_items("fan"), state.incidents("disk", "eth0")) == ([], [])


# --- findings and what is stuck


def test_a_change_from_well_to_trouble_and_back_starts_anew_and_lasts_while_it_lasts() -> None:
    state, since = State("boot-1", NOW), []
    for minute, in_trouble in enumerate([True, True, False, False, True]):
        state = after(state, minute * 60)
        since.append(int(state.first_seen("smart", "sda", in_trouble) - NOW))

    assert since == [0, 0, 120, 120, 240]


def test_a_check_that_asks_again_forgets_only_the_items_that_it_no_longer_names() -> None:
    first = State("boot-1", NOW)
    for item in ("sda", "sdb"):
        first.first_seen("smart", item, in_trouble=True)
    second = after(first, 60)
    second.first_seen("smart", "sdb", in_trouble=True)

    assert dumped(second)["findings"] == {"smart\tsdb": [True, NOW]}


def test_what_is_stuck_is_stuck_since_the_first_run_that_saw_it_until_it_answers_or_a_reboot() -> None:
    first = State("boot-1", NOW)
    assert (first.stuck_before("smart", "sda"), first.set_stuck("smart", "sda", True)) == (None, NOW)
    second = after(first, 60)
    assert (second.stuck_before("smart", "sda"), second.set_stuck("smart", "sda", True)) == (NOW, NOW)
    third = after(second, 120)
    assert third.set_stuck("smart", "sda", False) == NOW
    third.set_stuck("smart", "sdb", False)

    assert after(third, 180).stuck_before("smart", "sda") is None
    rebooted = after(second, 120, boot="boot-2")
    assert rebooted.stuck_before("smart", "sda") is None
    assert rebooted.set_stuck("smart", "sda", True) == NOW + 120
    assert second.stuck_before("smart", "sdb") is None and second.stuck_before("raid", "sda") is None


# --- mending


def failing_after(seconds: float, boot: str = "boot-1") -> State:
    """A run in which a check failed, so long after the memory was mended for the first time."""
    first = State("boot-1", NOW)
    first.distrust()
    second = State("boot-1", NOW + seconds - 1, first.dump())
    second.remember("note", 1)
    second.remember("guess.mounts", ["/kafka/d1"])
    second.set_cursor("kmsg", 900)
    third = State(boot, NOW + seconds, second.dump())
    third.distrust()
    return State(boot, NOW + seconds + 60, third.dump())


@pytest.mark.parametrize(("seconds", "is_mended"), [(60, False), (DAY - 1, False), (DAY, True), (2 * DAY, True)])
def test_a_failing_check_costs_notes_and_positions_once_a_day_at_most(seconds: float, is_mended: bool) -> None:
    later = failing_after(seconds)

    assert (later.remembered("note"), later.cursor("kmsg")) == ((None, None) if is_mended else (1, 900))
    assert later.remembered("guess.mounts") == ["/kafka/d1"], "what this machine is stays known"


@pytest.mark.parametrize("mended_at", ["x", None, NOW + 2 * DAY, -5, True])
def test_a_memory_that_was_mended_at_no_time_that_can_be_is_mended_now(mended_at: object) -> None:
    state = remembering(notes={"state.healed_at": mended_at, "note": 1})
    state.distrust()

    assert dumped(state)["notes"] == {"state.healed_at": NOW + 60}


def test_a_memory_that_was_mended_this_very_second_is_not_mended_again() -> None:
    state = remembering(notes={"state.healed_at": NOW + 60, "note": 1})
    state.distrust()

    assert dumped(state)["notes"]["note"] == 1


def test_a_memory_that_nobody_distrusts_keeps_its_notes() -> None:
    state = remembering(notes={"note": 1}, cursors={"kmsg": 900})

    assert (dumped(state)["notes"], dumped(state)["cursors"]) == ({"note": 1}, {"kmsg": 900})


def test_a_number_that_no_run_saw_for_a_month_is_forgotten_to_the_second() -> None:
    def kept_after(seconds: float) -> list[str]:
        first = State("boot-1", NOW)
        first.growth("pending", 3, 7)
        return list(dumped(after(first, seconds))["history"])

    assert (kept_after(31 * DAY - 1), kept_after(31 * DAY)) == (["pending"], [])


def test_the_text_of_a_memory_is_short() -> None:
    state = State("boot-1", NOW)
    state.remember("roles", ["broker"])

    assert ": " not in state.dump() and ", " not in state.dump()
