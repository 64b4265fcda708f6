"""The kinds of facts that a playbook can name, their fields, and what a value of each field may be.

Every value comes from a machine, and a machine's words are hostile until they are checked: nothing that does not fit
here is ever put into a command.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from inventory.errors import SmokeError

Value = str | int | tuple[str, ...]

# what a value of each type may be, and how to say so
TYPES: Mapping[str, tuple[str, str]] = {
    "serial": (r"[A-Za-z0-9_][A-Za-z0-9._:/+-]{0,39}(?: [A-Za-z0-9._:/+-]{1,40}){0,3}", "a serial number"),
    "text": (r"[A-Za-z0-9._/(\[][A-Za-z0-9._:/+()\[\]=-]*(?: [A-Za-z0-9._:/+()\[\]=-]+){0,9}", "a short plain text"),
    # /dev/md/kafka-a01:0, /dev/disk/by-path/pci-0000:3b:00.0-sas-phy2-lun-0
    "device": (r"/dev/[A-Za-z0-9/._:@+=-]{1,200}", "a device below /dev"),
    "path": (r"/[A-Za-z0-9/._@:+,=-]{0,500}", "an absolute path of plain characters"),
    "uuid": (r"[0-9A-Fa-f]{4,8}(?:-[0-9A-Fa-f]{4,12}){1,4}", "a UUID"),
    "word": (r"[A-Za-z0-9_][A-Za-z0-9._:@+-]{0,99}", "a plain word"),
    "interface": (r"[A-Za-z0-9][A-Za-z0-9._-]{0,14}", "the name of a network interface"),
    "unit": (r"[A-Za-z0-9][A-Za-z0-9@._:-]{0,200}\.(?:service|mount|socket|timer)", "a systemd unit"),
    "options": (r"[A-Za-z0-9][A-Za-z0-9_=,./:@%+-]{0,500}", "mount options"),
    "address": (r"[A-Za-z0-9\[\].:_/-]{1,120}", "an address"),
    "number": (r"[0-9]{1,20}", "a number"),
    "source": (
        r'(?:(?:UUID|LABEL|PARTUUID|PARTLABEL|ID)=(?:[A-Za-z0-9._:@+=-]{1,80}|"[A-Za-z0-9._:@+=-]{1,80}")'
        r"|/dev/[A-Za-z0-9/._:@+=-]{1,200})",
        "a device of /etc/fstab",
    ),
    "rule": (
        r'rule family="ipv[46]" source address="[0-9a-fA-F.:/]{2,50}" port port="[0-9]{1,5}" protocol="tcp" accept',
        "a rule of firewalld",
    ),
    "network": (r"[0-9a-fA-F.:]{2,45}(?:/[0-9]{1,3})?", "a network"),
}

DISK = {"serial": "serial", "device": "device", "size_bytes": "number", "model": "text", "wwn": "word"}
PLACE = {"slot": "text", "enclosure": "text"}

MD_DISK = {**DISK, **PLACE, "member": "device", "partition": "device", "partition_number": "number", "whole": "word",
           "array": "device", "level": "word", "role": "text", "partner": "device", "partner_serial": "serial",
           "partner_device": "device", "sysfs": "path", "array_sysfs": "path", "raid_item": "text",
           "tool": "word"}  # fmt: skip
HW_DISK = {"tool": "word", "controller": "number", "enclosure": "text", "slot": "text", "serial": "serial",
           "model": "text", "size_bytes": "number", "virtual_disk": "text", "raid_item": "text", "path": "text",
           "state": "text", "partner_serial": "serial"}  # fmt: skip

# kind -> field -> type; [type] is a list, which stands in an argument with commas between
FIELDS: Mapping[str, Mapping[str, str]] = {
    "jbod-disk": {
        **DISK,
        **PLACE,
        "partition": "device",
        "partition_number": "number",
        "mount": "path",
        "uuid": "uuid",
        "fstype": "word",
        "options": "options",
        "log_dirs": "[path]",
        "fstab": "source",
        "sysfs": "path",
        "nvme": "word",
        "metadata_log": "word",
        "others": "word",
    },
    "md-disk": MD_DISK,
    "hw-raid-disk": HW_DISK,
    "raid10-disk": {**HW_DISK, **MD_DISK},
    "empty-disk": {**DISK, **PLACE, "partition": "device"},
    "new-uuid": {"uuid": "uuid"},
    "mount": {
        "path": "path",
        "device": "device",
        "disk": "device",
        "serial": "serial",
        "uuid": "uuid",
        "fstype": "word",
        "options": "options",
        "log_dir": "path",
        "zookeeper": "word",
        "fstab": "source",
    },
    "interface": {
        "name": "interface",
        "driver": "word",
        "driver_version": "text",
        "pci": "word",
        "firmware": "text",
        "bond": "interface",
        "rx": "number",
        "tx": "number",
        "rx_max": "number",
        "tx_max": "number",
        "rings": "word",
    },
    "broker": {
        "unit": "unit",
        "at_boot": "word",
        "managed": "word",
        "oom_protection_wanted": "number",
        "pid": "number",
        "open_files_wanted": "number",
        "id": "number",
        "config": "path",
        "log_dirs": "[path]",
        "user": "word",
        "ports": "[number]",
        "cluster_id": "word",
        "mode": "word",
    },
    "zookeeper": {
        "unit": "unit",
        "at_boot": "word",
        "managed": "word",
        "pid": "number",
        "open_files_wanted": "number",
        "config": "path",
        "servers": "[address]",
        "user": "word",
        "ports": "[number]",
        "client_port": "number",
        "max_client_cnxns": "number",
        "max_client_cnxns_wanted": "number",
    },
    "antivirus": {"unit": "unit", "product": "text", "config": "path", "how": "word", "pid": "number"},
    "firewall": {
        "kind": "word",
        "unit": "unit",
        "ports": "[number]",
        "peers": "[network]",
        "peers6": "[network]",
        "rich_rules": "[rule]",
        "family": "word",
        "table": "word",
        "chain": "word",
        "zone": "word",
    },
    "time": {"unit": "unit", "daemon": "word", "other": "unit"},
    "array": {"name": "word", "device": "device", "level": "word"},
    "machine": {
        "boot_id": "uuid",
        "systemd": "word",
        "udev": "word",
        "family": "word",
        "swappiness": "number",
        "swappiness_wanted": "number",
        "max_map_count": "number",
        "max_map_count_wanted": "number",
        "huge_pages": "word",
        "huge_pages_wanted": "word",
        "remounts": "[path]",
    },
    "psu": {"name": "text"},
    "dimm": {"label": "text"},
}

# known to every playbook without being asked for
ALWAYS: Mapping[str, Mapping[str, str]] = {
    "host": {"name": "word", "address": "address", "cluster": "word"},
    "run": {"id": "word"},
}

# found only when the first step that uses them is reached
LATE = ("empty-disk",)


class BadFact(SmokeError, ValueError):
    """A value that a machine gave and that may not be put into a command; the message says which and why."""


class Fact(NamedTuple):
    """One thing on a machine. values: by field; a field that the machine does not tell is missing."""

    kind: str
    values: Mapping[str, Value]

    def words(self, field: str) -> str:
        """The value as it stands in an argument, empty where it was not told.

        >>> Fact("broker", {"ports": ("9092", "9093")}).words("ports")
        '9092,9093'
        """
        value = self.values.get(field, "")
        return ",".join(value) if isinstance(value, tuple) else str(value)


def fields(kind: str) -> Mapping[str, str]:
    """Field -> type of a kind, or of one that is always known."""
    return FIELDS[kind] if kind in FIELDS else ALWAYS[kind]


def fact(kind: str, given: Mapping[str, object]) -> Fact:
    """A fact of checked values; what is empty is left out, and so is an odd text, which only describes.

    BadFact for any other value that does not fit its field.

    >>> fact("new-uuid", {"uuid": "; rm -rf /"})
    Traceback (most recent call last):
    playbooks.fact_schema.BadFact: new-uuid: uuid '; rm -rf /' is not a UUID
    """
    values: dict[str, Value] = {}
    for name, value in given.items():
        try:
            if value not in ("", None, (), []):
                values[name] = _checked(kind, name, value)
        except BadFact:
            if fields(kind)[name] != "text":
                raise
    return Fact(kind, values)


def _checked(kind: str, name: str, value: object) -> Value:
    wanted = fields(kind)[name]
    if wanted.startswith("["):
        parts = value if isinstance(value, (list, tuple)) else [value]
        return tuple(_one(kind, name, wanted[1:-1], part) for part in parts)
    word = _one(kind, name, wanted, value)
    return int(word) if wanted == "number" else word


def _one(kind: str, name: str, wanted: str, value: object) -> str:
    pattern, said = TYPES[wanted]
    word = str(value)
    if not re.fullmatch(pattern, word, re.ASCII) or _climbs(wanted, word):
        raise BadFact(f"{kind}: {name} {word[:80]!a} is not {said}")
    return word


def _climbs(wanted: str, word: str) -> bool:
    return wanted in ("path", "device", "source") and ".." in word.split("/")
