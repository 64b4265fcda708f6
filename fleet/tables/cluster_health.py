"""How is each cluster: its hosts, and the findings of the cluster as a whole?

`criticals`, `unknowns` and `warnings` are those of its hosts, `cluster_…` those of the cluster itself.
"""

from __future__ import annotations

from fleet.tables import COUNTS, Frames, Given, Rows, clusters, counted, hosts, in_order

LIMITS: dict[str, float] = {}
FINDINGS = ("criticals", "unknowns", "warnings")
COLUMNS = ("cluster", *COUNTS, *(f"cluster_{name}" for name in FINDINGS))


def rows(frames: Frames, _given: Given) -> Rows:
    """Also of a cluster of which no host is known."""
    by_name = {row["cluster"]: row for row in counted(hosts(frames), "cluster")}
    itself = {row["cluster"]: row for row in clusters(frames)}
    found = []
    for name in {**by_name, **itself}:
        own = {f"cluster_{count}": itself.get(name, {}).get(count) or 0 for count in FINDINGS}
        found.append({"cluster": name, **dict.fromkeys(COUNTS, 0), **by_name.get(name, {}), **own})
    return in_order(found, "cluster")
