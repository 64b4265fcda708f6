"""The engine: every item exactly one finding, in time, whatever a check does."""

from __future__ import annotations

import os
import runpy
import threading
import time
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from agent import engine
from agent.expected import Expected
from agent.host import CannotTell, NotApplicable, Stuck
from agent.status import Finding, Verdict, ok, warning
from tests.machine import FakeHost, by_item, next_run


class Facts(NamedTuple):
    number: int = 0


def a_check(
    items: Sequence[str] = ("a",),
    look: Callable[[Any, str], Any] = lambda _host, _item: Facts(),
    judge: Callable[[Any, Any], Verdict] = lambda facts, _limits: ok(f"{facts.number}"),
    **more: Any,
) -> SimpleNamespace:
    return SimpleNamespace(LIMITS={"high_warning": 10}, find=lambda _host: list(items), look=look, judge=judge, **more)


def run(monkeypatch: pytest.MonkeyPatch, host: FakeHost, deadline_s: float = 10.0, **checks: Any) -> list[Finding]:
    def load(name: str) -> Any:
        if isinstance(checks[name], Exception):
            raise checks[name]
        return checks[name]

    monkeypatch.setattr(engine, "load", load)
    return list(engine.run(host, list(checks), deadline_s))


def fail(error: Exception) -> Callable[..., Any]:
    def look(*_arguments: Any) -> Any:
        raise error

    return look


def sleepy(seconds: float) -> Callable[..., Facts]:
    def look(_host: Any, _item: str) -> Facts:
        time.sleep(seconds)
        return Facts()

    return look


def test_each_item_of_each_check_gives_exactly_one_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    findings = run(monkeypatch, FakeHost(), one=a_check(items="abc"), two=a_check(items="xy"))

    assert sorted((finding.check, finding.item) for finding in findings) == [
        ("one", "a"), ("one", "b"), ("one", "c"), ("two", "x"), ("two", "y")]  # fmt: skip


def test_an_item_named_twice_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(run(monkeypatch, FakeHost(), one=a_check(items="aab"))) == 2


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (CannotTell("smartctl is not installed"), "unknown", "smartctl is not installed"),
        (NotApplicable("no BMC"), "skipped", "no BMC"),
        (KeyError("serial"), "unknown", "the check failed: KeyError: 'serial'"),
        (RecursionError("deep"), "unknown", "the check failed: RecursionError: deep"),
    ],
)
def test_what_look_raises_becomes_a_finding(
    monkeypatch: pytest.MonkeyPatch, error: Exception, status: str, words: str
) -> None:
    broken = a_check(items="ab", look=lambda host, item: fail(error)() if item == "a" else Facts(7))

    findings = by_item(run(monkeypatch, FakeHost(), one=broken))

    assert (findings["a"].status, findings["a"].verdict.reason) == (status, words)
    assert findings["b"].status == "ok", "one broken part never hides another"


def test_a_find_that_fails_or_finds_nothing_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    findings = run(
        monkeypatch, FakeHost(), dies=SimpleNamespace(LIMITS={}, find=fail(ValueError("odd"))),
        none=a_check(items=()), absent=SimpleNamespace(LIMITS={}, find=fail(NotApplicable("no array"))),
    )  # fmt: skip

    assert {finding.check: finding.status for finding in findings} == {
        "dies": "unknown", "none": "unknown", "absent": "skipped"}  # fmt: skip


def test_a_check_that_cannot_be_loaded_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    findings = run(monkeypatch, FakeHost(), broken=SyntaxError("line 3"), fine=a_check())

    assert [(finding.check, finding.status) for finding in findings] == [("broken", "unknown"), ("fine", "ok")]


def test_a_judge_that_fails_is_unknown_never_ok(monkeypatch: pytest.MonkeyPatch) -> None:
    (finding,) = run(monkeypatch, FakeHost(), one=a_check(judge=fail(TypeError("None > 3"))))

    assert finding.status == "unknown"


def test_a_skip_that_the_inventory_asks_for_gives_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    host = FakeHost(expected=Expected(skip={"one": "no BMC in this rack"}))

    (finding,) = run(monkeypatch, host, one=a_check())

    assert (finding.status, finding.verdict.reason) == ("skipped", "no BMC in this rack")


def test_the_most_specific_limit_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"one": {"high_warning": 5, "items": {"b": {"high_warning": 1}}}}
    check = a_check(items="ab", judge=lambda _facts, limits: warning(str(limits["high_warning"])))

    findings = by_item(run(monkeypatch, FakeHost(expected=Expected(limits=said)), one=check))

    assert (findings["a"].verdict.reason, findings["b"].verdict.reason) == ("5", "1")


def test_what_never_answers_costs_one_item_and_not_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    for_ever = threading.Event()
    hangs = a_check(items="ab", look=lambda _host, item: for_ever.wait() if item == "a" else Facts(), DEADLINE_S=0.2)

    started = time.monotonic()
    findings = by_item(run(monkeypatch, FakeHost(), one=hangs))
    for_ever.set()

    assert time.monotonic() - started < 5
    assert findings["a"].status == "unknown"
    assert "timed out after 0" in findings["a"].verdict.reason
    assert findings["b"].status == "ok"


def test_a_find_that_never_answers_is_a_finding_too(monkeypatch: pytest.MonkeyPatch) -> None:
    for_ever = threading.Event()
    hangs = SimpleNamespace(LIMITS={}, DEADLINE_S=0.2, find=lambda _host: for_ever.wait())

    (finding,) = run(monkeypatch, FakeHost(), one=hangs)
    for_ever.set()

    assert (finding.item, finding.status) == ("-", "unknown")


def test_a_late_answer_is_not_a_second_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    late = a_check(look=sleepy(0.3), DEADLINE_S=0.1)
    slow = a_check(items="x", look=sleepy(0.6))

    findings = run(monkeypatch, FakeHost(), late=late, slow=slow)

    assert [(finding.check, finding.status) for finding in findings] == [("late", "unknown"), ("slow", "ok")]


def test_the_deadline_of_the_run_ends_it_and_every_item_is_still_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for_ever = threading.Event()
    many = a_check(items=[str(number) for number in range(engine.PARALLEL + 5)], look=lambda _h, _i: for_ever.wait())

    started = time.monotonic()
    findings = by_item(run(monkeypatch, FakeHost(), deadline_s=0.3, one=many))
    for_ever.set()

    assert time.monotonic() - started < 5
    assert len(findings) == engine.PARALLEL + 5
    assert {finding.status for finding in findings.values()} == {"unknown"}
    assert ["not checked" in findings[str(number)].verdict.reason for number in range(engine.PARALLEL + 5)] == (
        [False] * engine.PARALLEL + [True] * 5
    )


def test_what_was_stuck_last_time_is_asked_last_and_alone_and_says_for_how_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for_ever = threading.Event()
    order: list[str] = []
    under_way: list[str] = []

    def look(_host: Any, item: str) -> Any:
        order.append(item)
        under_way.append(item)
        alone = len(under_way) == 1
        if item == "bad":
            for_ever.wait()
        time.sleep(0.02)
        under_way.remove(item)
        return Facts(int(alone))

    check = a_check(items=["bad", "b", "c"], look=look, DEADLINE_S=0.2)
    host = FakeHost()
    run(monkeypatch, host, one=check)
    for_ever.set()
    time.sleep(0.1)
    for_ever.clear()
    order.clear()

    later = next_run(host, after_s=600)
    findings = by_item(run(monkeypatch, later, one=check))
    for_ever.set()

    assert order[-1] == "bad"
    assert "stuck for 10 min" in findings["bad"].verdict.reason

    time.sleep(0.1)
    mended = by_item(run(monkeypatch, next_run(later), one=check))
    assert (mended["bad"].status, mended["bad"].facts["number"]) == ("ok", 1), "alone"


def test_a_tool_that_hung_is_remembered_as_stuck_too(monkeypatch: pytest.MonkeyPatch) -> None:
    hangs = a_check(items="ab", look=lambda _host, item: fail(Stuck("smartctl", 8.0))() if item == "a" else Facts())
    host = FakeHost()
    run(monkeypatch, host, one=hangs)

    later = next_run(host, after_s=3600)
    findings = run(monkeypatch, later, one=hangs)

    assert [finding.item for finding in findings] == ["b", "a"], "asked last"
    assert findings[1].verdict.reason == "smartctl timed out after 8 s, stuck for 60 min"


def test_a_check_that_could_list_nothing_once_is_not_called_stuck_since_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """Found with the rack: a BMC that was silent for one run was 'stuck for 7 min' when it was silent again."""
    silent = a_check()
    silent.find = fail(Stuck("ipmitool", 12.0))
    host = FakeHost()
    run(monkeypatch, host, one=silent)
    between = next_run(host, after_s=300)
    run(monkeypatch, between, one=a_check(items="a"))

    (finding,) = run(monkeypatch, next_run(between, after_s=300), one=silent)

    assert finding.verdict.reason == "ipmitool timed out after 12 s"


def test_first_seen_stays_while_the_trouble_lasts_and_starts_anew_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    bad = a_check(judge=lambda _facts, _limits: warning("bad"))
    first = FakeHost()
    (began,) = run(monkeypatch, first, one=bad)
    second = next_run(first)
    (still,) = run(monkeypatch, second, one=bad)
    third = next_run(second)
    (well,) = run(monkeypatch, third, one=a_check())
    (again,) = run(monkeypatch, next_run(third), one=bad)

    assert began.first_seen == still.first_seen == first.now()
    assert well.first_seen == third.now()
    assert again.first_seen > third.now()


def test_limits_that_a_check_does_not_have_are_named_and_not_ignored_in_silence() -> None:
    limits: dict[str, Any] = {
        "swappiness": {"swappiness_critical": 60, "items": {"vm.swappiness": {"most": 1}}},
        "clock_skew": {"x": 1},
    }
    host = FakeHost(expected=Expected(roles=("broker",), limits=limits))
    found = {one.item: one for one in engine.run(host, ["swappiness"])}

    assert found["limits"].status == "warning"
    assert found["limits"].verdict.reason == (
        "the inventory's limits are ignored: no limit 'most', it has: swappiness_warning; "
        "'swappiness_critical' was removed, set swappiness_warning: swappiness is advice and never critical"
    )
    assert "vm.swappiness" in found
    said = FakeHost(expected=Expected(roles=("broker",), limits={"swappiness": {"swappiness_warning": 60}}))
    assert "limits" not in {one.item for one in engine.run(said, ["swappiness"])}


def order_of_loading(monkeypatch: pytest.MonkeyPatch, host: FakeHost, wanted: Sequence[str]) -> list[str]:
    loaded: list[str] = []

    def load(name: str) -> Any:
        loaded.append(name)
        return a_check(
            items="ab", look=lambda host, item: sleepy(0.05 if (name, item) == ("slow", "a") else 0)(host, item)
        )

    monkeypatch.setattr(engine, "load", load)
    list(engine.run(host, wanted))
    return loaded


def test_the_check_that_took_longest_last_time_begins_the_next_run(monkeypatch: pytest.MonkeyPatch) -> None:
    first = FakeHost()
    assert order_of_loading(monkeypatch, first, ["quick", "slow", "other"]) == ["quick", "slow", "other"]
    second = next_run(first)
    assert order_of_loading(monkeypatch, second, ["quick", "new", "slow"])[0] == "slow"
    third = next_run(second)
    assert order_of_loading(monkeypatch, third, ["other"]) == ["other"]
    assert order_of_loading(monkeypatch, next_run(third), ["quick", "slow"])[0] == "slow", "though one run left it out"


@pytest.mark.parametrize("wanted", [["new", "quick"], ["quick", "new"]])
def test_checks_that_no_time_tells_apart_begin_in_the_order_in_which_they_are_wanted(
    monkeypatch: pytest.MonkeyPatch, wanted: list[str]
) -> None:
    first = FakeHost()
    first.state.remember("took_ms", {"quick": 0})

    assert order_of_loading(monkeypatch, next_run(first), wanted) == wanted


@pytest.mark.parametrize("damaged", [None, 7, [["b", 5]], {"b": "5"}, {"b": None}, {"b": True}, {"b": 9.5}, {"c": 9}])
def test_times_that_are_none_leave_the_order_as_it_is(monkeypatch: pytest.MonkeyPatch, damaged: object) -> None:
    first = FakeHost()
    first.state.remember("took_ms", damaged)

    assert order_of_loading(monkeypatch, next_run(first), ["a", "b"]) == ["a", "b"]


def test_a_check_took_as_long_as_its_slowest_item(monkeypatch: pytest.MonkeyPatch) -> None:
    host = FakeHost()
    uneven = a_check(items="ab", look=lambda host, item: sleepy(0.2 if item == "a" else 0)(host, item))
    findings = by_item(run(monkeypatch, host, one=uneven))

    assert 200 <= findings["a"].duration_ms < 1500 and findings["b"].duration_ms < findings["a"].duration_ms
    assert next_run(host).state.remembered("took_ms") == {"one": findings["a"].duration_ms}


def test_a_tool_that_does_not_answer_has_taken_as_long_as_we_waited(monkeypatch: pytest.MonkeyPatch) -> None:
    for_ever = threading.Event()
    hangs = a_check(look=lambda _host, _item: for_ever.wait(), DEADLINE_S=0.3)

    (finding,) = run(monkeypatch, FakeHost(), one=hangs)
    for_ever.set()

    assert 300 <= finding.duration_ms < 3000 and finding.facts == {}


def test_a_run_that_waits_uses_no_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    for_ever = threading.Event()
    hangs = a_check(items="abc", look=lambda _host, item: for_ever.wait() if item == "c" else Facts(), DEADLINE_S=1.0)

    started = time.process_time()
    findings = by_item(run(monkeypatch, FakeHost(), one=hangs))
    used = time.process_time() - started
    for_ever.set()

    assert findings["c"].duration_ms >= 1000 and used < 0.5


def test_an_item_may_not_take_longer_than_what_is_left_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    for_ever = threading.Event()
    hangs = a_check(look=lambda _host, _item: for_ever.wait(), DEADLINE_S=60.0)

    started = time.monotonic()
    (finding,) = run(monkeypatch, FakeHost(), deadline_s=0.3, one=hangs)
    for_ever.set()

    assert 0.3 <= time.monotonic() - started < 5
    assert finding.status == "unknown" and "timed out after 0 s" in finding.verdict.reason


def test_an_item_may_take_ten_seconds_and_a_run_a_minute_where_nobody_says_otherwise() -> None:
    assert (engine.ITEM_DEADLINE_S, engine.RUN_DEADLINE_S) == (10, 60)


@pytest.mark.parametrize(("processors", "parallel"), [(1, 8), (2, 16), (8, 64), (9, 64), (96, 64), (None, 8)])
def test_eight_items_are_asked_at_once_for_each_processor_and_64_at_most(
    monkeypatch: pytest.MonkeyPatch, processors: int | None, parallel: int
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: processors)

    assert runpy.run_path(engine.__file__)["PARALLEL"] == parallel


def test_a_check_is_under_way_while_the_next_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = threading.Event()

    def find(_host: Any) -> list[str]:
        asked.set()
        return []

    first = SimpleNamespace(LIMITS={}, find=find)
    met: list[bool] = []

    def load(name: str) -> Any:
        if name == "second":
            met.append(asked.wait(5))
        return first

    monkeypatch.setattr(engine, "load", load)
    list(engine.run(FakeHost(), ["first", "second"]))

    assert met == [True]


def test_a_check_that_the_run_had_no_time_for_is_named_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "PARALLEL", 1)
    for_ever = threading.Event()
    hangs = SimpleNamespace(LIMITS={}, find=lambda _host: for_ever.wait())

    findings = run(monkeypatch, FakeHost(), deadline_s=0.3, first=hangs, second=a_check())
    for_ever.set()

    assert [(one.check, one.item, one.status, one.facts) for one in findings] == [
        ("first", "-", "unknown", {}), ("second", "-", "unknown", {})]  # fmt: skip
    assert "not checked" in findings[1].verdict.reason and "not checked" not in findings[0].verdict.reason
    assert findings[1].duration_ms == 0


def test_an_item_that_waits_to_be_asked_alone_is_named_when_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    for_ever = threading.Event()
    hangs = a_check(items=["bad", "worse"], look=lambda _host, _item: for_ever.wait(), DEADLINE_S=0.3)
    first = FakeHost()
    run(monkeypatch, first, one=hangs)

    findings = by_item(run(monkeypatch, next_run(first), deadline_s=0.3, one=hangs))
    for_ever.set()

    assert {item: "not checked" in finding.verdict.reason for item, finding in findings.items()} == {
        "bad": False, "worse": True}  # fmt: skip


@pytest.mark.parametrize(("after_s", "words"), [(59, ""), (60, ", stuck for 1 min"), (7200, ", stuck for 120 min")])
def test_a_tool_is_stuck_since_an_earlier_run_from_one_minute_on(
    monkeypatch: pytest.MonkeyPatch, after_s: float, words: str
) -> None:
    hangs = a_check(look=fail(Stuck("smartctl", 8.0)))
    host = FakeHost()
    (first,) = run(monkeypatch, host, one=hangs)
    (second,) = run(monkeypatch, next_run(host, after_s=after_s), one=hangs)

    assert second.verdict.reason == first.verdict.reason + words


def test_what_answers_again_is_not_stuck_since_then(monkeypatch: pytest.MonkeyPatch) -> None:
    hangs, fine = a_check(look=fail(Stuck("smartctl", 8.0))), a_check()
    host = FakeHost()
    for check in (hangs, fine, hangs):
        (finding,) = run(monkeypatch, host, one=check)
        host = next_run(host)

    assert "stuck for" not in finding.verdict.reason


@pytest.mark.parametrize("failing", [{"look": fail(KeyError("x"))}, {"judge": fail(TypeError("x"))}])
def test_a_check_that_fails_may_fail_for_its_memory_which_is_forgotten(
    monkeypatch: pytest.MonkeyPatch, failing: dict[str, Any]
) -> None:
    host = FakeHost()
    host.state.remember("note", 1)
    (finding,) = run(monkeypatch, host, one=a_check(**failing))

    assert (finding.status, finding.facts) == ("unknown", {})
    assert next_run(host).state.remembered("note") is None


def test_a_check_that_cannot_tell_keeps_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    host = FakeHost()
    host.state.remember("note", 1)
    run(
        monkeypatch,
        host,
        one=a_check(look=fail(CannotTell("no answer"))),
        two=a_check(look=fail(NotApplicable("none"))),
    )

    assert next_run(host).state.remembered("note") == 1


@pytest.mark.parametrize("found", [None, "ab", {"a": 1}, 7])
def test_a_find_that_gives_no_list_has_failed(monkeypatch: pytest.MonkeyPatch, found: object) -> None:
    odd = a_check()
    odd.find = lambda _host: found

    (finding,) = run(monkeypatch, FakeHost(), one=odd)

    assert (finding.item, finding.status) == ("-", "unknown")


def test_a_find_may_give_a_tuple(monkeypatch: pytest.MonkeyPatch) -> None:
    check = a_check()
    check.find = lambda _host: ("a", "b")

    assert sorted(by_item(run(monkeypatch, FakeHost(), one=check))) == ["a", "b"]


def test_a_finding_has_the_facts_that_it_was_judged_by(monkeypatch: pytest.MonkeyPatch) -> None:
    (finding,) = run(monkeypatch, FakeHost(), one=a_check(look=lambda _host, _item: Facts(7)))

    assert (finding.facts, finding.verdict.reason) == ({"number": 7}, "7")


def test_a_run_of_no_check_asks_none_and_a_run_that_names_none_asks_all(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = order_of_loading(monkeypatch, FakeHost(), [])
    assert asked == []
    monkeypatch.setattr(engine, "names", lambda: ["one", "two"])
    assert {finding.check for finding in engine.run(FakeHost())} == {"one", "two"}


def test_the_checks_are_the_files_of_their_folder_in_order() -> None:
    names = engine.names()

    assert names == sorted(names) and "swappiness" in names and len(names) > 20
    assert not [name for name in names if name.startswith("__") or name.endswith(".py")]
    assert engine.load("swappiness").LIMITS


def test_a_check_judges_by_its_own_limits_and_nobody_elses(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def judge(_facts: Any, limits: Any) -> Verdict:
        seen.append(dict(limits))
        return ok("")

    said: dict[str, dict[str, Any]] = {
        "one": {"high_warning": 5, "items": {"b": {"high_warning": 1}}},
        "two": {"high_warning": 2},
    }
    host = FakeHost(expected=Expected(limits=said))
    findings = run(monkeypatch, host, one=a_check(judge=judge), three=a_check(judge=judge))

    assert [finding.item for finding in findings] == ["a", "a"], "these limits all exist"
    assert sorted(row["high_warning"] for row in seen) == [5, 10]
    assert all(set(row) == {"high_warning"} for row in seen)
    assert host.expected.limits == said, "the inventory stays as it is for the next item"


def test_limits_of_a_check_that_has_none_are_named_in_order_and_in_short() -> None:
    check: Any = SimpleNamespace(LIMITS={})
    said = {"z" * 99: 1, "items": {"sda": {"b": 1}, "sdb": {"a": 1, "b": 2}}}
    first, second, third = engine.unknown_limits(check, said)

    assert "'a'" in first and "'b'" in second and "none" in first
    assert "z" * 60 in third and "z" * 61 not in third
    removed: Any = SimpleNamespace(LIMITS={}, REMOVED_LIMITS={"z" * 99: "high_warning"})
    (instead,) = engine.unknown_limits(removed, {"z" * 99: 1})
    assert "z" * 60 in instead and "z" * 61 not in instead and "high_warning" in instead
    assert engine.unknown_limits(check, {}) == []


def test_limits_that_are_not_known_cost_the_check_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    host = FakeHost(expected=Expected(limits={"one": {"low_warning": 5}}))
    findings = by_item(run(monkeypatch, host, one=a_check()))

    assert {item: finding.status for item, finding in findings.items()} == {"limits": "warning", "a": "ok"}
    assert "high_warning" in findings["limits"].verdict.reason
    assert (findings["limits"].facts, findings["limits"].duration_ms) == ({}, 0)


def test_what_the_inventory_skips_is_not_loaded_and_takes_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    host = FakeHost(expected=Expected(skip={"slow": "no disks here"}))

    assert order_of_loading(monkeypatch, host, ["slow", "quick"]) == ["quick"]
    (skipped, *_rest) = run(monkeypatch, host, slow=a_check())
    assert (skipped.item, skipped.facts, skipped.duration_ms) == ("-", {}, 0)


def test_a_check_that_finds_nothing_or_cannot_be_loaded_has_no_item_and_no_facts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    findings = run(monkeypatch, FakeHost(), broken=SyntaxError("line 3"), none=a_check(items=()))

    assert [(one.item, one.facts, one.duration_ms) for one in findings] == [("-", {}, 0), ("-", {}, 0)]
    assert "SyntaxError" in findings[0].verdict.reason and "line 3" in findings[0].verdict.reason


def test_as_many_items_as_may_be_are_asked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "PARALLEL", 3)
    together = threading.Barrier(3)
    check = a_check(items="abc", look=lambda _host, _item: Facts(together.wait(5)))

    assert {finding.status for finding in run(monkeypatch, FakeHost(), one=check)} == {"ok"}
