"""Machines, clusters, and what each should be. What is empty or None was not said, and is not compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


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
    """Where the management controller answers. via: inband, lan or none; the password is in an environment variable."""

    via: str = ""
    address: str = ""
    port: int = 623
    user: str = ""
    password_env: str = "IPMI_PASSWORD"  # noqa: S105  a name, not a password


@dataclass(frozen=True)
class Host:
    """One machine. `address` is where ssh finds it, `user` empty for the caller's own or ssh_config's.

    sudo: `auto` (unless the user is root), `yes` or `no`. python: the interpreter to use there, empty to look for one.
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
            "mounts": [vars(mount) for mount in self.mounts],
            "disks": list(self.disks),
            "interfaces": [vars(interface) for interface in self.interfaces],
            "psus": self.psus,
            "ports": list(self.ports),
            "zookeeper": list(self.zookeeper),
            "firewall": self.firewall,
            "write_probe": self.write_probe,
            "limits": {check: dict(limits) for check, limits in self.limits.items()},
            "skip": dict(self.skip),
        }
        if self.bmc:
            told["bmc"] = vars(self.bmc)
        return {name: value for name, value in told.items() if value not in ("", None, [], {})}


@dataclass(frozen=True)
class Cluster:
    """Machines that hold one Kafka cluster. zookeeper and kafka: `host:port` to ask."""

    name: str
    hosts: tuple[Host, ...] = ()
    zookeeper: tuple[str, ...] = ()
    kafka: tuple[str, ...] = ()
    limits: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
