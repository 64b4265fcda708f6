"""Runs programs under deadlines. One that is late is killed and left behind: in D state nothing ends it."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import threading
import time
from typing import Dict, Iterator, List, Set, Tuple

from agent.host import Answer, CannotTell, Stuck, ToolMissing, explain
from agent.machine import processors

OUTPUT_LIMIT = 8 << 20
START_WAIT_S = 2.0
# A tool whose output has been quiet for so long may have ended, though a child of its still holds the pipe.
QUIET_S = 0.25

# The Debian package of each tool; RHEL's name where it differs.
PACKAGES = {
    "smartctl": "smartmontools",
    "ipmitool": "ipmitool",
    "ethtool": "ethtool",
    "mdadm": "mdadm",
    "nft": "nftables",
    "iptables-save": "iptables",
    "chronyc": "chrony",
    "ntpq": "ntp",
    "dmidecode": "dmidecode",
    "storcli": "storcli (from the controller's vendor)",
    "perccli": "perccli (from Dell)",
    "ssacli": "ssacli (from HPE)",
    "systemctl": "systemd",
    "timedatectl": "systemd",
}


class Commands:
    """The programs that are running."""

    def __init__(self) -> None:
        self._running: Set[subprocess.Popen[bytes]] = set()
        self._starting = threading.Lock()
        self._ended = False

    def end(self) -> None:
        """Kill what runs and start nothing more. One that is being started just now is waited for, and killed too."""
        waited = self._starting.acquire(timeout=START_WAIT_S)
        self._ended = True
        for process in list(self._running):
            _kill(process)
        if waited:
            self._starting.release()

    def run(self, argv: Tuple[str, ...], deadline_s: float, secret_env: str, secret_from: str) -> Answer:
        """See Host.run."""
        environment = {"PATH": search_path(), "LC_ALL": "C", "TZ": "UTC"}
        if secret_env:
            environment[secret_env] = _secret(secret_from)
        process = self._start(argv, environment)
        try:
            return _collect(process, argv, time.monotonic() + deadline_s, deadline_s)
        finally:
            self._running.discard(process)

    def _start(self, argv: Tuple[str, ...], environment: Dict[str, str]) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        with self._starting:
            if self._ended:
                raise CannotTell(f"{argv[0]} was not started: the agent is stopping")
            try:
                with nothing_to_read() as quiet, processors.starting_others():
                    process = subprocess.Popen(
                        argv, stdin=quiet, stdout=pipe, stderr=pipe, env=environment, start_new_session=True, cwd="/"
                    )
            except FileNotFoundError:
                package = PACKAGES.get(argv[0])
                words = f"{argv[0]} is not installed" + (f" (package {package})" if package else "")
                raise ToolMissing(words) from None
            except OSError as error:
                raise explain(error, argv[0]) from error
            self._running.add(process)
            return process


@contextlib.contextmanager
def nothing_to_read() -> Iterator[int]:
    """A standard input at its end, also on a machine that has lost its /dev/null."""
    reading, writing = os.pipe()
    os.close(writing)
    try:
        yield reading
    finally:
        os.close(reading)


def _secret(name: str) -> str:
    if not os.environ.get(name):
        raise CannotTell(f"the environment variable {name} is not set")
    return os.environ[name]


def search_path() -> str:
    """The caller's PATH, and the system's own folders, which cron and sudo often leave out."""
    folders = os.environ.get("PATH", "").split(":")
    return ":".join(
        dict.fromkeys([*filter(None, folders), "/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin"])
    )


def _collect(process: subprocess.Popen[bytes], argv: Tuple[str, ...], until: float, deadline_s: float) -> Answer:
    """Wait for a command, keeping at most OUTPUT_LIMIT bytes; kill its group and leave it behind when it is late."""
    assert process.stdout and process.stderr
    parts: Dict[int, List[bytes]] = {process.stdout.fileno(): [], process.stderr.fileno(): []}
    size = 0
    with selectors.DefaultSelector() as selector, process.stdout, process.stderr:
        for stream in (process.stdout, process.stderr):
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            left = until - time.monotonic()
            # asked before we look for output: what it printed before its end is then there to be read
            has_ended = process.poll() is not None
            ready = selector.select(max(min(left, QUIET_S), 0))
            if not ready and has_ended:
                break  # what it left running in the background holds its output open
            if not ready and left <= QUIET_S:
                raise _abandon(process, argv, deadline_s)
            for key, _events in ready:
                part = os.read(key.fd, 1 << 16)
                if not part:
                    selector.unregister(key.fileobj)
                size += len(part)
                if size > OUTPUT_LIMIT:
                    _abandon(process, argv, deadline_s)
                    raise CannotTell(f"{argv[0]} printed more than {OUTPUT_LIMIT >> 20} MB")
                parts[key.fd].append(part)
        out, err = (b"".join(chunks).decode("utf-8", "replace") for chunks in parts.values())
    try:
        return Answer(process.wait(max(until - time.monotonic(), 0.1)), out, err)
    except subprocess.TimeoutExpired:
        raise _abandon(process, argv, deadline_s) from None


def _abandon(process: subprocess.Popen[bytes], argv: Tuple[str, ...], deadline_s: float) -> Stuck:
    where = whereabouts(process.pid)
    _kill(process)
    # Popen would complain of, and later wait for, a child that nobody may wait for.
    process.returncode = -signal.SIGKILL
    return Stuck(" ".join(argv), deadline_s, where, process.pid)


def whereabouts(pid: int) -> str:
    """What a process that does not answer is doing: ` (process 311 in state D, folio_wait_bit)`.

    One in state R waits for nothing but the processor: the machine is busy, not the disk.
    """
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            state = file.read().rpartition(")")[2].split()[0]
        with open(f"/proc/{pid}/wchan", encoding="utf-8", errors="replace") as file:
            channel = file.read().strip("0\n")
        if state == "R":
            return f" (process {pid} was still running: the CPUs are busy)"
        return f" (process {pid} in state {state}, {channel or 'no wait channel'})"
    except (OSError, IndexError):
        return ""


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a tool and its children; one in uninterruptible sleep stays, and is not waited for."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        process.poll()
