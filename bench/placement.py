"""How good and how dear `smoke place level`, `drain` and `leaders` are on made-up clusters.

    python bench/placement.py            the four clusters, three seeds, bands of 1, 2 and 5 %
    python bench/placement.py --large    also 1,000 brokers and 200,000 partitions, once

Clusters: tests/placement/made_clusters.py (heavy-tailed topics, keyed skew, Kafka's own rack-aware placement, mean use
60 %). bytes: moved, as a ratio to the least that any plan must move (placement/targets.py). CPU is that of the process;
RSS its peak, each question in a process of its own. The rules are checked after each plan.
"""

from __future__ import annotations

import argparse
import pathlib
import resource
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from placement import questions, rules  # noqa: E402
from placement.plan import gigabytes  # noqa: E402
from placement.questions import Options  # noqa: E402
from placement.summary import summarise  # noqa: E402
from tests.placement.made_clusters import TB, cluster  # noqa: E402

CLUSTERS = {
    "12 x 2,000": {"racks": [4, 4, 4], "partitions": 2_000},
    "34 x 4,000, racks 12/11/11": {"racks": [12, 11, 11], "partitions": 4_000},
    "30 x 4,000, 6 and 12 TB": {
        "racks": [10, 10, 10],
        "partitions": 4_000,
        "capacities": (6 * TB, 12 * TB),
        "used": 0.4,
    },
    "100 x 10,000": {"racks": [20] * 5, "partitions": 10_000},
    "100 + 20 new x 10,000": {"racks": [20] * 5, "partitions": 10_000, "new": 20},
}
LARGE = {"racks": [100] * 10, "partitions": 200_000}


def one(name: str, seed: int, percent: float) -> str:
    """A row of the table."""
    shape = LARGE if name == "large" else CLUSTERS[name]
    made = cluster(seed=seed, **shape)  # type: ignore[arg-type]
    started = time.process_time()
    plan = questions.level(made, "level", Options(band_percent=percent))
    cpu = time.process_time() - started
    broken = rules.broken(made, plan)
    summary = summarise(made, plan)
    ratio = plan.moved_bytes / plan.least_bytes if plan.least_bytes else 1.0
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    row = (
        f"| {name} | {seed} | {percent:g} % | {gigabytes(plan.least_bytes)} | {ratio:.3f} | {summary.replicas} | "
        f"{summary.before.used_percent_max:.1f} -> {summary.after.used_percent_max:.1f} | "
        f"{summary.before.leaders_max} -> {summary.after.leaders_max} | {cpu:.2f} | {rss:.0f} | {len(broken)} |"
    )
    return "\n".join([row, *(f"  note: {note}" for note in plan.notes)])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--one", nargs=3)
    options = parser.parse_args()
    if options.one:
        name, seed, percent = options.one
        print(one(name, int(seed), float(percent)))
        return
    head = "cluster | seed | band | least bytes | moved / least | replicas | fullest % | most leaders | CPU s | RSS MB"
    print(f"| {head} | rules broken |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    asked = [(name, seed, percent) for name in CLUSTERS for percent in (1, 2, 5) for seed in (1, 2, 3)]
    for row in [*asked, *([("large", 1, 1)] if options.large else [])]:
        subprocess.run([sys.executable, __file__, "--one", *map(str, row)], check=True)


if __name__ == "__main__":
    main()
