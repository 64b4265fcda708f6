#!/usr/bin/env python3
"""What a night costs: `smoke nightly`'s tables of 30 days, beside DuckDB with the same SELECTs on the same Parquet.

What each side reads: `spark`, as a night does, the roll-up of the disks of the night before, one day of disks, and the
other tables of the window; it writes tonight's roll-up. `rolled` is DuckDB with the same files, and without writing a
roll-up; `duckdb` is DuckDB without roll-ups, from the disks of all 30 days; `first`, one run, is a first night by
Spark, without a roll-up.

Each side is a process of its own, from the start of Python to the last table written as JSON lines; a night's reports
are compacted already, and the summary is not drawn (the charts' matplotlib is the same whatever computed the tables).
`start` is a session that answers one small question and ends: what a night costs before it begins. In each round all
sides and sizes run once, in shuffled order; medians. CPU is that of the whole process tree; memory is the peak of the
Java process plus that of Python, which the tree together never exceeds. Every table's rows are compared before a figure
is printed. Then one day as the agents write it (JSON) is compacted, and the night runs on a standalone master with two
workers on this machine.

    bench/fleet.py [--hosts 500 2000 10000] [--rounds 5] [--settings small] [--cluster-hosts 2000] [--json-hosts 2000]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench import fleet_store  # noqa: E402
from fleet import nightly  # noqa: E402
from fleet.archive import compact, manifests  # noqa: E402
from fleet.nights import stored_nights  # noqa: E402
from fleet.rollup import build  # noqa: E402
from fleet.spark import session  # noqa: E402
from fleet.store.files import LocalFiles  # noqa: E402
from tests.fleet import duckdb_reference, standalone  # noqa: E402

NIGHT = "2026-11-19"
BEFORE = "2026-11-18"
TABLES = f"{manifests.HOME}/bench"


class Cost(NamedTuple):
    """Of one run of one side: seconds and MB."""

    wall: float
    cpu: float
    rss: float


class Job(NamedTuple):
    """What to run: a side, on the store of so many hosts."""

    side: str
    hosts: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, nargs="+", default=[500, 2000, 10000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--settings", default="small", help="of Spark: a name in fleet/spark/settings, or a file")
    parser.add_argument("--cluster-hosts", type=int, default=2000, help="0: no cluster")
    parser.add_argument("--json-hosts", type=int, default=2000, help="0: nothing is compacted")
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    parser.add_argument("--store", help=argparse.SUPPRESS)
    parser.add_argument("--master", default="local[*]", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.side:
        SIDES[arguments.side](arguments.store, session.Wanted(arguments.master, arguments.settings))
        print(json.dumps(_memory_mb()))
        return
    with tempfile.TemporaryDirectory(prefix="bench-fleet-") as folder:
        compare(pathlib.Path(folder), arguments)


def compare(folder: pathlib.Path, arguments: argparse.Namespace) -> None:
    for hosts in arguments.hosts:
        rows = apart(fleet_store.write, folder / str(hosts), hosts, NIGHT)
        print(f"{hosts} hosts: {rows / 1e6:.1f} million rows")
    jobs = [Job(side, hosts) for hosts in arguments.hosts for side in ("spark", "duckdb", "rolled")]
    jobs.append(Job("start", 0))
    for hosts in arguments.hosts:
        measure(folder, Job("before", hosts), arguments.settings)
    for job in jobs:
        measure(folder, job, arguments.settings)  # writes the class archive, warms the page cache; not counted
    for hosts in arguments.hosts:
        check(folder / str(hosts))
    began = os.getloadavg()[0]
    seen: dict[Job, list[Cost]] = {job: [] for job in jobs}
    for _ in range(arguments.rounds):
        for job in random.sample(jobs, len(jobs)):
            seen[job].append(measure(folder, job, arguments.settings))
    print(f"medians of {arguments.rounds} rounds; load average {began:.1f} before, {os.getloadavg()[0]:.1f} after\n")
    show({job: median(costs) for job, costs in seen.items()}, arguments.hosts)
    for hosts in arguments.hosts:
        cost = measure(folder, Job("first", hosts), arguments.settings)
        print(f"first night, {hosts:,} hosts, one run: {cost.wall:.1f} s wall, {cost.cpu:.1f} s CPU, {cost.rss:.0f} MB")
    if arguments.json_hosts:
        (folder / "json").mkdir()
        show_compaction(folder / "json", arguments)
    if arguments.cluster_hosts:
        show_cluster(folder, arguments)


def measure(folder: pathlib.Path, job: Job, settings: str, master: str = "local[*]") -> Cost:
    store = folder / str(job.hosts)
    _forget_roll_ups(store, every=job.side == "first")
    command = [sys.executable, __file__, "--side", job.side, "--store", str(store), "--settings", settings]
    began = time.monotonic()
    with (folder / "said").open("wb") as said:
        process = subprocess.Popen([*command, "--master", master], stdout=said)
        _pid, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{job}: failed")
    return Cost(wall, usage.ru_utime + usage.ru_stime, json.loads((folder / "said").read_text()))


def _forget_roll_ups(store: pathlib.Path, every: bool) -> None:
    """Those of the night that is measured: each run has the same to do."""
    for path in (store / build.RECORDS).glob("*.json" if every else f"{NIGHT}.json"):
        path.unlink()


def _memory_mb() -> float:
    """The peak of this process and that of the largest one that it started (Java), together."""
    return sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024


def by_spark(store: str, wanted: session.Wanted) -> None:
    with session.session(wanted) as spark:
        nightly.judge(spark, LocalFiles(store), NIGHT)


def before(store: str, wanted: session.Wanted) -> None:
    """The night before, whose roll-up the night that is measured starts from."""
    with session.session(wanted) as spark:
        nightly.judge(spark, LocalFiles(store), BEFORE)


def by_duckdb(store: str, _wanted: session.Wanted, rolled: bool = False) -> None:
    for name, rows in duckdb_reference.tables_by_duckdb(store, NIGHT, rolled).items():
        text = "".join(json.dumps(row, sort_keys=True) + "\n" for row in rows)
        LocalFiles(store).replace(f"{TABLES}/{name}.jsonl", text.encode())


def by_duckdb_rolled(store: str, wanted: session.Wanted) -> None:
    by_duckdb(store, wanted, rolled=True)


def start(_store: str, wanted: session.Wanted) -> None:
    with session.session(wanted) as spark:
        spark.range(1).count()


def compaction(store: str, wanted: session.Wanted) -> None:
    files = LocalFiles(store)
    with session.session(wanted) as spark:
        compact.compact(spark, files, [day.sources for day in manifests.plan(files, [NIGHT])], lambda _words: None)


SIDES = {
    "spark": by_spark,
    "first": by_spark,
    "before": before,
    "duckdb": by_duckdb,
    "rolled": by_duckdb_rolled,
    "start": start,
    "compaction": compaction,
}


def check(store: pathlib.Path) -> None:
    """Both sides must have come to the same rows."""
    for path in (store / TABLES).iterdir():
        ours, theirs = (list(_rows(folder / path.name)) for folder in (_night(store), store / TABLES))
        if not duckdb_reference.alike(ours, theirs):
            raise SystemExit(f"{store.name} hosts, {path.stem}: Spark and DuckDB differ")


def _night(store: pathlib.Path) -> pathlib.Path:
    return store / stored_nights.folder(LocalFiles(str(store)), NIGHT)


def _rows(path: pathlib.Path) -> Iterator[dict[str, Any]]:
    yield from map(json.loads, path.read_text().splitlines())


def median(costs: list[Cost]) -> Cost:
    return Cost(*map(statistics.median, zip(*costs, strict=True)))


def show(middle: dict[Job, Cost], sizes: list[int]) -> None:
    print("| hosts | Spark wall s | CPU s | MB | DuckDB, all days: wall s | CPU s | MB | wall ratio | CPU ratio "
          "| DuckDB, roll-ups: wall s | CPU s | wall ratio | CPU ratio |")  # fmt: skip
    print("|" + "---|" * 13)
    for hosts in sizes:
        ours, theirs = middle[Job("spark", hosts)], middle[Job("duckdb", hosts)]
        sides = [f"{ours.wall:.1f}", f"{ours.cpu:.1f}", f"{ours.rss:.0f}"]
        sides += [f"{theirs.wall:.2f}", f"{theirs.cpu:.2f}", f"{theirs.rss:.0f}"]
        ratios = [f"{ours.wall / theirs.wall:.1f}", f"{ours.cpu / theirs.cpu:.1f}"]
        same = middle[Job("rolled", hosts)]
        ratios += [f"{same.wall:.2f}", f"{same.cpu:.2f}", f"{ours.wall / same.wall:.1f}", f"{ours.cpu / same.cpu:.1f}"]
        print(f"| {hosts:,} | {' | '.join([*sides, *ratios])} |")
    begin, small, large = middle[Job("start", 0)], middle[Job("spark", sizes[0])], middle[Job("spark", sizes[-1])]
    share = f"{100 * begin.wall / large.wall:.0f} % of the wall of {sizes[-1]:,} hosts (goal 25)"
    print(f"\nstart: {begin.wall:.1f} s wall, {begin.cpu:.1f} s CPU, {begin.rss:.0f} MB; {share}")
    peers = [middle[Job("duckdb", hosts)].wall for hosts in (sizes[0], sizes[-1])]
    grown = f"wall {large.wall / small.wall:.2f} (goal 2.2), CPU {large.cpu / small.cpu:.2f}"
    print(f"growth {sizes[0]:,} to {sizes[-1]:,}: {grown}; DuckDB's wall {peers[1] / peers[0]:.1f}")


def apart(work: Callable[..., int], *arguments: object) -> int:
    """Done in a process of its own: the peak of ours would count for every process that we start later."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def show_compaction(folder: pathlib.Path, arguments: argparse.Namespace) -> None:
    """One day of JSON into Parquet: what it takes, and how much smaller it is."""
    hosts, job = arguments.json_hosts, Job("compaction", arguments.json_hosts)
    store = folder / str(hosts)
    size = apart(fleet_store.write_json, store, hosts, NIGHT)
    cost = measure(folder, job, arguments.settings)
    flat = sum(path.stat().st_size for path in (store / manifests.FLAT).rglob("*.parquet"))
    print(f"compaction of one day of {hosts:,} hosts, one run: {cost.wall:.1f} s wall, {cost.cpu:.1f} s CPU")
    print(f"{size / 1e6:.0f} MB of JSON, {size / hosts / 1e3:.1f} kB a report, to {flat / 1e6:.2f} MB of Parquet: "
          f"1/{size / flat:.0f} (goal 1/30)")  # fmt: skip


def show_cluster(folder: pathlib.Path, arguments: argparse.Namespace) -> None:
    """The same night by two workers of one core each, in turns with this machine's two cores."""
    job = Job("spark", arguments.cluster_hosts)
    os.environ["SMOKE_SPARK_SECRET"] = standalone.SECRET
    (folder / "cluster").mkdir()
    with standalone.cluster(folder / "cluster") as running:
        there, here = [], []
        for _ in range(max(2, arguments.rounds - 2)):
            there.append(measure(folder, job, running.settings, running.url).wall)
            here.append(measure(folder, job, arguments.settings).wall)
    check(folder / str(job.hosts))
    ratio = statistics.median(there) / statistics.median(here)
    print(f"standalone, {job.hosts:,} hosts: {statistics.median(there):.1f} s, local {statistics.median(here):.1f} s, "
          f"{ratio:.2f} (goal 1.6); {len(there)} rounds")  # fmt: skip


if __name__ == "__main__":
    main()
