"""The rack's inventory, as a site would write it. What is set here and not in the hosts is said why."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from tests.rack.machines import GATEWAY, Machine
from tests.real.parts import bmc

# An emulated host has 640 MB of RAM and one processor, some 20 times slower than a real one, which the agent alone
# keeps busy: that much is told. A fault of the table that needs a limit sets it itself.
LIMITS: dict[str, dict[str, Any]] = {
    "memory": {"broker_total_gb_warning": 0},
    "reach": {"answer_s_warning": 240},
    "cpu": {"load_per_cpu_warning": 12, "held_minutes": 600},
}
# QEMU's MegaRAID answers the driver's first question to each volume with a hardware error, at every boot.
FIRST_QUESTION = {"clear_after_hours": 0.005}


def describe(folder: pathlib.Path, hosts: Sequence[Machine], ports: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
    """The inventory as YAML would have it. folder: where the BMCs' password lies."""
    return {
        "clusters": {
            "rack": {
                "limits": {check: dict(limits) for check, limits in LIMITS.items()},
                "hosts": {host.name: _host(folder, host, ports[host.name]) for host in hosts},
            }
        }
    }


def write(path: pathlib.Path, hosts: Sequence[Machine], ports: Mapping[str, Mapping[str, int]]) -> None:
    path.write_text(yaml.safe_dump(describe(path.parent, hosts, ports), sort_keys=False))


def _host(folder: pathlib.Path, host: Machine, ports: Mapping[str, int]) -> dict[str, Any]:
    # QEMU's card answers every question to a member with its first disk
    raid = [disk.serial for disk in host.disks if disk.bus == "raid"]
    told: dict[str, Any] = {
        "roles": list(host.roles),
        "rack": "r1",
        "psus": 2,
        "ports": [host.port],
        "firewall": "inactive",
        "disks": [disk.serial for disk in host.disks if disk.bus != "raid"] + raid[:1],
        "interfaces": {"eno1": 1000, **({"bond0": 10000} if host.bond else {"lan1": 1000})},
        "bmc": {"via": "inband"},
    }
    if raid:
        told["limits"] = {"disk_errors": FIRST_QUESTION}
    if host.bmc == "lan":
        told["bmc"] = {"via": "lan", "address": GATEWAY, "port": ports["bmc"], "user": bmc.USER,
                       "password_file": str(folder / "bmc-password")}  # fmt: skip
    if host.layout:
        told["layout"] = host.layout
        told["zookeeper"] = ["zk-1:2181"]
    if "broker" in host.roles:
        told["mounts"] = {path: {"serial": serial} if serial else {} for path, serial in host.mounts.items()}
    return told
