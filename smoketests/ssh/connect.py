"""Verified ssh connections: Fabric and paramiko with the defaults that a fleet needs, and clear errors.

Differs from Fabric's defaults, each for a measured reason: host keys are verified and never accepted unseen; every step
has a deadline; keys and known_hosts are read once for all hosts; small packets are not held back (TCP_NODELAY).
"""

from __future__ import annotations

import contextlib
import logging
import os
import random
import socket
import subprocess
import threading
import time
from collections.abc import Generator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import paramiko
from fabric import Config, Connection

from inventory.model import Host
from smoketests.ssh import failures
from smoketests.ssh.config import SshConfig, Target
from smoketests.ssh.failures import Unreachable
from smoketests.ssh.host_keys import Known, KnownHosts
from smoketests.ssh.keys import KeyFiles, Keys
from smoketests.ssh.transport import Opening

KEY_FILES = ("~/.ssh/id_ed25519", "~/.ssh/id_ecdsa", "~/.ssh/id_rsa")
KNOWN_HOSTS = ("~/.ssh/known_hosts", "~/.ssh/known_hosts2", "/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")
# An sshd at its MaxStartups drops connections before its banner: worth another try.
TRIES = 4
# how long the failure of a bastion speaks for all hosts behind it
BASTION_FAILED_S = 30.0

# paramiko writes the traceback of every failed connection to the log; ours come back as findings
logging.getLogger("paramiko").setLevel(logging.CRITICAL)


@dataclass(frozen=True)
class Deadlines:
    """Seconds for each step of a connection."""

    connect: float = 5.0
    banner: float = 10.0
    auth: float = 15.0
    channel: float = 10.0

    @property
    def connecting(self) -> float:
        """From the first packet to being let in, with a second try."""
        return self.connect + self.banner + self.auth


class Shown(NamedTuple):
    """A host's key as it was shown, and what is known of it."""

    target: Target
    known: Known
    key: paramiko.PKey


@dataclass
class _Bastion:
    """One connection to a bastion, for all hosts behind it, or why there is none."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    connection: Any = None
    failure: Unreachable | None = None
    failed_at: float = 0.0


@dataclass
class Access:
    """What all connections share: who we are, whom we trust, how long we wait. Read once; AccessError if unusable."""

    deadlines: Deadlines = field(default_factory=Deadlines)
    known_hosts: tuple[str, ...] = KNOWN_HOSTS
    key_files: tuple[str, ...] = ()
    ssh_config: str | None = None
    use_agent: bool = True

    def __post_init__(self) -> None:
        self._ssh = SshConfig(self.ssh_config)
        self._keys = KeyFiles()
        self._own = self.key_files or tuple(path for path in map(os.path.expanduser, KEY_FILES) if os.path.exists(path))
        for path in self._own:
            self._keys.load(path)
        self._trusted: dict[tuple[str, ...], KnownHosts] = {}
        self._config = Config(lazy=True, overrides={"load_ssh_configs": False})
        self._bastions: dict[str, _Bastion] = {}
        self._proxies: list[subprocess.Popen[bytes]] = []
        self._lock = threading.Lock()
        self.trusted(self.known_hosts)

    def trusted(self, paths: tuple[str, ...]) -> KnownHosts:
        with self._lock:
            if paths not in self._trusted:
                self._trusted[paths] = KnownHosts(paths)
            return self._trusted[paths]

    def connect(self, host: Host, until: float, jump: str = "", through: tuple[str, ...] = ()) -> Connection:
        """An open, verified connection, before `until` (monotonic). Unreachable with the reason otherwise.

        jump: bastions to use instead of those that ssh_config names. through: those being connected to already.
        """
        target = self._ssh.target(host)
        if jump:
            target = replace(target, jump=jump, proxy_command="")
        for attempt in range(TRIES):
            try:
                return self._connect_once(target, until, through)
            except Unreachable as error:
                pause = 0.5 * 2**attempt * random.uniform(0.5, 1.5)  # noqa: S311  no secret: spreads the retries
                if error.kind != "dropped" or attempt == TRIES - 1 or time.monotonic() + pause > until:
                    raise
                time.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    def shown_key(self, host: Host, until: float) -> Shown:
        """The key that a host shows, whether it is known or not. Nobody logs in there (but on bastions)."""
        target = self._ssh.target(host)
        known = self._known(target)
        opening = Opening(known, target.ciphers, target.macs)
        opened = self._socket(target, until, ())
        transport = opening.transport(opened)
        transport.banner_timeout = _within(self.deadlines.banner, until)
        try:
            transport.start_client(timeout=_within(self.deadlines.banner, until))
            return Shown(target, known, transport.get_remote_server_key())
        except (paramiko.SSHException, EOFError, OSError, ValueError) as error:
            raise failures.of_handshake(error, f"{target.address}:{target.port}", opening.version()) from error
        finally:
            transport.close()
            opened.close()

    def _connect_once(self, target: Target, until: float, through: tuple[str, ...]) -> Connection:
        where = f"{target.address}:{target.port}"
        opening = Opening(self._known(target), target.ciphers, target.macs)
        opened = self._socket(target, until, through)
        connection = Verified(
            target.address, user=target.user, port=target.port, config=self._config,
            connect_timeout=_within(self.deadlines.banner, until),
            connect_kwargs={
                "sock": opened,
                "banner_timeout": self.deadlines.banner,
                "auth_timeout": _within(self.deadlines.auth, until),
                "channel_timeout": self.deadlines.channel,
                "transport_factory": opening.transport,
                "auth_strategy": Keys(target.user, lambda: self._offered(target)),
            },
        )  # fmt: skip
        connection.client.set_missing_host_key_policy(opening)
        try:
            connection.open()
        except BaseException as error:
            with contextlib.suppress(Exception):
                connection.close()
            opened.close()
            if not isinstance(error, Exception) or isinstance(error, Unreachable):
                raise
            if opening.verified:
                raise failures.of_authentication(error, where, target.user, self._keys.remark()) from error
            raise failures.of_handshake(error, where, opening.version()) from error
        return connection

    def _known(self, target: Target) -> Known:
        """ssh_config's UserKnownHostsFile counts unless the caller named files."""
        own = self.known_hosts == KNOWN_HOSTS and target.known_hosts
        return self.trusted(own or self.known_hosts).of(target.names, target.key_port)

    def _offered(self, target: Target) -> Generator[paramiko.PKey, None, None]:
        """The keys to offer, in ssh's order: those that ssh_config names, the agent's, the user's own."""
        named = [key for path in target.identity_files if (key := self._keys.load(path))]
        yield from named
        public = {blob for path in target.identity_files if (blob := self._keys.public(path))}
        if self.use_agent and os.environ.get("SSH_AUTH_SOCK"):
            agent = paramiko.Agent()
            try:
                yield from (key for key in agent.get_keys() if not target.identities_only or key.asbytes() in public)
            finally:
                agent.close()
        if not target.identities_only or not target.identity_files:
            yield from (key for path in self._own if (key := self._keys.load(path)))

    def _socket(self, target: Target, until: float, through: tuple[str, ...]) -> Any:
        if target.proxy_command:
            return self._proxy(target.proxy_command)
        if target.jump and target.jump not in through:
            return self._through(target, until, (*through, target.jump))
        where = f"{target.address}:{target.port}"
        try:
            connected = socket.create_connection(
                (target.address, target.port), timeout=_within(self.deadlines.connect, until)
            )
        except OSError as error:
            raise failures.of_socket(error, where) from error
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connected

    def _proxy(self, command: str) -> socket.socket:
        """The user's own ProxyCommand, run as ssh runs it, at the other end of a socket."""
        ours, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(
                ["/bin/sh", "-c", f"exec {command}"], stdin=theirs.fileno(), stdout=theirs.fileno(),
                stderr=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        with self._lock:
            self._proxies = [other for other in self._proxies if other.poll() is None] + [process]
        return ours

    def _through(self, target: Target, until: float, through: tuple[str, ...]) -> Any:
        """A channel through a bastion."""
        gateway = self._bastion(target.jump, until, through)
        try:
            return gateway.open_channel(
                "direct-tcpip", (target.address, target.port), ("", 0), timeout=_within(self.deadlines.channel, until)
            )
        except (paramiko.SSHException, EOFError, OSError) as error:
            where = f"{target.address}:{target.port}"
            raise Unreachable("bastion", f"bastion {target.jump} cannot connect to {where}: {error}"[:300]) from error

    def _bastion(self, jump: str, until: float, through: tuple[str, ...]) -> Any:
        """The connection to a bastion, made by whoever needs it first; its failure counts for all for a while."""
        with self._lock:
            bastion = self._bastions.setdefault(jump, _Bastion())
        if not bastion.lock.acquire(timeout=max(until - time.monotonic(), 0)):
            raise Unreachable("bastion", f"bastion {jump}: timed out")
        try:
            if bastion.connection is not None and bastion.connection.transport.is_active():
                return bastion.connection.transport
            if bastion.failure and time.monotonic() - bastion.failed_at < BASTION_FAILED_S:
                raise bastion.failure
            bastion.connection = self._connect_bastion(jump, until, through)
            return bastion.connection.transport
        except Unreachable as error:
            if error is not bastion.failure:
                bastion.failure = Unreachable("bastion", f"bastion {jump}: {error}")
                bastion.failed_at = time.monotonic()
            raise bastion.failure from error
        finally:
            bastion.lock.release()

    def _connect_bastion(self, jump: str, until: float, through: tuple[str, ...]) -> Connection:
        """first,second: the second is reached through the first."""
        before, _, last = jump.rpartition(",")
        user, _, where = last.strip().removeprefix("ssh://").rpartition("@")
        name, _, port = where.rpartition(":") if where.rpartition(":")[2].isdecimal() else (where, "", "")
        host = Host(name.strip("[]"), user=user, port=int(port or 0))
        return self.connect(host, until, before, through)

    def close(self) -> None:
        """End the bastions' connections and the proxies."""
        with self._lock:
            bastions, proxies = list(self._bastions.values()), self._proxies
            self._proxies = []
        for bastion in bastions:
            if bastion.connection is not None:
                bastion.connection.close()
        for process in proxies:
            process.terminate()
            process.wait(timeout=2)


class Verified(Connection):  # type: ignore[misc]  # fabric has no types
    """A connection that keeps its attributes to itself.

    Fabric's own writes some of them, the host's name among them, to its Config, and reads them back: with one Config
    for all threads, hosts would be mixed up.
    """

    __setattr__ = object.__setattr__


def _within(seconds: float, until: float) -> float:
    """A step's deadline, cut to what is left of the whole."""
    return max(min(seconds, until - time.monotonic()), 0.1)
