"""What is new, worse, ongoing or resolved on each host against its report before, and for how long does it stand?

A problem is compared with what was last seen of it: days on which the host was silent, or its check was not asked or
could not look, say nothing. `unseen`: of a problem that stood when it was last seen nothing is known today; it is not
resolved, and stands here until it is seen again. age_days counts from the first day of the episode, or from the
agent's first sight of it where that is earlier.
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
