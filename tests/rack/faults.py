"""The table of faults, faults.yaml: what is done to which host, and what the agent must say of it."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from agent.status import BY_SEVERITY

MOST_TOGETHER = 6
TABLE = pathlib.Path(__file__).parent / "faults.yaml"
Step = tuple[str, Any]
Subject = tuple[str, str]


class BadTable(ValueError):
    """faults.yaml has a row that cannot be; the message names it."""


@dataclass(frozen=True)
class Fault:
    """A row. see: (check, item) -> status that must come within `runs`; may: what else may come of it.

    inventory: what the inventory says otherwise while the fault lasts. pause_s: between two runs. heal_runs: within how
    many runs all is well again. alone: not to be done together with others. note: for the reader, above all what of it
    is not real.
    """

    name: str
    host: str
    what: str
    inject: tuple[Step, ...]
    heal: tuple[Step, ...]
    see: Mapping[Subject, str]
    may: Mapping[Subject, str] = field(default_factory=dict)
    runs: int = 1
    heal_runs: int = 2
    pause_s: float = 0.0
    inventory: Mapping[str, Any] = field(default_factory=dict)
    short: bool = False
    alone: bool = False
    note: str = ""


def load(path: pathlib.Path = TABLE) -> list[Fault]:
    """All rows, in the order of the file. BadTable."""
    found = [_fault(row) for row in yaml.safe_load(path.read_text())]
    names = [fault.name for fault in found]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise BadTable(f"two faults have one name: {', '.join(sorted(twice))}")
    return found


def named(name: str) -> Fault:
    """BadTable with the names that there are."""
    for fault in load():
        if fault.name == name:
            return fault
    raise BadTable(f"no fault {name!r}; `scripts/rack list` shows them")


def _fault(row: Mapping[str, Any]) -> Fault:
    unknown = set(row) - set(Fault.__dataclass_fields__)
    missing = {"name", "host", "what", "inject"} - set(row)
    if unknown or missing:
        raise BadTable(f"{row.get('name', row)}: unknown {sorted(unknown)}, missing {sorted(missing)}")
    given = dict(row)
    for key in ("inject", "heal"):
        given[key] = tuple(_step(row["name"], step) for step in row.get(key, ()))
    for key in ("see", "may"):
        given[key] = _subjects(row["name"], row.get(key, {}))
    return Fault(**given)


def _step(name: str, step: Any) -> Step:
    if isinstance(step, str):
        return step, None
    if not isinstance(step, dict) or len(step) != 1:
        raise BadTable(f"{name}: a step is one word with its argument, not {step!r}")
    (row,) = step.items()
    return row


def _subjects(name: str, rows: Mapping[str, str]) -> dict[Subject, str]:
    found = {}
    for key, status in rows.items():
        check, _, item = key.partition(" ")
        if not item or not set(status.split("|")) <= set(BY_SEVERITY):
            raise BadTable(f"{name}: {key}: {status} is not `check item: status`")
        found[check, item] = status
    return found


def grouped(rows: Sequence[Fault]) -> list[list[Fault]]:
    """The faults of one host in groups that can be done together: none touches what another of its group does.

    What must not alarm goes with its like: a run that is silent throughout shows it for each of them.
    """
    groups: list[list[Fault]] = []
    for row in rows:
        group = next((group for group in groups if _fits(group, row)), None)
        if group is None:
            groups.append([row])
        else:
            group.append(row)
    return groups


def _fits(group: Sequence[Fault], row: Fault) -> bool:
    if row.alone or group[0].alone or len(group) >= MOST_TOGETHER or bool(row.see) != bool(group[0].see):
        return False
    seen = {subject for other in group for subject in other.see}
    allowed = {subject for other in group for subject in other.may}
    # what may come of both, such as an unknown balance of the disks, is neither's own sign
    return not (seen & {*row.see, *row.may} or allowed & {*row.see})


def chosen(rows: Sequence[Fault], short: bool = False, hosts: Sequence[str] = ()) -> list[Fault]:
    return [row for row in rows if (row.short or not short) and (not hosts or row.host in hosts)]
