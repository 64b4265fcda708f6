"""Starts the file-system worker: the process that forks one child per touch of a file system (fs_worker.py)."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from typing import NoReturn, Optional

from agent.machine import commands, fs_worker, processors
from agent.named_tuples import NamedTuple

PROGRAM = (
    "import sys, socket; sys.path.insert(0, sys.argv[2]); from agent.machine import fs_worker; "
    "fs_worker.serve(socket.socket(fileno=int(sys.argv[1])))"
)


class FsWorker(NamedTuple):
    """control: our end of its socket. pid: 0 where there is none, and `problem` says why."""

    control: socket.socket
    pid: int
    problem: str
    process: Optional[subprocess.Popen[bytes]] = None


def start() -> FsWorker:
    """It is not waited for: it ends when our end of the socket closes, whatever its children hang on.

    A copy of this process where that has one thread: a new interpreter takes 30 ms of processor time, a fifth of the
    whole run. Where there are others, who may hold locks, a new interpreter.
    """
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            if threading.active_count() == 1:
                return FsWorker(ours, _forked(theirs), "")
            process = _started(theirs)
            return FsWorker(ours, process.pid, "", process)
        except (OSError, subprocess.SubprocessError) as error:
            return FsWorker(ours, 0, f"cannot start a process: {error}")


def _forked(theirs: socket.socket) -> int:
    pid = os.fork()
    if pid == 0:
        _serve(theirs)
    return pid


def _serve(control: socket.socket) -> NoReturn:
    """In the copy. It keeps no file of ours open: whoever reads our output would wait for its end too."""
    try:
        processors.on_all()
        for told_to_end in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(told_to_end, signal.SIG_DFL)
        os.setsid()
        os.chdir("/")
        quiet = os.open("/", os.O_RDONLY)
        for number in (0, 1, 2):
            os.dup2(quiet, number)
        for name in os.listdir("/proc/self/fd"):
            if int(name) > 2 and int(name) != control.fileno():
                _close(int(name))
        fs_worker.serve(control)
    finally:
        os._exit(0)


def _close(handle: int) -> None:
    try:
        os.close(handle)
    except OSError:
        return  # the one that listed them


def _started(theirs: socket.socket) -> subprocess.Popen[bytes]:
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    argv = [sys.executable, "-I", "-S", "-c", PROGRAM, str(theirs.fileno()), root]
    with commands.nothing_to_read() as quiet, processors.starting_others():
        return subprocess.Popen(
            argv, pass_fds=[theirs.fileno()], stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True, cwd="/"
        )
