"""Peers that misbehave on loopback: each is a context manager giving the port it listens on."""

from __future__ import annotations

import contextlib
import pathlib
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import paramiko

Serve = Callable[[socket.socket], None]


@contextlib.contextmanager
def listening(serve: Serve, backlog: int = 64) -> Iterator[int]:
    """Each connection is served in a thread of its own, and closed when that returns or the test ends."""
    over = threading.Event()
    opened: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0), backlog=backlog) as server:
        server.settimeout(0.05)

        def accept() -> None:
            while not over.is_set():
                with contextlib.suppress(TimeoutError):
                    connection, _ = server.accept()
                    opened.append(connection)
                    threading.Thread(target=_served, args=(serve, connection), daemon=True).start()

        accepting = threading.Thread(target=accept, daemon=True)
        accepting.start()
        try:
            yield int(server.getsockname()[1])
        finally:
            over.set()
            accepting.join(timeout=5)
            for connection in opened:
                connection.close()


def _served(serve: Serve, connection: socket.socket) -> None:
    with contextlib.suppress(OSError, EOFError):
        serve(connection)


def silent(connection: socket.socket) -> None:
    """Takes what comes and says nothing."""
    while connection.recv(4096):
        continue


def only_banner(connection: socket.socket) -> None:
    connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
    silent(connection)


def another_service(connection: socket.socket) -> None:
    """As TLS would: bytes that are no text."""
    connection.sendall(b"\x15\x03\x01\xff\xfe\n")
    silent(connection)


def endless_banner(connection: socket.socket) -> None:
    """Says something for ever, and never that it speaks ssh."""
    while True:
        connection.sendall(b"x" * 65536)


def no_banner(connection: socket.socket) -> None:
    """As sshd does at its MaxStartups."""
    connection.close()


def dropping(first: int, port: int) -> Serve:
    """Drops the first connections, as sshd does at its MaxStartups; passes on the others to this port."""
    left = [first]

    def serve(connection: socket.socket) -> None:
        left[0] -= 1
        if left[0] >= 0:
            connection.close()
            return
        with socket.create_connection(("127.0.0.1", port)) as behind:
            back = threading.Thread(target=_pump, args=(behind, connection), daemon=True)
            back.start()
            _pump(connection, behind)
            back.join(timeout=10)

    return serve


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while part := source.recv(1 << 16):
            target.sendall(part)
        target.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def black_hole() -> Iterator[int]:
    """The kernel drops connections to it: its backlog is full and nobody accepts."""
    with socket.socket() as server, contextlib.ExitStack() as filling:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for _ in range(4):
            waiting = filling.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(server.getsockname())
        yield int(server.getsockname()[1])


class Frozen(paramiko.ServerInterface):
    """Lets everybody in, then stops at one step: "auth", "open" or "exec"."""

    def __init__(self, step: str, over: threading.Event) -> None:
        self._step, self._over = step, over

    def _stop_at(self, step: str) -> None:
        if step == self._step:
            self._over.wait(60)

    def get_allowed_auths(self, _username: str) -> str:
        return "publickey"

    def check_auth_publickey(self, _username: str, _key: paramiko.PKey) -> int:
        self._stop_at("auth")
        return paramiko.common.AUTH_SUCCESSFUL

    def check_channel_request(self, _kind: str, _number: int) -> int:
        self._stop_at("open")
        return paramiko.common.OPEN_SUCCEEDED

    def check_channel_exec_request(self, _channel: Any, _command: bytes) -> bool:
        self._stop_at("exec")
        return False


class Flood(Frozen):
    """Prints without end, and without regard to its ssh window."""

    def __init__(self, over: threading.Event) -> None:
        super().__init__("", over)

    def check_channel_exec_request(self, channel: Any, _command: bytes) -> bool:
        threading.Thread(target=self._print, args=(channel,), daemon=True).start()
        return True

    def _print(self, channel: Any) -> None:
        with contextlib.suppress(OSError, EOFError):
            while not self._over.is_set():
                channel.out_window_size = 1 << 30
                channel.sendall(b"x" * (1 << 15))


@contextlib.contextmanager
def frozen(step: str, host_key: pathlib.Path) -> Iterator[int]:
    """An ssh server that freezes at a step, as a machine does whose disks hang; "flood": prints without end."""
    over = threading.Event()
    key = paramiko.PKey.from_path(host_key)

    def serve(connection: socket.socket) -> None:
        transport = paramiko.Transport(connection)
        transport.add_server_key(key)
        transport.start_server(server=Flood(over) if step == "flood" else Frozen(step, over))
        over.wait(60)
        transport.close()

    with listening(serve) as port:
        try:
            yield port
        finally:
            over.set()
