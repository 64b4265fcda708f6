"""A plan in a folder: plan.json, and what kafka-reassign-partitions.sh takes, whole and in batches."""

from __future__ import annotations

import pathlib

from agent import atomic_file
from placement import plan as plans
from placement.errors import PlacementError
from placement.plan import Plan


def write(folder: str, plan: Plan, batch_bytes: int = 0) -> list[pathlib.Path]:
    """The files that were written. PlacementError where the folder cannot be written or holds another plan."""
    at = pathlib.Path(folder)
    if (at / "plan.json").exists():
        raise PlacementError(f"{at / 'plan.json'} exists: name another folder, or remove it")
    contents = {"plan.json": plans.dumps(plan), "reassignment.json": plans.reassignment(plan.changes)}
    if batch_bytes:
        for number, batch in enumerate(plans.batches(plan.changes, batch_bytes), 1):
            contents[f"reassignment-{number:03}.json"] = plans.reassignment(batch)
    try:
        at.mkdir(parents=True, exist_ok=True)
        for name, text in contents.items():
            atomic_file.replace(str(at / name), text.encode(), 0o644)
    except OSError as error:
        raise PlacementError(f"{folder}: {error.strerror}") from None
    return [at / name for name in contents]
