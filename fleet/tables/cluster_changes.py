"""What is new, worse, ongoing or resolved of each cluster as a whole: its partitions, its quorum, its topology?

As in `changes`; these findings belong to no host. `unseen`: the check was not run for this cluster today, or had no
result.
"""

from __future__ import annotations

from fleet.tables import Frames, Given, Rows, in_order, picked

LIMITS: dict[str, float] = {}
COLUMNS = ("change", "cluster", "check_name", "item", "status", "age_days", "reason", "playbook", "source")


def rows(frames: Frames, _given: Given) -> Rows:
    """The worst on top."""
    standing = in_order((row for row in frames["standing"] if not row["host"]), "cluster", "host", "check_name", "item")
    return [picked(row, COLUMNS) for row in sorted(standing, key=lambda row: -row["last_severity"])]
