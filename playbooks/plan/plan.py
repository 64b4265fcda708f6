"""A plan: one playbook, one machine, and every fact of it that is known before anything is done."""

from __future__ import annotations

import fnmatch
import json
import os
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.formats.text import printable
from agent.host import CannotTell
from agent.report import timestamp
from agent.status import FINE
from inventory.errors import SmokeError
from playbooks import fact_schema, loader
from playbooks.fact_schema import Fact
from playbooks.facts import ASKS, Choice, Look, NotFound, blocks, find
from playbooks.model import Playbook
from playbooks.plan import refusals, template
from playbooks.plan.template import Filling
from playbooks.target import CannotLook, Say, Target
from smoketests.gate.playbook_runs import FOLDER, ID

VERSION = 1
# an older plan is no promise any more; it counts if it is named
COUNTS_S = 24 * 3600
ENDING = ".plan.json"
MOST_FINDINGS = 8
# the part of an id that tells its second
SECONDS = len("20261121-210733")


class CannotPlan(SmokeError):
    """The machine does not tell what the playbook needs; the message says what, why, and what to say."""


class NoPlan(SmokeError):
    """There is no plan or run of this id, or it cannot be read."""


@dataclass(frozen=True)
class Plan:
    """facts: of needs that are known. late: needs found when a step uses them. why: findings that led here.

    source: the playbook's file as it was. disks: serial numbers of all disks that were there. at: ISO 8601, UTC.
    """

    id: str
    playbook: Playbook
    source: str
    host: str
    address: str
    cluster: str
    at: str
    facts: Mapping[str, Fact]
    late: tuple[str, ...]
    choice: Choice
    disks: tuple[str, ...] = ()
    why: tuple[str, ...] = ()
    untold: tuple[str, ...] = ()
    inventories: tuple[str, ...] = field(default=())

    def filling(self, more: Mapping[str, Fact] | None = None) -> Filling:
        """With facts that were found meanwhile."""
        known = template.always(self.host, self.address, self.cluster, self.id)
        return Filling(self.playbook, {**known, **self.facts, **(more or {})})


def make(playbook: Playbook, target: Target, choice: Choice, say: Say, before: Plan | None = None) -> Plan:
    """Look at the machine; nothing there is changed. before: an earlier plan, whose made-up facts stay. CannotPlan."""
    if no_rights := refusals.rights(playbook, target.host):
        raise CannotPlan(no_rights)
    untold: list[str] = []
    findings = _findings(playbook, target, say, untold)
    look = Look(target.host, target.view(), findings)
    facts: dict[str, Fact] = {}
    problems: list[str] = []
    for name, need in playbook.needs.items():
        if need.kind == "new-uuid" and before and name in before.facts:
            facts[name] = before.facts[name]
        elif not need.late:
            try:
                facts[name] = find(name, need.kind, look, choice, facts.get(need.of), need.optional)
            except NotFound as error:
                problems.append(str(error))
    problems += refusals.empty(playbook, facts)
    if problems:
        raise CannotPlan("\n".join([*problems, *untold]))
    with open(playbook.path, encoding="utf-8") as file:
        source = file.read()
    return Plan(
        new_id(), playbook, source, target.name, target.host.address, target.host.cluster, timestamp(time.time()),
        facts, tuple(name for name, need in playbook.needs.items() if need.late), choice, _serials(look, playbook),
        tuple(_why(playbook, findings)), tuple(untold), tuple(target.wanted.inventories) if target.wanted else (),
    )  # fmt: skip


def new_id() -> str:
    return time.strftime("%Y%m%d-%H%M%S-", time.gmtime()) + secrets.token_hex(2)


def _findings(playbook: Playbook, target: Target, say: Say, untold: list[str]) -> list[Mapping[str, Any]]:
    """What the agent finds of what leads here; without it a person has to name the item."""
    from agent import engine

    checks = [finding.check for finding in playbook.findings if finding.check in engine.names()]
    checks += [ASKS[need.kind] for need in playbook.needs.values() if need.kind in ASKS]
    try:
        return target.findings(list(dict.fromkeys(checks)), say, write_probe=False) if checks else []
    except CannotLook as error:
        untold.append(f"no findings from the agent: {printable(str(error))}")
        return []


def _why(playbook: Playbook, findings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Those that name this playbook; with a playbook of the site's own, also those that it names itself."""
    ours = os.path.dirname(playbook.path) == str(loader.FOLDER)
    bad = [one for one in findings if one["status"] not in FINE]
    leading = [one for one in bad if one.get("playbook") == playbook.name or (not ours and _is_named(playbook, one))]
    told = [printable(f"{one['check']} {one['item']} {one['status']}: {one['reason']}") for one in leading]
    more = [f"{len(told) - MOST_FINDINGS} more"] if len(told) > MOST_FINDINGS else []
    return [*told[:MOST_FINDINGS], *more]


def _is_named(playbook: Playbook, finding: Mapping[str, Any]) -> bool:
    return any(
        named.check == finding["check"] and fnmatch.fnmatchcase(str(finding["item"]), named.item or "*")
        for named in playbook.findings
    )


def _serials(look: Look, playbook: Playbook) -> tuple[str, ...]:
    """Every disk that is there now, so that a new one is known later."""
    if not any(need.kind == "empty-disk" for need in playbook.needs.values()):
        return ()
    try:
        return tuple(disk.serial for disk in blocks.disks(look.view) if disk.serial)
    except CannotTell as error:
        raise CannotPlan(f"cannot list the disks of {look.host.name}: {printable(str(error))}") from error


def changes(before: Plan, now: Plan) -> list[str]:
    """What is not any more as an earlier plan had it, a sentence each."""
    found = []
    if before.playbook.sha256 != now.playbook.sha256:
        found.append(f"the playbook {now.playbook.name} has changed")
    for name, fact in before.facts.items():
        other = now.facts.get(name, Fact(fact.kind, {}))
        for field_name in sorted({*fact.values, *other.values}):
            was, is_now = fact.words(field_name), other.words(field_name)
            if was != is_now:
                found.append(f"{name}.{field_name} was {was or 'unknown'}, is now {is_now or 'unknown'}")
    return found


def folder(store: str) -> str:
    """Where plans and runs are kept."""
    return os.path.join(store, FOLDER)


def save(plan: Plan, store: str) -> str:
    """Keep it for `run`; gives the path. OSError."""
    path = os.path.join(folder(store), plan.id + ENDING)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o640), "w", encoding="utf-8") as file:
        json.dump(to_json(plan), file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    return path


def to_json(plan: Plan) -> dict[str, Any]:
    """As JSON values; `from_json` reads them back."""
    own = {name: getattr(plan, name) for name in ("id", "source", "host", "address", "cluster", "at")}
    lists = {name: list(getattr(plan, name)) for name in ("late", "disks", "why", "untold", "inventories")}
    return {
        "version": VERSION, **own, **lists, "playbook": plan.playbook.name, "path": plan.playbook.path,
        "choice": vars(plan.choice), "facts": {name: as_json(fact) for name, fact in plan.facts.items()},
    }  # fmt: skip


def as_json(fact: Fact) -> dict[str, Any]:
    return {"kind": fact.kind, "values": dict(fact.values)}


def fact_of(said: Mapping[str, Any]) -> Fact:
    """A fact read back; its values are checked as if the machine had told them again. BadFact."""
    return fact_schema.fact(said["kind"], said["values"])


def from_json(said: Mapping[str, Any]) -> Plan:
    """A plan read back, with the playbook as it was then. NoPlan."""
    try:
        if said["version"] != VERSION or not ID.fullmatch(said["id"]):
            raise ValueError("another version")
        playbook = loader.parse(said["source"].encode(), said["path"])
        return Plan(
            said["id"], playbook, said["source"], said["host"], said["address"], said["cluster"], said["at"],
            {name: fact_of(one) for name, one in said["facts"].items()}, tuple(said["late"]), Choice(**said["choice"]),
            tuple(said["disks"]), tuple(said["why"]), tuple(said["untold"]), tuple(said["inventories"]),
        )  # fmt: skip
    except loader.PlaybookError as error:
        raise NoPlan(f"the plan's playbook does not fit this version: {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise NoPlan(f"not a valid plan: {type(error).__name__} {error}"[:200]) from error


def load(plan_id: str, store: str) -> Plan:
    """The plan of this id. NoPlan."""
    if not ID.fullmatch(plan_id):
        raise NoPlan(f"{printable(plan_id)!r} is not a valid id (expected, for example, 20261121-210733-3f2a)")
    try:
        with open(os.path.join(folder(store), plan_id + ENDING), encoding="utf-8") as file:
            return from_json(json.load(file))
    except FileNotFoundError:
        raise NoPlan(f"{store} has no plan {plan_id}") from None
    except (OSError, ValueError) as error:
        raise NoPlan(f"the plan {plan_id} cannot be read: {error}") from error


def newest(playbook: str, host: str, choice: Choice, store: str) -> Plan | None:
    """The last plan of this playbook for this host and choice, if it is of the last day and was never run."""
    try:
        with os.scandir(folder(store)) as entries:
            # an id counts in seconds, which a script or a quick hand may plan twice in
            at = {entry.name: (entry.name[:SECONDS], entry.stat().st_mtime_ns) for entry in entries}
    except OSError:
        return None
    names = sorted(at, key=lambda name: at[name], reverse=True)
    oldest = time.strftime("%Y%m%d-%H%M%S", time.gmtime(time.time() - COUNTS_S))
    ids = [name.removesuffix(ENDING) for name in names if name.endswith(ENDING) and name > oldest]
    for plan_id in ids:
        if ID.fullmatch(plan_id) and f"{plan_id}.jsonl" not in names:
            try:
                plan = load(plan_id, store)
            except NoPlan:
                continue  # of another version, or damaged: it says nothing
            if (plan.playbook.name, plan.host, plan.choice) == (playbook, host, choice):
                return plan
    return None
