"""The question: which hosts, what for, for how long."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

REPLACE_DISK, REPLACE_PSU, DECOMMISSION = "replace-disk", "replace-psu", "decommission"
PURPOSES = (
    "reboot",
    "power-off",
    REPLACE_DISK,
    "replace-dimm",
    REPLACE_PSU,
    "replace-nic",
    "upgrade",
    DECOMMISSION,
)


@dataclass(frozen=True)
class Maintenance:
    """One question to the gate.

    hosts: names or patterns of the inventory, judged together. disk: the serial number of the disk that is replaced.
    after: is everything back? accept: finding (disks#1a2b3c), or a rule that can tell nothing -> why it is taken.
    until: how long that holds, seconds since the epoch; 0: for this answer. lock: the id of the asker's own lock.
    """

    hosts: tuple[str, ...]
    purpose: str
    cluster: str = ""
    disk: str = ""
    minutes: int = 60
    after: bool = False
    accept: Mapping[str, str] = field(default_factory=dict)
    lock: str = ""
    until: float = 0.0
