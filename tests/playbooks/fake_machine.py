"""A machine that answers from a table: for arrays, volumes and disks that this one cannot have."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from inventory.model import Host
from playbooks.fact_schema import Fact
from playbooks.facts import Choice, Look, find
from playbooks.machine import Machine, Outcome
from playbooks.view import View


class Told(Machine):
    """commands: the command line -> what it prints. files: path -> text. folders: path -> names."""

    def __init__(
        self, commands: Mapping[str, str] | None = None, files: Mapping[str, str] | None = None,
        folders: Mapping[str, Sequence[str]] | None = None, links: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(Host("kafka-a01"), "root")
        self.commands, self.files = dict(commands or {}), dict(files or {})
        self.folders, self.links = dict(folders or {}), dict(links or {})

    def run(self, argv: Sequence[str], seconds: float = 30.0, given: str = "", mark: str = "") -> Outcome:
        words, path = " ".join(argv), argv[-1]
        if argv[0] == "cat" and path in self.files:
            return Outcome(0, self.files[path], "")
        if argv[0] == "ls" and path in self.folders:
            return Outcome(0, "".join(f"{name}\n" for name in self.folders[path]), "")
        if argv[0] == "readlink" and path in self.links:
            return Outcome(0, self.links[path] + "\n", "")
        if argv[0] in ("cat", "ls", "readlink"):
            return Outcome(1, "", f"{argv[0]}: {path}: No such file or directory")
        found = next((text for begin, text in self.commands.items() if words.startswith(begin)), None)
        return Outcome(127, "", f"{argv[0]}: not found") if found is None else Outcome(0, found, "")


def lsblk(*disks: Mapping[str, Any]) -> str:
    return json.dumps({"blockdevices": list(disks)})


def disk(name: str, serial: str = "", *children: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """A row of lsblk."""
    kind = more.pop("type", "disk")
    row = {"name": name, "kname": name, "type": kind, "serial": serial or None, "size": 4_000_000_000_000,
           "model": "ST4000", "wwn": None, "fstype": None, "uuid": None, "mountpoint": None, "maj:min": f"9:{name}",
           "ro": False, **more}  # fmt: skip
    return {**row, "children": list(children)} if children else row


def part(name: str, *children: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return disk(name, "", *children, type="part", **more)


def look(machine: Machine, **more: Any) -> Look:
    return Look(machine.host, View(machine), **more)


def found(kind: str, machine: Machine, choice: Choice | None = None, of: Fact | None = None, **more: Any) -> Fact:
    return find("it", kind, look(machine, **more), choice or Choice(), of)
