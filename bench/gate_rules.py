#!/usr/bin/env python3
"""What the gate's rules cost on a large cluster: 20,000 partitions of 1,000 topics on 100 brokers, one of which leaves.

The facts are made up, all well; every rule there is judges them. Processor time, median of --runs.

    bench/gate_rules.py [--partitions 20000] [--brokers 100] [--runs 5]
"""

from __future__ import annotations

import argparse
import pathlib
import statistics
import sys
import time
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from inventory.model import Host  # noqa: E402
from smoketests.gate import rules  # noqa: E402
from smoketests.gate.context import GateContext  # noqa: E402
from smoketests.readers.kafka.cluster import KafkaFacts, Partition  # noqa: E402
from smoketests.readers.zookeeper.ensemble import Registered  # noqa: E402
from tests.smoketests.gate import situations  # noqa: E402

TOPICS = 1000


def made(partitions: int, brokers: int) -> GateContext:
    names = {number: f"kafka-a{number:02d}" for number in range(1, brokers + 1)}
    rows = []
    for at in range(partitions):
        topic, number = f"topic-{at % TOPICS}", at // TOPICS
        replicas = tuple((at + step * 7) % brokers + 1 for step in range(3))
        rows.append(Partition(topic, number, replicas[0], replicas, replicas, 2, unclean=False, size_bytes=1 << 30))
    registered = tuple(Registered(n, name, 9092, "", (f"{name}:9092",)) for n, name in names.items())
    dirs = tuple(situations.log_dir(number) for number in names)
    facts = KafkaFacts("c1", 2, registered, tuple(rows), None, log_dirs=dirs, throttled=())
    hosts = [Host(name, roles=("broker",), layout="jbod", broker_id=n, cluster="prod-a") for n, name in names.items()]
    found: dict[str, Any] = {name: [situations.runs("broker", ids=(n,))] for n, name in names.items()}
    zookeeper = situations.ensemble(brokers=sorted(names))._replace(brokers=registered)
    return situations.situation(names[1], hosts=hosts, found=found, kafka_says=facts, zookeeper_says=zookeeper)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=int, default=20_000)
    parser.add_argument("--brokers", type=int, default=100)
    parser.add_argument("--runs", type=int, default=5)
    asked = parser.parse_args()
    times, by_rule = [], {}
    for _run in range(asked.runs):
        situation = made(asked.partitions, asked.brokers)
        began = time.process_time()
        for name in rules.names():
            start = time.process_time()
            rules.judged(situation, name)
            by_rule[name] = time.process_time() - start
        times.append(time.process_time() - began)
    slowest = sorted(by_rule.items(), key=lambda row: -row[1])[:5]
    answer = situations.decided(made(asked.partitions, asked.brokers))
    bad = {one.name: one.reason for one in answer.rules if one.status in ("failed", "cannot tell")}
    print(f"{asked.partitions} partitions, {asked.brokers} brokers: {answer.answer} {bad or ''}")
    print(f"all rules {statistics.median(times):.2f} s (least {min(times):.2f}), median of {asked.runs}")
    print("slowest: " + ", ".join(f"{name} {seconds * 1000:.0f} ms" for name, seconds in slowest))
    return 0


if __name__ == "__main__":
    sys.exit(main())
