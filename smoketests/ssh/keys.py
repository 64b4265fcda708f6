"""The user's private keys: from files, read once, and the ssh-agent's, offered one after the other."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator
from typing import Any

import paramiko
from paramiko.auth_strategy import AuthResult, AuthSource, AuthStrategy

from smoketests.ssh.failures import AccessError


class KeyFiles:
    """Private keys, read once. One that is encrypted is the agent's to offer."""

    def __init__(self) -> None:
        self._loaded: dict[str, paramiko.PKey | None] = {}
        self._encrypted: list[str] = []
        self._lock = threading.Lock()

    def load(self, path: str) -> paramiko.PKey | None:
        with self._lock:
            if path not in self._loaded:
                self._loaded[path] = self._read(path)
            return self._loaded[path]

    def _read(self, path: str) -> paramiko.PKey | None:
        try:
            return paramiko.PKey.from_path(path)
        except (paramiko.PasswordRequiredException, TypeError):
            self._encrypted.append(path)
        except FileNotFoundError:
            return None
        except (paramiko.SSHException, ValueError, OSError, paramiko.pkey.UnknownKeyType) as error:
            raise AccessError(f"{path} cannot be used as a private key: {error}"[:300]) from error
        return None

    def public(self, path: str) -> bytes:
        """The public half, also of an encrypted key, from the .pub file beside it."""
        key = self.load(path)
        if key is not None:
            return key.asbytes()
        try:
            with open(f"{path}.pub", encoding="ascii") as file:
                words = file.read().split()
        except (OSError, ValueError):
            return b""
        return paramiko.pkey.PublicBlob.from_string(" ".join(words[:2])).key_blob if len(words) > 1 else b""

    def remark(self) -> str:
        return f" ({', '.join(self._encrypted)} encrypted: ssh-add it)" if self._encrypted else ""


class Keys(AuthStrategy):
    """Offers keys until one is taken. What is no refusal, a lost connection say, ends it at once."""

    def __init__(self, user: str, keys: Callable[[], Generator[paramiko.PKey, None, None]]) -> None:
        super().__init__(ssh_config=paramiko.SSHConfig())
        self._user, self._keys = user, keys

    def get_sources(self) -> Generator[AuthSource, None, None]:
        raise NotImplementedError("keys are offered by authenticate itself")

    def authenticate(self, transport: paramiko.Transport) -> AuthResult:
        offered: set[bytes] = set()
        with contextlib.closing(self._keys()) as keys:
            for key in keys:
                if key.asbytes() in offered:
                    continue
                offered.add(key.asbytes())
                try:
                    if not self._offer(transport, key):
                        return AuthResult(strategy=self)
                except paramiko.AuthenticationException as error:
                    if "timeout" in str(error) or not transport.is_active():
                        raise
        raise paramiko.AuthenticationException(f"none of {len(offered)} keys taken")

    def _offer(self, transport: paramiko.Transport, key: paramiko.PKey) -> list[str]:
        """What else the server wants; AuthenticationException where it does not take the key."""
        answered = threading.Event()
        transport.auth_publickey(self._user, key, answered)
        if not answered.wait(transport.auth_timeout):
            raise paramiko.AuthenticationException("Authentication timeout.")
        handler: Any = transport.auth_handler
        return list(handler.wait_for_response(answered))
