"""The disk that is replaced, as its machine and the inventory tell it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from inventory.model import Host
from smoketests.cluster.view import findings
from smoketests.gate.situation import Situation

# /kafka/d3 on sdd (ST8000NM0055, serial ZA1BC2, slot 4)
SERIAL = re.compile(r"\bserial ([^\s,)]+)")


def plain(serial: str) -> str:
    """Serial numbers as tools differ in writing them."""
    return re.sub(r"^(0x|naa\.|eui\.|wwn-0x)", "", serial.strip().lower())


def smart_rows(situation: Situation, host: Host) -> Iterator[Mapping[str, Any]]:
    """The SMART findings of a host, one a disk."""
    for _host, row in findings(situation.view, "smart", (host,)):
        yield row


def serials_of(row: Mapping[str, Any]) -> set[str]:
    """What the disk of a SMART finding may be called."""
    facts = row.get("facts") or {}
    said = [row.get("item"), facts.get("serial"), facts.get("wwn")]
    return {plain(word) for word in said if isinstance(word, str) and word}


def smart_of(situation: Situation, host: Host, serial: str) -> Mapping[str, Any] | None:
    """The SMART finding of this disk; None if the machine shows no such disk."""
    return next((row for row in smart_rows(situation, host) if plain(serial) in serials_of(row)), None)


def mount_serial(row: Mapping[str, Any]) -> str:
    """The serial number of the disk below a mount, as its finding tells it; empty if it does not."""
    facts = row.get("facts") or {}
    found = SERIAL.search(str(facts.get("where", ""))[:1000])
    return found[1] if found else ""


def mounts_of(situation: Situation, host: Host, serial: str) -> list[str]:
    """The data mounts on this disk: by the inventory, by what is mounted, by the device that SMART names."""
    wanted = plain(serial)
    found = {mount.path for mount in host.mounts if mount.serial and plain(mount.serial) == wanted}
    disk = smart_of(situation, host, serial)
    device = str(((disk or {}).get("facts") or {}).get("path", "")).rpartition("/")[2]
    for _host, row in findings(situation.view, "mounts", (host,)):
        facts = row.get("facts") or {}
        on = str(facts.get("device", ""))
        same = bool(device) and re.fullmatch(re.escape(device) + r"(p?\d+)?", on) is not None
        if same or (mount_serial(row) and plain(mount_serial(row)) == wanted):
            found.add(str(row.get("item", "")))
    return sorted(found)


def known(situation: Situation, host: Host) -> list[str]:
    """The serial numbers that this machine or the inventory names."""
    said = [str((row.get("facts") or {}).get("serial") or row.get("item")) for row in smart_rows(situation, host)]
    said += [mount.serial for mount in host.mounts if mount.serial] + list(host.disks)
    return list(dict.fromkeys(said))
