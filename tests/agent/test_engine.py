"""The engine: every item exactly one finding, in time, whatever a check does."""

from __future__ import annotations

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
from tests.machine import HandmadeHost, by_item, next_run


class Facts(NamedTuple):
    number: int = 0


def a_check(
    items: Sequence[str] = ("a",),
    look: Callable[[Any, str], Any] = lambda _host, _item: Facts(),
    judge: Callable[[Any, Any], Verdict] = lambda facts, _limits: ok(f"{facts.number}"),
    **more: Any,
) -> SimpleNamespace:
    return SimpleNamespace(LIMITS={"high_warning": 10}, find=lambda _host: list(items), look=look, judge=judge, **more)


def run(monkeypatch: pytest.MonkeyPatch, host: HandmadeHost, deadline_s: float = 10.0, **checks: Any) -> list[Finding]:
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
    findings = run(monkeypatch, HandmadeHost(), one=a_check(items="abc"), two=a_check(items="xy"))

    assert sorted((finding.check, finding.item) for finding in findings) == [
        ("one", "a"), ("one", "b"), ("one", "c"), ("two", "x"), ("two", "y")]  # fmt: skip


def test_an_item_named_twice_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(run(monkeypatch, HandmadeHost(), one=a_check(items="aab"))) == 2


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

    findings = by_item(run(monkeypatch, HandmadeHost(), one=broken))

    assert (findings["a"].status, findings["a"].verdict.reason) == (status, words)
    assert findings["b"].status == "ok", "one broken part never hides another"


def test_a_find_that_fails_or_finds_nothing_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    findings = run(
        monkeypatch, HandmadeHost(), dies=SimpleNamespace(LIMITS={}, find=fail(ValueError("odd"))),
        none=a_check(items=()), absent=SimpleNamespace(LIMITS={}, find=fail(NotApplicable("no array"))),
    )  # fmt: skip

    assert {finding.check: finding.status for finding in findings} == {
        "dies": "unknown", "none": "unknown", "absent": "skipped"}  # fmt: skip


def test_a_check_that_cannot_be_loaded_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    findings = run(monkeypatch, HandmadeHost(), broken=SyntaxError("line 3"), fine=a_check())

    assert [(finding.check, finding.status) for finding in findings] == [("broken", "unknown"), ("fine", "ok")]


def test_a_judge_that_fails_is_unknown_never_ok(monkeypatch: pytest.MonkeyPatch) -> None:
    (finding,) = run(monkeypatch, HandmadeHost(), one=a_check(judge=fail(TypeError("None > 3"))))

    assert finding.status == "unknown"


def test_a_skip_that_the_inventory_asks_for_gives_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    host = HandmadeHost(expected=Expected(skip={"one": "no BMC in this rack"}))

    (finding,) = run(monkeypatch, host, one=a_check())

    assert (finding.status, finding.verdict.reason) == ("skipped", "no BMC in this rack")


def test_the_most_specific_limit_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"one": {"high_warning": 5, "items": {"b": {"high_warning": 1}}}}
    check = a_check(items="ab", judge=lambda _facts, limits: warning(str(limits["high_warning"])))

    findings = by_item(run(monkeypatch, HandmadeHost(expected=Expected(limits=said)), one=check))

    assert (findings["a"].verdict.reason, findings["b"].verdict.reason) == ("5", "1")


def test_what_never_answers_costs_one_item_and_not_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    for_ever = threading.Event()
    hangs = a_check(items="ab", look=lambda _host, item: for_ever.wait() if item == "a" else Facts(), DEADLINE_S=0.2)

    started = time.monotonic()
    findings = by_item(run(monkeypatch, HandmadeHost(), one=hangs))
    for_ever.set()

    assert time.monotonic() - started < 5
    assert findings["a"].status == "unknown"
    assert "no answer in 0" in findings["a"].verdict.reason
    assert findings["b"].status == "ok"


def test_a_find_that_never_answers_is_a_finding_too(monkeypatch: pytest.MonkeyPatch) -> None:
    for_ever = threading.Event()
    hangs = SimpleNamespace(LIMITS={}, DEADLINE_S=0.2, find=lambda _host: for_ever.wait())

    (finding,) = run(monkeypatch, HandmadeHost(), one=hangs)
    for_ever.set()

    assert (finding.item, finding.status) == ("-", "unknown")


def test_a_late_answer_is_not_a_second_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    late = a_check(look=sleepy(0.3), DEADLINE_S=0.1)
    slow = a_check(items="x", look=sleepy(0.6))

    findings = run(monkeypatch, HandmadeHost(), late=late, slow=slow)

    assert [(finding.check, finding.status) for finding in findings] == [("late", "unknown"), ("slow", "ok")]


def test_the_deadline_of_the_run_ends_it_and_every_item_is_still_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for_ever = threading.Event()
    many = a_check(items=[str(number) for number in range(engine.PARALLEL + 5)], look=lambda _h, _i: for_ever.wait())

    started = time.monotonic()
    findings = by_item(run(monkeypatch, HandmadeHost(), deadline_s=0.3, one=many))
    for_ever.set()

    assert time.monotonic() - started < 5
    assert len(findings) == engine.PARALLEL + 5
    assert {finding.status for finding in findings.values()} == {"unknown"}
    assert "not asked" in findings[str(engine.PARALLEL + 4)].verdict.reason


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
    host = HandmadeHost()
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
    host = HandmadeHost()
    run(monkeypatch, host, one=hangs)

    later = next_run(host, after_s=3600)
    findings = run(monkeypatch, later, one=hangs)

    assert [finding.item for finding in findings] == ["b", "a"], "asked last"
    assert findings[1].verdict.reason == "smartctl gave no answer in 8 s, stuck for 60 min"


def test_a_check_that_could_list_nothing_once_is_not_called_stuck_since_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """Found with the rack: a BMC that was silent for one run was 'stuck for 7 min' when it was silent again."""
    silent = a_check()
    silent.find = fail(Stuck("ipmitool", 12.0))
    host = HandmadeHost()
    run(monkeypatch, host, one=silent)
    between = next_run(host, after_s=300)
    run(monkeypatch, between, one=a_check(items="a"))

    (finding,) = run(monkeypatch, next_run(between, after_s=300), one=silent)

    assert finding.verdict.reason == "ipmitool gave no answer in 12 s"


def test_first_seen_stays_while_the_trouble_lasts_and_starts_anew_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    bad = a_check(judge=lambda _facts, _limits: warning("bad"))
    first = HandmadeHost()
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
    host = HandmadeHost(expected=Expected(roles=("broker",), limits=limits))
    found = {one.item: one for one in engine.run(host, ["swappiness"])}

    assert found["limits"].status == "warning"
    assert found["limits"].verdict.reason == (
        "the inventory's limits are ignored: no limit 'most', it has: swappiness_warning; "
        "'swappiness_critical' was removed, set swappiness_warning: swappiness is advice and never critical"
    )
    assert "vm.swappiness" in found
    said = HandmadeHost(expected=Expected(roles=("broker",), limits={"swappiness": {"swappiness_warning": 60}}))
    assert "limits" not in {one.item for one in engine.run(said, ["swappiness"])}
