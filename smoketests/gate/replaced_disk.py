"""The disk that is replaced, from its machine and the inventory."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

from inventory.model import Host
from smoketests.cluster.view import ClusterView, findings

# /kafka/d3 on sdd (ST8000NM0055, serial ZA1BC2, slot 4)
SERIAL = re.compile(r"\bserial ([^\s,)]+)")


def plain(serial: str) -> str:
    """Serial numbers as tools differ in writing them."""
    return re.sub(r"^(0x|naa\.|eui\.|wwn-0x)", "", serial.strip().lower())


def smart_rows(view: ClusterView, host: Host) -> Iterator[Mapping[str, Any]]:
    """The SMART findings of a host, one a disk."""
    for _host, row in findings(view, "smart", (host,)):
        yield row


def serials_of(row: Mapping[str, Any]) -> set[str]:
    """What the disk of a SMART finding may be called."""
    facts = row.get("facts") or {}
    said = [row.get("item"), facts.get("serial"), facts.get("wwn")]
    return {plain(word) for word in said if isinstance(word, str) and word}


def smart_of(view: ClusterView, host: Host, serial: str) -> Mapping[str, Any] | None:
    """The SMART finding of this disk; None if the machine shows no such disk."""
    return next((row for row in smart_rows(view, host) if plain(serial) in serials_of(row)), None)


def is_seen(row: Mapping[str, Any]) -> bool:
    """Whether the disk of a SMART finding is in the machine: one that vanished has a finding too, which says so."""
    facts = row.get("facts") or {}
    return bool(facts.get("serial") or facts.get("path")) and not facts.get("vanished")


def size_of(row: Mapping[str, Any]) -> float:
    """In bytes; 0 where it is not told."""
    size = (row.get("facts") or {}).get("size_bytes")
    return size if isinstance(size, (int, float)) and size > 0 else 0


def mount_serial(row: Mapping[str, Any]) -> str:
    """The serial number of the disk below a mount, as its finding tells it; empty if it does not."""
    facts = row.get("facts") or {}
    found = SERIAL.search(str(facts.get("where", ""))[:1000])
    return found[1] if found else ""


def mounts_of(view: ClusterView, host: Host, serial: str) -> list[str]:
    """The data mounts of this disk: by the inventory, and by what is mounted."""
    named = {mount.path for mount in host.mounts if mount.serial and plain(mount.serial) == plain(serial)}
    return sorted(named | set(mounts_now(view, host, serial)))


def mounts_now(view: ClusterView, host: Host, serial: str) -> list[str]:
    """What is mounted from this disk: by the serial number in the finding, or by the device that SMART names."""
    device = _device(smart_of(view, host, serial))
    found = []
    for _host, row in findings(view, "mounts", (host,)):
        said = mount_serial(row)
        if (said and plain(said) == plain(serial)) or _is_on(row, device):
            found.append(str(row.get("item", "")))
    return sorted(found)


def log_dirs_on(view: ClusterView, brokers: Container[int], mounts: Iterable[str]) -> list[str]:
    """The log dirs of these brokers below these mounts; none where Kafka or the brokers reported none."""
    kafka = view.kafka
    rows = [row for row in (kafka.log_dirs or () if kafka else ()) if row.broker in brokers]
    return sorted(row.path for row in rows if below(row.path, mounts))


def below(path: str, mounts: Iterable[str]) -> bool:
    return any(path == mount or path.startswith(f"{mount}/") for mount in mounts)


def disk_below(view: ClusterView, host: Host, path: str) -> Mapping[str, Any] | None:
    """The SMART finding of the disk below this mount; None where neither tells."""
    for _host, row in findings(view, "mounts", (host,)):
        if row.get("item") == path:
            said = mount_serial(row)
            for disk in smart_rows(view, host):
                if (said and plain(said) in serials_of(disk)) or _is_on(row, _device(disk)):
                    return disk
    return None


def kind_of(smart: Mapping[str, Any]) -> str:
    """How smartctl reaches a disk behind a controller: `megaraid,17` of `/dev/bus/0 megaraid,17`; empty without one."""
    return str((smart.get("facts") or {}).get("path", "")).partition(" ")[2]


def _device(smart: Mapping[str, Any] | None) -> str:
    """sdd, of the finding of /dev/sdd; empty for a disk behind a RAID card, whose path names the card's device."""
    path = str(((smart or {}).get("facts") or {}).get("path", ""))
    return "" if " " in path else path.rpartition("/")[2]


def _is_on(mount: Mapping[str, Any], device: str) -> bool:
    on = str((mount.get("facts") or {}).get("device", ""))
    return bool(device) and re.fullmatch(re.escape(device) + r"(p?\d+)?", on) is not None


def known(view: ClusterView, host: Host) -> list[str]:
    """The serial numbers that this machine or the inventory names."""
    said = [str((row.get("facts") or {}).get("serial") or row.get("item")) for row in smart_rows(view, host)]
    said += [mount.serial for mount in host.mounts if mount.serial] + list(host.disks)
    return list(dict.fromkeys(said))
