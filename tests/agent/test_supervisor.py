"""supervisor: whatever becomes of the worker, its lines are heard, and its end is told in time."""

from __future__ import annotations

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from agent import supervisor
from agent.machine import live
from agent.supervisor import Ended

ROOT = pathlib.Path(supervisor.__file__).parents[1]


def told(work: supervisor.Work, patience_s: float = 20.0) -> tuple[list[str], Ended]:
    lines: list[str] = []
    ended = supervisor.run(work, lambda: 2, patience_s, lines.append)
    return lines, ended


def three_lines() -> Iterator[str]:
    yield from ("one", "two", "three")


def then(what: object) -> supervisor.Work:
    """Two lines, and then what happens to a worker."""

    def work() -> Iterator[str]:
        yield "one"
        yield "two"
        what()  # type: ignore[operator]
        yield "never"

    return work


def hold_the_interpreters_lock() -> None:
    """Neither a thread nor a signal handler of this process runs until that is done: in some thousand years."""
    re.match(r"(a+)+$", "a" * 60 + "b")


def memory_runs_out() -> None:
    raise MemoryError


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def ended_alone() -> None:
    os._exit(7)


def test_all_lines_are_heard_and_the_code_is_the_workers() -> None:
    assert told(three_lines) == (["one", "two", "three"], Ended(2, ""))


@pytest.mark.parametrize(
    ("what", "why"),
    [
        (hold_the_interpreters_lock, "it hung, and was ended some seconds after its deadline"),
        (memory_runs_out, "MemoryError"),
        (killed, "the agent process was killed (signal 9, as the kernel does when memory runs out)"),
        (ended_alone, "the agent process ended early"),
        (sys.exit, "SystemExit"),
    ],
)
def test_what_was_heard_is_kept_and_the_end_is_told(what: object, why: str) -> None:
    assert told(then(what), 1.0) == (["one", "two"], Ended(None, why))


def test_a_worker_that_hangs_is_ended_with_what_it_started(tmp_path: pathlib.Path) -> None:
    """Its child sleeps in a session of its own, as the agent's tools do."""

    def work() -> Iterator[str]:
        child = subprocess.Popen(["sleep", "60"], start_new_session=True)
        yield str(child.pid)
        hold_the_interpreters_lock()

    (pid,), ended = told(work, 1.0)
    until = time.monotonic() + 10
    while pathlib.Path(f"/proc/{pid}/stat").exists() and time.monotonic() < until:
        if pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            break
        time.sleep(0.05)
    else:
        assert not pathlib.Path(f"/proc/{pid}/stat").exists()
    assert ended.code is None


def test_where_no_process_can_be_had_the_work_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_more() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", no_more)

    assert told(three_lines) == (["one", "two", "three"], Ended(2, ""))
    assert told(then(memory_runs_out)) == (["one", "two"], Ended(None, "MemoryError"))
    assert told(then(lambda: time.sleep(30)), 0.2) == (
        ["one", "two"], Ended(None, "TimeoutError: timed out after 0 s")
    )  # fmt: skip


ORPHAN = """
import os, sys, time
from agent import supervisor; from agent.machine import live
def work():
    yield str(os.getpid())
    {what}
supervisor.run(work, lambda: 0, 1.0, lambda line: print(line, flush=True))
"""


def test_a_worker_whose_watcher_was_killed_is_ended_by_the_kernel() -> None:
    program = ORPHAN.format(what="import re; re.match('(a+)+$', 'a' * 60 + 'b')")
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=ROOT) as watcher:
        assert watcher.stdout
        worker = int(watcher.stdout.readline())
        watcher.kill()
        until = time.monotonic() + supervisor.ORPHAN_S + 15
        while os.path.exists(f"/proc/{worker}/task/{worker}/children") and time.monotonic() < until:
            if ") Z" in pathlib.Path(f"/proc/{worker}/stat").read_text():
                return
            time.sleep(0.1)
        assert not os.path.exists(f"/proc/{worker}/stat")


def test_no_reader_waits_for_a_worker_that_is_left_behind() -> None:
    """It holds none of our standard files: one in uninterruptible sleep would keep an ssh session open."""
    program = ORPHAN.format(what="[os.write(n, b'x') for n in (1, 2)]")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)

    assert done.stdout.split()[1:] == [] and done.stderr == ""


def test_what_the_caller_closed_is_not_a_file_of_ours() -> None:
    program = "from agent import supervisor; supervisor.keep_standard_files_open(); import os, socket; "
    program += "a, b = socket.socketpair(); os.fstat(1); assert min(a.fileno(), b.fileno()) > 2; supervisor.say('x')"
    done = subprocess.run(["sh", "-c", f'exec {sys.executable} -c "$0" <&- >&- 2>&-', program], cwd=ROOT, check=False)

    assert done.returncode == 0


def test_a_write_that_hangs_or_fails_is_told() -> None:
    def full() -> None:
        raise OSError(28, "No space left on device")

    assert supervisor.in_time(lambda: None) == ""
    assert supervisor.in_time(full) == "No space left on device"
    assert supervisor.in_time(memory_runs_out) == "MemoryError"
    assert supervisor.in_time(killed) == "it did not end well"


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="this machine has one processor")
def test_the_worker_stays_on_one_processor_and_what_it_starts_has_all() -> None:
    everywhere = os.sched_getaffinity(0)

    def work() -> Iterator[str]:
        machine = live.LiveHost()
        told = machine.run("sh", "-c", "grep Cpus_allowed_list /proc/self/status").out.split()[1]
        status = pathlib.Path(f"/proc/{machine.fs_worker.pid}/status").read_text()
        copy = status.partition("Cpus_allowed_list:")[2].split()[0]
        yield json.dumps([len(os.sched_getaffinity(0)), told, copy])
        machine.close()

    lines: list[str] = []
    ended = supervisor.run(work, lambda: 0, 20.0, lines.append)
    (own,) = [row for row in pathlib.Path("/proc/self/status").read_text().splitlines() if "Cpus_allowed_list" in row]

    assert ended.code == 0 and json.loads(lines[0]) == [1, own.split()[1], own.split()[1]]
    assert os.sched_getaffinity(0) == everywhere


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="this machine has one processor")
def test_a_worker_that_says_nothing_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "LET_GO_S", 0.1)

    def work() -> Iterator[str]:
        until = time.monotonic() + 10
        while len(os.sched_getaffinity(0)) == 1 and time.monotonic() < until:
            time.sleep(0.02)
        yield str(len(os.sched_getaffinity(0)))

    lines: list[str] = []
    supervisor.run(work, lambda: 0, 20.0, lines.append)

    assert lines == [str(len(os.sched_getaffinity(0)))]
