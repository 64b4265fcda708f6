"""Repeat the reading until it is GO so many times in a row; a single GO may be a coincidence."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from agent.formats.text import printable
from smoketests.gate.decision import GO, Decision


@dataclass(frozen=True)
class Patience:
    """How long to wait, how often to look, and how many times in a row it must be GO."""

    minutes: float
    every_s: float = 10.0
    readings: int = 12


def until_steady(look: Callable[[], Decision], patience: Patience, say: Callable[[str], None]) -> Decision:
    """The last reading, GO only if the ones before it were GO too. Ctrl-C ends it: what was missing is in the answer.

    say: is told whenever the answer, or what is missing, changes.
    """
    until = time.monotonic() + patience.minutes * 60
    streak, last, told = 0, None, ""
    readings: list[tuple[str, str]] = []
    try:
        while True:
            began = time.monotonic()
            last = look()
            readings.append((last.at, last.answer))
            streak = streak + 1 if last.answer == GO else 0
            told = _tell(last, streak, patience, told, say)
            if streak >= patience.readings:
                return replace(last, readings=readings)
            if began + patience.every_s > until:
                return _unsteady(last, readings, streak, patience, f"the {patience.minutes:g} minutes are over")
            time.sleep(max(began + patience.every_s - time.monotonic(), 0))
    except KeyboardInterrupt:
        if last is None:
            raise
        return _unsteady(last, readings, streak, patience, "stopped by Ctrl-C")


def _tell(decision: Decision, streak: int, patience: Patience, told: str, say: Callable[[str], None]) -> str:
    now = decision.missing
    if now != told or streak in (1, patience.readings):
        count = f"{streak} of {patience.readings}: " if decision.answer == GO else ""
        say(printable(f"{decision.at} {count}{decision.answer}" + (f": {now}" if now else "")))
    return now


def _unsteady(
    decision: Decision, readings: list[tuple[str, str]], streak: int, patience: Patience, why: str
) -> Decision:
    """The last answer, with why it ended; a GO that did not stand long enough is none."""
    times = f", only {streak} of {patience.readings} times GO in a row" if streak else ""
    return replace(decision, readings=readings, unsteady=f"{why}{times}")
