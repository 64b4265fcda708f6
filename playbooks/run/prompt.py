"""Prompts at the terminal. No answer, or end of input, means no."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from agent.formats.text import printable
from inventory.errors import SmokeError

TRIES = 20


class Stopped(SmokeError):
    """The person does not go on; the message says where."""


class Person:
    """Reads answers from standard input, a line each. read: gives the next line, None at the end."""

    def __init__(self, say: Callable[[str], None], read: Callable[[], str | None] | None = None) -> None:
        self._say, self._read = say, read or _line

    def choose(self, question: str, answers: Mapping[str, str]) -> str:
        """One of the answers' first letters. `q` is always one of them. answers: letter -> what it means."""
        offered = {**answers, "q": "stop here"}
        shown = ", ".join(f"{letter} {meaning}" for letter, meaning in offered.items())
        for _ in range(TRIES):
            self._ask(f"{question} [{shown}] ")
            answer = self._answer()
            if answer.lower() == "q":
                raise Stopped("you stopped it")
            if answer.lower() in offered:
                return answer.lower()
            if answer.lower() in ("yes", "y") and "y" in offered:
                return "y"
            self._say(f"{printable(answer)!r} is not a valid answer")
        raise Stopped("no valid answer")

    def type_out(self, question: str, wanted: str) -> None:
        """The person types a word exactly; Stopped if not."""
        for _ in range(TRIES):
            self._ask(f"{question} (q to stop): ")
            answer = self._answer()
            if answer == wanted:
                return
            if answer.lower() == "q":
                raise Stopped("you stopped it")
            self._say(f"{printable(answer)!r} does not match")
        raise Stopped("no valid answer")

    def _ask(self, words: str) -> None:
        sys.stdout.write(words)
        sys.stdout.flush()

    def _answer(self) -> str:
        line = self._read()
        if line is None:
            sys.stdout.write("\n")
            raise Stopped("no answer: end of input")
        if not sys.stdin.isatty():
            sys.stdout.write(printable(line.strip()) + "\n")
        return line.strip()


def _line() -> str | None:
    line = sys.stdin.readline()
    return line if line else None


class Interrupts:
    """Ctrl-C while a command changes something lets it end first; elsewhere, or the second time, it stops at once."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._gentle = False
        self.asked = False
        self._before: Any = None

    def __enter__(self) -> Interrupts:
        self._before = signal.signal(signal.SIGINT, self._take)
        return self

    def __exit__(self, *_exception: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _take(self, _number: int, _frame: Any) -> None:
        if not self._gentle or self.asked:
            raise KeyboardInterrupt
        self.asked = True
        self._say("stopping after the current command; Ctrl-C again stops at once and leaves it running")

    @contextlib.contextmanager
    def gently(self) -> Iterator[None]:
        """A command that is better not cut off. Behind it, `stop_if_asked` once its end is written down."""
        self._gentle = True
        try:
            yield
        finally:
            self._gentle = False

    def stop_if_asked(self) -> None:
        if self.asked:
            raise Stopped("you stopped it with Ctrl-C")
