"""Changes of a step that have to be reverted later (units, replica order), for the journal: pure.

`smoketests/gate/playbook_runs.py` reads it there, so that the gate after a maintenance finds what an abandoned run
left.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from smoketests.gate.playbook_runs import REPLICA_ORDER, UNIT_DISABLED, UNIT_STOPPED

Replicas = Mapping[str, Sequence[int]]

# verb of systemctl -> what it does to a unit, and what it takes back
CHANGES = {"stop": (UNIT_STOPPED,), "disable": (UNIT_DISABLED,), "mask": (UNIT_DISABLED,)}
RESTORES = {"start": (UNIT_STOPPED,), "restart": (UNIT_STOPPED,), "enable": (UNIT_DISABLED,),
            "unmask": (UNIT_DISABLED,)}  # fmt: skip


def of_command(argv: Sequence[str], units: Sequence[str]) -> dict[str, list[Any]]:
    """Fields of the event for a command that was begun: what it changes of these units (of broker and ZooKeeper).

    >>> of_command(("systemctl", "disable", "kafka.service"), ["kafka.service"])
    {'changes': [{'kind': 'unit disabled', 'item': 'kafka.service', 'before': None, 'after': None}]}
    """
    found = [
        _change(kind, unit, None, None) for unit in _named(argv, units) for kind in _of(CHANGES, UNIT_STOPPED, argv)
    ]
    return {"changes": found} if found else {}


def restored(argv: Sequence[str], units: Sequence[str]) -> dict[str, list[Any]]:
    """Likewise for a command that ended well: what it puts back."""
    found = [[kind, unit] for unit in _named(argv, units) for kind in _of(RESTORES, UNIT_STOPPED, argv)]
    return {"restores": found} if found else {}


def revoked(fields: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """For a command that did not begin, or is known not to have worked: what it would have changed is as it was."""
    found = [[one["kind"], one["item"]] for one in fields.get("changes", ())]
    return {"restores": found} if found else {}


def of_orders(before: Replicas, after: Replicas) -> dict[str, list[Any]]:
    """For partitions whose order of replicas is changed. before, after: `topic-0` -> broker ids."""
    found = [_change(REPLICA_ORDER, name, list(before[name]), list(new)) for name, new in after.items()]
    return {"changes": found} if found else {}


def _named(argv: Sequence[str], units: Sequence[str]) -> list[str]:
    if os.path.basename(argv[0]) != "systemctl":
        return []
    full = {f"{unit.removesuffix('.service')}.service": unit for unit in units if unit}
    return [full[name] for word in argv[2:] if (name := f"{word.removesuffix('.service')}.service") in full]


def _of(table: Mapping[str, Sequence[str]], with_now: str, argv: Sequence[str]) -> list[str]:
    verb = next((word for word in argv[1:] if not word.startswith("-")), "")
    kinds = list(table.get(verb, ()))
    return [*kinds, with_now] if kinds and "--now" in argv and with_now not in kinds else kinds


def _change(kind: str, item: str, before: Any, after: Any) -> dict[str, Any]:
    return {"kind": kind, "item": item, "before": before, "after": after}
