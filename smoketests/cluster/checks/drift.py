"""Does any host differ from its peers in kernel, settings, memory, disks or network cards?

A reinstall loses a sysctl, a repair leaves a DIMM fewer or a disk with another firmware; the host works until the
difference matters. Peers are the hosts of this cluster with the same roles and layout; their majority is expected.

Warning: a host differs from the majority of its peers (3 at least), or there is no majority (a partial upgrade).

Unknown: no data from a host.

Ok again: as soon as it matches its peers, or most of them match it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from agent.status import combine, skipped, unknown, warning
from inventory.model import Host
from inventory.names import some
from smoketests.cluster import statistics
from smoketests.cluster.view import NO_REPORT, ClusterFinding, ClusterView, told, typed

LIMITS = {"min_peers": 3, "memory_tolerance_percent": 3}
PLAYBOOK = "tune-os"


class Swappiness(NamedTuple):
    swappiness: int


class Maps(NamedTuple):
    pid: int
    max_map_count: int


class Memory(NamedTuple):
    total_gb: float


class OpenFiles(NamedTuple):
    pid: int
    open_files_limit: int


class Disk(NamedTuple):
    model: str
    firmware: str


class Scheduler(NamedTuple):
    scheduler: str


class Link(NamedTuple):
    driver: str
    firmware: str


class Path(NamedTuple):
    item: str
    mtus: tuple[str, ...]


class Header(NamedTuple):
    kernel: str


READS = {
    "swappiness": Swappiness,
    "memory_maps": Maps,
    "memory": Memory,
    "open_files": OpenFiles,
    "smart": Disk,
    "disk_scheduler": Scheduler,
    "nic_link": Link,
    "network_path": Path,
}
# property -> host -> what it has, ready to be shown
Properties = dict[str, dict[str, str]]


def judge(view: ClusterView, limits: Mapping[str, Any]) -> Sequence[ClusterFinding]:
    found: list[ClusterFinding] = []
    groups: dict[tuple[Any, ...], list[Host]] = {}
    for host in view.hosts:
        groups.setdefault((host.roles, host.layout), []).append(host)
    for (roles, layout), hosts in groups.items():
        kind = "/".join([*roles, layout] if layout else roles) or "hosts"
        found += _of_peers(view, kind, hosts, limits)
    return found


def _of_peers(view: ClusterView, kind: str, hosts: Sequence[Host], limits: Mapping[str, Any]) -> list[ClusterFinding]:
    least = limits["min_peers"]
    silent = [host.name for host in hosts if not _answered(view, host)]
    verdicts = [unknown(f"cannot tell for {some(silent)}: {NO_REPORT}")] if silent else []
    properties = _properties(view, hosts, limits)
    compared = {name: has for name, has in properties.items() if len(has) >= least}
    found = [finding for name, has in sorted(compared.items()) for finding in _differing(name, has)]
    said = f"{len(hosts) - len(silent)} peers compared in {len(compared)} properties: {some(sorted(compared), 12)}"
    if not compared:
        said = f"{len(hosts)} peers, fewer than {least} with data: nothing to compare"
    overall = combine(verdicts, said) if verdicts or compared else skipped(said)
    found.append(ClusterFinding(kind, overall, {"hosts": len(hosts), "properties": len(compared)}))
    return found


def _answered(view: ClusterView, host: Host) -> bool:
    return host.name in view.reports and bool(view.reports[host.name].report.findings)


def _differing(name: str, has: Mapping[str, str]) -> Iterator[ClusterFinding]:
    usual = statistics.majority(has.values())
    playbook = PLAYBOOK if name.startswith(("vm.", "kernel", "open files", "scheduler")) else ""
    if usual is None:
        counted = ", ".join(f"{value} on {count}" for value, count in Counter(has.values()).most_common(4))
        yield ClusterFinding(name, warning(f"{name} has no majority among {len(has)} peers: {counted}", playbook))
        return
    agree = sum(value == usual for value in has.values())
    for host, value in has.items():
        if value != usual:
            said = f"{name} is {value or 'none'}, {agree} of {len(has)} peers have {usual or 'none'}"
            yield ClusterFinding(name, warning(said, playbook), {"has": value, "usual": usual, "peers": agree}, host)


def _properties(view: ClusterView, hosts: Sequence[Host], limits: Mapping[str, Any]) -> Properties:
    found: Properties = {}

    def has(name: str, host: Host, value: Any) -> None:
        found.setdefault(name, {})[host.name] = str(value)

    for host in hosts:
        header = typed(view.reports[host.name].report.header, Header) if host.name in view.reports else None
        if header and header.kernel:
            has("kernel", host, header.kernel)
    for swap in told(view, "swappiness", Swappiness, hosts):
        has("vm.swappiness", swap.host, swap.facts.swappiness)
    for maps in told(view, "memory_maps", Maps, hosts):
        has("vm.max_map_count", maps.host, maps.facts.max_map_count)
    for files in told(view, "open_files", OpenFiles, hosts):
        if files.facts.pid:
            has(f"open files limit of {files.item}", files.host, files.facts.open_files_limit)
    for name, values in (
        *_memory(view, hosts, limits),
        *_disks(view, hosts),
        *_cards(view, hosts),
        *_mtus(view, hosts),
    ):
        found[name] = values
    return found


def _memory(
    view: ClusterView, hosts: Sequence[Host], limits: Mapping[str, Any]
) -> Iterator[tuple[str, dict[str, str]]]:
    """The kernel keeps a little for itself, and not the same everywhere: sizes that are near are one."""
    sizes = {row.host.name: row.facts.total_gb for row in told(view, "memory", Memory, hosts)}
    near = 1 + limits["memory_tolerance_percent"] / 100
    names: list[float] = []
    values = {}
    for host, size in sorted(sizes.items(), key=lambda pair: pair[1]):
        if not names or size > names[-1] * near:
            names.append(size)
        values[host] = f"{names[-1]:.0f} GB"
    if values:
        yield "memory", values


def _disks(view: ClusterView, hosts: Sequence[Host]) -> Iterator[tuple[str, dict[str, str]]]:
    """Which models a host has; of each model which firmware; and the schedulers of its data disks."""
    models: dict[str, set[str]] = {}
    firmware: dict[str, dict[str, set[str]]] = {}
    for row in told(view, "smart", Disk, hosts):
        if row.facts.model:
            models.setdefault(row.host.name, set()).add(row.facts.model)
            if row.facts.firmware:
                of_model = firmware.setdefault(row.facts.model, {})
                of_model.setdefault(row.host.name, set()).add(row.facts.firmware)
    schedulers: dict[str, set[str]] = {}
    for disk in told(view, "disk_scheduler", Scheduler, hosts):
        schedulers.setdefault(disk.host.name, set()).add(disk.facts.scheduler)
    yield "disk models", _joined(models)
    yield "schedulers", _joined(schedulers)
    for model, values in firmware.items():
        yield f"firmware of {model}", _joined(values)


def _mtus(view: ClusterView, hosts: Sequence[Host]) -> Iterator[tuple[str, dict[str, str]]]:
    """The sizes that a host's interfaces have: frames larger than a peer takes are lost on the way."""
    yield (
        "MTU",
        {
            path.host.name: ", ".join(sorted({row.rpartition(" ")[2] for row in path.facts.mtus}))
            for path in told(view, "network_path", Path, hosts)
            if path.facts.mtus
        },
    )


def _cards(view: ClusterView, hosts: Sequence[Host]) -> Iterator[tuple[str, dict[str, str]]]:
    """Driver and firmware of the network cards, by driver: names of interfaces differ without harm."""
    drivers: dict[str, set[str]] = {}
    firmware: dict[str, dict[str, set[str]]] = {}
    for row in told(view, "nic_link", Link, hosts):
        if row.facts.driver:
            drivers.setdefault(row.host.name, set()).add(row.facts.driver)
            if row.facts.firmware:
                of_driver = firmware.setdefault(row.facts.driver, {})
                of_driver.setdefault(row.host.name, set()).add(row.facts.firmware)
    yield "network drivers", _joined(drivers)
    for driver, values in firmware.items():
        yield f"firmware of {driver} cards", _joined(values)


def _joined(values: Mapping[str, set[str]]) -> dict[str, str]:
    return {host: ", ".join(sorted(has)) for host, has in values.items()}
