"""What playbooks changed in a cluster and did not undo, from their journals (STORE/playbooks/ID.jsonl).

A journal is a line of JSON for each event. `changes` of an event is what its step changes from then on, pessimistically
from its start; `restores` names what it undoes. Only this module and playbooks/run/changes.py know the two lists.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inventory.errors import SmokeError
from smoketests.gate.maintenance import DECOMMISSION

FOLDER, ENDING = "playbooks", ".jsonl"
LARGEST = 64 << 20
MOST_DAYS = 60
DAY_S = 86_400
ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{4}")

REPLICA_ORDER, THROTTLE = "replica order", "throttle"
UNIT_DISABLED, UNIT_STOPPED = "unit disabled", "unit stopped"
KINDS = (REPLICA_ORDER, THROTTLE, UNIT_DISABLED, UNIT_STOPPED)
RUNNING, STOPPED, FINISHED, UNDONE = "running", "stopped", "finished", "undone"

Event = Mapping[str, Any]


@dataclass(frozen=True)
class Change:
    """One thing that is not as it was. kind: of KINDS. before, after: JSON values, None where it is only yes or no.

    item: `orders-0` (replica order), `kafka.service` (units), `broker 1 leader.replication.throttled.rate` (throttle).
    before and after of a replica order: lists of broker ids. at: ISO 8601, UTC.
    """

    kind: str
    item: str
    before: Any
    after: Any
    at: str


@dataclass(frozen=True)
class Run:
    """One run of a playbook. state: running, stopped (abandoned unless somebody resumes it), finished or undone.

    changes: what it did not take back, by its own journal; whether it is still so, the cluster tells. last: the step
    that it came to. purposes: what its playbook asks the gate for (`reboot`, `decommission`).
    """

    id: str
    playbook: str
    host: str
    cluster: str
    state: str
    who: str
    at: str
    last: str
    purposes: tuple[str, ...]
    changes: tuple[Change, ...]

    @property
    def abandoned(self) -> bool:
        """Begun, not ended, and carried out by nobody now."""
        return self.state == STOPPED


class UnreadableRuns(SmokeError):
    """The journals cannot be read; the message says why."""


def unfinished(store: str, cluster: str, hosts: Iterable[str] = (), now: float | None = None) -> list[Run]:
    """Runs for these hosts (none: the whole cluster) that changed something and did not take it back, or did not end.

    Oldest first, of the last 60 days; a journal that no longer parses is a run of no changes only if it has no plan.
    UnreadableRuns where the folder cannot be read; no folder is no run.
    """
    wanted = frozenset(hosts)
    begin = time.strftime("%Y%m%d", time.gmtime((time.time() if now is None else now) - MOST_DAYS * DAY_S))
    found = [run for run_id in ids(store) if run_id >= begin and (run := _run(store, run_id)) is not None]
    ours = [run for run in found if run.cluster == cluster and (not wanted or run.host in wanted)]
    return [run for run in ours if run.changes or run.state in (RUNNING, STOPPED)]


def ids(store: str) -> list[str]:
    """Of all runs, oldest first; none where there is no store. UnreadableRuns."""
    folder = os.path.join(store, FOLDER)
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UnreadableRuns(f"{folder}: {error.strerror}") from error
    found = [name.removesuffix(ENDING) for name in names if name.endswith(ENDING)]
    return sorted(run_id for run_id in found if ID.fullmatch(run_id))


def is_open(path: str) -> bool:
    """Whether somebody carries it out now: they hold an flock of the journal. OSError."""
    with open(path, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def events(path: str) -> list[Event]:
    """Its lines; one that was cut short is left out. OSError."""
    with open(path, encoding="utf-8", errors="replace") as file:
        rows = file.read(LARGEST).splitlines()
    return [event for row in rows if (event := _parsed(row)) is not None]


def _parsed(row: str) -> Event | None:
    try:
        event = json.loads(row)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) and isinstance(event.get("event"), str) else None


def _run(store: str, run_id: str) -> Run | None:
    """None for what is no journal of a run."""
    path = os.path.join(store, FOLDER, run_id + ENDING)
    try:
        rows, running = events(path), is_open(path)
    except OSError as error:
        raise UnreadableRuns(f"{path}: {error.strerror}") from error
    plan = rows[0].get("plan") if rows else None
    if not isinstance(plan, dict):
        return None
    names = [str(row["event"]) for row in rows]
    over = next((name for name in reversed(names) if name in (FINISHED, UNDONE)), STOPPED)
    who = [str(row["who"]) for row in rows if row.get("who")]
    steps = [str(row["step"]) for row in rows if row.get("step")]
    playbook, host, of = (str(plan.get(name, ""))[:200] for name in ("playbook", "host", "cluster"))
    purposes = dict.fromkeys(re.findall(r"\bgate: ([a-z-]+)", str(plan.get("source", ""))))
    return Run(
        run_id, playbook, host, of, RUNNING if running else over, (who or [""])[-1][:200], str(rows[-1].get("at", "")),
        (steps or [""])[-1], tuple(purposes), tuple(_unmeant(left(rows), over, purposes)),
    )  # fmt: skip


def _unmeant(changes: Sequence[Change], over: str, purposes: Iterable[str]) -> list[Change]:
    """Without what was the aim: a broker that left for good stays stopped and disabled."""
    gone = over == FINISHED and DECOMMISSION in purposes
    return [one for one in changes if not (gone and one.kind in (UNIT_DISABLED, UNIT_STOPPED))]


def left(rows: Sequence[Event]) -> list[Change]:
    """What these events changed and did not put back; the first `before` of each item counts."""
    open_ones: dict[tuple[str, str], Change] = {}
    for row in rows:
        for change in _changes(row):
            key = (change.kind, change.item)
            earlier = open_ones.get(key)
            change = Change(*key, earlier.before, change.after, change.at) if earlier else change
            open_ones[key] = change
            if change.before is not None and change.before == change.after:
                del open_ones[key]
        for kind, item in _restored(row):
            open_ones.pop((kind, item), None)
    return list(open_ones.values())


def _changes(row: Event) -> Iterator[Change]:
    said = row.get("changes")
    for one in said if isinstance(said, list) else ():
        if isinstance(one, dict) and one.get("kind") in KINDS and isinstance(one.get("item"), str):
            yield Change(one["kind"], one["item"], one.get("before"), one.get("after"), str(row.get("at", "")))


def _restored(row: Event) -> Iterator[tuple[str, str]]:
    said = row.get("restores")
    for one in said if isinstance(said, list) else ():
        if isinstance(one, list) and len(one) == 2 and all(isinstance(word, str) for word in one):
            yield one[0], one[1]
