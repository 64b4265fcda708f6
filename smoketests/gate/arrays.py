"""The arrays of a machine, from its raid findings."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from inventory.model import Host
from smoketests.cluster.view import ClusterView, Told, findings, told
from smoketests.gate import replaced_disk

# sdc1 (serial ZA1BC2); several of a mirror are joined with "and"
SERIAL = re.compile(r"\(serial ([^()]{1,100})\)")
REDUNDANT = re.compile(r"raid(1|10|5|50|6|60)")
RAID10 = "raid10"
NO_LEVEL = "unknown level"


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
    """A disk as members are named after it. serial: as it was asked for. names: all that it may be called.

    kind: how smartctl reaches it behind a controller, empty if it is not.
    """

    serial: str
    names: frozenset[str]
    kind: str

    def among(self, array: Array, members: Iterable[str]) -> list[str]:
        """Which of these members it is: `sdc1 (serial ZA1BC2)`, or `252:3` of a controller. Half a serial is none."""
        own = {name for name, kind in array.asked_as if self.kind and kind == self.kind}
        return [name for name in members if name in own or self.names & serials(name)]


def serials(member: str) -> set[str]:
    """The serial numbers in a member's name, plain."""
    return {replaced_disk.plain(serial) for serial in SERIAL.findall(member)}


def disk(view: ClusterView, host: Host, serial: str) -> Disk:
    row = replaced_disk.smart_of(view, host, serial)
    said = replaced_disk.serials_of(row) if row else set()
    return Disk(serial, frozenset({replaced_disk.plain(serial), *said}), replaced_disk.kind_of(row) if row else "")


def of(view: ClusterView, host: Host) -> list[Told[Array]]:
    return [row for row in told(view, "raid", Array, (host,)) if row.facts.kind == "array"]


def with_disk(view: ClusterView, host: Host, serial: str) -> list[Told[Array]]:
    """The arrays of this machine that have this disk."""
    wanted = disk(view, host, serial)
    return [row for row in of(view, host) if wanted.among(row.facts, row.facts.members)]


def spare_the_machine(view: ClusterView, host: Host, serial: str) -> bool:
    """Whether the machine runs on without this disk: by the arrays that have it, else by the inventory's layout.

    A disk with a data mount of its own is none of the array's, whatever the layout: a mirror may have but a partition
    of it. The mount of a btrfs is the array itself.
    """
    ours = with_disk(view, host, serial)
    if {f"btrfs {path}" for path in replaced_disk.mounts_of(view, host, serial)} - {row.item for row in ours}:
        return False
    levels = {row.facts.level for row in ours} - {NO_LEVEL}
    seen = {row.facts.level for row in told(view, "raid", Array, (host,)) if row.facts.kind == "layout"}
    if any("jbod" in one.split() for one in seen) and _has_mount_of_no_disk(view, host):
        return False  # such as a logical volume over partitions beside the mirror's
    if levels:
        return all(REDUNDANT.fullmatch(level) for level in levels)
    return host.layout == RAID10 and seen <= {RAID10}


def _has_mount_of_no_disk(view: ClusterView, host: Host) -> bool:
    """A data mount of which nobody tells the one disk below it."""
    paths = [str(row.get("item")) for _host, row in findings(view, "mounts", (host,)) if row.get("facts")]
    return not all(replaced_disk.disk_below(view, host, path) for path in paths)
