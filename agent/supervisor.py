"""The run in a process of its own, watched by one that does nothing else: a report comes out whatever becomes of it.

A thread is no watchdog: a regular expression on hostile text, or a call into the C library, can hold the interpreter's
lock for hours, and then neither another thread nor a signal handler runs.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import time
from typing import Callable, Dict, Iterator, List, NoReturn, Optional, Set, Tuple

from agent.machine import processors
from agent.named_tuples import NamedTuple

Work = Callable[[], Iterator[str]]
# Begins what the worker says of itself; no line of a report does.
MARK = b"\x04"
# How long after the watching process the kernel ends a worker whose watcher was killed.
ORPHAN_S = 2.0
TOLD_TO_END_S = 3.0
WRITE_S = 10.0
# For a worker that has said its last word to be gone.
LEAVE_S = 0.5
LONGEST_WHY = 500
# A worker that has said nothing for so long may want for its processor.
LET_GO_S = 2.0


class Ended(NamedTuple):
    """code: what the worker would exit with; None where it did not come to its end. why: what happened then."""

    code: Optional[int]
    why: str


class ToldToEnd(BaseException):
    """A signal came."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def run(work: Work, code: Callable[[], int], patience_s: float, hear: Callable[[str], None]) -> Ended:
    """Let `work` give its lines in a process of its own, for so long at most, and `hear` each as it comes.

    code: asked there after the last line. Where no process can be had, `work` runs in this one.
    """
    try:
        reading, writing = os.pipe()
        pid = os.fork()
    except OSError:
        return _here(work, code, patience_s, hear)
    if pid == 0:
        os.close(reading)
        _work(work, code, patience_s + ORPHAN_S, writing)
    os.close(writing)
    ended = Ended(None, "")
    try:
        ended = _listen(pid, reading, time.monotonic() + patience_s, hear)
    except ToldToEnd as told:
        os.kill(pid, told.number)
        _gone(pid, TOLD_TO_END_S)
        raise
    finally:
        if ended.code is None:
            end_tree(pid)
    if _gone(pid, LEAVE_S) is not None:
        os.waitpid(pid, 0)
    return ended


def _here(work: Work, code: Callable[[], int], patience_s: float, hear: Callable[[str], None]) -> Ended:
    """Without a watcher; the alarm ends what hangs, unless it holds the interpreter's lock."""

    def late(_number: int, _frame: object) -> None:
        raise TimeoutError(f"timed out after {patience_s:.0f} s")

    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, patience_s)
    try:
        for line in work():
            hear(line)
        return Ended(code(), "")
    except BrokenPipeError:
        raise
    except Exception as error:  # our own failure: it becomes the last line of the report
        return Ended(None, words(error))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _work(work: Work, code: Callable[[], int], alarm_s: float, writing: int) -> NoReturn:
    """The worker. It holds nothing that whoever reads our output waits for: it may be in uninterruptible sleep."""
    said: Dict[str, object] = {}
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, alarm_s)
        quiet = os.open("/", os.O_RDONLY)
        for number in (0, 1, 2):
            os.dup2(quiet, number)
        processors.stay_on_one()
        for line in work():
            _send(writing, line.encode() + b"\n")
        said = {"code": code()}
    except ToldToEnd as told:
        os._exit(128 + told.number)
    except BaseException as error:  # also SystemExit and KeyboardInterrupt: the watcher says it
        said = {"why": words(error)}
    _send(writing, MARK + json.dumps(said).encode() + b"\n")
    os._exit(0)


def _send(handle: int, data: bytes) -> None:
    while data:
        data = data[os.write(handle, data) :]


def words(error: BaseException) -> str:
    """An unexpected error in one line."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text[:LONGEST_WHY].rstrip(": ")


def _listen(pid: int, reading: int, until: float, hear: Callable[[str], None]) -> Ended:
    """Lines until the worker says that it is done, or ends, or its time is over."""
    rest = b""
    most = LET_GO_S
    while True:
        left = max(until - time.monotonic(), 0)
        ready, _, _ = select.select([reading], [], [], min(left, most))
        if not ready and most < left:
            processors.let_go(pid)
            most = left
            continue
        part = os.read(reading, 1 << 16) if ready else b""
        if not ready:
            return Ended(None, "it hung, and was ended some seconds after its deadline")
        if not part:
            return Ended(None, _how_it_ended(pid))
        *whole, rest = (rest + part).split(b"\n")
        for line in whole:
            if line.startswith(MARK):
                said = json.loads(line[1:])
                return Ended(said.get("code"), str(said.get("why", "")))
            hear(line.decode("utf-8", "replace"))


def _how_it_ended(pid: int) -> str:
    status = _gone(pid, 1.0)
    if status is None or status >= 0:
        return "the agent process ended early"
    hint = ", as the kernel does when memory runs out" if status == -signal.SIGKILL else ""
    return f"the agent process was killed (signal {-status}{hint})"


def _gone(pid: int, patience_s: float) -> Optional[int]:
    """How a child ended, if it does in time; nobody waits for one in uninterruptible sleep.

    As `os.waitid` tells it: the exit code, or below 0 the signal. It is not reaped, so its number stays its own.
    """
    until = time.monotonic() + patience_s
    while True:
        seen = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if seen:
            return seen.si_status if seen.si_code == os.CLD_EXITED else -seen.si_status
        if time.monotonic() > until:
            return None
        time.sleep(0.002)


def in_time(write: Callable[[], object]) -> str:
    """Write in a process that can be abandoned; why it could not, empty if it could."""
    try:
        reading, writing = os.pipe()
        pid = os.fork()
    except OSError:
        return _why_not(write)
    if pid == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, WRITE_S)
        _send(writing, _why_not(write).encode())
        os._exit(0)
    os.close(writing)
    if select.select([reading], [], [], WRITE_S)[0]:
        why = os.read(reading, 1 << 12).decode("utf-8", "replace")
        return why or ("" if _gone(pid, 1.0) == 0 else "it did not end well")
    return f"timed out after {WRITE_S:.0f} s"


def _why_not(write: Callable[[], object]) -> str:
    try:
        write()
        return ""
    except OSError as error:
        return error.strerror or str(error)
    except Exception as error:  # out of memory, for one
        return words(error)


def end_tree(pid: int) -> None:
    """Kill the worker with everything that it started and that is still a child of its."""
    for one in [pid, *_below(pid)]:
        try:
            os.kill(one, signal.SIGKILL)
        except OSError:
            continue  # it ended


def _below(pid: int) -> List[int]:
    """The descendants of a process that has not ended."""
    rows = list(_parents())
    found: Set[int] = {pid}
    while True:
        more = {child for child, parent in rows if parent in found} - found
        if not more:
            return sorted(found - {pid})
        found |= more


def _parents() -> Iterator[Tuple[int, int]]:
    """Each process and its parent: 4242 (java) S 1 4242 …"""
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                    yield int(name), int(file.read().rpartition(")")[2].split()[1])
            except (OSError, IndexError, ValueError):
                continue  # it ended


def keep_standard_files_open() -> None:
    """What the caller closed must not become the number of another file of ours, which we would then print into."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open("/", os.O_RDONLY)  # the lowest free number; writing to it fails, as it should


def say(text: str) -> None:
    """One line on standard error. Where that takes none, the exit code alone is left to tell."""
    with contextlib.suppress(OSError):
        _send(2, text.encode("utf-8", "replace") + b"\n")
