"""One verified ssh connection: Fabric and paramiko with the defaults that a fleet needs, and errors in words.

Differs from Fabric's defaults, each for a measured reason: host keys are verified and never accepted unseen; every step
has a deadline; keys and known_hosts are read once for all hosts; small packets are not held back (TCP_NODELAY).
"""

from __future__ import annotations

import base64
import getpass
import glob
import hashlib
import logging
import os
import random
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import paramiko
from fabric import Config, Connection
from paramiko.auth_strategy import AuthStrategy, InMemoryPrivateKey

from inventory.model import Host

KEY_FILES = ("id_ed25519", "id_ecdsa", "id_rsa")
KNOWN_HOSTS = ("~/.ssh/known_hosts", "/etc/ssh/ssh_known_hosts")
# A bastion at its MaxStartups drops connections before its banner: worth another try.
TRIES = 4
PORT = 22

# finite-field key exchange costs 17 times as much as the curves; everything current has the curves
SLOW_KEX = ("diffie-hellman-group16-sha512", "diffie-hellman-group-exchange-sha256", "diffie-hellman-group14-sha256")

# paramiko writes the traceback of every failed connection to the log; ours come back as findings
logging.getLogger("paramiko").setLevel(logging.CRITICAL)


class Unreachable(Exception):
    """The host could not be asked. `kind` is a word for programs, the message a sentence for people."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind


@dataclass(frozen=True)
class Deadlines:
    """Seconds for each step of a connection."""

    connect: float = 5.0
    banner: float = 10.0
    auth: float = 15.0
    channel: float = 10.0


@dataclass
class Access:
    """What all connections share: who we are, whom we trust, how long we wait. Read once."""

    deadlines: Deadlines = field(default_factory=Deadlines)
    known_hosts: tuple[str, ...] = KNOWN_HOSTS
    key_files: tuple[str, ...] = ()
    ssh_config: str | None = None
    use_agent: bool = True

    def __post_init__(self) -> None:
        self._trusted = KnownHosts([os.path.expanduser(path) for path in self.known_hosts])
        self._keys = list(self._load_keys())
        # empty ssh configuration unless a file is given or the user has one
        path = os.path.expanduser(self.ssh_config or "~/.ssh/config")
        self._ssh = paramiko.SSHConfig.from_path(path) if os.path.exists(path) else paramiko.SSHConfig()
        self._config = Config(lazy=True, overrides={"load_ssh_configs": False})
        self._gateways: dict[str, paramiko.Transport] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    def _load_keys(self) -> Iterator[paramiko.PKey]:
        files = self.key_files or tuple(os.path.expanduser(f"~/.ssh/{name}") for name in KEY_FILES)
        for path in files:
            if not os.path.exists(path):
                continue
            try:
                yield paramiko.PKey.from_path(path)
            except (paramiko.PasswordRequiredException, TypeError):
                continue  # an encrypted key is the agent's to offer
            except (paramiko.SSHException, ValueError, OSError) as error:
                raise Unreachable("key", f"{path} is not a private key: {error}") from error

    def connect(self, host: Host, until: float) -> Connection:
        """An open, verified connection. Unreachable with the reason otherwise."""
        options = self._ssh.lookup(host.address or host.name)
        address = host.address or str(options["hostname"])
        port = host.port or int(str(options.get("port", PORT)))
        user = host.user or str(options.get("user", "")) or getpass.getuser()
        for attempt in range(TRIES):
            try:
                return self._connect_once(host, address, port, user, options, until)
            except Unreachable as error:
                pause = 0.5 * 2**attempt * random.uniform(0.5, 1.5)  # noqa: S311  no secret: spreads the retries
                if error.kind != "dropped" or attempt == TRIES - 1 or time.monotonic() + pause > until:
                    raise
                time.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    def _connect_once(
        self, host: Host, address: str, port: int, user: str, options: dict[str, Any], until: float
    ) -> Connection:
        lookup = str(options.get("hostkeyalias") or address)
        connection = Connection(
            address, user=user, port=port, config=self._config, connect_timeout=self.deadlines.banner,
            connect_kwargs={
                "sock": self._socket(address, port, options, until),
                "banner_timeout": self.deadlines.banner,
                "auth_timeout": self.deadlines.auth,
                "channel_timeout": self.deadlines.channel,
                "transport_factory": transport,
                "auth_strategy": Keys(user, self._keys, self._identity(options), self.use_agent),
            },
        )  # fmt: skip
        client = connection.client
        client.set_missing_host_key_policy(paramiko.RejectPolicy())
        keys = self._trusted.of(lookup, port)
        name = address if port == PORT else f"[{address}]:{port}"
        for key in keys:
            client.get_host_keys().add(name, key.get_name(), key)
        try:
            connection.open()
        except BaseException as error:
            connection.close()
            if not isinstance(error, Exception):
                raise
            raise translate(error, user, address, port) from error
        return connection

    def _identity(self, options: dict[str, Any]) -> list[paramiko.PKey]:
        """Keys that ssh_config names for this host."""
        found = []
        for path in options.get("identityfile", ()):
            path = os.path.expanduser(path)
            if os.path.exists(path):
                found.append(paramiko.PKey.from_path(path))
        return found

    def _socket(self, address: str, port: int, options: dict[str, Any], until: float) -> Any:
        if options.get("proxycommand"):
            return paramiko.ProxyCommand(str(options["proxycommand"]))
        jump = str(options.get("proxyjump", "none"))
        if jump != "none":
            return self._through(jump, address, port, until)
        try:
            wait = min(self.deadlines.connect, max(until - time.monotonic(), 0.1))
            connected = socket.create_connection((address, port), timeout=wait)
        except OSError as error:
            raise translate(error, "", address, port) from error
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connected

    def _through(self, jump: str, address: str, port: int, until: float) -> Any:
        """A channel through a bastion; one connection to each bastion serves all hosts behind it."""
        with self._lock:
            lock = self._locks.setdefault(jump, threading.Lock())
        with lock:
            gateway = self._gateways.get(jump)
            if gateway is None or not gateway.is_active():
                user, _, rest = jump.rpartition("@")
                name, _, jump_port = rest.partition(":")
                connection = self.connect(Host(name, user=user, port=int(jump_port or 0)), until)
                gateway = self._gateways[jump] = connection.transport
        try:
            return gateway.open_channel("direct-tcpip", (address, port), ("", 0), timeout=self.deadlines.channel)
        except (paramiko.SSHException, EOFError) as error:
            raise Unreachable("bastion", f"{jump} did not open a way to {address}:{port}: {error}") from error

    def close(self) -> None:
        for gateway in self._gateways.values():
            gateway.close()


class Keys(AuthStrategy):
    """The keys to offer, in ssh's order: those that ssh_config names, the agent's, the user's own."""

    def __init__(self, user: str, own: list[paramiko.PKey], named: list[paramiko.PKey], use_agent: bool) -> None:
        super().__init__(ssh_config=paramiko.SSHConfig())
        self._user, self._own, self._named, self._use_agent = user, own, named, use_agent

    def get_sources(self) -> Iterator[InMemoryPrivateKey]:
        agent_keys: list[paramiko.PKey] = []
        if self._use_agent and os.environ.get("SSH_AUTH_SOCK"):
            agent_keys = list(paramiko.Agent().get_keys())
        offered: set[bytes] = set()
        for key in [*self._named, *agent_keys, *self._own]:
            if key.asbytes() not in offered:
                offered.add(key.asbytes())
                yield InMemoryPrivateKey(self._user, key)


class KnownHosts:
    """known_hosts files, parsed once. Hashed names are matched by hash; revoked keys are never trusted."""

    def __init__(self, paths: list[str]) -> None:
        self._plain: dict[str, list[paramiko.PKey]] = {}
        self._hashed: list[tuple[str, paramiko.PKey]] = []
        for path in paths:
            for name in sorted(glob.glob(path)):
                with open(name, encoding="utf-8", errors="replace") as file:
                    for line in file:
                        self._add(line.strip())

    def _add(self, line: str) -> None:
        """kafka-a01,10.0.0.1 ssh-ed25519 AAAA… comment"""
        if not line or line.startswith(("#", "@")):
            return
        try:
            entry = paramiko.hostkeys.HostKeyEntry.from_line(line)
        except (paramiko.SSHException, ValueError):
            return  # a line that ssh itself would not understand: it names nobody we could trust
        if entry is None or entry.key is None:
            return
        for name in entry.hostnames:
            if name.startswith("|1|"):
                self._hashed.append((name, entry.key))
            else:
                self._plain.setdefault(name, []).append(entry.key)

    def of(self, name: str, port: int) -> list[paramiko.PKey]:
        """The keys that this host may show."""
        asked = name if port == PORT else f"[{name}]:{port}"
        found = list(self._plain.get(asked, ()))
        for hashed, key in self._hashed:
            if paramiko.HostKeys.hash_host(asked, hashed) == hashed:
                found.append(key)
        return found


def transport(sock: Any, disabled_algorithms: Any = None, **_more: Any) -> paramiko.Transport:
    """A transport with a larger window, the cheapest good cipher first, and no costly key exchange."""
    disabled = {"kex": list(SLOW_KEX)}
    made = paramiko.Transport(sock, disabled_algorithms=disabled, default_window_size=4 << 20)
    options = made.get_security_options()
    options.ciphers = sorted(options.ciphers, key=lambda name: name != "aes128-gcm@openssh.com")
    made.daemon = True
    return made


def fingerprint(key: paramiko.PKey) -> str:
    """As ssh shows it: SHA256:…"""
    return "SHA256:" + base64.b64encode(hashlib.sha256(key.asbytes()).digest()).decode().rstrip("=")


def translate(error: Exception, user: str, address: str, port: int) -> Unreachable:
    """Any error of a connection as the reason that a person needs."""
    where = f"{address}:{port}"
    if isinstance(error, Unreachable):
        return error
    if isinstance(error, paramiko.BadHostKeyException):
        known, offered = fingerprint(error.expected_key), fingerprint(error.key)
        return Unreachable("key-changed", f"host key changed (known {known}, offered {offered})")
    if isinstance(error, paramiko.AuthenticationException):
        if "timeout" in str(error).lower():
            return Unreachable("auth-timeout", f"{where} took too long to let {user} in")
        return Unreachable("auth", f"{where} does not let {user} in with any key that we have")
    if isinstance(error, socket.gaierror):
        return Unreachable("name", f"no address is known for {address}: {error.strerror}")
    if isinstance(error, (socket.timeout, TimeoutError)):
        return Unreachable("black-hole", f"{where} does not answer (no connection in time)")
    if isinstance(error, ConnectionRefusedError):
        return Unreachable("refused", f"{where} refuses connections: no sshd there")
    return _translate_ssh(error, where)


def _translate_ssh(error: Exception, where: str) -> Unreachable:
    words = str(error)
    if "not found in known_hosts" in words:
        return Unreachable("key-unknown", "host key unknown: accept it first with `smoke inventory keys`")
    if "banner" in words.lower() or "No existing session" in words:
        if "timeout" in words.lower() or "No existing session" in words:
            return Unreachable("silent", f"{where} accepts connections but shows no ssh banner")
        return Unreachable("dropped", f"{where} closed the connection before its ssh banner")
    if isinstance(error, (ConnectionResetError, BrokenPipeError, EOFError)):
        return Unreachable("dropped", f"{where} dropped the connection")
    return Unreachable("ssh", f"{where}: {words or type(error).__name__}"[:300])
