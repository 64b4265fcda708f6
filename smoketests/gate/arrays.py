"""The arrays of a machine, as its finding raid tells them."""

from __future__ import annotations

from typing import NamedTuple

from inventory.model import Host
from smoketests.cluster.view import Told, told
from smoketests.gate.situation import Situation


class Array(NamedTuple):
    """What is read of raid: see its Facts."""

    kind: str
    level: str
    state: str
    said: str
    gone: tuple[str, ...]
    rebuilding: tuple[str, ...]
    exposed: tuple[tuple[str, str, str, str], ...]
    mirrors: tuple[tuple[str, ...], ...]


def of(situation: Situation, host: Host) -> list[Told[Array]]:
    return [row for row in told(situation.view, "raid", Array, (host,)) if row.facts.kind == "array"]


def names(member: str, serial: str) -> bool:
    """Whether `sdc1 (serial ZA1BC2)` is the disk of this serial number."""
    return serial.strip().lower() in member.lower()


def naming(situation: Situation, host: Host, serial: str) -> bool:
    """Whether an array of this machine has this disk."""
    return any(_has(row.facts, serial) for row in of(situation, host))


def _has(array: Array, serial: str) -> bool:
    members = [*array.gone, *array.rebuilding, *(name for mirror in array.mirrors for name in mirror)]
    members += [name for gone, last, *_ in array.exposed for name in (gone, last)]
    return any(names(member, serial) for member in members)
