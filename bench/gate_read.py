#!/usr/bin/env python3
"""What the gate's reading of Kafka costs: five real brokers with 1,000 topics, every broker asked for all it knows.

Wall time of `readers.kafka.read` and of all rules behind it, median of --runs. The hosts are asked at the same time and
cost what `bench/agent.py` and `bench/fanout.py` say.

    bench/gate_read.py [--topics 1000] [--partitions 2] [--runs 7]

Needs Kafka 3.9.1 (scripts/kafka-jars) and Java.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import statistics
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from smoketests.readers.kafka import cluster as kafka  # noqa: E402
from tests.real.parts import kafka_cluster  # noqa: E402
from tests.real.parts.ensemble import Place  # noqa: E402
from tests.real.parts.kafka_situations import asked_of  # noqa: E402
from tests.smoketests.gate.situations import decided  # noqa: E402

BROKERS = (1, 2, 3, 4, 5)
AT_ONCE = 50


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topics", type=int, default=1000)
    parser.add_argument("--partitions", type=int, default=2)
    parser.add_argument("--runs", type=int, default=7)
    asked = parser.parse_args()
    places = [Place("127.0.0.1")] * len(BROKERS)
    with (
        tempfile.TemporaryDirectory() as folder,
        kafka_cluster.with_kraft(pathlib.Path(folder), places, places[:1]) as cluster,
    ):
        with cluster.admin() as client:
            for start in range(0, asked.topics, AT_ONCE):
                new = {f"topic-{n}": {"num_partitions": asked.partitions, "replication_factor": 3}
                       for n in range(start, min(start + AT_ONCE, asked.topics))}  # fmt: skip
                client.create_topics(new, timeout_ms=60_000)
        count = asked.topics * asked.partitions
        cluster.until("all topics", lambda facts: len(facts.partitions or ()) == count and not facts.untold, 300)
        cluster.settle()
        reads, whole = [], []
        for _run in range(asked.runs):
            began = time.monotonic()
            facts = kafka.read(cluster.servers, {})
            reads.append(time.monotonic() - began)
            decision = decided(asked_of(facts, 1, brokers=BROKERS))
            whole.append(time.monotonic() - began)
    where = f"{len(BROKERS)} brokers, {asked.topics} topics, {count} partitions, load {os.getloadavg()[0]:.1f}"
    print(f"{where}: {decision.answer}; median of {asked.runs}, least in brackets")
    print(f"Kafka read {statistics.median(reads):.2f} s ({min(reads):.2f})")
    print(f"with all rules {statistics.median(whole):.2f} s ({min(whole):.2f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
