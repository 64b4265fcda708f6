"""Looked at again and again: GO only when it stood still."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest

from smoketests.gate import waiting
from smoketests.gate.decision import GO, NO_GO, UNTOLD, Decision
from smoketests.gate.waiting import Patience
from tests.smoketests.gate.situations import decided, kafka, partition, situation

WELL = decided(situation())
BAD = decided(situation(kafka_says=kafka(partition(isr=(1, 2)))))


class Clock:
    """Time that passes while it is slept; a stand-in, for a test that waits is slow and proves no more."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(waiting, "time", made)
    return made


def looks(answers: Sequence[Decision | type[BaseException]]) -> Callable[[], Decision]:
    left: Iterator[Decision | type[BaseException]] = iter(answers)

    def look() -> Decision:
        one = next(left)
        if isinstance(one, Decision):
            return one
        raise one

    return look


def test_go_needs_twelve_in_a_row(clock: Clock) -> None:
    said: list[str] = []
    decision = waiting.until_steady(looks([BAD, *[WELL] * 3, BAD, *[WELL] * 12]), Patience(10), said.append)

    assert decision.answer == GO and clock.now == 160
    assert [answer for _at, answer in decision.readings] == [NO_GO, *[GO] * 3, NO_GO, *[GO] * 12]
    assert len(said) == 5 and "availability failed" in said[0] and "12 of 12: GO" in said[-1]


def test_when_the_time_is_over_the_last_answer_stands(clock: Clock) -> None:
    decision = waiting.until_steady(looks([BAD] * 20), Patience(1), lambda _words: None)

    assert decision.answer == NO_GO and len(decision.readings) == 7
    assert "availability" in decision.missing


def test_a_go_that_did_not_stand_long_enough_is_none(clock: Clock) -> None:
    decision = waiting.until_steady(looks([BAD, *[WELL] * 20]), Patience(1), lambda _words: None)

    assert decision.answer == UNTOLD
    assert decision.missing == "the 1 minutes are over, only 6 of 12 times GO in a row"


def test_ctrl_c_tells_what_was_missing(clock: Clock) -> None:
    decision = waiting.until_steady(looks([WELL, BAD, KeyboardInterrupt]), Patience(10), lambda _words: None)

    assert decision.answer == NO_GO and "availability" in decision.missing
    assert decision.unsteady == "stopped by Ctrl-C"
    steady = waiting.until_steady(looks([WELL, WELL, KeyboardInterrupt]), Patience(10), lambda _words: None)
    assert steady.missing == "stopped by Ctrl-C, only 2 of 12 times GO in a row"


def test_ctrl_c_before_the_first_answer_is_passed_on(clock: Clock) -> None:
    with pytest.raises(KeyboardInterrupt):
        waiting.until_steady(looks([KeyboardInterrupt]), Patience(10), lambda _words: None)
