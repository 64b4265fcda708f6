"""One run over many hosts: each is counted and kept as it finishes, each cluster judged after its last host.

Only what is shown stays in memory: problems, and of the cluster that is under way what its judges read.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from agent import report
from agent.report import Report
from agent.state import State
from agent.status import EXIT_CODES, FINE, UNKNOWN, worst
from smoketests import cluster as judges
from smoketests.cluster.view import ClusterView
from smoketests.results.spool import Spool

if TYPE_CHECKING:
    from inventory.model import Cluster, Host
    from smoketests.remote.fanout import HostReport
    from smoketests.results.store import Keeping

Record = Mapping[str, Any]


@dataclass
class Tally:
    """What is counted of one cluster."""

    hosts: int = 0
    silent: int = 0
    statuses: Counter[str] = field(default_factory=Counter)


@dataclass
class Survey:
    """Hosts that are asked, by cluster, and what came of them so far.

    wanted: names of the cluster checks. memory: since when a cluster's finding stands. outside: what ZooKeeper and
    Kafka say of a cluster, None while they are still asked and it need not wait. whole: also keep what is well, for
    `reports()`.
    """

    clusters: Sequence[Cluster]
    asked: Sequence[Host]
    run_id: str
    at: str
    wanted: Sequence[str]
    memory: State
    outside: Callable[[Cluster, bool], ClusterView | None] = lambda cluster, _wait: ClusterView(cluster, {})
    keeper: Keeping | None = None
    whole: bool = False

    problems: list[Record] = field(default_factory=list)
    tallies: dict[str, Tally] = field(default_factory=dict)
    checks: set[str] = field(default_factory=set)
    bad_lines: list[str] = field(default_factory=list)
    new: int = 0
    seconds: float = 0.0

    def __post_init__(self) -> None:
        self._started = time.monotonic()
        self._cluster_of = {host.name: cluster for cluster in self.clusters for host in cluster.hosts}
        self._waiting: dict[str, set[str]] = {}
        self._heard: dict[str, dict[str, HostReport]] = {}
        self._windows: dict[str, dict[str, tuple[float, float]]] = {}
        self._headers: dict[str, Record] = {}
        self._judged: dict[str, list[Record]] = {}
        self._spool = Spool() if self.whole else None
        self._reads = {check for name in self.wanted for check in getattr(judges.load(name), "READS", ())}
        for cluster in () if self.asked else self.clusters:
            self.tallies.setdefault(cluster.name, Tally())
        for host in self.asked:
            self._waiting.setdefault(self._cluster_of[host.name].name, set()).add(host.name)
            self.tallies.setdefault(self._cluster_of[host.name].name, Tally()).hosts += 1

    @property
    def previous_at(self) -> str:
        """When the last run of this kind was, empty on the first."""
        before = self.memory.previous_at
        return "" if before is None else report.timestamp(before)

    @property
    def status(self) -> str:
        """The worst of all."""
        statuses = [status for tally in self.tallies.values() for status in tally.statuses]
        unkept = self.keeper is not None and self.keeper.problem
        return worst([*statuses, *([UNKNOWN] if unkept or self.bad_lines or not statuses else [])])

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.status]

    def hear(self, heard: HostReport) -> None:
        """One host has finished."""
        name = heard.host.name
        of_cluster = self._cluster_of[name].name
        if name not in self._waiting[of_cluster]:
            return
        self._keep(heard.lines)
        if self._spool:
            self._spool.add(name, heard.lines)
        self._headers[name] = heard.report.header
        self.bad_lines += [f"{name}: {line}" for line in heard.report.bad_lines]
        self.tallies[of_cluster].silent += not heard.report.findings
        self._count(of_cluster, heard.report.findings)
        self._heard.setdefault(of_cluster, {})[name] = self._slim(heard)
        if heard.window:
            self._windows.setdefault(of_cluster, {})[name] = heard.window
        self._waiting[of_cluster].discard(name)
        self._judge_ready(wait=False)

    def waiting(self) -> list[Host]:
        """Hosts that are not heard yet."""
        return [host for host in self.asked if host.name in self._waiting[self._cluster_of[host.name].name]]

    @property
    def questions(self) -> int:
        """How many checks were asked; the agent's word of itself is none."""
        return len(self.checks - {"agent"})

    def end(self) -> None:
        """All are heard, or given up: nothing more comes. A cluster of which no host was asked is judged too."""
        if not self.asked:
            for cluster in self.clusters:
                self._heard.setdefault(cluster.name, {})
                self._waiting.setdefault(cluster.name, set())
        self._judge_ready(wait=True)
        self.seconds = time.monotonic() - self._started

    def reports(self) -> Iterator[Report]:
        """Every host's report with what its cluster's judges say of it, then each cluster's own. Needs `whole`."""
        yield from map(self.report, self.asked)
        for name in self.tallies:
            yield Report(self._identity(name, ""), self.of_cluster(name), [])

    def of_cluster(self, name: str) -> list[Record]:
        """What is said of a cluster as a whole."""
        return [record for record in self._judged.get("", ()) if record["cluster"] == name]

    def judged(self) -> list[Record]:
        """What is said of clusters, and of their hosts by questions about the whole cluster."""
        return [record for records in self._judged.values() for record in records]

    def report(self, host: Host) -> Report:
        """What one host said, and what its cluster's judges say of it. Needs `whole`."""
        assert self._spool
        told = self._spool.of(host.name)
        header = {**self._identity(host.cluster, host.name), **told.header}
        return Report(header, [*told.findings, *self._judged.get(host.name, ())], [])

    def lines(self) -> Iterator[str]:
        """All findings as JSON. Needs `whole`."""
        assert self._spool
        for host in self.asked:
            said = self._spool.lines(host.name)
            yield from said[1:] if self._headers.get(host.name) else said
        for records in self._judged.values():
            yield from map(_line, records)

    def headers(self) -> Iterator[Record]:
        """What each host says of itself as a whole; of one that said nothing, who it is."""
        for host in self.asked:
            yield {**self._identity(host.cluster, host.name), **self._headers.get(host.name, {})}

    def _identity(self, cluster: str, host: str) -> dict[str, Any]:
        return {"run_id": self.run_id, "at": self.at, "cluster": cluster, "host": host}

    def _slim(self, heard: HostReport) -> HostReport:
        """What judges may read of it."""
        told = heard.report.findings
        kept = [finding for finding in told if finding["check"] in self._reads or finding["status"] not in FINE]
        return replace(heard, lines=[], report=heard.report._replace(findings=kept or list(told[:1])))

    def _count(self, of_cluster: str, records: Iterable[Record]) -> None:
        statuses = self.tallies[of_cluster].statuses
        for record in records:
            statuses[record["status"]] += 1
            self.checks.add(record["check"])
            if record["status"] not in FINE:
                self.problems.append(record)
                self.new += bool(self.previous_at and record["first_seen"] > self.previous_at)

    def _judge_ready(self, wait: bool) -> None:
        """Judge the clusters of which all is heard; nobody's answer waits for a slow ZooKeeper before the end."""
        for cluster in self.clusters:
            if cluster.name in self._heard and not self._waiting[cluster.name]:
                outside = self.outside(cluster, wait)
                if outside is not None:
                    self._judge(cluster, outside)

    def _judge(self, of: Cluster, outside: ClusterView) -> None:
        """Ask this cluster's questions; its reports are not needed any more."""
        told = self._heard.pop(of.name)
        left_out = frozenset(host.name for host in of.hosts if self.asked and host.name not in told)
        windows = self._windows.pop(of.name, {})
        view = replace(outside, reports=told, left_out=left_out, windows=windows)
        records = judges.judge_all(view, self.wanted, self.run_id, self.at)
        for record in records:
            record["first_seen"] = self._since(record)
            self._judged.setdefault(record["host"], []).append(record)
        self._count(of.name, records)
        self._keep(map(_line, records))

    def _since(self, record: Record) -> str:
        who = "/".join(("cluster", record["cluster"], record["check"], record["host"]))
        return report.timestamp(self.memory.first_seen(who, record["item"], record["status"] not in FINE))

    def _keep(self, lines: Iterable[str]) -> None:
        if self.keeper:
            self.keeper.write(lines)


def _line(record: Record) -> str:
    return json.dumps(record, separators=(",", ":"), default=str)
