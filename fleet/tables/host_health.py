"""How is each host?

`health` is its worst status; `unknown` when it answered and nothing was seen of it (every check was skipped, or none
came); `silent`, or `maintenance` where the inventory says so, when it did not report this day: then the counts are
zero, not known.
"""

from __future__ import annotations

from fleet.tables import Frames, Given, Rows, hosts, in_order, picked

LIMITS: dict[str, float] = {}
COLUMNS = ("cluster", "host", "role", "layout", "rack", "health", "criticals", "unknowns", "warnings", "oks",
           "last_day", "source")  # fmt: skip


def rows(frames: Frames, _given: Given) -> Rows:
    return [picked(row, COLUMNS) for row in in_order(hosts(frames), "cluster", "host")]
