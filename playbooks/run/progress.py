"""The progress of a run, from its journal: pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from playbooks.fact_schema import Fact
from playbooks.plan.plan import fact_of
from smoketests.gate.decision import GO

DONE, ALREADY, SKIPPED, FAILED, UNKNOWN, UNDONE = "done", "already", "skipped", "failed", "unknown", "undone"
LEFT_OUT = "left out"
# what needs no more doing
BEHIND = (DONE, ALREADY, SKIPPED, LEFT_OUT)
# event -> what its action is then
MEANS: Mapping[str, str] = {
    "started": UNKNOWN,
    "ended": DONE,
    "passed": DONE,
    "confirmed": DONE,
    "already": ALREADY,
    "skipped": SKIPPED,
    "left out": LEFT_OUT,
    "failed": FAILED,
    "not started": FAILED,
    "undo started": UNKNOWN,
    "undo ended": UNDONE,
    "undo failed": DONE,
    "undo skipped": SKIPPED,
}


@dataclass
class Progress:
    """status: by action key, the last word on each. facts: found on the way. touched: needs whose disk was written to.

    lock: the last one that was taken, as its own fields. over: finished, undone, or empty.
    go_at: when the cluster was looked at for the last GO in front of a maintenance, ISO 8601; empty without one,
    after another answer, and after an interruption.
    """

    status: dict[str, str] = field(default_factory=dict)
    facts: dict[str, Fact] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)
    lock: Mapping[str, Any] | None = None
    undoing: bool = False
    over: str = ""
    last: str = ""
    go_at: str = ""

    @property
    def words(self) -> str:
        """For the list of runs."""
        if self.over:
            return self.over
        if self.undoing:
            return f"undo unfinished, last step {self.last}"
        state = self.status.get(self.last, "")
        return f"at step {self.last}: {'outcome unknown' if state == UNKNOWN else state}" if self.last else "started"


def of(events: Sequence[Mapping[str, Any]]) -> Progress:
    """What these events come to."""
    progress = Progress()
    for event in events:
        _take(progress, event)
    return progress


def _take(progress: Progress, event: Mapping[str, Any]) -> None:
    name, key = event["event"], str(event.get("step", ""))
    if name in MEANS and key:
        progress.status[key] = MEANS[name]
        progress.last = key
    if event.get("answer") and not event.get("after"):
        progress.go_at = str(event.get("looked_at", "")) if event["answer"] == GO else ""
    elif name == "resumed":
        progress.go_at = ""
    if name == "started" and event.get("destroys"):
        progress.touched.add(str(event["destroys"]))
    elif name == "fact":
        progress.facts[str(event["need"])] = fact_of(event["fact"])
    elif name == "locked":
        progress.lock = event["lock"]
    elif name == "unlocked":
        progress.lock = None
    elif name == "undoing":
        progress.undoing = True
    elif name in ("finished", "undone"):
        progress.over = name
