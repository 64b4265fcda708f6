"""A plan in a folder: plan.json, and what kafka-reassign-partitions.sh takes, whole and in batches."""

from __future__ import annotations

import os
import pathlib

from placement import plan as plans
from placement.errors import PlacementError
from placement.plan import Plan


def write(folder: str, plan: Plan, batch_bytes: int = 0) -> list[pathlib.Path]:
    """The files that were written. PlacementError where the folder cannot be written or holds another plan."""
    at = pathlib.Path(folder)
    if (at / "plan.json").exists():
        raise PlacementError(f"{at / 'plan.json'} is there already: name another folder, or remove it")
    contents = {"plan.json": plans.dumps(plan), "reassignment.json": plans.reassignment(plan.changes)}
    if batch_bytes:
        for number, batch in enumerate(plans.batches(plan.changes, batch_bytes), 1):
            contents[f"reassignment-{number:03}.json"] = plans.reassignment(batch)
    try:
        at.mkdir(parents=True, exist_ok=True)
        return [_written(at / name, text) for name, text in contents.items()]
    except OSError as error:
        raise PlacementError(f"{folder}: {error.strerror}") from None


def _written(path: pathlib.Path, text: str) -> pathlib.Path:
    """Aside, then renamed: a plan that is cut is worse than none."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    with aside.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)
    return path
