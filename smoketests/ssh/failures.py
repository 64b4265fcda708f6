"""Why a host could not be reached, in words: every error of a connection becomes a kind and a sentence."""

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
        return Unreachable("name", f"no address is known for {where}: {error.strerror}")
    if isinstance(error, TimeoutError):
        return Unreachable("black-hole", f"{where} does not answer: no connection in time")
    if isinstance(error, ConnectionRefusedError):
        return Unreachable("refused", f"{where} refuses connections: no sshd there")
    if isinstance(error, ConnectionResetError):
        return Unreachable("dropped", f"{where} dropped the connection")
    return Unreachable("network", f"{where}: {error.strerror or error}")


def of_handshake(error: Exception, where: str, version: str) -> Unreachable:
    """Why the connection did not become one of ssh. version: the banner that came, empty if none did."""
    cause = error.__context__ or error
    if isinstance(error, paramiko.ssh_exception.IncompatiblePeer):
        return Unreachable("incompatible", f"{where} ({version}) and we have no way of encryption in common: {error}")
    if "Indecipherable" in str(error) or isinstance(cause, UnicodeDecodeError):
        return Unreachable("not-ssh", f"{where} answers, but not as an sshd")
    if version:
        if isinstance(error, EOFError) or isinstance(cause, (EOFError, OSError)):
            return Unreachable("dropped", f"{where} dropped the connection after its ssh banner")
        if "No existing session" in str(error):
            return Unreachable("silent", f"{where} shows its ssh banner, then falls silent")
        return Unreachable("ssh", f"{where} ({version}): {error or type(error).__name__}"[:300])
    if isinstance(cause, (EOFError, ConnectionError)):
        return Unreachable("dropped", f"{where} closes connections before its ssh banner (MaxStartups, or a ban)")
    return Unreachable("silent", f"{where} accepts connections but shows no ssh banner")


def of_authentication(error: Exception, where: str, user: str, without: str) -> Unreachable:
    """Why we were not let in. without: a remark on keys that could not be offered, empty if there were none."""
    words = str(error)
    if "timeout" in words:
        return Unreachable("auth-timeout", f"{where} took too long to let {user} in")
    if isinstance(error, paramiko.AuthenticationException) and "EOF" not in words:
        return Unreachable("auth", f"{where} does not let {user} in with any key that we have{without}")
    if "Too many authentication failures" in words:
        return Unreachable("auth", f"{where} does not let {user} in: too many keys offered (IdentitiesOnly helps)")
    return Unreachable("auth-dropped", f"{where} dropped the connection instead of letting {user} in")
