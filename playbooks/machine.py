"""Commands on one machine: this one, or a far one over ssh; as root where the inventory says so.

A line on standard error marks the command's start, which separates sudo's prompt from the command's own output. A
command continues when the connection, or this program, ends: check its state before running it again.
"""

from __future__ import annotations

import os
import re
import selectors
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from inventory.errors import SmokeError
from inventory.model import Host

if TYPE_CHECKING:
    from smoketests.ssh.connect import Access

SUDO_PROMPT = "SMOKE-SUDO-PASSWORD"
BEGAN = "SMOKE-PLAYBOOK-BEGAN"
MARK = "SMOKE_PLAYBOOK="
# Constant: what varies comes behind it as arguments. The shell waits for the command, and is found by its own argument
# $1: a variable in the environment would go on to every daemon that the command starts.
BEGIN = f'PATH=$PATH:/usr/sbin:/sbin; export PATH LC_ALL=C; echo {BEGAN} >&2; shift; "$@"; exit $?'
# which processes have this argument; of the asking ones none has it whole
STILL_RUNNING = f'printf %s "{MARK}$1" | grep -lzxsF -f - /proc/[0-9]*/cmdline'
MOST_OUTPUT = 4 << 20
CHUNK = 1 << 16
# what the far end has beyond a command's own deadline, to kill it and to say so
GRACE_S = 15.0
CONNECT_S = 30.0
QUIET_S = 0.5


class Outcome(NamedTuple):
    """A command that ended. code: its exit code; 124 when it did not end in its time and was ended."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """Its last words, for a sentence."""
        rows = (self.err.strip() or self.out.strip()).splitlines()
        return " / ".join(row.strip() for row in rows[-3:])[:400]


class NotRun(SmokeError):
    """The command did not begin; why, in words."""


class Lost(SmokeError):
    """It began, and nobody knows whether or how it ended."""


class Channel:
    """What a running command says and is told. parts(): (whether of standard error, bytes); ends with the command."""

    def parts(self, until: float) -> Iterator[tuple[bool, bytes]]:
        raise NotImplementedError

    def send(self, data: bytes) -> None:
        raise NotImplementedError

    def end_input(self) -> None:
        raise NotImplementedError

    def code(self) -> int | None:
        """None where nobody said it."""
        raise NotImplementedError


@dataclass
class Machine:
    """Where commands run. Subclasses open the channel. user: who we are there before sudo."""

    host: Host
    user: str
    sudo_password: str = field(default="", repr=False)

    @property
    def name(self) -> str:
        return self.host.name

    @property
    def sudo(self) -> bool:
        """Whether sudo stands before every command, as before the agent's."""
        return self.host.sudo == "yes" or (self.host.sudo == "auto" and self.user != "root")

    def run(self, argv: Sequence[str], seconds: float = 30.0, given: str = "", mark: str = "") -> Outcome:
        """Run to its end, `seconds` at most. given: its standard input. mark: what finds it again. NotRun, Lost."""
        words = [MARK + mark, "timeout", "-k", "5", f"{seconds:.0f}", *argv]
        channel = self._open([*self._sudo_words(), "sh", "-c", BEGIN, "sh", *words])
        talk = _Talk(channel, given, self.sudo_password if self.sudo else "")
        return talk.to_the_end(time.monotonic() + seconds + GRACE_S)

    def still_running(self, mark: str) -> list[int]:
        """Processes of a command that was begun with this mark. NotRun, Lost."""
        found = self.run(["sh", "-c", STILL_RUNNING, "sh", mark])
        return [int(pid) for pid in re.findall(r"^/proc/(\d+)/cmdline$", found.out, re.MULTILINE)]

    def close(self) -> None:
        """Let the connection go."""

    def _sudo_words(self) -> list[str]:
        if not self.sudo:
            return []
        return ["sudo", *(["-S", "-p", SUDO_PROMPT + "\n"] if self.sudo_password else ["-n"]), "--"]

    def _open(self, words: Sequence[str]) -> Channel:
        raise NotImplementedError


class _Talk:
    """One command from sudo's question to its last word."""

    def __init__(self, channel: Channel, given: str, password: str) -> None:
        self._channel, self._given, self._password = channel, given, password
        self._began = self._asked = False
        self._before = b""
        self._kept: dict[bool, list[bytes]] = {False: [], True: []}
        self._size = self._left_out = 0

    def to_the_end(self, until: float) -> Outcome:
        for is_error, part in self._channel.parts(until):
            if is_error and not self._began:
                part = self._beginning(part)
            if part and self._size < MOST_OUTPUT:
                self._kept[is_error].append(part)
                self._size += len(part)
            else:
                self._left_out += len(part)
        code = self._channel.code()
        out, err = (b"".join(self._kept[is_error]).decode("utf-8", "replace") for is_error in (False, True))
        if not self._began:
            said = " ".join((self._before.decode("utf-8", "replace") + " " + out).split())[:300]
            raise NotRun(said or "the connection closed before the command started")
        if code is None:
            raise Lost("the connection was lost before the command ended")
        if self._left_out:
            raise Lost(f"its output exceeds {MOST_OUTPUT >> 20} MB and was discarded; exit code {code}")
        return Outcome(code, out, err)

    def _beginning(self, part: bytes) -> bytes:
        """Up to the line that says that the command began; gives what stands behind it."""
        self._before += part
        *whole, rest = self._before.split(b"\n")
        for number, line in enumerate(whole):
            if line.decode("utf-8", "replace") == BEGAN:
                self._began = True
                self._tell()
                return b"\n".join([*whole[number + 1 :], rest])
        if SUDO_PROMPT.encode() in whole and self._password:
            self._answer_sudo()
            self._before = self._before.replace(SUDO_PROMPT.encode() + b"\n", b"", 1)
        return b""

    def _answer_sudo(self) -> None:
        if self._asked:
            raise NotRun("sudo rejected the password")
        self._asked = True
        self._channel.send(self._password.encode() + b"\n")

    def _tell(self) -> None:
        self._channel.send(self._given.encode())
        self._channel.end_input()


class Here(Machine):
    """This machine. Commands are in sessions of their own: Ctrl-C here does not end them."""

    def _open(self, words: Sequence[str]) -> Channel:
        try:
            return _Process(
                subprocess.Popen(
                    list(words), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                    start_new_session=True, cwd="/",
                )
            )  # fmt: skip
        except OSError as error:
            raise NotRun(f"{words[0]}: {error.strerror}") from error


class _Process(Channel):
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def parts(self, until: float) -> Iterator[tuple[bool, bytes]]:
        process = self._process
        assert process.stdout and process.stderr
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            selector.register(process.stderr, selectors.EVENT_READ)
            while selector.get_map() and time.monotonic() < until:
                # asked before we look for output: what it printed before its end is then there to be read
                has_ended = process.poll() is not None
                ready = selector.select(QUIET_S)
                if not ready and has_ended:
                    return  # something else still holds its output
                for key, _events in ready:
                    part = os.read(key.fd, CHUNK)
                    if part:
                        yield key.fileobj is process.stderr, part
                    else:
                        selector.unregister(key.fileobj)

    def send(self, data: bytes) -> None:
        assert self._process.stdin
        try:
            self._process.stdin.write(data)
            self._process.stdin.flush()
        except BrokenPipeError:
            return  # it does not want to know: its exit code says whether that is wrong

    def end_input(self) -> None:
        assert self._process.stdin
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            return  # likewise

    def code(self) -> int | None:
        try:
            code = self._process.wait(QUIET_S)
        except subprocess.TimeoutExpired:
            return None
        finally:
            for pipe in (self._process.stdout, self._process.stderr):
                if pipe:
                    pipe.close()
        return code if code >= 0 else 128 - code


@dataclass
class Far(Machine):
    """A host of the inventory over ssh; one connection, opened again when it went."""

    access: Access | None = None
    connection: Any = None

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def _open(self, words: Sequence[str]) -> Channel:
        """NotRun where the host cannot be reached."""
        import paramiko

        try:
            transport = self._transport()
            channel = transport.open_session(timeout=self.access.deadlines.channel if self.access else None)
            channel.exec_command(shlex.join(words))
        except (paramiko.SSHException, EOFError, OSError) as error:
            self.close()
            raise NotRun(f"{self.name}: cannot start a command: {error or type(error).__name__}"[:300]) from error
        return _FarCommand(channel)

    def _transport(self) -> Any:
        from smoketests.ssh.failures import AccessError, Unreachable

        if self.connection is None or not self.connection.transport.is_active():
            self.close()
            assert self.access
            try:
                self.connection = self.access.connect(self.host, time.monotonic() + CONNECT_S)
            except (Unreachable, AccessError) as error:
                raise NotRun(f"{self.name} is unreachable: {error}") from error
            self.connection.transport.set_keepalive(5)
        self.user = self.connection.user
        return self.connection.transport


class _FarCommand(Channel):
    def __init__(self, channel: Any) -> None:
        self._channel = channel

    def parts(self, until: float) -> Iterator[tuple[bool, bytes]]:
        channel = self._channel
        sides: tuple[tuple[bool, Callable[[], bool], Callable[[int], bytes]], ...] = (
            (False, channel.recv_ready, channel.recv),
            (True, channel.recv_stderr_ready, channel.recv_stderr),
        )
        quiet_since = time.monotonic()
        while time.monotonic() < until:
            # asked before we look for output: what it printed before its end is then there to be read
            over = channel.exit_status_ready() or channel.closed
            ended = channel.closed or channel.eof_received
            got = False
            for is_error, ready, read in sides:
                if ready():
                    yield is_error, read(CHUNK)
                    got = True
            if got:
                quiet_since = time.monotonic()
                continue
            if over and (ended or time.monotonic() - quiet_since > QUIET_S):
                return
            channel.status_event.wait(0.02) if not over else time.sleep(0.02)

    def send(self, data: bytes) -> None:
        try:
            self._channel.sendall(data)
        except OSError:
            return  # the far side closed its end: its exit code, or none, says why

    def end_input(self) -> None:
        try:
            self._channel.shutdown_write()
        except (OSError, EOFError):
            return  # likewise

    def code(self) -> int | None:
        code = int(self._channel.exit_status) if self._channel.exit_status_ready() else -1
        self._channel.close()
        return code if code >= 0 else None
