"""What is new, worse, ongoing or resolved on each host against its report before, and for how long does it stand?

A problem is compared with its last result: days on which the host was silent, or the check was skipped or failed, do
not count. `unseen`: the problem was open at its last result, and there is no result today; it is not resolved, and is
listed until there is one. age_days counts from the first day of the episode, or from the agent's first sight of it if
that is earlier.
"""

from __future__ import annotations

from fleet.tables import Frames, Given, Rows, in_order, picked

LIMITS: dict[str, float] = {}
COLUMNS = ("change", "cluster", "host", "rack", "check_name", "item", "status", "age_days", "reason", "playbook",
           "source")  # fmt: skip


def rows(frames: Frames, _given: Given) -> Rows:
    """The worst on top."""
    standing = in_order((row for row in frames["standing"] if row["host"]), "cluster", "host", "check_name", "item")
    return [picked(row, COLUMNS) for row in sorted(standing, key=lambda row: -row["last_severity"])]
