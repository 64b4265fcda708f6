"""Which ports of other machines a broker must reach, for the agent there to try."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from inventory.model import Host

# In a large cluster each broker tries the next so many, in a ring: every port still has that many witnesses.
MOST_BROKERS = 64


def with_peers(hosts: Sequence[Host], zookeeper: Sequence[str]) -> tuple[Host, ...]:
    """The hosts, each broker with the ports of the others and of the ensemble (`host:port`)."""
    brokers = [host for host in hosts if "broker" in host.roles and host.ports]
    place = {host.name: number for number, host in enumerate(brokers)}
    ensemble = [server.partition("/")[0] for server in zookeeper]
    return tuple(
        replace(host, peers=_peers(host, _next(brokers, place.get(host.name, 0)), ensemble))
        if "broker" in host.roles else host for host in hosts
    )  # fmt: skip


def _next(brokers: Sequence[Host], number: int) -> Sequence[Host]:
    """The brokers after this one, round to itself."""
    return [*brokers[number:], *brokers[:number]][: MOST_BROKERS + 1]


def _peers(host: Host, brokers: Sequence[Host], ensemble: Sequence[str]) -> tuple[str, ...]:
    others = [f"{_bracketed(other)}:{port}" for other in brokers if other.name != host.name for port in other.ports]
    own = {host.name, host.address}
    servers = [server for server in ensemble if server.rpartition(":")[0].strip("[]") not in own]
    return tuple(dict.fromkeys([*others, *servers]))


def _bracketed(host: Host) -> str:
    address = host.address or host.name
    return f"[{address}]" if ":" in address else address
