"""The agent on many hosts at once, over Fabric: bounded, streaming, every step under a deadline.

Each host gives exactly one HostReport, in the order in which they finish; a bad host costs its own time and nobody
else's. A thread that hangs beyond all deadlines is given up, and another takes its place.
"""

from __future__ import annotations

import contextlib
import gc
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agent.report import Report, timestamp
from agent.status import Verdict, unknown
from inventory.model import Host
from smoketests import belief
from smoketests.bundle import Bundle
from smoketests.hearing import Heard, Hearing, Options, far_command
from smoketests.ssh import Access
from smoketests.unreachable import AccessError, Unreachable

__all__ = ["HostReport", "Options", "run"]

Command = Callable[[Host, str, Options, Bundle, str], str]

SUPERVISE_EVERY_S = 0.2
# from ending an overdue connection to giving up the thread that still waits for it
GIVE_UP_S = 3.0


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


def run(
    hosts: Sequence[Host], options: Options, bundle: Bundle, access: Access, run_id: str, command: Command = far_command
) -> Iterator[HostReport]:
    """Ask all hosts. Closing the iterator, or Ctrl-C in it, ends every connection and with it every agent."""
    asking = _Asking(hosts, options, bundle, access, run_id, command)
    end = time.monotonic() + options.overall_s if options.overall_s else None
    # what is loaded by now stays: the collector need not look at it again and again while records come in
    gc.freeze()
    try:
        asking.start()
        for _ in hosts:
            outcome = asking.next(end)
            if outcome is None:
                why = f"not heard out: the {options.overall_s:.0f} s for the whole fleet were over"
                yield from (late.believed(run_id) for late in asking.unasked(why))
                return
            yield outcome.believed(run_id)
    finally:
        asking.stop()
        gc.unfreeze()


class _Outcome(NamedTuple):
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


@dataclass(eq=False)
class _Asked:
    """One host that is being asked; limit is when its present step must be over (monotonic)."""

    host: Host
    limit: float
    started: float = field(default_factory=time.monotonic)
    connection: Any = None

    def seconds(self) -> float:
        return time.monotonic() - self.started

    def heard(self, heard: Heard) -> _Outcome:
        return _Outcome(self.host, self.seconds(), heard)

    def unheard(self, kind: str, reason: str) -> _Outcome:
        return _Outcome(self.host, self.seconds(), Heard([], []), kind, reason)

    def end(self) -> None:
        """Close the connection, whatever waits for it."""
        if self.connection is not None and self.connection.transport is not None:
            self.connection.transport.close()


class _Asking:
    """The workers, what they are busy with, and the supervisor that sees to their deadlines."""

    def __init__(
        self, hosts: Sequence[Host], options: Options, bundle: Bundle, access: Access, run_id: str, command: Command
    ) -> None:
        self._options, self._bundle, self._access, self._run_id = options, bundle, access, run_id
        self._command = command
        self._waiting = list(reversed(hosts))
        self._jobs = min(max(options.jobs, 1), max(len(hosts), 1))
        self._busy: set[_Asked] = set()
        # who asks faster than the caller takes would fill the memory: one more host for each report that was taken
        self._room = threading.Semaphore(self._jobs)
        self._done: queue.SimpleQueue[_Outcome] = queue.SimpleQueue()
        self._over = threading.Event()
        self._lock = threading.Lock()

    def start(self) -> None:
        for _ in range(self._jobs):
            self._worker()
        threading.Thread(target=self._supervise, daemon=True).start()

    def next(self, end: float | None) -> _Outcome | None:
        """The next host that finished; None when the time for all is over."""
        try:
            outcome = self._done.get(timeout=max(end - time.monotonic(), 0) if end else None)
        except queue.Empty:
            return None
        self._room.release()
        return outcome

    def unasked(self, reason: str) -> Iterator[_Outcome]:
        """Those that are not finished, for this reason."""
        with self._lock:
            rest, self._busy = list(self._busy), set()
            rest += [_Asked(host, 0.0) for host in reversed(self._waiting)]
            self._waiting = []
        with contextlib.suppress(queue.Empty):
            while True:  # finished between the last look and now
                yield self._done.get_nowait()
        for asked in rest:
            asked.end()
            yield asked.unheard("overall", reason)

    def stop(self) -> None:
        """End every connection; what is not asked yet never will be."""
        self._over.set()
        with self._lock:
            self._waiting = []
            busy = list(self._busy)
        self._room.release(self._jobs)
        for asked in busy:
            asked.end()
        self._access.close()

    def _worker(self) -> None:
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while (asked := self._take()) is not None:
            finished = self._ask(asked)
            with self._lock:
                if asked not in self._busy:
                    return  # given up meanwhile: another works in our place
                self._busy.discard(asked)
                self._done.put(finished)

    def _take(self) -> _Asked | None:
        self._room.acquire()
        with self._lock:
            if not self._waiting:
                return None
            asked = _Asked(self._waiting.pop(), time.monotonic() + self._access.deadlines.connecting)
            self._busy.add(asked)
            return asked

    def _supervise(self) -> None:
        """End what is overdue; where even that does not free its thread, report the host and start another thread."""
        while not self._over.wait(SUPERVISE_EVERY_S):
            now = time.monotonic()
            with self._lock:
                overdue = [asked for asked in self._busy if now > asked.limit]
                hopeless = [asked for asked in overdue if now > asked.limit + GIVE_UP_S]
                self._busy.difference_update(hopeless)
            for asked in overdue:
                asked.end()
            for asked in hopeless:
                self._done.put(asked.unheard("stuck", "given up: asking it hangs beyond every deadline"))
                self._worker()

    def _ask(self, asked: _Asked) -> _Outcome:
        """One host from the first packet to the last; everything that can go wrong becomes its reach."""
        try:
            return asked.heard(self._heard(asked))
        except Unreachable as error:
            return asked.unheard(error.kind, str(error))
        except AccessError as error:
            return asked.unheard("access", str(error))
        except Exception as error:  # one odd host never hides another
            return asked.unheard("failed", f"asking failed: {type(error).__name__}: {error}"[:300])

    def _heard(self, asked: _Asked) -> Heard:
        connection = self._access.connect(asked.host, asked.limit)
        try:
            with self._lock:
                asked.connection = connection
            if self._over.is_set():
                raise Unreachable("stopped", "not asked: stopped")
            channel = self._started(asked, connection)
            asked.limit = time.monotonic() + self._options.run_s + self._options.grace_s
            hearing = Hearing(channel, self._options, self._bundle, asked.host)
            return hearing.to_the_end(asked.limit - SUPERVISE_EVERY_S)
        finally:
            connection.close()

    def _started(self, asked: _Asked, connection: Any) -> Any:
        """The far command's channel. paramiko waits for the answer to exec without end: the supervisor ends that."""
        asked.limit = time.monotonic() + self._access.deadlines.channel
        text = self._command(asked.host, str(connection.user), self._options, self._bundle, self._run_id)
        try:
            channel = connection.transport.open_session(timeout=self._access.deadlines.channel)
            channel.set_combine_stderr(True)
            channel.exec_command(text)
        except Exception as error:
            late = time.monotonic() > asked.limit - SUPERVISE_EVERY_S or "Timeout" in str(error)
            why = "falls silent" if late else f"starts no command: {error or type(error).__name__}"
            raise Unreachable("frozen", f"lets us in, then {why}"[:300]) from error
        return channel
