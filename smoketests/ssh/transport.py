"""The ssh transport of one connection: paramiko's, preferring cheap ciphers, without polling."""

from __future__ import annotations

import contextlib
import fnmatch
import socket
import threading
from collections.abc import Sequence
from typing import Any

import paramiko

from smoketests.ssh.host_keys import Known

# What a peer may send beyond what we read: more than a usual report, so that none has to wait.
WINDOW = 128 << 10
CHEAPEST_CIPHER = "aes128-gcm@openssh.com"
# Old ones that OpenSSH no longer offers, or nearly: one must be named in ssh_config (Ciphers, MACs) to be used.
WEAK = ("*-cbc", "hmac-md5*", "hmac-sha1*")
# a banner has 255 bytes, and some lines may stand before it
LONGEST_BANNER = 64 << 10
# how often a thread that reads looks whether it should still do so; it is woken when its connection is closed
LOOK_EVERY_S = 2.0


class Packetizer(paramiko.packet.Packetizer):
    """paramiko's, with an end to what a peer may say before it says that it speaks ssh."""

    _before = 0

    def _read_timeout(self, timeout: float) -> bytes:
        """Only the lines before the ssh banner, and the banner itself, are read with this."""
        part = bytes(super()._read_timeout(timeout))  # type: ignore[misc]  # not in the stubs
        self._before += len(part)
        if self._before > LONGEST_BANNER:
            raise paramiko.SSHException("Indecipherable: more than {LONGEST_BANNER >> 10} KB before the SSH banner")
        return part


def _feed(channel: Any, message: paramiko.Message) -> None:
    _see_to_window(channel)
    channel._feed(message)


def _feed_extended(channel: Any, message: paramiko.Message) -> None:
    _see_to_window(channel)
    channel._feed_extended(message)


def _see_to_window(channel: Any) -> None:
    """paramiko keeps whatever comes; a peer that sends more than we allowed is left."""
    if len(channel.in_buffer) + len(channel.in_stderr_buffer) > 2 * WINDOW:
        raise paramiko.SSHException("more than the ssh window allows")


class Transport(paramiko.Transport):
    """Waits to be woken where paramiko looks ten times a second; with many connections that is much of the work."""

    _channel_handler_table = {
        **paramiko.Transport._channel_handler_table,  # type: ignore[attr-defined]  # not in the stubs
        paramiko.common.MSG_CHANNEL_DATA: _feed,
        paramiko.common.MSG_CHANNEL_EXTENDED_DATA: _feed_extended,
    }

    def __init__(self, sock: Any) -> None:
        super().__init__(sock, default_window_size=WINDOW, packetizer_class=Packetizer)
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

    def __init__(self, known: Known, ciphers: str = "", macs: str = "") -> None:
        """ciphers, macs: what ssh_config says of them."""
        self._known, self._ciphers, self._macs = known, ciphers, macs
        self._transport: Transport | None = None
        self.verified = False

    def transport(self, sock: Any, **_more: Any) -> Transport:
        """A transport that prefers what is cheap, and a host key that we could recognise.

        Finite-field key exchange costs 17 times as much as the curves, so it comes last.
        """
        self._transport = made = Transport(sock)
        options = made.get_security_options()
        options.ciphers = chosen(sorted(options.ciphers, key=lambda name: name != CHEAPEST_CIPHER), self._ciphers)
        options.digests = chosen(options.digests, self._macs)
        options.kex = sorted(options.kex, key=lambda name: name.startswith("diffie-hellman"))
        options.key_types = self._known.kinds(options.key_types)
        return made

    def missing_host_key(self, _client: Any, _hostname: str, key: paramiko.PKey) -> None:
        self._known.check(key)
        self.verified = True

    def version(self) -> str:
        """The far end's ssh banner; empty if none came."""
        return self._transport.remote_version if self._transport else ""


def chosen(offered: Sequence[str], said: str) -> list[str]:
    """Which ciphers or MACs to offer: all but the weak, unless ssh_config names others, in its own way.

    >>> chosen(["aes128-ctr", "3des-cbc"], "")
    ['aes128-ctr']
    >>> chosen(["aes128-ctr", "aes256-ctr", "3des-cbc"], "+3des-cbc"), chosen(["aes128-ctr", "3des-cbc"], "3des-cbc")
    (['aes128-ctr', 'aes256-ctr', '3des-cbc'], ['3des-cbc'])
    """
    strong = [name for name in offered if not _is_named(name, WEAK)]
    how, names = (said[0], said[1:]) if said[:1] in ("+", "-", "^") else ("", said)
    words = [word.strip() for word in names.split(",") if word.strip()]
    named = [name for word in words for name in offered if fnmatch.fnmatchcase(name, word)]
    if how == "-":
        return [name for name in strong if name not in named] or strong
    if how in ("+", "^"):
        both = [*named, *strong] if how == "^" else [*strong, *named]
        return list(dict.fromkeys(both))
    return list(dict.fromkeys(named)) or strong


def _is_named(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
