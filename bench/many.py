#!/usr/bin/env python3
"""What 2,000 hosts cost after they have answered: counted, judged, folded and printed, with how much memory.

The reports are made up, some 50 KB each, in clusters of 50: mostly well, some hosts with the same finding, some with
one of their own, some silent. They are made before the clock runs, kept in a file, and read from it one by one, as the
fan-out would hand them over; reading them (JSON) is timed apart, since the fan-out does it while it waits for others.
Every format is printed in a process of its own. Beside it, in the same run: the same reports read and held in memory
at once, with nothing judged or printed.

    bench/many.py [--hosts 2000] [--runs 3] [--formats table json …]
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from agent import engine, report  # noqa: E402
from agent.state import State  # noqa: E402
from agent.status import ok, unknown  # noqa: E402
from inventory.model import Cluster, Host  # noqa: E402
from smoketests import cluster as judges  # noqa: E402
from smoketests import show  # noqa: E402
from smoketests.remote.fanout import HostReport  # noqa: E402
from smoketests.results.run_results import Survey  # noqa: E402
from smoketests.results.store import Keeping  # noqa: E402

AT = "2026-11-20T03:12:00Z"
OF_CLUSTER = 50
ITEMS = 5
HELD = "held"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--formats", nargs="+", default=[*show.OF_MANY, HELD], choices=[*show.OF_MANY, HELD])
    parser.add_argument("--one", nargs=2, metavar=("FILE", "FORMAT"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        _one(*arguments.one)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "reports")
        size = _make_up(path, arguments.hosts)
        print(f"{arguments.hosts} hosts, {size / arguments.hosts / 1000:.1f} kB a report, {len(judges.names())} cluster"
              f" checks, median of {arguments.runs}\n")  # fmt: skip
        print(
            "| format | judged, folded, printed (s) | its CPU (s) | reading JSON, CPU (s) | peak RSS (MB) | printed |"
        )
        print("|---|---|---|---|---|---|")
        for name in arguments.formats:
            _row(name, path, arguments.runs)


def _row(name: str, path: str, runs: int) -> None:
    rows = []
    for _ in range(runs):
        with open(os.path.join(os.path.dirname(path), "out"), "wb") as out:
            answer = subprocess.run(
                [sys.executable, __file__, "--one", path, name], check=True, stdout=out, stderr=subprocess.PIPE
            )
        rows.append({**json.loads(answer.stderr), "size": os.path.getsize(out.name)})
    told = {key: statistics.median(row[key] for row in rows) for key in rows[0]}
    print(f"| {name} | {told['wall']:.2f} | {told['cpu']:.2f} | {told['reading']:.2f} | {told['rss']:.0f} |"
          f" {told['size'] / 1e6:.2f} MB |")  # fmt: skip


def _make_up(path: str, hosts: int) -> int:
    """Write the reports, one host's lines and an empty line after the other; how many bytes."""
    chance = random.Random(7)
    with open(path, "w", encoding="utf-8") as file:
        for number in range(hosts):
            file.writelines(line + "\n" for line in _lines(number, chance))
            file.write("\n")
        return file.tell()


def _lines(number: int, chance: random.Random) -> Iterator[str]:
    about = {"run_id": "bench", "at": AT, "cluster": _cluster(number), "host": _name(number), "role": "broker",
             "layout": "jbod", "rack": f"r{number % 20}"}  # fmt: skip
    yield json.dumps({"schema": 1, "kind": "header", **about, "agent": "1.0", "kernel": "6.1", "clock": 1795144320.0})
    if number % 97 == 0:
        return
    for check in engine.names():
        for item in range(ITEMS):
            status, reason = _verdict(number, check, item, chance)
            row = {"schema": 1, **about, "check": check, "item": f"/kafka/d{item}", "status": status, "reason": reason,
                   "playbook": "tune-os" if status != "ok" else "", "duration_ms": 12, "first_seen": AT,
                   "facts": {f"fact_{n}": chance.randrange(10**6) for n in range(6)}}  # fmt: skip
            yield json.dumps(row)


def _verdict(number: int, check: str, item: int, chance: random.Random) -> tuple[str, str]:
    if check == "swappiness" and item == 0 and number % 7 == 0:
        return "warning", "vm.swappiness is 60, limit 1"
    if check == "mounts" and item == 1 and number % 25 == 0:
        return "critical", f"/kafka/d{item} (serial ZA{number:05d}): create fails with EROFS though mounted rw"
    if check == "smart" and chance.random() < 0.02:
        return "warning", f"{chance.randrange(1, 900)} pending sectors, should be 0"
    return "ok", "as it should be, with nothing to be said about it at all"


def _name(number: int) -> str:
    return f"kafka-{number // OF_CLUSTER:02d}-{number % OF_CLUSTER:02d}"


def _cluster(number: int) -> str:
    return f"prod-{number // OF_CLUSTER:02d}"


def _one(path: str, name: str) -> None:
    """One format of one run; what it cost goes to standard error."""
    texts = _texts(path)
    hosts = [Host(_name(n), cluster=_cluster(n), roles=("broker",), layout="jbod", rack=f"r{n % 20}") for n in range(
        sum(1 for _ in _texts(path)))]  # fmt: skip
    reading = reading_cpu = 0.0
    started, busy = time.perf_counter(), time.process_time()
    held = []
    seen = None if name == HELD else _survey(hosts, show.needs_all(name), os.path.join(os.path.dirname(path), "store"))
    for host, text in zip(hosts, texts):
        before, busy_before = time.perf_counter(), time.process_time()
        heard = _heard(host, text)
        reading += time.perf_counter() - before
        reading_cpu += time.process_time() - busy_before
        if seen is None:
            held.append(heard)
        else:
            seen.hear(heard)
    if seen is not None:
        assert seen.keeper
        seen.keeper.end()
        seen.end()
        for part in show.many(name, seen):
            sys.stdout.write(part + "\n")
    sys.stdout.flush()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    cost: dict[str, Any] = {"wall": time.perf_counter() - started - reading, "rss": peak, "reading": reading_cpu}
    cost["cpu"] = time.process_time() - busy - reading_cpu
    sys.stderr.write(json.dumps(cost))


def _survey(hosts: list[Host], whole: bool, store: str) -> Survey:
    clusters = [Cluster(name, tuple(host for host in hosts if host.cluster == name)) for name in
                dict.fromkeys(host.cluster for host in hosts)]  # fmt: skip
    run_id = f"bench-{os.getpid()}"
    return Survey(
        clusters, hosts, run_id, AT, judges.names(), State("", 1795144320.0), whole=whole,
        keeper=Keeping(store, run_id, AT),
    )  # fmt: skip


def _texts(path: str) -> Iterator[list[str]]:
    with open(path, encoding="utf-8") as file:
        lines: list[str] = []
        for line in file:
            if line == "\n":
                yield lines
                lines = []
            else:
                lines.append(line[:-1])


def _heard(host: Host, lines: list[str]) -> HostReport:
    told = report.read(lines)
    verdict = ok("answered in 0.1 s") if told.findings else unknown("10.0.0.3:22 does not answer: connection timed out")
    return HostReport(host, told, lines if told.findings else [], verdict, 0.1)


if __name__ == "__main__":
    main()
