"""The rack's inventory, as a site would write it. What is set here and not in the hosts is said why."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from tests.rack.machines import GATEWAY, Machine
from tests.real import bmc

# An emulated host has 640 MB of RAM and one processor, some 20 times slower than a real one: these four alone are told.
LIMITS: dict[str, dict[str, Any]] = {
    "memory": {"broker_total_gb_warning": 0},
    "reach": {"answer_s_warning": 240},
}


def describe(hosts: Sequence[Machine], ports: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
    """The inventory as YAML would have it."""
    return {
        "clusters": {
            "rack": {
                "limits": {check: dict(limits) for check, limits in LIMITS.items()},
                "hosts": {host.name: _host(host, ports[host.name]) for host in hosts},
            }
        }
    }


def write(path: pathlib.Path, hosts: Sequence[Machine], ports: Mapping[str, Mapping[str, int]]) -> None:
    path.write_text(yaml.safe_dump(describe(hosts, ports), sort_keys=False))


def _host(host: Machine, ports: Mapping[str, int]) -> dict[str, Any]:
    told: dict[str, Any] = {
        "roles": list(host.roles),
        "rack": "r1",
        "psus": 2,
        "ports": [host.port],
        "firewall": "inactive",
        "disks": [disk.serial for disk in host.disks],
        "interfaces": {"eno1": 1000, **({"bond0": 10000} if host.bond else {"lan1": 1000})},
        "bmc": {"via": "inband"},
    }
    if host.bmc == "lan":
        told["bmc"] = {"via": "lan", "address": GATEWAY, "port": ports["bmc"], "user": bmc.USER,
                       "password_file": "bmc-password"}  # fmt: skip
    if host.layout:
        told["layout"] = host.layout
        told["zookeeper"] = ["zk-1:2181"]
    if "broker" in host.roles:
        told["mounts"] = {path: {"serial": serial} if serial else {} for path, serial in host.mounts.items()}
    return told
