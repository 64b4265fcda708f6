"""The agent on one remote host: the command that starts it, and its output to the end.

One thread reads one channel; nothing here is validated yet (see validation.py).
"""

from __future__ import annotations

import contextlib
import functools
import json
import pathlib
import shlex
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from inventory.model import Host
from inventory.secrets import SecretError, bmc_password
from smoketests.remote.bundle import Bundle
from smoketests.remote.large_reports import USUAL_BYTES, LargeReports, Lines
from smoketests.ssh.failures import Unreachable

MARK = "SMOKE-BOOT "
SUDO_PROMPT = "SMOKE-SUDO-PASSWORD"
LONGEST_LINE = 64 << 10
# four times the findings that are kept of one host: lines cost memory however short they are
MOST_LINES = 20_000
MOST_WORDS = 50
CHUNK = 1 << 18
# after the far command's end, how long its output must be quiet if something else there still holds it
QUIET_S = 1.0
# what the far end's own deadline is later than ours; it counts when we are gone
FAR_LATER_S = 5
# `sudo` of a host whose user may start the agent that is installed there, and nothing else (agent/launcher.py)
INSTALLED = "agent"
INSTALLED_PYTHON = "/opt/fleet-smoke/bin/python"

# Constant: what varies comes behind it as arguments ($0 the boot program, $1 the wanted Python, then the agent's own).
FIND_PYTHON = f"""
boot=$0; wanted=$1; shift
for python in "$wanted" python3 /usr/libexec/platform-python python3.9 python3.1? python; do
  if [ -n "$python" ] && command -v "$python" >/dev/null 2>&1; then exec "$python" -Es -c "$boot" "$@"; fi
done
echo "{MARK}no-python"; exit 3"""


@dataclass(frozen=True)
class Options:
    """How to ask. Times in seconds, sizes in bytes; the password of sudo is never put on a command line.

    run_s is the agent's own deadline, grace_s what the far end needs beside it: Python, the bundle's check, last lines.
    overall_s is for the whole fleet, 0 for none.
    """

    jobs: int = 64
    run_s: float = 60.0
    grace_s: float = 15.0
    overall_s: float = 0.0
    output_limit: int = 4 << 20
    checks: tuple[str, ...] = ()
    sudo_password: str = field(default="", repr=False)


class AgentOutput(NamedTuple):
    """What came back: lines that may be records, other words, the exit code (None if none came), and what was cut.

    window: the two moments of our clock (seconds since the epoch) between which the first line was written.
    size: bytes that came.
    """

    lines: Collection[str]
    words: list[str]
    exit_code: int | None = None
    cut: str = ""
    window: tuple[float, float] | None = None
    size: int = 0


def far_command(host: Host, user: str, options: Options, bundle: Bundle, run_id: str) -> str:
    """One command for the far shell, every word of it quoted."""
    if host.sudo == INSTALLED:
        return shlex.join([*_sudo(options), host.python or INSTALLED_PYTHON, "-I", "-m", "agent.launcher"])
    seconds = str(int(options.run_s + options.grace_s) + FAR_LATER_S)
    words = ["timeout", "-k", "5", seconds, "sh", "-c", FIND_PYTHON, boot_source(), host.python]
    words += [bundle.sha256, str(len(bundle.packed)), *options.checks]
    words += ["--expected", "-", "--run-id", run_id, "--deadline", str(options.run_s)]
    if by_sudo(host, user):
        words = [*_sudo(options), *words]
    return shlex.join(words)


def by_sudo(host: Host, user: str) -> bool:
    """Whether the command begins with sudo: nobody else may ask for its password."""
    return host.sudo in ("yes", INSTALLED) or (host.sudo == "auto" and user != "root")


def _sudo(options: Options) -> list[str]:
    return ["sudo", *(["-S", "-p", SUDO_PROMPT + "\n"] if options.sudo_password else ["-n"]), "--"]


@functools.cache
def boot_source() -> str:
    """The text of the boot program."""
    return (pathlib.Path(__file__).parent / "bootstrap.py").read_text(encoding="utf-8")


def _told(host: Host) -> dict[str, Any]:
    """What the agent is told on its standard input: what it should expect, and the BMC's password if we have it."""
    told = host.expected()
    if host.bmc and (host.bmc.address or host.bmc.via == "lan"):
        # without it the checks of the BMC say that they have none, and all others go on
        with contextlib.suppress(SecretError):
            told["bmc_password"] = bmc_password(host.bmc)
    return told


def _request(host: Host, options: Options) -> bytes:
    """The first line on its standard input: what the machine should be; for the installed agent the whole question."""
    told = _told(host)
    if host.sudo == INSTALLED:
        told = {"expected": told, "checks": list(options.checks), "deadline_s": options.run_s}
    return json.dumps(told, separators=(",", ":")).encode() + b"\n"


class Listener(Protocol):
    """Who is called with a host's first word, and when it has sent more than a report usually has."""

    def speaks(self) -> None: ...
    def exceeds(self) -> None: ...


class Hearing:
    """Reads one channel to its end: answers sudo and the boot program, and keeps the agent's lines."""

    def __init__(
        self, channel: Any, options: Options, bundle: Bundle, host: Host,
        listener: Listener | None = None, large: LargeReports | None = None,
    ) -> None:  # fmt: skip
        """large: shared by the hosts that are asked at once."""
        self._listener, self._large = listener, large or LargeReports()
        self._channel, self._options, self._bundle = channel, options, bundle
        self._expected = _request(host, options)
        self._told = self._asked_password = False
        self._began = time.time()
        self._window: tuple[float, float] | None = None
        self._lines = Lines(self._large)
        self._size = 0
        self._words: list[str] = []

    def to_the_end(self, until: float) -> AgentOutput:
        """Everything up to the far command's end, `until` (monotonic), or the limit of size."""
        if not self._options.sudo_password:
            self._tell()
        cut = self._hear(until)
        return AgentOutput(self._lines, self._words, self._exit_code(), cut, self._window, self._size)

    def _hear(self, until: float) -> str:
        count = 0
        pending: list[bytes] = []
        for part in self._parts(until):
            if part is None:
                return f"timed out after {self._options.run_s + self._options.grace_s:.0f} s"
            self._count(len(part))
            if self._size > self._options.output_limit:
                return f"more than {self._options.output_limit / (1 << 20):.3g} MB of output"
            if b"\n" not in part:
                pending.append(part)
                continue
            *whole, rest = b"".join([*pending, part]).split(b"\n", MOST_LINES)
            pending = [rest]
            for line in whole:
                self._take(line)
            count += len(whole)
            if count >= MOST_LINES:
                return f"more than {MOST_LINES} lines of output"
        self._take(b"".join(pending))
        return ""

    def _count(self, size: int) -> None:
        before, self._size = self._size, self._size + size
        if self._listener and not before:
            self._listener.speaks()
        if self._listener and before <= USUAL_BYTES < self._size:
            self._listener.exceeds()

    def _parts(self, until: float) -> Iterator[bytes | None]:
        """Bytes as they come; None when the time is over. Ends with the far command, whoever else holds its output."""
        while True:
            left = until - time.monotonic()
            if left <= 0:
                yield None
                return
            self._channel.settimeout(min(left, QUIET_S))
            try:
                part = self._channel.recv(CHUNK)
            except TimeoutError:
                # its last words may have come, and its end after them, since the time was over
                if self._channel.exit_status_ready() and not self._channel.recv_ready():
                    return
                continue
            if not part:
                return
            yield part
            if self._size > USUAL_BYTES:
                self._large.wait(len(part), until)

    def _take(self, line: bytes) -> None:
        """A whole line, decoded once: a record, a question, or other words."""
        if line.startswith(b"{"):
            self._window = self._window or (self._began, time.time())
            self._lines.append(line[:LONGEST_LINE].decode("utf-8", "replace"))
            return
        text = line[:2000].decode("utf-8", "replace").strip()
        if text and not self._answered(text) and len(self._words) < MOST_WORDS:
            self._words.append(text)

    def _answered(self, text: str) -> bool:
        """Do what the far side asks for; whether it was a question."""
        if text == SUDO_PROMPT and self._options.sudo_password:
            if self._asked_password:
                raise Unreachable("sudo", "sudo rejected the password")
            self._asked_password = True
            self._send(self._options.sudo_password.encode() + b"\n")
        elif text.startswith(MARK + "hello"):
            self._tell()
        elif text.startswith(MARK + "need"):
            self._send(self._bundle.packed)
        else:
            return False
        return True

    def _tell(self) -> None:
        """What the machine should be; once."""
        if not self._told:
            self._told = True
            self._send(self._expected)

    def _send(self, data: bytes) -> None:
        self._channel.settimeout(self._options.run_s)
        try:
            self._channel.sendall(data)
        except OSError:
            return  # the far side closed its end: its last words, still to be read, say why

    def _exit_code(self) -> int | None:
        """None where the connection, or a signal there, took the command away."""
        self._channel.status_event.wait(QUIET_S)
        code = int(self._channel.exit_status)
        return code if code >= 0 else None
