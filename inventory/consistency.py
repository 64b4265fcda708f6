"""Mistakes of an inventory as a whole: values that two machines cannot share, and contradictions."""

from __future__ import annotations

import os
from collections.abc import Iterator

from inventory import secrets
from inventory.model import Cluster, Host, Inventory
from inventory.problems import Place, Problem

MOST_NOTES = 5
BROKER_ROLES = ("broker", "controller")


def check(inventory: Inventory) -> list[Problem]:
    return [*_shared(inventory), *(problem for host in inventory.hosts for problem in _of_one(inventory, host))]


def notes(inventory: Inventory) -> list[str]:
    """What is no mistake, but will be missed: password files that are not on this machine."""
    files = {host.bmc.password_file: host for host in inventory.hosts if host.bmc and host.bmc.password_file}
    gone = {path: host for path, host in files.items() if not os.path.exists(os.path.expanduser(path))}
    words = [
        f"{place(inventory, host, 'bmc.password_file')}: no password file {path} here" for path, host in gone.items()
    ]
    return words[:MOST_NOTES] + ([f"… and {len(words) - MOST_NOTES} more"] if len(words) > MOST_NOTES else [])


def _shared(inventory: Inventory) -> Iterator[Problem]:
    """The same name, address, BMC or disk on two hosts; the same broker id in one cluster."""
    seen: dict[tuple[str, object], tuple[Host, str]] = {}
    for cluster in inventory.clusters:
        for host in cluster.hosts:
            for kind, value, setting in _own(cluster, host):
                other, its_setting = seen.setdefault((kind, value), (host, setting))
                if other is not host:
                    what = kind.partition(" of cluster ")[0]
                    where = place(inventory, other, its_setting)
                    words = f"{host.name}: {what} {value!s:.100} belongs to {other.name} too ({where})"
                    yield Problem(place(inventory, host, setting), words)


def _own(cluster: Cluster, host: Host) -> Iterator[tuple[str, object, str]]:
    """What no other host may have: its kind, its value, and the setting that says it."""
    where = (host.address or host.name).lower()
    yield "address", f"{where}:{host.port}" if host.port else where, "address"
    if host.broker_id is not None:
        yield f"broker id of cluster {cluster.name}", host.broker_id, "broker_id"
    if host.bmc and host.bmc.address:
        yield "BMC address", f"{host.bmc.address.lower()}:{host.bmc.port}", "bmc.address"
    for disk in dict.fromkeys(host.disks):
        yield "disk", disk, "disks"
    for mount in host.mounts:
        if mount.serial and mount.serial not in host.disks:
            yield "disk", mount.serial, f"mounts.{mount.path}.serial"
        if mount.uuid:
            yield "file system", mount.uuid, f"mounts.{mount.path}.uuid"


def _of_one(inventory: Inventory, host: Host) -> Iterator[Problem]:
    if host.broker_id is not None and host.roles and not set(host.roles) & set(BROKER_ROLES):
        words = f"{host.name}: a broker id, but its roles are {', '.join(host.roles)}"
        yield Problem(place(inventory, host, "broker_id"), words)
    if host.bmc and host.bmc.via == "lan" and not host.bmc.address:
        yield Problem(place(inventory, host, "bmc.via"), f"{host.name}: bmc.via is lan, but bmc.address is not set")
    if host.bmc and host.bmc.via == "none" and host.bmc.address:
        yield Problem(place(inventory, host, "bmc.via"), f"{host.name}: bmc.via is none, but it has a bmc.address")
    if host.bmc:
        wrong = secrets.variable_problem(host.bmc.password_env)
        if wrong:
            yield Problem(place(inventory, host, "bmc.password_env"), wrong)
    if host.bmc and host.bmc.password_file:
        where = place(inventory, host, "bmc.password_file")
        wrong = secrets.file_problem(host.bmc.password_file, where.file)
        if wrong:
            yield Problem(where, wrong)


def place(inventory: Inventory, host: Host, setting: str) -> Place:
    """Where a setting of a host was said; where the host was named, if it was not."""
    said = inventory.origin.get(host.name, {})
    return said.get(setting) or said.get("name") or Place("inventory")
