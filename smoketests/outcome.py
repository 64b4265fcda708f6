"""What came of one host, and the order in which it is looked at: a flood of words waits until the others are done."""

from __future__ import annotations

import queue
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from agent.report import Report, timestamp
from agent.status import Verdict, unknown
from inventory.model import Host
from smoketests import belief
from smoketests.hearing import Heard
from smoketests.spool import Spool

# A healthy host's report has some 50 KB; reading a large one takes as long as reading a hundred of those.
LARGE_BYTES = 512 << 10
LARGE_LINES = 2000
MOST_ASIDE_BYTES = 1 << 30
# how long nothing else may come before a large report is read
IDLE_S = 0.05


@dataclass(frozen=True)
class HostReport:
    """What came of one host. reach: ok, or unknown with the reason why it could not be asked or heard out.

    lines: header and findings as the store keeps them. kind: reach in a word, "answered" if all is well.
    window: the moments of our clock between which it wrote its header; None if it wrote none.
    """

    host: Host
    report: Report
    lines: list[str]
    reach: Verdict
    seconds: float
    kind: str = "answered"
    window: tuple[float, float] | None = None


class Outcome(NamedTuple):
    """How the asking of one host ended: what was heard, or why nothing was (kind and reason)."""

    host: Host
    seconds: float
    heard: Heard
    kind: str = ""
    reason: str = ""

    def believed(self, run_id: str) -> HostReport:
        """The host's records, as being about itself and nobody else."""
        if self.kind:
            return HostReport(self.host, Report({}, [], []), [], unknown(self.reason), self.seconds, self.kind)
        kept = belief.believed(self.host, self.heard.lines, run_id, timestamp(time.time()))
        kind, verdict = belief.reach(self.heard, kept, self.seconds)
        window = self.heard.window
        return HostReport(self.host, kept.report, kept.lines, verdict, self.seconds, kind, window)

    def size(self) -> int:
        """Characters of the lines that may be records."""
        return sum(map(len, self.heard.lines))


class Finished:
    """The outcomes that nobody has taken yet. Put by any thread, taken by one; large ones last."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        self._large: deque[tuple[str, Outcome]] = deque()
        self._spool = Spool()
        self._number = self._aside = 0

    def put(self, outcome: Outcome) -> None:
        self._queue.put(outcome)

    def waiting(self) -> int:
        """How many are held in memory."""
        return self._queue.qsize()

    def take(self, timeout_s: float | None) -> Outcome | None:
        """The next; None when there is none in this time."""
        until = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            left = None if until is None else max(until - time.monotonic(), 0)
            try:
                outcome = self._queue.get(timeout=min(IDLE_S, left or IDLE_S) if self._large else left)
            except queue.Empty:
                if left == 0 or not self._large:
                    return None
                return self._restored()
            if not self._set_aside(outcome):
                return outcome

    def rest(self) -> Iterator[Outcome]:
        """All that are there by now."""
        while self._queue.qsize():
            yield self._queue.get()
        while self._large:
            yield self._restored()

    def _set_aside(self, outcome: Outcome) -> bool:
        """Whether it was large, and now waits in a file."""
        lines, size = outcome.heard.lines, outcome.size()
        large = size > LARGE_BYTES or len(lines) > LARGE_LINES
        if not large or self._aside + size > MOST_ASIDE_BYTES:
            return False
        self._number += 1
        try:
            self._spool.add(str(self._number), lines)
        except OSError:
            return False  # no room there: read now
        self._aside += size
        self._large.append((str(self._number), outcome._replace(heard=outcome.heard._replace(lines=[]))))
        return True

    def _restored(self) -> Outcome:
        name, outcome = self._large.popleft()
        return outcome._replace(heard=outcome.heard._replace(lines=self._spool.lines(name)))
