"""The rack's processes: each known by a file with its pid and start, ended by pid, swept after a crash."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import time
from collections.abc import Sequence

import psutil

END_S = 20.0


class ChildDied(Exception):
    """A process of the rack ended at once; the message has its last words."""


class Children:
    """Processes that write to `folder`. tied: they die with the process that started them, whatever ends it."""

    def __init__(self, folder: pathlib.Path, tied: bool) -> None:
        self._folder, self._tied = folder, tied

    def start(self, name: str, argv: Sequence[str], cwd: pathlib.Path, **environment: str) -> int:
        """Its pid. Its standard input stays open for ever (ipmi_sim ends with it) and nobody can write to it."""
        whole = ["setpriv", "--pdeathsig", "KILL", *argv] if self._tied else list(argv)
        pipe = self._folder / f"{name}.stdin"
        if not pipe.exists():
            os.mkfifo(pipe, 0o600)
        # open for both: it is its own writer, so it never sees an end
        handle = os.open(pipe, os.O_RDWR)
        with (self._folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(whole, cwd=cwd, stdin=handle, stdout=log, stderr=log, start_new_session=True,
                                       env={**os.environ, **environment}, restore_signals=False)  # fmt: skip
        os.close(handle)
        if self._tied:
            _until_tied(process, argv)
        started = psutil.Process(process.pid).create_time()
        (self._folder / f"{name}.pid").write_text(f"{process.pid} {started}")
        return process.pid

    def pid(self, name: str) -> int:
        """0 if it does not run."""
        process = self._process(self._folder / f"{name}.pid")
        return process.pid if process else 0

    def said(self, name: str) -> str:
        log = self._folder / f"{name}.log"
        return log.read_text(errors="replace")[-600:] if log.exists() else ""

    def stop(self, name: str) -> None:
        """End one and wait for its end; harmless when it has ended."""
        file = self._folder / f"{name}.pid"
        process = self._process(file)
        if process:
            process.send_signal(signal.SIGCONT)
            process.kill()
            _wait(process)
        file.unlink(missing_ok=True)

    def stop_all(self) -> list[str]:
        """The names of those that were still running."""
        names = [file.stem for file in self._folder.glob("*.pid")]
        left = [name for name in names if self.pid(name)]
        for name in names:
            self.stop(name)
        return left

    def _process(self, file: pathlib.Path) -> psutil.Process | None:
        """The process of a pid file, if that pid is still the same process."""
        try:
            pid, started = file.read_text().split()
            process = psutil.Process(int(pid))
            same = abs(process.create_time() - float(started)) < 1 and process.status() != psutil.STATUS_ZOMBIE
        except (OSError, ValueError, psutil.NoSuchProcess):
            return None
        return process if same else None


def _until_tied(process: subprocess.Popen[bytes], argv: Sequence[str]) -> None:
    """Until setpriv has become the program: if we end before that, nothing ties it to us."""
    wanted = [os.fsencode(word) for word in argv]
    until = time.monotonic() + END_S
    while process.poll() is None and time.monotonic() < until:
        if pathlib.Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")[:-1] == wanted:
            return
        time.sleep(0.005)


def _wait(process: psutil.Process) -> None:
    until = time.monotonic() + END_S
    while time.monotonic() < until:
        try:
            if os.waitpid(process.pid, os.WNOHANG)[0]:
                return
        except ChildProcessError:  # not ours: started by an earlier rack
            if not process.is_running():
                return
        time.sleep(0.02)
