"""Facts of one machine: each kind is gathered with read-only commands there and from the agent's findings."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from agent.formats.text import printable
from agent.host import CannotTell, NotApplicable
from agent.status import FINE
from inventory.errors import SmokeError
from inventory.model import Host
from playbooks.fact_schema import BadFact, Fact, fact
from playbooks.view import View

# kind -> module and function there: (Look, Fact it belongs to or None) -> candidates
FINDERS: Mapping[str, str] = {
    "jbod-disk": "disks:jbod_disks",
    "empty-disk": "disks:empty_disks",
    "mount": "disks:mounts",
    "new-uuid": "settings:new_uuid",
    "machine": "settings:machine",
    "md-disk": "md:disks",
    "array": "md:arrays",
    "hw-raid-disk": "hw_raid:disks",
    "raid10-disk": "hw_raid:of_any_kind",
    "broker": "servers:brokers",
    "zookeeper": "servers:zookeepers",
    "antivirus": "services:antivirus",
    "firewall": "services:firewalls",
    "time": "services:time_daemons",
    "interface": "network:interfaces",
    "psu": "parts:psus",
    "dimm": "parts:dimms",
}
# checks of the agent whose items are the only names of these
ASKS: Mapping[str, str] = {"psu": "power", "dimm": "memory_errors"}
DISKS = ("jbod-disk", "md-disk", "hw-raid-disk", "raid10-disk")
MOST_LISTED = 20


class NotFound(SmokeError):
    """There is no such thing on the machine, or several, or it may not be told; the message says what to do."""


@dataclass(frozen=True)
class Candidate:
    """One thing of a kind. names: what a person or a finding may call it. values: its fields, asked when chosen."""

    names: tuple[str, ...]
    shown: str
    values: Callable[[], Mapping[str, object]]


@dataclass
class Choice:
    """What a person asked for. disk: a serial number. item: of a finding. named: need -> name."""

    disk: str = ""
    item: str = ""
    named: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Look:
    """One machine while facts of it are found. disks_before: serial numbers that were there when it was planned."""

    host: Host
    view: View
    findings: Sequence[Mapping[str, Any]] = ()
    facts: Mapping[str, Fact] = field(default_factory=dict)
    disks_before: Sequence[str] = ()

    def items(self, *checks: str) -> list[str]:
        """The items of findings that somebody has to do something about, of these checks or of any."""
        return [
            str(finding["item"]) for finding in self.findings
            if finding["status"] not in FINE and (not checks or finding["check"] in checks)
        ]  # fmt: skip

    def first(self, *kinds: str) -> Fact | None:
        """The first fact of one of these kinds that was found so far."""
        return next((found for found in self.facts.values() if found.kind in kinds and found.values), None)


def limit(look: Look, check: ModuleType, name: str) -> int:
    """The site's own number, else the check's."""
    return int(_limit(look, check, name))


def words_limit(look: Look, check: ModuleType, name: str) -> list[str]:
    """The site's own words of a limit that lists some, else the check's."""
    return str(_limit(look, check, name)).split()


def _limit(look: Look, check: ModuleType, name: str) -> Any:
    limits = look.host.limits.get(check.__name__.rpartition(".")[2], {})
    return limits.get(name, check.LIMITS[name])


def find(need: str, kind: str, look: Look, choice: Choice, of: Fact | None = None, optional: bool = False) -> Fact:
    """The fact that a playbook calls `need`. NotFound."""
    module, _, name = FINDERS[kind].partition(":")
    finder = getattr(importlib.import_module(f"playbooks.facts.{module}"), name)
    try:
        candidates: list[Candidate] = finder(look, of)
        if not candidates and optional:
            return Fact(kind, {})
        return fact(kind, _chosen(need, kind, look, choice, of, candidates).values())
    except (CannotTell, NotApplicable, BadFact) as error:
        raise NotFound(f"cannot determine {need} ({kind}): {printable(str(error))}") from error


def _chosen(
    need: str, kind: str, look: Look, choice: Choice, of: Fact | None, candidates: Sequence[Candidate]
) -> Candidate:
    if not candidates:
        raise NotFound(f"{look.host.name}: no {kind} found for {need}")
    wanted = choice.named.get(need) or (choice.disk if kind in DISKS else "")
    if wanted:
        return _only(need, kind, wanted, [one for one in candidates if _called(one, wanted)], candidates)
    related = [one for one in candidates if of and any(_called(one, str(value)) for value in of.values.values())]
    if related:
        return _only(need, kind, "", related, candidates)
    by_item = [one for one in candidates if choice.item and _called(one, choice.item)]
    if by_item:
        return _only(need, kind, choice.item, by_item, candidates)
    if len(candidates) == 1:
        return candidates[0]
    found = [one for one in candidates if any(_called(one, item) for item in look.items())]
    return _only(need, kind, "", found, candidates)


def _only(need: str, kind: str, wanted: str, found: Sequence[Candidate], known: Sequence[Candidate]) -> Candidate:
    if len(found) == 1:
        return found[0]
    rows = [f"  {printable(one.shown)}" for one in (found or known)[:MOST_LISTED]]
    if wanted and not found:
        words = f"no {kind} named {printable(wanted)!r}; found:"
    else:
        how = "--disk SERIAL" if kind in DISKS else f"--item ITEM or --choose {need}=NAME"
        words = f"several candidates for {kind}; choose one with {how}:"
    raise NotFound("\n".join([words, *rows]))


def _called(candidate: Candidate, name: str) -> bool:
    return _plain(name) in {_plain(known) for known in candidate.names if known}


def _plain(name: str) -> str:
    """Without what tools write differently: 0x5000c500a1b2c3d4, naa.5000C500A1B2C3D4; /dev/sdc, sdc."""
    return re.sub(r"^(0x|naa\.|eui\.|wwn-0x|/dev/)", "", name.strip().lower())
