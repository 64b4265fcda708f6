"""The agent on many hosts at once, over Fabric: bounded, streaming, every step under a deadline.

Each host gives exactly one HostReport, in the order in which they finish, oversized outputs last. A bad host costs its
own time and no other host's: while it keeps us waiting, another is asked beside it.
"""

from __future__ import annotations

import gc
import resource
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from inventory.model import Host
from smoketests.remote.agent_output import AgentOutput, Hearing, Options, by_sudo, far_command
from smoketests.remote.bundle import Bundle
from smoketests.remote.large_reports import LargeReports
from smoketests.remote.outcome import Finished, HostReport, Outcome
from smoketests.ssh.connect import Access
from smoketests.ssh.failures import AccessError, Unreachable

__all__ = ["HostReport", "Options", "run"]

Command = Callable[[Host, str, Options, Bundle, str], str]

SUPERVISE_EVERY_S = 0.2
# from ending an overdue connection to giving up the thread that still waits for it
GIVE_UP_S = 3.0
# A host that has kept us waiting for so long, or talked for so long, is no longer one of the `jobs` at once: it costs a
# thread and a connection, but does not take the place of one that would answer.
PATIENCE_S = 0.4
TALK_S = 2.0
# beside each of the jobs, so many that keep us waiting
WAITING_PER_JOB = 4
# An agent is done after some seconds; who takes longer is not waited for when large reports are read.
AT_WORK_S = 10.0
# descriptors that are not ours to use up: clusters' clients, files, Python itself
OTHER_DESCRIPTORS = 200


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
                why = f"timed out after {options.overall_s:.0f} s (fleet limit)"
                yield from (late.believed(run_id) for late in asking.unasked(why))
                return
            yield outcome.believed(run_id)
    finally:
        asking.stop()
        gc.unfreeze()


@dataclass(eq=False)
class _Asked:
    """One host that is being asked; limit is when its present step must be over (monotonic).

    counts_until: from then on it keeps us waiting, and another may be asked beside it.
    """

    host: Host
    limit: float
    started: float = field(default_factory=time.monotonic)
    counts_until: float = 0.0
    large: bool = False
    connection: Any = None

    def seconds(self) -> float:
        return time.monotonic() - self.started

    def speaks(self) -> None:
        """Its first word came."""
        self.counts_until = time.monotonic() + TALK_S

    def exceeds(self) -> None:
        """It sent more than a report usually has."""
        self.large, self.counts_until = True, 0.0

    def heard(self, heard: AgentOutput) -> Outcome:
        return Outcome(self.host, self.seconds(), heard)

    def unheard(self, kind: str, reason: str) -> Outcome:
        return Outcome(self.host, self.seconds(), AgentOutput([], []), kind, reason)

    def end(self) -> None:
        """Close the connection, whatever waits for it."""
        if self.connection is not None and self.connection.transport is not None:
            self.connection.transport.close()


class _Asking:
    """Those that are being asked, each in a thread of its own, and the supervisor that sees to their deadlines."""

    def __init__(
        self, hosts: Sequence[Host], options: Options, bundle: Bundle, access: Access, run_id: str, command: Command
    ) -> None:
        self._options, self._bundle, self._access, self._run_id = options, bundle, access, run_id
        self._command = command
        self._waiting = list(reversed(hosts))
        self._jobs = max(options.jobs, 1)
        self._most = _most_connections(self._jobs)
        self._busy: set[_Asked] = set()
        self._done = Finished()
        self._large = LargeReports(others_at_work=self._others_at_work)
        self._over = threading.Event()
        self._lock = threading.RLock()

    def start(self) -> None:
        self._fill()
        threading.Thread(target=self._supervise, daemon=True).start()

    def next(self, end: float | None) -> Outcome | None:
        """The next host that finished; None when the time for all is over."""
        outcome = self._done.take(max(end - time.monotonic(), 0) if end else None)
        self._fill()
        return outcome

    def unasked(self, reason: str) -> Iterator[Outcome]:
        """Those that are not finished, for this reason."""
        with self._lock:
            rest, self._busy = list(self._busy), set()
            rest += [_Asked(host, 0.0) for host in reversed(self._waiting)]
            self._waiting = []
        yield from self._done.rest()  # finished between the last look and now
        for asked in rest:
            asked.end()
            yield asked.unheard("overall", reason)

    def stop(self) -> None:
        """End every connection; what is not asked yet never will be."""
        self._over.set()
        with self._lock:
            self._waiting = []
            busy = list(self._busy)
        for asked in busy:
            asked.end()
        self._access.close()

    def _fill(self) -> None:
        """Ask as many as may be asked now."""
        with self._lock:
            while (asked := self._take()) is not None:
                try:
                    threading.Thread(target=self._work, args=(asked,), daemon=True).start()
                except RuntimeError:  # no more threads here: those that run go on, and the supervisor tries again
                    self._busy.discard(asked)
                    self._waiting.append(asked.host)
                    return

    def _take(self) -> _Asked | None:
        """The next to be asked, where there is one and room for it.

        Who finishes faster than the caller takes would fill the memory: so many, and no more, wait to be taken.
        """
        with self._lock:
            now = time.monotonic()
            counting = sum(asked.counts_until > now for asked in self._busy)
            full = counting >= self._jobs or len(self._busy) >= self._most or self._done.waiting() >= self._jobs
            if not self._waiting or full:
                return None
            asked = _Asked(self._waiting.pop(), now + self._access.deadlines.connecting, counts_until=now + PATIENCE_S)
            self._busy.add(asked)
            return asked

    def _work(self, asked: _Asked | None) -> None:
        while asked is not None:
            finished = self._ask(asked)
            with self._lock:
                if asked not in self._busy:
                    return  # given up meanwhile
                self._busy.discard(asked)
                self._done.put(finished)
                asked = self._take()

    def _others_at_work(self) -> bool:
        """Whether hosts are being asked whose usual reports floods would delay."""
        since = time.monotonic() - AT_WORK_S
        with self._lock:
            return any(not asked.large and asked.started > since for asked in self._busy)

    def _supervise(self) -> None:
        """End what is overdue, report what even that does not free, and ask others in place of those that hang."""
        while not self._over.wait(SUPERVISE_EVERY_S):
            now = time.monotonic()
            with self._lock:
                overdue = [asked for asked in self._busy if now > asked.limit]
                hopeless = [asked for asked in overdue if now > asked.limit + GIVE_UP_S]
                self._busy.difference_update(hopeless)
            for asked in overdue:
                asked.end()
            for asked in hopeless:
                self._done.put(asked.unheard("stuck", "abandoned: no progress after every deadline"))
            self._fill()

    def _ask(self, asked: _Asked) -> Outcome:
        """One host from the first packet to the last; everything that can go wrong becomes its reach."""
        try:
            return asked.heard(self._heard(asked))
        except Unreachable as error:
            return asked.unheard(error.kind, str(error))
        except AccessError as error:
            return asked.unheard("access", str(error))
        except Exception as error:  # one odd host never hides another
            return asked.unheard("failed", f"internal error: {type(error).__name__}: {error}"[:300])

    def _heard(self, asked: _Asked) -> AgentOutput:
        connection = self._access.connect(asked.host, asked.limit)
        try:
            with self._lock:
                asked.connection = connection
            if self._over.is_set():
                raise Unreachable("stopped", "not checked: the run was stopped")
            channel = self._started(asked, connection)
            asked.limit = time.monotonic() + self._options.run_s + self._options.grace_s
            asked.counts_until = time.monotonic() + PATIENCE_S
            options = self._options
            if not by_sudo(asked.host, str(connection.user)):
                options = replace(options, sudo_password="")
            hearing = Hearing(channel, options, self._bundle, asked.host, asked, self._large)
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
            why = "no reply" if late else f"cannot start a command: {error or type(error).__name__}"
            raise Unreachable("frozen", f"logged in, then {why}"[:300]) from error
        return channel


def _most_connections(jobs: int) -> int:
    """How many hosts at once, those included that keep us waiting; no more than we may open descriptors for."""
    descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    allowed = jobs * (1 + WAITING_PER_JOB)
    return (
        allowed if descriptors == resource.RLIM_INFINITY else max(min(allowed, descriptors - OTHER_DESCRIPTORS), jobs)
    )
