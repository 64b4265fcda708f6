"""Machines, clusters, and what each should be. Empty or None: not set, and not compared."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from inventory import ranges
from inventory.errors import SmokeError
from inventory.problems import Place, did_you_mean, shown


@dataclass(frozen=True)
class Mount:
    """A data mount and what should stand behind it."""

    path: str
    device: str = ""
    serial: str = ""
    uuid: str = ""
    fstype: str = ""


@dataclass(frozen=True)
class Interface:
    """A network interface; speed in Mbit/s."""

    name: str
    speed_mbps: int = 0
    duplex: str = ""


@dataclass(frozen=True)
class Bmc:
    """Where the management controller answers. via: inband, lan or none.

    The password is in the environment variable `password_env`, or in the file `password_file`; see inventory.secrets.
    """

    via: str = ""
    address: str = ""
    port: int = 623
    user: str = ""
    password_env: str = "IPMI_PASSWORD"  # noqa: S105  a name, not a password
    password_file: str = ""


@dataclass(frozen=True)
class Host:
    """One machine. `address` is where ssh finds it, `user` empty for the caller's own or ssh_config's.

    sudo: `auto` (unless the user is root), `yes`, `no`, or `agent` (only the agent that is installed there).
    python: the interpreter to use there, empty to look for one.
    maintenance: why it may be silent for a while.
    peers: `host:port` of other machines that it must reach, see inventory.peers.
    limits: check -> limit -> number, below the key `items` also item -> limit -> number, most specific merged in.
    """

    name: str
    address: str = ""
    port: int = 0
    user: str = ""
    cluster: str = ""
    roles: tuple[str, ...] = ()
    layout: str = ""
    rack: str = ""
    drawer: str = ""
    power_feed: str = ""
    maintenance: str = ""
    mounts: tuple[Mount, ...] = ()
    disks: tuple[str, ...] = ()
    interfaces: tuple[Interface, ...] = ()
    psus: int | None = None
    bmc: Bmc | None = None
    ports: tuple[int, ...] = ()
    zookeeper: tuple[str, ...] = ()
    firewall: str = ""
    write_probe: bool = True
    limits: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    skip: Mapping[str, str] = field(default_factory=dict)
    broker_id: int | None = None
    peers: tuple[str, ...] = ()
    sudo: str = "auto"
    python: str = ""

    def expected(self) -> dict[str, Any]:
        """What the agent on this machine is told to expect, as JSON values; see agent/expected.py."""
        told: dict[str, Any] = {
            "host": self.name,
            "cluster": self.cluster,
            "roles": list(self.roles),
            "layout": self.layout,
            "rack": self.rack,
            "drawer": self.drawer,
            "power_feed": self.power_feed,
            "mounts": [vars(mount) for mount in self.mounts],
            "disks": list(self.disks),
            "interfaces": [vars(interface) for interface in self.interfaces],
            "psus": self.psus,
            "ports": list(self.ports),
            "zookeeper": list(self.zookeeper),
            "firewall": self.firewall,
            "peers": list(self.peers),
            "write_probe": self.write_probe,
            "limits": {check: dict(limits) for check, limits in self.limits.items()},
            "skip": dict(self.skip),
        }
        if self.bmc:
            told["bmc"] = {name: value for name, value in vars(self.bmc).items() if name != "password_file"}
        return {name: value for name, value in told.items() if value not in ("", None, [], {})}


@dataclass(frozen=True)
class Cluster:
    """Machines that hold one Kafka cluster. zookeeper and kafka: `host:port` to ask, `zk1:2181/kafka` with a chroot.

    limits: those that hold for the whole cluster, for checks that judge many hosts. maintenance_lock: where the lock is
    kept that lets one maintenance in at a time: store, zookeeper or kafka; empty: store.
    """

    name: str
    hosts: tuple[Host, ...] = ()
    zookeeper: tuple[str, ...] = ()
    kafka: tuple[str, ...] = ()
    limits: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    maintenance_lock: str = ""

    @property
    def broker_ids(self) -> dict[str, int]:
        """Host name -> the id that its broker should have, for those of which it was said."""
        return {host.name: host.broker_id for host in self.hosts if host.broker_id is not None}


@dataclass(frozen=True)
class Inventory:
    """All clusters. origin: host name (or `cluster NAME`) -> setting, such as `limits.smart.wear_warning` -> its place.

    notes: what a person should know though it is no error, such as the machines of an Ansible inventory left out.
    """

    clusters: tuple[Cluster, ...] = ()
    origin: Mapping[str, Mapping[str, Place]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def hosts(self) -> tuple[Host, ...]:
        return tuple(host for cluster in self.clusters for host in cluster.hosts)

    def host(self, name: str) -> Host:
        """The host of this name; NoSuchHost with a suggestion."""
        for host in self.hosts:
            if host.name == name:
                return host
        raise NoSuchHost(f"no host {shown(name)}{did_you_mean(name, [host.name for host in self.hosts])}")

    def select(self, limit: str = "", cluster: str = "", role: str = "", layout: str = "") -> tuple[Host, ...]:
        """The hosts that fit all that is given, in the inventory's order; NoSuchHost when something fits none.

        limit: comma separated names, globs (`kafka-a*`), ranges (`kafka-a[01-14]`), and with ! before it what to leave
        out. cluster, role, layout: comma separated, one of them must fit.
        """
        chosen = _one_of("cluster", cluster, self.hosts, lambda host: [host.cluster])
        chosen &= _one_of("role", role, self.hosts, lambda host: host.roles)
        chosen &= _one_of("layout", layout, self.hosts, lambda host: [host.layout])
        chosen &= _limited(limit, [host.name for host in self.hosts])
        if not chosen:
            asked = {"limit": limit, "cluster": cluster, "role": role, "layout": layout}
            words = ", ".join(f"{name} {shown(value)}" for name, value in asked.items() if value)
            raise NoSuchHost(f"no host matches {words} together" if words else "the inventory names no host")
        return tuple(host for host in self.hosts if host.name in chosen)


class NoSuchHost(SmokeError):
    """What was asked for fits no host of the inventory; the message says which part, with a suggestion."""


def _one_of(kind: str, wanted: str, hosts: Iterable[Host], values: Callable[[Host], Iterable[str]]) -> set[str]:
    found = {host.name: set(values(host)) for host in hosts}
    asked = ranges.split(wanted)
    known = set().union(*found.values()) - {""}
    for word in asked:
        if word not in known:
            raise NoSuchHost(f"no host has the {kind} {shown(word)}{did_you_mean(word, known)}")
    return {name for name, has in found.items() if not asked or has & set(asked)}


def _limited(limit: str, names: Sequence[str]) -> set[str]:
    patterns = ranges.split(limit)
    left_out = [pattern[1:] for pattern in patterns if pattern.startswith("!")]
    wanted = [pattern for pattern in patterns if not pattern.startswith("!")]
    chosen = {name for pattern in wanted for name in _matching(pattern, names)} if wanted else set(names)
    return chosen - {name for pattern in left_out for name in _matching(pattern, names)}


def _matching(pattern: str, names: Sequence[str]) -> set[str]:
    """Every name of a range must be there: who asks for fourteen hosts and gets thirteen should know."""
    known = set(names)
    found: set[str] = set()
    try:
        expanded = ranges.expand(pattern)
    except ranges.BadRange as error:
        raise NoSuchHost(str(error)) from error
    for word in expanded:
        matched = {word} if word in known else set(fnmatch.filter(names, word)) if set(word) & set("*?[") else set()
        if not matched:
            raise NoSuchHost(f"no host matches {shown(word)}{did_you_mean(word, names)}")
        found |= matched
    return found
