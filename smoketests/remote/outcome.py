"""The outcome of one host, and the order of processing: an oversized output waits until the others are done."""

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
from smoketests.remote import validation
from smoketests.remote.agent_output import AgentOutput

# A healthy host's report has some 50 KB; reading a large one takes as long as reading a hundred of those.
LARGE_BYTES = 512 << 10
LARGE_LINES = 2000
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
    heard: AgentOutput
    kind: str = ""
    reason: str = ""

    def believed(self, run_id: str) -> HostReport:
        """The host's records, as being about itself and nobody else."""
        if self.kind:
            return HostReport(self.host, Report({}, [], []), [], unknown(self.reason), self.seconds, self.kind)
        kept = validation.believed(self.host, self.heard.lines, run_id, timestamp(time.time()))
        kind, verdict = validation.reach(self.heard, kept, self.seconds)
        window = self.heard.window
        return HostReport(self.host, kept.report, kept.lines, verdict, self.seconds, kind, window)

    def large(self) -> bool:
        """Whether it takes long to read."""
        return self.heard.size > LARGE_BYTES or len(self.heard.lines) > LARGE_LINES


class Finished:
    """The outcomes that nobody has taken yet. Put by any thread, taken by one; large ones last."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        self._large: deque[Outcome] = deque()

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
                return self._large.popleft()
            if not outcome.large():
                return outcome
            self._large.append(outcome)

    def rest(self) -> Iterator[Outcome]:
        """All that are there by now."""
        while self._queue.qsize():
            yield self._queue.get()
        yield from self._large
        self._large.clear()
