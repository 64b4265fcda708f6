"""ssh_config's settings for a host: the user's file, then the system's, with their Includes."""

from __future__ import annotations

import getpass
import glob
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import paramiko

from inventory.model import Host
from smoketests.ssh.failures import AccessError

USER_FILE = "~/.ssh/config"
SYSTEM_FILE = "/etc/ssh/ssh_config"
PORT = 22
DEEPEST_INCLUDE = 8
# Include ~/.ssh/config.d/*.conf
INCLUDE = re.compile(r"^[ \t]*include(?:[ \t]*=[ \t]*|[ \t]+)(\S.*)$", re.IGNORECASE | re.MULTILINE)
#   ProxyCommand ssh -q -W %h:%p gateway.example.com
COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
# what may stand in a ProxyCommand, which a shell reads
PLAIN_WORD = re.compile(r"[A-Za-z0-9_.:%@\[\]-]*")


@dataclass(frozen=True)
class Target:
    """Where and as whom one host is reached; names and key_port are those under which its host key is known.

    jump: bastions, comma separated, as ssh -J takes them. ciphers, macs: as ssh_config has them, empty if it is silent.
    """

    address: str
    port: int
    user: str
    names: tuple[str, ...]
    key_port: int = PORT
    jump: str = ""
    proxy_command: str = ""
    identity_files: tuple[str, ...] = ()
    identities_only: bool = False
    known_hosts: tuple[str, ...] = ()
    ciphers: str = ""
    macs: str = ""


class SshConfig:
    """ssh_config, read once. What the inventory says of a host goes before it."""

    def __init__(self, path: str | None = None) -> None:
        if path and not os.path.exists(os.path.expanduser(path)):
            raise AccessError(f"{path}: ssh configuration file not found")
        files = [path] if path else [USER_FILE, SYSTEM_FILE]
        # a file ends its last Host block: what follows in the next holds for all again
        self._text = "\n".join("Host *\n" + _with_includes(os.path.expanduser(name), 0) for name in files)
        try:
            self._parsed = paramiko.SSHConfig.from_text(self._text)
        except (paramiko.SSHException, ValueError) as error:
            raise AccessError(f"{path or USER_FILE}: {error}") from error
        words = COMMENT.sub("", self._text.lower())
        self._tells_hosts_apart = self._parsed.get_hostnames() != {"*"} or "match" in words or "%" in words
        self._of_all = dict(self._parsed.lookup("*"))
        self._me = getpass.getuser()

    def target(self, host: Host) -> Target:
        told = self._lookup(host)
        address = host.address or str(told["hostname"])
        alias = told.get("hostkeyalias")
        jump = str(told.get("proxyjump") or "none")
        port = _port(host, told)
        return Target(
            address=address,
            port=port,
            user=host.user or str(told.get("user") or "") or self._me,
            names=(str(alias),) if alias else tuple(dict.fromkeys([address, host.name])),
            key_port=PORT if alias else port,
            jump="" if jump.lower() == "none" else jump,
            proxy_command=self._proxy_command(host, told),
            identity_files=tuple(map(os.path.expanduser, told.get("identityfile", ()))),
            identities_only=str(told.get("identitiesonly", "")).lower() == "yes",
            known_hosts=tuple(str(told.get("userknownhostsfile", "")).split()),
            ciphers=str(told.get("ciphers", "")),
            macs=str(told.get("macs", "")),
        )

    def _lookup(self, host: Host) -> dict[str, Any]:
        """What is said of its name, and where that is silent, of its address."""
        if not self._tells_hosts_apart:
            return {**self._of_all, "hostname": host.name}
        by_name = dict(self._parsed.lookup(host.name))
        if not host.address:
            return by_name
        by_address = dict(self._parsed.lookup(host.address))
        files = [*by_name.get("identityfile", ()), *by_address.get("identityfile", ())]
        return {**by_address, **by_name, "identityfile": list(dict.fromkeys(files))}

    def _proxy_command(self, host: Host, told: Mapping[str, Any]) -> str:
        """Its %h, %p and %r stand for what the inventory says, so it is looked up anew with that before it."""
        command = told.get("proxycommand")
        if not command:
            return ""
        words = (host.name, host.address or str(told["hostname"]), str(_port(host, told)), host.user)
        if not all(PLAIN_WORD.fullmatch(word) for word in words):
            raise AccessError(f"{host.name}: the address has characters that a ProxyCommand must not contain")
        name, address, port, user = words
        ours = f"Host {name}\n  HostName {address}\n  Port {port}\n" + (f"  User {user}\n" if user else "")
        for_name = paramiko.SSHConfig.from_text(ours + self._text).lookup(name).get("proxycommand")
        return str(for_name or command)


def _port(host: Host, told: Mapping[str, Any]) -> int:
    return host.port or int(str(told.get("port") or PORT))


def _with_includes(path: str, depth: int) -> str:
    """The file's text with the files that it includes in their place; paramiko knows no Include."""
    if depth > DEEPEST_INCLUDE:
        raise AccessError(f"{path}: Include loop, or more than {DEEPEST_INCLUDE} levels")
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise AccessError(f"{path}: {error.strerror}") from error
    folder = "/etc/ssh" if path.startswith("/etc/ssh/") else os.path.expanduser("~/.ssh")

    def included(found: re.Match[str]) -> str:
        patterns = [os.path.join(folder, os.path.expanduser(word.strip('"'))) for word in found[1].split()]
        names = [name for pattern in patterns for name in sorted(glob.glob(pattern))]
        return "\n".join(_with_includes(name, depth + 1) for name in names)

    return INCLUDE.sub(included, text)
