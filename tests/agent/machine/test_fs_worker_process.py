"""The file-system worker is a copy of a process with one thread, else a new program, and holds none of our files."""

from __future__ import annotations

import contextlib
import os
import pathlib
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from agent.machine import fs_worker_process
from agent.machine.live import LiveHost

ROOT = pathlib.Path(__file__).parents[3]


@contextlib.contextmanager
def other_thread(wanted: bool) -> Iterator[None]:
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    if wanted:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        if wanted:
            thread.join()


@pytest.mark.parametrize("beside_another_thread", [False, True])
def test_the_fs_worker_serves_holds_no_file_of_ours_and_ends_with_us(
    beside_another_thread: bool, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open(tmp_path / "ours", "w") as file, other_thread(beside_another_thread):
        os.set_inheritable(file.fileno(), True)
        with contextlib.closing(LiveHost()) as machine:
            pid = machine.fs_worker.pid
            assert machine.touch("stat", "/").error == ""
            held = [os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")]
            assert sum(name.startswith("socket:") for name in held) == 1 and len(held) == 4
            assert not [name for name in held if name.startswith(str(tmp_path))]
            assert os.getsid(pid) == pid and os.readlink(f"/proc/{pid}/cwd") == "/"
        if threading.active_count() == 1 or beside_another_thread:
            assert bool(machine.fs_worker.process) == beside_another_thread
        assert os.waitpid(pid, 0)[1] == 0


def test_the_agent_itself_copies_its_process_for_the_fs_worker() -> None:
    code = (
        "from agent.machine.live import LiveHost; m = LiveHost(); "
        "print(m.fs_worker.process, m.touch('stat', '/').error)"
    )
    command = [sys.executable, "-c", code]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=30)

    assert (answer.stdout, answer.stderr) == ("None \n", "")


def test_a_copy_that_fails_ends_at_once_and_runs_nothing_of_ours(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    def broken(_control: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("agent.machine.fs_worker.serve", broken)
    before = threading.active_count()
    monkeypatch.setattr("threading.active_count", lambda: 1)
    started = fs_worker_process.start()
    assert before and os.waitpid(started.pid, 0)[0] == started.pid
    started.control.close()


def test_where_no_process_can_be_started_the_reason_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("os.fork", full)
    monkeypatch.setattr("threading.active_count", lambda: 1)
    started = fs_worker_process.start()
    started.control.close()

    assert (started.pid, started.problem) == (
        0, "cannot start a process: [Errno 11] Resource temporarily unavailable",
    )  # fmt: skip
