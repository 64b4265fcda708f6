"""The ssh transport of one connection: paramiko's, asking first for what is cheap, and not waking up to look around."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Any

import paramiko

from smoketests.host_keys import Known

WINDOW = 4 << 20
CHEAPEST_CIPHER = "aes128-gcm@openssh.com"
# how often a thread that reads looks whether it should still do so; it is woken when its connection is closed
LOOK_EVERY_S = 2.0


class Transport(paramiko.Transport):
    """Waits to be woken where paramiko looks ten times a second; with many connections that is much of the work."""

    def __init__(self, sock: Any) -> None:
        super().__init__(sock, default_window_size=WINDOW)
        self.daemon = True
        sock.settimeout(LOOK_EVERY_S)

    def start_client(self, event: threading.Event | None = None, timeout: float | None = None) -> None:
        done = event or threading.Event()
        super().start_client(event=done)
        if event is None:
            done.wait(timeout)
            if not self.is_active():
                raise self.get_exception() or paramiko.SSHException("Negotiation failed.")

    def close(self) -> None:
        with contextlib.suppress(OSError, EOFError):
            self.sock.shutdown(socket.SHUT_RDWR)
        super().close()


class Opening(paramiko.MissingHostKeyPolicy):
    """How far one connection came. Asked by paramiko about every host key, since it is given none of its own."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._transport: Transport | None = None
        self.verified = False

    def transport(self, sock: Any, **_more: Any) -> Transport:
        """A transport that prefers what is cheap, and a host key that we could recognise.

        Finite-field key exchange costs 17 times as much as the curves, so it comes last.
        """
        self._transport = made = Transport(sock)
        options = made.get_security_options()
        options.ciphers = sorted(options.ciphers, key=lambda name: name != CHEAPEST_CIPHER)
        options.kex = sorted(options.kex, key=lambda name: name.startswith("diffie-hellman"))
        options.key_types = self._known.kinds(options.key_types)
        return made

    def missing_host_key(self, _client: Any, _hostname: str, key: paramiko.PKey) -> None:
        self._known.check(key)
        self.verified = True

    def version(self) -> str:
        """The far end's ssh banner; empty if none came."""
        return self._transport.remote_version if self._transport else ""
