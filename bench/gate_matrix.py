#!/usr/bin/env python3
"""Is a GO of the gate ever wrong? Real clusters of four brokers; what it answers, and what then becomes of writing.

Matrix: ten kinds of topic, each judged as if the cluster had that one alone, in front of a stop of one, two and three
brokers at once, and of one while another is down. Then the brokers are stopped for real (SIGTERM), and every partition
is written to with acks=all. Wrong GO: GO, and a partition cannot be written to. Wrong NO-GO: NO-GO or CANNOT TELL,
though every partition can. The hosts' findings are made up, all well: what is measured is what Kafka is asked.

Frozen: a broker is stopped (SIGSTOP) and the gate is asked for another one at a random moment within 12 s. Cut off
(KRaft): the same with a broker whose way to the controllers carries nothing. Churn: topics are made and deleted all the
time while it is asked on a healthy cluster. Here truth is by count: partitions that would keep too few replicas
without the broker that leaves and the one that is frozen or cut off; the matrix shows that this count is what happens.

    bench/gate_matrix.py [--kafka 2.8.2:zookeeper 3.6.2:kraft 4.1.1:kraft] [--rounds 20] [--only matrix frozen cut …]

Needs the versions' jars (scripts/kafka-jars --all) and Java. Prints Markdown.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import pathlib
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TextIO

from smoketests.cluster import services

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from inventory.model import Cluster  # noqa: E402
from smoketests.gate.decision import CANNOT_TELL, FAILED, GO  # noqa: E402
from smoketests.readers.kafka.cluster import KafkaFacts  # noqa: E402
from tests.real.parts import kafka_cluster  # noqa: E402
from tests.real.parts.ensemble import Place  # noqa: E402
from tests.real.parts.kafka_cluster import KafkaCluster  # noqa: E402
from tests.real.parts.kafka_situations import asked_of  # noqa: E402
from tests.smoketests.gate.situations import decided  # noqa: E402

BROKERS = (1, 2, 3, 4)
RACKS = {1: "a", 2: "a", 3: "b", 4: "b", 5: "b"}
# gone for good once its topic is made, so that this one is under-replicated
LOST = 5
PROBE_S = 20
PAIRS = ((1, 2), (2, 3), (3, 4), (4, 1))
TRIPLES = ((1, 2, 3), (2, 3, 4), (3, 4, 1), (4, 1, 2))


class Kind(NamedTuple):
    replicas: tuple[tuple[int, ...], ...]
    min_isr: int
    more: dict[str, str] = {}


KINDS = {
    "rf1": Kind(((1,), (2,), (3,), (4,)), 1),
    "rf2-min1": Kind(PAIRS, 1),
    "rf2-min2": Kind(PAIRS, 2),
    "rf3-min1": Kind(TRIPLES, 1),
    "rf3-min2": Kind(TRIPLES, 2),
    "rf3-min3": Kind(TRIPLES, 3),
    "unclean": Kind(PAIRS, 1, {"unclean_leader_election_enable": "true"}),
    "one-rack": Kind(((1, 2), (2, 1), (3, 4), (4, 3)), 1),
    "compacted": Kind((*TRIPLES, *TRIPLES), 2, {"cleanup_policy": "compact"}),
    "under-replicated": Kind(((1, 2, LOST), (3, 4, LOST)), 1),
}
SCENARIOS = {"stop 1": ((1,), ()), "stop 1, 2": ((1, 2), ()), "stop 1, 2, 3": ((1, 2, 3), ()),
             "stop 1 with 4 down": ((1,), (4,))}  # fmt: skip


class Cell(NamedTuple):
    kafka: str
    kind: str
    scenario: str
    lost: int
    answer: str
    why: str

    @property
    def outcome(self) -> str:
        if self.answer == GO:
            return "wrong GO" if self.lost else "right"
        return "right" if self.lost else f"wrong {self.answer}"


@contextlib.contextmanager
def running(folder: pathlib.Path, version: str, mode: str) -> Iterator[KafkaCluster]:
    """The cluster with a topic of each kind; broker 5 was there and is gone."""
    own: dict[str, object] = {"controlled.shutdown.enable": "true", "auto.leader.rebalance.enable": "false"}
    settings = {number: {**own, "broker.rack": rack} for number, rack in RACKS.items()}
    places = [Place("127.0.0.1")] * len(RACKS)
    more: dict[str, Any] = {} if mode == "zookeeper" else {"quorum": places[:1], "relayed": (2,)}
    with kafka_cluster.MODES[mode](folder, places, version=version, settings=settings, **more) as cluster:
        for name, kind in KINDS.items():
            cluster.create(name, *kind.replicas, min_insync_replicas=kind.min_isr, **kind.more)
        cluster.settle()
        cluster.brokers.pop(LOST).stop()
        whole(cluster)
        yield cluster


def whole(cluster: KafkaCluster, down: Sequence[int] = ()) -> None:
    """Wait until all that can be in sync is, and what is down is missed."""
    gone = {LOST, *down}

    def well(facts: KafkaFacts) -> bool:
        rows = facts.partitions or ()
        alive = {row.id for row in facts.brokers if not row.fenced}
        return (
            alive == set(BROKERS) - gone
            and not facts.disputes
            and sum(len(kind.replicas) for kind in KINDS.values()) <= len(rows)
            and all(set(row.isr) == set(row.replicas) - gone or not set(row.replicas) - gone for row in rows)
        )

    cluster.until(f"a cluster without {sorted(gone)}", well, 180)


def ask(
    cluster: KafkaCluster, leaving: Sequence[int], kinds: Sequence[str], down: Sequence[int] = ()
) -> dict[str, Any]:
    """Kind -> (answer, what speaks against it), as if the cluster had that topic alone; None: all of them."""
    return judged(*_read(cluster), leaving, kinds, down)


def _read(cluster: KafkaCluster) -> tuple[KafkaFacts | None, str]:
    zookeeper = tuple(f"{server}/kafka" for server in cluster.ensemble.servers) if cluster.ensemble else ()
    view = services.look(Cluster("prod-a", (), zookeeper, tuple(cluster.servers)), {})
    return view.kafka, view.problems.get("kafka", "")


def judged(
    facts: KafkaFacts | None, why: str, leaving: Sequence[int], kinds: Sequence[str], down: Sequence[int]
) -> dict[str, Any]:
    found = {}
    for kind in kinds:
        mine = facts
        if facts is not None:
            rows = tuple(row for row in facts.partitions or () if row.topic == kind)
            mine = facts._replace(
                partitions=rows, disputes=tuple(one for one in facts.disputes if one.topic == kind),
                throttled=facts.throttled and tuple(one for one in facts.throttled if one == f"topic {kind}"),
            )  # fmt: skip
        decision = decided(asked_of(mine, *leaving, brokers=BROKERS, down=down, why=why))
        against = {rule.name: rule.reason for rule in decision.rules if rule.status in (FAILED, CANNOT_TELL)}
        found[kind] = (decision.answer, "; ".join(f"{name}: {reason}" for name, reason in against.items())[:200])
    return found


def matrix(cluster: KafkaCluster, label: str) -> Iterator[Cell]:
    for scenario, (leaving, down) in SCENARIOS.items():
        for number in down:
            terminate(cluster, [number])
        whole(cluster, down)
        answers = ask(cluster, leaving, list(KINDS), down)
        terminate(cluster, leaving)
        lost = probe(cluster)
        for number in (*leaving, *down):
            cluster.brokers[number].start()
        for number in (*leaving, *down):
            cluster.brokers[number].wait()
        whole(cluster)
        cluster.elect()
        for kind, (answer, why) in answers.items():
            yield Cell(label, kind, scenario, lost[kind], answer, why)


def terminate(cluster: KafkaCluster, numbers: Sequence[int]) -> None:
    """As systemd stops it, all at once; whoever needs longer than a minute is killed."""
    processes = [cluster.brokers[number].process for number in numbers]
    for process in processes:
        process.send_signal(signal.SIGTERM)
    for number, process in zip(numbers, processes):
        with contextlib.suppress(Exception):  # it hangs for want of a controller
            process.wait(60)
        cluster.brokers[number].stop()
    time.sleep(8)  # sessions of what was killed end


def probe(cluster: KafkaCluster) -> dict[str, int]:
    """Topic -> partitions that take no record with acks=all."""
    from kafka import KafkaProducer

    alive = [broker.address for broker in cluster.brokers.values() if broker.process.poll() is None]
    lost = dict.fromkeys(KINDS, 0)
    producer = KafkaProducer(
        bootstrap_servers=alive, acks="all", enable_idempotence=False, request_timeout_ms=5000,
        max_block_ms=PROBE_S * 1000, delivery_timeout_ms=PROBE_S * 1000, linger_ms=0,
    )  # fmt: skip
    try:
        sent = [
            (kind, producer.send(kind, b"probe", key=b"k", partition=number))
            for kind, topic in KINDS.items()
            for number in range(len(topic.replicas))
        ]
        producer.flush(PROBE_S + 10)
        for kind, future in sent:
            if not (future.is_done and future.succeeded()):
                lost[kind] += 1
    finally:
        producer.close(timeout=2)
    return lost


def short_without(gone: Sequence[int]) -> set[str]:
    """The kinds that have a partition which cannot be written to while these are gone."""
    return {
        name
        for name, kind in KINDS.items()
        if any(len(set(replicas) - {*gone, LOST}) < max(kind.min_isr, 1) for replicas in kind.replicas)
    }


def disturbed(cluster: KafkaCluster, label: str, what: str, rounds: int, randomly: random.Random) -> list[Cell]:
    """what: frozen or cut. Each round: that, a random while, and the gate is asked for another broker, of all kinds."""
    cells = []
    for number in range(rounds):
        other = 2 if what == "cut" else randomly.choice((2, 3, 4))
        leaving = randomly.choice([one for one in BROKERS if one != other])
        whole(cluster)
        delay = randomly.uniform(0.0, 12.0)
        freeze, thaw = switches(cluster, what, other)
        freeze()
        try:
            time.sleep(delay)
            answers = ask(cluster, [leaving], list(KINDS))
        finally:
            thaw()
        short = short_without([leaving, other]) - short_without([])
        print(f"  {label} {what} {number + 1}: broker {other}, {delay:.1f} s, "
              f"{dict(Counter(answer for answer, _why in answers.values()))}", file=sys.stderr)  # fmt: skip
        scenario = f"broker {other} {what} for {delay:.1f} s, stop {leaving}"
        cells += [Cell(label, kind, scenario, int(kind in short), *answers[kind]) for kind in KINDS]
    whole(cluster)
    return cells


def switches(cluster: KafkaCluster, what: str, broker: int) -> tuple[Any, Any]:
    if what == "cut":
        return cluster.relays[broker].freeze, cluster.relays[broker].thaw
    process = cluster.brokers[broker].process
    return (functools.partial(process.send_signal, signal.SIGSTOP),
            functools.partial(process.send_signal, signal.SIGCONT))  # fmt: skip


def churned(cluster: KafkaCluster, label: str, rounds: int) -> list[Cell]:
    """Topics come and go; the gate is asked of the kind rf3-min2 with all that comes and goes."""
    over = threading.Event()

    def churn() -> None:
        with cluster.admin() as client:
            for number in range(10_000):
                if over.is_set():
                    return
                name = f"churn-{number}"
                client.create_topics({name: {"assignments": dict(enumerate(TRIPLES)),
                                             "configs": {"min.insync.replicas": "2"}}}, timeout_ms=20_000)  # fmt: skip
                time.sleep(0.1)
                client.delete_topics([name], timeout_ms=20_000)

    thread = threading.Thread(target=churn, daemon=True)
    thread.start()
    cells = []
    try:
        for number in range(rounds):
            facts, why = _read(cluster)
            rows = tuple(row for row in (facts.partitions if facts else None) or ()
                         if row.topic == "rf3-min2" or row.topic.startswith("churn"))  # fmt: skip
            facts = facts and facts._replace(partitions=rows)
            decision = decided(asked_of(facts, 1, brokers=BROKERS, why=why))
            against = [f"{rule.name}: {rule.reason}" for rule in decision.rules if rule.status in (FAILED, CANNOT_TELL)]
            cells.append(Cell(label, "churn", f"round {number + 1}", 0, decision.answer, "; ".join(against)[:200]))
            time.sleep(0.3)
    finally:
        over.set()
        thread.join(60)
    return cells


def table(cells: Sequence[Cell]) -> str:
    """A row for each kind, a column for each scenario: `GO` or `NO-GO`, and how many of its partitions then stood."""
    labels, scenarios = list(dict.fromkeys(cell.kafka for cell in cells)), list(SCENARIOS)
    by = {(cell.kafka, cell.kind, cell.scenario): cell for cell in cells}
    rows = ["| topic | " + " | ".join(scenarios) + " |", "|---" * (len(scenarios) + 1) + "|"]
    for kind in KINDS:
        row = []
        for scenario in scenarios:
            found = [by[label, kind, scenario] for label in labels if (label, kind, scenario) in by]
            said = {f"{cell.answer}, {cell.lost} of {len(KINDS[kind].replicas)} lost" for cell in found}
            row.append(" / ".join(sorted(said)))
        rows.append(f"| {kind} | " + " | ".join(row) + " |")
    return "\n".join(rows)


def totals(title: str, cells: Sequence[Cell]) -> str:
    counts = Counter(cell.outcome for cell in cells)
    bad = [f"  {cell.kafka} {cell.kind}, {cell.scenario}: {cell.outcome}: {cell.why}" for cell in cells
           if cell.outcome != "right"]  # fmt: skip
    could = [cell for cell in cells if not cell.lost]
    wrong = len([cell for cell in could if cell.answer != GO])
    said = ", ".join(f"{count} {name}" for name, count in counts.most_common())
    return "\n".join(
        [f"{title}: {len(cells)} answers: {said}; {wrong} of {len(could)} without loss were no GO", *bad[:40]]
    )


def show(done: dict[str, list[Cell]], to: TextIO) -> None:
    if "matrix" in done:
        print(table(done["matrix"]), file=to)
    for title, cells in done.items():
        print(totals(title, cells), file=to, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kafka", nargs="+", default=["2.8.2:zookeeper", "3.6.2:kraft", "4.1.1:kraft"])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only", nargs="+", default=["matrix", "frozen", "cut", "churn"])
    parser.add_argument("--seed", type=int, default=11)
    asked = parser.parse_args()
    done: dict[str, list[Cell]] = {}
    for label in asked.kafka:
        version, _, mode = label.partition(":")
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as folder, running(pathlib.Path(folder), version, mode) as cluster:
            print(f"{label} runs after {time.monotonic() - started:.0f} s", file=sys.stderr)
            randomly = random.Random(asked.seed)
            if "matrix" in asked.only:
                done.setdefault("matrix", []).extend(matrix(cluster, label))
                print(totals(label, done["matrix"]), file=sys.stderr)
            if "churn" in asked.only:
                done.setdefault("churn", []).extend(churned(cluster, label, asked.rounds))
            if "cut" in asked.only and cluster.relays:
                done.setdefault("cut", []).extend(disturbed(cluster, label, "cut", asked.rounds, randomly))
            if "frozen" in asked.only:
                done.setdefault("frozen", []).extend(disturbed(cluster, label, "frozen", asked.rounds, randomly))
        show(done, sys.stderr)
    show(done, sys.stdout)
    return int(any(cell.outcome == "wrong GO" for cells in done.values() for cell in cells))


if __name__ == "__main__":
    sys.exit(main())
