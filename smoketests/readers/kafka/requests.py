"""Requests to one cluster, concurrently and under one deadline; requests without a reply are reported."""

from __future__ import annotations

import contextlib
import functools
import queue
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from inventory.names import some
from smoketests.readers import CannotRead, NotYet, begin

# A broker that died is in the metadata for a while, and kafka-python asks any: the next try goes to another one.
TRIES = 4
BROKERS_AT_ONCE = 16
# sentences about one kind of question: rules look for the kinds, so no kind may crowd out another
MOST_UNTOLD = 20
NOT_CONTROLLER = "NotControllerError"
# how kafka-python says that this broker does not know the question
TOO_OLD = ("IncompatibleBrokerVersion", "UnsupportedVersionError")


class Questions:
    """ask them; `untold` says, a sentence each, what had no answer after `seconds`."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._until = time.monotonic() + seconds
        self.untold: list[str] = []
        self._told: Counter[str] = Counter()

    def begin(self, what: str, ask: Callable[[], Any], optional: bool = False) -> Callable[[], Any]:
        """Ask; what is returned waits for the answer, None if there was none. optional: an old broker may lack it."""
        wait = begin(lambda: self._tried(ask))

        def answer() -> Any:
            try:
                return wait(self.left())
            except NotYet:
                self.tell(f"{what} cannot be read: no reply within {self._seconds:.0f} s")
            except Exception as error:  # whatever is odd about one answer never hides the others
                if not (optional and type(error).__name__ in TOO_OLD):
                    self.tell(f"{what} cannot be read: {words(error)}")
            return None

        return answer

    def begin_each(
        self, what: str, brokers: Sequence[int], ask: Callable[[int], Any]
    ) -> Callable[[], Mapping[int, Any]]:
        """Ask each of these brokers, once; the answers of those that answered."""
        waiting = deque(brokers)
        said: dict[int, Any] = {}
        whys = dict.fromkeys(brokers, f"no reply within {self._seconds:.0f} s")

        def work() -> None:
            with contextlib.suppress(IndexError):  # nobody is waiting any more
                while self.left():
                    _put(waiting.popleft(), ask, said, whys)

        waits = [begin(work) for _ in range(min(BROKERS_AT_ONCE, len(brokers)))]

        def answers() -> Mapping[int, Any]:
            for wait in waits:
                with contextlib.suppress(NotYet):  # whom it could not ask is told by name
                    wait(self.left())
            heard = dict(said)
            self._tell_each(what, {broker: whys[broker] for broker in brokers if broker not in heard})
            return heard

        return answers

    def begin_any(
        self, what: str, brokers: Sequence[int], ask: Callable[[int], Any], optional: bool = False
    ) -> Callable[[], Any]:
        """Ask these brokers the same, which only the controllers can answer; the first answer counts.

        One that is cut off from them gives none. optional: as `begin`.
        """
        heard: queue.SimpleQueue[tuple[Any, Exception | None]] = queue.SimpleQueue()

        def one(broker: int) -> None:
            try:
                heard.put((self._tried(lambda: ask(broker)), None))
            except Exception as error:  # somebody else may know
                heard.put((None, error))

        for broker in brokers:
            begin(functools.partial(one, broker))
        return lambda: self._first(what, heard, len(brokers), optional)

    def _first(self, what: str, heard: queue.SimpleQueue[Any], asked: int, optional: bool) -> Any:
        errors: list[Exception] = []
        while len(errors) < asked:
            try:
                answer, error = heard.get(timeout=self.left())
            except queue.Empty:
                self.tell(f"{what} cannot be read: no reply within {self._seconds:.0f} s")
                return None
            if error is None:
                return answer
            errors.append(error)
        # a broker that is not the controller only says so
        telling = [error for error in errors if type(error).__name__ != NOT_CONTROLLER] or errors
        if telling and not (optional and all(type(error).__name__ in TOO_OLD for error in errors)):
            self.tell(f"{what} cannot be read: {words(telling[0])}")
        return None

    def extend(self, seconds: float) -> None:
        """There is so much to be read that it takes longer."""
        self._seconds += seconds
        self._until += seconds

    def left(self) -> float:
        """Seconds until the clock runs out."""
        return max(self._until - time.monotonic(), 0.0)

    def tell(self, sentence: str) -> None:
        """Add what could not be read; of one kind (log dirs, topic, quorum) the first few, and that there are more."""
        kind = sentence.partition(" ")[0]
        self._told[kind] += 1
        if self._told[kind] <= MOST_UNTOLD:
            self.untold.append(sentence[:300])
        elif self._told[kind] == MOST_UNTOLD + 1:
            self.untold.append(f"{kind} … and more that cannot be read")

    def _tried(self, ask: Callable[[], Any]) -> Any:
        tries = TRIES
        while True:
            tries -= 1
            try:
                return ask()
            except Exception as error:
                retriable = getattr(error, "retriable", isinstance(error, OSError))
                if not (retriable and tries and self.left()):
                    raise

    def _tell_each(self, what: str, whys: Mapping[int, str]) -> None:
        brokers: dict[str, list[str]] = {}
        for broker, why in sorted(whys.items()):
            brokers.setdefault(why, []).append(str(broker))
        for why, names in brokers.items():
            of = "brokers" if len(names) > 1 else "broker"
            self.tell(f"{what} of {of} {some(names)} cannot be read: {why}")


def _put(broker: int, ask: Callable[[int], Any], said: dict[int, Any], whys: dict[int, str]) -> None:
    try:
        said[broker] = ask(broker)
    except Exception as error:  # one broker's odd answer never hides the others'
        whys[broker] = words(error)


def words(error: Exception) -> str:
    """The error for a sentence, of bounded length."""
    return str(error)[:200] if isinstance(error, CannotRead) else f"{type(error).__name__} {error}"[:200].strip()
