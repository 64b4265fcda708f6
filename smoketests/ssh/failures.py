"""Why a host could not be reached: every error of a connection becomes a kind and a sentence."""

from __future__ import annotations

import socket

import paramiko

from inventory.errors import SmokeError


class AccessError(SmokeError):
    """What we were given to reach hosts with is unusable: a key, a configuration. The message says which and why."""


class Unreachable(SmokeError):
    """The host could not be asked. `kind` is a word for programs, the message a sentence for people."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind


def of_socket(error: OSError, where: str) -> Unreachable:
    """Why no connection came about."""
    if isinstance(error, socket.gaierror):
        return Unreachable("name", f"cannot resolve {where}:  {error.strerror}")
    if isinstance(error, TimeoutError):
        return Unreachable("black-hole", f"{where} does not answer: connection timed out")
    if isinstance(error, ConnectionRefusedError):
        return Unreachable("refused", f"{where} refuses connections: no sshd is listening")
    if isinstance(error, ConnectionResetError):
        return Unreachable("dropped", f"{where} dropped the connection")
    return Unreachable("network", f"{where}: {error.strerror or error}")


def of_handshake(error: Exception, where: str, version: str) -> Unreachable:
    """Why the connection did not become one of ssh. version: the banner that came, empty if none did."""
    cause = error.__context__ or error
    if isinstance(error, paramiko.ssh_exception.IncompatiblePeer):
        return Unreachable("incompatible", f"{where} ({version}) offers no supported encryption: {error}")
    if "Indecipherable" in str(error) or isinstance(cause, UnicodeDecodeError):
        return Unreachable("not-ssh", f"{where} is not an SSH server")
    if version:
        if isinstance(error, EOFError) or isinstance(cause, (EOFError, OSError)):
            return Unreachable("dropped", f"{where} dropped the connection after its SSH banner")
        if "No existing session" in str(error):
            return Unreachable("silent", f"{where} sent its SSH banner, then no reply")
        return Unreachable("ssh", f"{where} ({version}): {error or type(error).__name__}"[:300])
    if isinstance(cause, (EOFError, ConnectionError)):
        return Unreachable("dropped", f"{where} closes connections before its SSH banner (MaxStartups or a ban)")
    return Unreachable("silent", f"{where} accepts connections but sends no SSH banner")


def of_authentication(error: Exception, where: str, user: str, without: str) -> Unreachable:
    """Why we were not let in. without: a remark on keys that could not be offered, empty if there were none."""
    words = str(error)
    if "timeout" in words:
        return Unreachable("auth-timeout", f"{where}: authentication of {user} timed out")
    if isinstance(error, paramiko.AuthenticationException) and "EOF" not in words:
        return Unreachable("auth", f"{where}: authentication failed for {user}{without}")
    if "Too many authentication failures" in words:
        return Unreachable(
            "auth", f"{where}: authentication failed for {user}: too many keys offered; set IdentitiesOnly"
        )
    return Unreachable("auth-dropped", f"{where} dropped the connection during authentication of {user}")
