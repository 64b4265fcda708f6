"""What a run did: one line for each event, on disk before the next thing is done.

STORE/playbooks/ID.jsonl begins with the plan. Who reads it after a power cut knows which step was under way.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from typing import Any

from agent.atomic_file import sync_folder
from agent.report import timestamp
from inventory.errors import SmokeError
from playbooks.plan.plan import NoPlan, Plan, folder, from_json, to_json
from smoketests.gate import playbook_runs as journals
from smoketests.gate.playbook_runs import ENDING, ID, LARGEST, Event


class InUse(SmokeError):
    """Somebody carries this run out at this moment; the message says who."""


class Journal:
    """The events of one run. While it is open, nobody else can open it to write."""

    def __init__(self, path: str, handle: int, plan: Plan, events: list[Event]) -> None:
        self.path, self.plan, self.events = path, plan, events
        self._handle = handle

    def write(self, event: str, **fields: Any) -> None:
        """Add an event; it is on disk when this returns. OSError."""
        row: Event = {"event": event, "at": timestamp(time.time()), **fields}
        append(self._handle, row)
        self.events.append(row)

    def close(self) -> None:
        os.close(self._handle)


def path_of(store: str, run_id: str) -> str:
    """NoPlan for what is no id."""
    if not ID.fullmatch(run_id):
        raise NoPlan(f"{run_id[:80]!a} is not a valid id; `smoke playbook log` lists all runs")
    return os.path.join(folder(store), run_id + ENDING)


def begin(plan: Plan, store: str, who: str) -> Journal:
    """A new run of a plan. InUse if it was run before, OSError."""
    path = path_of(store, plan.id)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o640)
    except FileExistsError:
        raise InUse(
            f"plan {plan.id} has already been run: resume it (smoke playbook resume {plan.id}) or plan again"
        ) from None
    take(handle, path, [])
    journal = Journal(path, handle, plan, [])
    journal.write("planned", plan=to_json(plan))
    journal.write("began", who=who)
    sync_folder(os.path.dirname(path))
    return journal


def reopen(run_id: str, store: str) -> Journal:
    """A run to go on with. NoPlan, InUse, OSError."""
    path = path_of(store, run_id)
    events = read(run_id, store)
    plan = from_json(events[0]["plan"])
    handle = os.open(path, os.O_WRONLY | os.O_APPEND)
    take(handle, path, events)
    end_line(handle, path)
    return Journal(path, handle, plan, read(run_id, store))


def read(run_id: str, store: str) -> list[Event]:
    """The events of a run; a line that was cut short is left out. NoPlan."""
    path = path_of(store, run_id)
    try:
        events = journals.events(path)
    except FileNotFoundError:
        raise NoPlan(f"no run {run_id} in {store}; `smoke playbook log` lists all runs") from None
    except OSError as error:
        raise NoPlan(f"{path}: {error.strerror}") from error
    if not events or "plan" not in events[0]:
        raise NoPlan(f"{path} does not start with a plan")
    return events


def runs(store: str) -> list[str]:
    """Ids of all runs, oldest first; none where there is no store."""
    try:
        return journals.ids(store)
    except journals.UnreadableRuns as error:
        raise NoPlan(str(error)) from error


def is_open(run_id: str, store: str) -> bool:
    """Whether somebody carries it out now."""
    try:
        return journals.is_open(path_of(store, run_id))
    except OSError as error:
        raise NoPlan(f"{run_id}: {error.strerror}") from error


def take(handle: int, path: str, events: list[Event]) -> None:
    """Keep everybody else from it. InUse, with who it is by these events."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        last = next((event for event in reversed(events) if event.get("who")), {})
        who = last.get("who", "another process")
        since = last.get("at", "now")
        raise InUse(
            f"{os.path.basename(path)} is in use by {who} since {since}; wait until that program has ended"
        ) from None


def end_line(handle: int, path: str) -> None:
    """Behind the last word of one that was killed while it wrote."""
    with open(path, "rb") as file:
        if not file.read(LARGEST).endswith(b"\n"):
            os.write(handle, b"\n")


def append(handle: int, row: Event) -> None:
    """A line at the end; it is on disk when this returns. OSError."""
    data = json.dumps(row, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
    while data:
        data = data[os.write(handle, data) :]
    os.fsync(handle)
