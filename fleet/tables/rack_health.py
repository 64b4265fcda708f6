"""How is each rack?"""

from __future__ import annotations

from fleet.tables import COUNTS, Frames, Given, Rows, counted, hosts, in_order

LIMITS: dict[str, float] = {}
COLUMNS = ("cluster", "rack", *COUNTS)


def rows(frames: Frames, _given: Given) -> Rows:
    return in_order(counted(hosts(frames), "cluster", "rack"), "cluster", "rack")
