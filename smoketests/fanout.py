"""The agent on many hosts at once, over Fabric: bounded, streaming, every step under a deadline.

Each host gives exactly one HostReport, in the order in which they finish; a bad host costs its own time and nobody
else's. What a host says is capped in size, decoded once as a whole, and believed only about itself.
"""

from __future__ import annotations

import json
import pathlib
import queue
import shlex
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent import report
from agent.report import Report, Run
from agent.status import Verdict, ok, unknown
from inventory.model import Host
from smoketests.bundle import Bundle
from smoketests.ssh import Access, Unreachable

MARK = "SMOKE-BOOT "
SUDO_PROMPT = "SMOKE-SUDO-PASSWORD"
LONGEST_LINE = 64 << 10
MOST_FINDINGS = 5000
# What the far end needs beyond the agent's own deadline: Python, the bundle's check, the last lines.
GRACE_S = 15.0

# Constant: what varies comes behind it as arguments ($0 the boot program, $1 the wanted Python, then the agent's own).
FIND_PYTHON = f"""
boot=$0; wanted=$1; shift
for python in "$wanted" python3 /usr/libexec/platform-python python; do
  if [ -n "$python" ] && command -v "$python" >/dev/null 2>&1; then exec "$python" -I -c "$boot" "$@"; fi
done
echo "{MARK}no-python"; exit 3"""
SAID = {
    "no-python": "no Python is installed there; the agent needs 3.9 or later",
    "old-python": "only Python {} is there; the agent needs 3.9 or later",
    "unsafe-folder": "{} could be written by another user: the agent is not kept or run there",
    "damaged": "{}",
    "no-room": "the agent cannot be kept there: {}",
    "cannot-start": "the agent cannot start there: {}",
}


@dataclass(frozen=True)
class Options:
    """How to ask. Times in seconds; sudo_password is never put on a command line."""

    jobs: int = 64
    run_s: float = 60.0
    overall_s: float = 0.0
    output_limit: int = 4 << 20
    checks: tuple[str, ...] = ()
    sudo_password: str = field(default="", repr=False)


@dataclass(frozen=True)
class HostReport:
    """What came of one host. reach: ok, or unknown with the reason why it could not be asked or heard out."""

    host: Host
    report: Report
    lines: list[str]
    reach: Verdict
    seconds: float


def run(hosts: Sequence[Host], options: Options, bundle: Bundle, access: Access, run_id: str) -> Iterator[HostReport]:
    """Ask all hosts. Closing the iterator, or Ctrl-C in it, ends every connection and with it every agent."""
    asking = _Asking(options, bundle, access, run_id)
    waiting: queue.SimpleQueue[Host | None] = queue.SimpleQueue()
    for host in hosts:
        waiting.put(host)
    done: queue.SimpleQueue[HostReport] = queue.SimpleQueue()
    for _ in range(min(options.jobs, len(hosts))):
        waiting.put(None)
        threading.Thread(target=asking.work, args=(waiting, done.put), daemon=True).start()
    end = time.monotonic() + options.overall_s if options.overall_s else None
    missing = {host.name: host for host in hosts}
    try:
        while missing:
            try:
                finished = done.get(timeout=max(end - time.monotonic(), 0) if end else None)
            except queue.Empty:
                break
            if missing.pop(finished.host.name, None):
                yield finished
        for host in missing.values():
            yield _unheard(
                host, "overall", "not asked to the end: the time for the whole fleet was over", options.overall_s
            )
    finally:
        asking.stop()


class _Asking:
    """What the workers share: the open connections, so that they can all be ended at once."""

    def __init__(self, options: Options, bundle: Bundle, access: Access, run_id: str) -> None:
        self._options, self._bundle, self._access, self._run_id = options, bundle, access, run_id
        self._boot = boot_source()
        self._open: set[Any] = set()
        self._stopped = False
        self._lock = threading.Lock()

    def work(self, waiting: queue.SimpleQueue[Host | None], done: Callable[[HostReport], None]) -> None:
        while (host := waiting.get()) is not None and not self._stopped:
            done(self.ask(host))

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            connections, self._open = self._open, set()
        for connection in connections:
            if connection.transport:
                connection.transport.close()
        self._access.close()

    def ask(self, host: Host) -> HostReport:
        """One host from the first packet to the last; everything that can go wrong becomes its reach."""
        started = time.monotonic()
        until = started + self._options.run_s + GRACE_S
        try:
            connection = self._access.connect(host, until)
            with self._lock:
                self._open.add(connection)
            try:
                heard = self._hear(connection, host, until)
            finally:
                with self._lock:
                    self._open.discard(connection)
                connection.transport.close()
        except Unreachable as error:
            return _unheard(host, error.kind, str(error), time.monotonic() - started)
        except Exception as error:  # one odd host never hides another
            return _unheard(
                host, "failed", f"asking failed: {type(error).__name__}: {error}"[:300], time.monotonic() - started
            )
        return self._believed(host, heard, time.monotonic() - started)

    def _hear(self, connection: Any, host: Host, until: float) -> Heard:
        try:
            channel = connection.transport.open_session(timeout=self._access.deadlines.channel)
        except Exception as error:
            raise Unreachable("frozen", f"{host.name} let us in, then opened no session: {error}") from error
        channel.set_combine_stderr(True)
        user = str(connection.user)
        try:
            channel.settimeout(self._access.deadlines.channel)
            channel.exec_command(self._command(host, user))
            return _Hearing(channel, self._options, self._bundle, host).to_the_end(until)
        except socket.timeout:
            raise Unreachable("frozen", f"{host.name} let us in, then did not start the agent") from None
        finally:
            channel.close()

    def _command(self, host: Host, user: str) -> str:
        """One command for the far shell, every word of it quoted."""
        seconds = str(int(self._options.run_s + GRACE_S))
        words = ["timeout", "-k", "5", seconds, "sh", "-c", FIND_PYTHON, self._boot, host.python]
        words += [self._bundle.sha256, str(len(self._bundle.data)), *self._options.checks]
        words += ["--expected", "-", "--run-id", self._run_id, "--deadline", str(self._options.run_s)]
        if host.sudo == "yes" or (host.sudo == "auto" and user != "root"):
            asking = ["-S", "-p", SUDO_PROMPT + "\n"] if self._options.sudo_password else ["-n"]
            words = ["sudo", *asking, "--", *words]
        return shlex.join(words)

    def _believed(self, host: Host, heard: Heard, seconds: float) -> HostReport:
        """The host's records, as being about itself and nobody else."""
        told = report.read(heard.lines)
        identity = Run(self._run_id, told.header.get("at", ""), host.cluster, host.name, ",".join(host.roles),
                       host.layout, host.rack)._asdict()  # fmt: skip
        header = {**told.header, **_ours(identity, told.header)}
        findings: list[Mapping[str, Any]] = [
            {**finding, **_ours(identity, finding)} for finding in told.findings[:MOST_FINDINGS]
        ]
        lines = [json.dumps(record, separators=(",", ":")) for record in ([header] if header else []) + findings]
        reach = _verdict(host, heard, told, seconds)
        return HostReport(host, Report(header, findings, told.bad_lines[:20]), lines, reach, seconds)


def _ours(identity: Mapping[str, str], told: Mapping[str, Any]) -> dict[str, str]:
    """In these fields the inventory is right; role, layout and rack may be the host's guess where it is silent."""
    guessable = ("role", "layout", "rack", "at")
    return {name: str(told.get(name, ""))[:200] if name in guessable and not value else value
            for name, value in identity.items()}  # fmt: skip


@dataclass
class Heard:
    """What came back: whole lines, what the boot program said, and how it ended."""

    lines: list[str]
    words: list[str]
    exit_code: int | None
    cut: str = ""


class _Hearing:
    """Reads one channel to its end, in one thread: answers sudo and the boot program, and keeps the agent's lines."""

    def __init__(self, channel: Any, options: Options, bundle: Bundle, host: Host) -> None:
        self._channel, self._options, self._bundle, self._host = channel, options, bundle, host
        self._expected = json.dumps(host.expected(), separators=(",", ":")).encode() + b"\n"
        self._told = False

    def to_the_end(self, until: float) -> Heard:
        if not self._options.sudo_password:
            self._tell()
        lines: list[bytes] = []
        words: list[str] = []
        size, rest, cut = 0, b"", ""
        for part in self._parts(until):
            if part is None:
                cut = f"no end after {self._options.run_s + GRACE_S:.0f} s"
                break
            size += len(part)
            if size > self._options.output_limit:
                cut = f"more than {self._options.output_limit >> 20} MB of output"
                break
            *whole, rest = (rest + part).split(b"\n")
            for line in whole:
                if line.startswith(b"{"):
                    lines.append(line[:LONGEST_LINE])
                else:
                    words.append(self._answer(line[:2000].decode("utf-8", "replace")))
        if rest:
            words.append(rest[:2000].decode("utf-8", "replace"))
        texts = [line.decode("utf-8", "replace") for line in lines]
        return Heard(texts, [word for word in words if word][:50], self._exit_code(), cut)

    def _parts(self, until: float) -> Iterator[bytes | None]:
        """Bytes as they come; None when the time is over. Ends with the far process, whoever else holds its output."""
        while True:
            left = until - time.monotonic()
            if left <= 0:
                yield None
                return
            self._channel.settimeout(min(left, 1.0))
            try:
                part = self._channel.recv(1 << 18)
            except socket.timeout:
                if self._channel.exit_status_ready():
                    return
                continue
            if not part:
                return
            yield part

    def _answer(self, line: str) -> str:
        """Do what the far side asks for; give back what is not a question."""
        if line == SUDO_PROMPT:
            self._channel.sendall(self._options.sudo_password.encode() + b"\n")
        elif line.startswith(MARK + "hello"):
            self._tell()
        elif line.startswith(MARK + "need"):
            self._channel.settimeout(self._options.run_s)
            self._channel.sendall(self._bundle.data)
        else:
            return line
        return ""

    def _tell(self) -> None:
        if not self._told:
            self._told = True
            self._channel.sendall(self._expected)

    def _exit_code(self) -> int | None:
        self._channel.status_event.wait(1.0)
        return int(self._channel.exit_status) if self._channel.exit_status_ready() else None


def _verdict(host: Host, heard: Heard, told: Report, seconds: float) -> Verdict:
    """Whether the report is whole, and if not, why."""
    for word in heard.words:
        if word.startswith(MARK):
            kind, _, detail = word[len(MARK) :].partition(" ")
            return unknown(SAID.get(kind, "the agent did not start: {}").format(detail or kind))
    if heard.cut:
        return unknown(f"{heard.cut}; kept the {len(told.findings)} findings that came before")
    said = next((word for word in reversed(heard.words) if word.strip()), "")[:200]
    if not told.findings:
        return unknown(_no_report(said, heard.exit_code))
    if told.findings[-1]["check"] != "agent":
        return unknown(
            f"the report was cut short (exit {heard.exit_code}): kept the {len(told.findings)} findings that came"
        )
    if told.bad_lines:
        return unknown(f"{len(told.bad_lines)} lines are no records of ours, the first: {told.bad_lines[0]}")
    if len(told.findings) > MOST_FINDINGS:
        return unknown(f"{len(told.findings)} findings from one host cannot be: kept the first {MOST_FINDINGS}")
    if {str(finding["host"]) for finding in told.findings} != {host.name}:
        return unknown("it speaks of another host than itself: taken as its own words")
    return ok(f"answered in {seconds:.1f} s")


def _no_report(said: str, exit_code: int | None) -> str:
    if "a password is required" in said or "askpass" in said:
        return "sudo wants a password there (give one with --ask-sudo, or allow the agent without)"
    if "incorrect password" in said or "Sorry, try again" in said:
        return "sudo does not take the password"
    if "not in the sudoers" in said or "not allowed to execute" in said:
        return f"sudo refuses: {said}"
    if "Unknown option: -I" in said:
        return SAID["old-python"].format("2 or 3.3")
    if exit_code is None:
        return "the connection was lost before the agent spoke"
    return f"the agent gave no report (exit {exit_code}): {said or 'it said nothing'}"


def _unheard(host: Host, kind: str, reason: str, seconds: float) -> HostReport:
    return HostReport(
        host, Report({}, [], []), [], unknown(f"{kind}: {reason}" if kind == "failed" else reason), seconds
    )


def boot_source() -> str:
    """The text of the boot program."""
    return (pathlib.Path(__file__).parent / "boot.py").read_text(encoding="utf-8")
