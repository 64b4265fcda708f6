"""The arrays of a machine, as its finding raid tells them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from inventory.model import Host
from smoketests.cluster.view import Told, told
from smoketests.gate import replaced_disk
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
    asked_as: tuple[tuple[str, str], ...]

    @property
    def members(self) -> list[str]:
        """Every disk that it names."""
        exposed = [name for gone, last, *_ in self.exposed for name in (gone, last)]
        return [*self.gone, *self.rebuilding, *exposed, *(name for mirror in self.mirrors for name in mirror)]


class Disk(NamedTuple):
    """A disk as members are named after it. kind: how smartctl reaches it behind a controller, empty if it is not."""

    serial: str
    kind: str

    def among(self, array: Array, members: Iterable[str]) -> list[str]:
        """Which of these members it is: `sdc1 (serial ZA1BC2)`, or `252:3` of a controller."""
        own = {name for name, kind in array.asked_as if self.kind and kind == self.kind}
        return [name for name in members if self.serial.strip().lower() in name.lower() or name in own]


def disk(situation: Situation, host: Host, serial: str) -> Disk:
    row = replaced_disk.smart_of(situation, host, serial)
    return Disk(serial, replaced_disk.kind_of(row) if row else "")


def of(situation: Situation, host: Host) -> list[Told[Array]]:
    return [row for row in told(situation.view, "raid", Array, (host,)) if row.facts.kind == "array"]


def naming(situation: Situation, host: Host, serial: str) -> bool:
    """Whether an array of this machine has this disk."""
    wanted = disk(situation, host, serial)
    return any(wanted.among(row.facts, row.facts.members) for row in of(situation, host))
