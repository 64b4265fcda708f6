"""Which hosts fell silent: reported in the window, and not today? And those that the controller cannot reach.

With an inventory: its hosts that did not report today, also when they never did, except those in maintenance there. A
host that it does not name is retired, and not missed.
"""

from __future__ import annotations

from fleet.tables import Frames, Given, Row, Rows, hosts, in_order, picked

LIMITS: dict[str, float] = {}
COLUMNS = ("cluster", "host", "rack", "last_day", "silent_days", "reason")


def rows(frames: Frames, given: Given) -> Rows:
    """The one that fell silent last on top; those that never reported at the end."""
    silent = [row for row in hosts(frames) if row["health"] == "silent"]
    latest = sorted(in_order(silent, "cluster", "host"), key=lambda row: -(row["last_day"] or 0))
    return [picked({**row, "silent_days": _days(row, given.night)}, COLUMNS) for row in latest]


def _days(row: Row, night: int) -> int | None:
    return None if row["last_day"] is None else night - row["last_day"]
