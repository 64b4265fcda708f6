"""Find, look, judge: every item of every check in parallel, under deadlines; every outcome becomes a Finding."""

from __future__ import annotations

import functools
import heapq
import importlib
import os
import queue
import time
from typing import Any, Dict, Iterator, List, Mapping, Optional, Protocol, Sequence, Tuple

import agent.checks
from agent.host import CannotTell, Host, NotApplicable, Stuck, unwaited
from agent.named_tuples import NamedTuple
from agent.status import FINE, Finding, Verdict, skipped, unknown, warning

ITEM_DEADLINE_S = 10.0
RUN_DEADLINE_S = 60.0
# What waits for disks and BMCs costs no processor; but each tool needs some, and has a deadline.
PARALLEL = min(64, 8 * (os.cpu_count() or 1))
NO_ITEM = "-"


class Facts(Protocol):
    """A NamedTuple of plain values."""

    def _asdict(self) -> Dict[str, Any]: ...


class Check(Protocol):
    """A module of agent/checks. It may also have DEADLINE_S, the seconds that one item may take."""

    LIMITS: Mapping[str, Any]

    def find(self, host: Host) -> Sequence[str]: ...
    def look(self, host: Host, item: str) -> Facts: ...
    def judge(self, facts: Any, limits: Mapping[str, Any]) -> Verdict: ...


@functools.cache
def rooms(folder: str) -> Dict[str, str]:
    """Module -> its room: the listing of the rooms of `folder` is the registry of its modules."""
    found = [entry.name for entry in os.scandir(folder) if entry.is_dir() and not entry.name.startswith("__")]
    return {
        name[:-3]: room
        for room in found
        for name in os.listdir(os.path.join(folder, room))
        if name.endswith(".py") and name != "__init__.py"
    }


def names() -> List[str]:
    """The checks there are."""
    return sorted(rooms(agent.checks.__path__[0]))


def load(name: str) -> Check:
    """The module of one of `names()`; KeyError for any other."""
    return importlib.import_module(f"agent.checks.{rooms(agent.checks.__path__[0])[name]}.{name}")


class Task(NamedTuple):
    """One question under way: `item` is None while the check still looks for its items."""

    name: str
    check: Check
    item: Optional[str]
    started: float
    deadline: float


def run(host: Host, wanted: Optional[Sequence[str]] = None, deadline_s: float = RUN_DEADLINE_S) -> Iterator[Finding]:
    """Findings in the order in which they are ready, each item of each check exactly once.

    Never waits longer than `deadline_s`: what has not answered by then is a finding too. An item that was stuck
    in the last run is asked last and alone, so that it cannot slow the others.
    """
    return _Run(host, deadline_s).findings(names() if wanted is None else wanted)


def unknown_limits(check: Check, said: Mapping[str, Any]) -> List[str]:
    """A sentence for each limit of an inventory that this check does not have, with what it has, or has instead."""
    names = {name for name in said if name != "items"}
    names.update(name for of_item in said.get("items", {}).values() for name in of_item)
    instead = getattr(check, "REMOVED_LIMITS", {})
    has = ", ".join(sorted(check.LIMITS)) or "none"
    return [
        f"{name[:60]!r} was removed, set {instead[name]}"
        if name in instead
        else f"no limit {name[:60]!r}, it has: {has}"
        for name in sorted(names - set(check.LIMITS))
    ]


class _Run:
    """The state of one run: which tasks are under way, and which wait for the others to end."""

    def __init__(self, host: Host, deadline_s: float) -> None:
        self._host = host
        self._end = time.monotonic() + deadline_s
        self._done: queue.SimpleQueue[Tuple[Task, Any]] = queue.SimpleQueue()
        self._waiting: List[Tuple[str, Check, Optional[str]]] = []
        self._alone: List[Tuple[str, Check, Optional[str]]] = []
        self._under_way: Dict[Tuple[str, Optional[str]], Task] = {}
        self._deadlines: List[Tuple[float, int, Task]] = []
        self._count = 0
        self._took_ms: Dict[str, int] = {}

    def findings(self, wanted: Sequence[str]) -> Iterator[Finding]:
        for name in self._slowest_first(wanted):
            if name in self._host.expected.skip:
                yield self._finding(name, NO_ITEM, skipped(self._host.expected.skip[name]), {}, 0.0)
                continue
            try:
                check = load(name)
                self._waiting.append((name, check, None))
                yield from self._ignored_limits(name, check)
            except Exception as error:  # one broken check never hides another
                yield self._finding(name, NO_ITEM, unknown(f"the check cannot be loaded: {_words(error)}"), {}, 0.0)
            self._start()
        while self._waiting or self._alone or self._under_way:
            self._start()
            ended = self._next()
            if ended is None:
                yield from self._late()
            else:
                yield from self._outcome(*ended)
        self._host.state.remember("took_ms", {**self._took_before(), **self._took_ms})

    def _ignored_limits(self, name: str, check: Check) -> Iterator[Finding]:
        ignored = unknown_limits(check, self._host.expected.limits.get(name, {}))
        if ignored:
            yield self._finding(
                name, "limits", warning(f"the inventory's limits are ignored: {'; '.join(ignored)}"), {}, 0.0
            )

    def _slowest_first(self, wanted: Sequence[str]) -> List[str]:
        """In the order of what each took last time, so that the slow ones are under way while the others load."""
        took = self._took_before()
        return sorted(wanted, key=lambda name: took.get(name, 0), reverse=True)

    def _took_before(self) -> Dict[str, int]:
        took = self._host.state.remembered("took_ms")
        rows = took.items() if isinstance(took, dict) else ()
        return {name: number for name, number in rows if type(number) is int}

    def _start(self) -> None:
        while self._waiting and len(self._under_way) < PARALLEL:
            self._begin(*self._waiting.pop(0))
        if not self._under_way and self._alone:
            self._begin(*self._alone.pop(0))

    def _begin(self, name: str, check: Check, item: Optional[str]) -> None:
        now = time.monotonic()
        deadline = min(now + getattr(check, "DEADLINE_S", ITEM_DEADLINE_S), self._end)
        task = Task(name, check, item, now, deadline)
        self._under_way[name, item] = task
        self._count += 1
        heapq.heappush(self._deadlines, (deadline, self._count, task))
        unwaited(functools.partial(self._work, task))

    def _work(self, task: Task) -> None:
        try:
            outcome: Any = task.check.find(self._host) if task.item is None else task.check.look(self._host, task.item)
        except Exception as error:  # caught per item, and only here
            outcome = error
        self._done.put((task, outcome))

    def _next(self) -> Optional[Tuple[Task, Any]]:
        """The next task that ended in time, or None when the nearest deadline passed first."""
        while self._deadlines:
            if self._under_way.get(self._deadlines[0][2][0:3:2]) is not self._deadlines[0][2]:
                heapq.heappop(self._deadlines)
                continue
            try:
                task, outcome = self._done.get(timeout=max(self._deadlines[0][0] - time.monotonic(), 0))
            except queue.Empty:
                return None
            if self._under_way.get((task.name, task.item)) is task:
                del self._under_way[task.name, task.item]
                return task, outcome
        return None

    def _late(self) -> Iterator[Finding]:
        now = time.monotonic()
        for key, task in list(self._under_way.items()):
            if task.deadline <= now:
                del self._under_way[key]
                yield self._stuck(task, now)
        if now >= self._end:
            left, self._waiting, self._alone = self._waiting + self._alone, [], []
            for name, _check, item in left:
                yield self._finding(name, item or NO_ITEM, unknown("not checked: the run's deadline passed"), {}, 0.0)

    def _stuck(self, task: Task, now: float) -> Finding:
        item = task.item or NO_ITEM
        since = self._host.state.set_stuck(task.name, item, True)
        waited = now - task.started
        return self._finding(
            task.name, item, unknown(f"timed out after {waited:.0f} s{self._how_long(since)}"), {}, waited
        )

    def _how_long(self, since: float) -> str:
        """Since when it is stuck, if that was an earlier run."""
        before = self._host.state.now - since
        return f", stuck for {before / 60:.0f} min" if before >= 60 else ""

    def _outcome(self, task: Task, outcome: Any) -> Iterator[Finding]:
        took = time.monotonic() - task.started
        if task.item is None and isinstance(outcome, (list, tuple)):
            self._host.state.set_stuck(task.name, NO_ITEM, False)
            yield from self._found(task, list(dict.fromkeys(outcome)))
            return
        item = task.item or NO_ITEM
        verdict, facts = self._judged(task, outcome)
        since = self._host.state.set_stuck(task.name, item, isinstance(outcome, Stuck))
        if isinstance(outcome, Stuck):
            verdict = unknown(f"{verdict.reason}{self._how_long(since)}")
        yield self._finding(task.name, item, verdict, facts, took)

    def _found(self, task: Task, items: List[str]) -> Iterator[Finding]:
        if not items:
            yield self._finding(task.name, NO_ITEM, unknown("no items found, although some are expected"), {}, 0.0)
        for item in items:
            was_stuck = self._host.state.stuck_before(task.name, item) is not None
            (self._alone if was_stuck else self._waiting).append((task.name, task.check, item))

    def _judged(self, task: Task, outcome: Any) -> Tuple[Verdict, Mapping[str, Any]]:
        if isinstance(outcome, NotApplicable):
            return skipped(str(outcome)), {}
        if isinstance(outcome, CannotTell):
            return unknown(str(outcome)), {}
        if isinstance(outcome, Exception):
            self._host.state.distrust()
            return unknown(f"the check failed: {_words(outcome)}"), {}
        try:
            limits = self._host.limits(task.name, task.check.LIMITS, task.item or NO_ITEM)
            return task.check.judge(outcome, limits), outcome._asdict()
        except Exception as error:  # odd facts or an odd limit: this item cannot be told, the others can
            self._host.state.distrust()
            return unknown(f"the check failed: {_words(error)}"), {}

    def _finding(self, name: str, item: str, verdict: Verdict, facts: Mapping[str, Any], took_s: float) -> Finding:
        in_trouble = verdict.status not in FINE
        since = self._host.state.first_seen(name, item, in_trouble)
        self._took_ms[name] = max(self._took_ms.get(name, 0), round(took_s * 1000))
        return Finding(name, item, verdict, facts, round(took_s * 1000), since)


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
