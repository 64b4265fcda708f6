"""One reading: read the hosts, ZooKeeper, Kafka, the locks and the records, then evaluate every rule."""

from __future__ import annotations

import functools
import os
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from agent import report
from agent.report import Report
from agent.status import unknown
from inventory.names import some
from smoketests import readers
from smoketests.cluster import services
from smoketests.gate import acceptance, decision_store, lock, playbook_runs, rules, shared_lock
from smoketests.gate.context import GateContext, may_have_brokers
from smoketests.gate.decision import Decision
from smoketests.gate.ensembles import holders
from smoketests.gate.identities import servers_seen
from smoketests.gate.maintenance import PURPOSES, REPLACE_DISK, Maintenance
from smoketests.readers.kafka import client_properties
from smoketests.results import run
from smoketests.results.progress import Progress

if TYPE_CHECKING:
    from inventory.model import Cluster, Host, Inventory
    from smoketests.cluster.view import ClusterView
    from smoketests.remote.fanout import HostReport

MOST_MINUTES = 14 * 24 * 60


def look(maintenance: Maintenance, wanted: run.RunOptions, say: Callable[[str], None]) -> Decision:
    """One reading, judged, kept nowhere. run.CannotAsk for a question that makes no sense."""
    started = time.monotonic()
    run_id, at = uuid.uuid4().hex, time.time()
    maintenance, situation = _situation(maintenance, wanted, run_id, at, say)
    found = [rules.judged(situation, name) for name in rules.names()]
    for words in acceptance.useless(maintenance.accept, found):
        say(words)
    results = rules.taken(situation, found)
    return Decision(
        vars(maintenance), report.timestamp(at), time.monotonic() - started, results, run_id, lock.owner(),
        state=decision_store.state_of(situation),
    )  # fmt: skip


def resolved(maintenance: Maintenance, wanted: run.RunOptions) -> tuple[Maintenance, Inventory, Cluster, list[Host]]:
    """The question with the hosts' names and their cluster, checked; run.CannotAsk with the reason."""
    _check(maintenance, wanted.store)
    limit, cluster = ",".join(maintenance.hosts), maintenance.cluster or wanted.cluster
    inventory, chosen = run.load(replace(wanted, limit=limit, cluster=cluster, role="", layout=""))
    clusters = [one for one in inventory.clusters if {host.name for host in chosen} & {host.name for host in one.hosts}]
    if len(clusters) > 1:
        names = ", ".join(one.name for one in clusters)
        raise run.CannotAsk(f"these hosts belong to {len(clusters)} clusters ({names}): name the hosts of one")
    if maintenance.purpose == REPLACE_DISK and len(chosen) > 1:
        raise run.CannotAsk(f"{REPLACE_DISK} takes one host at a time, with its disk")
    named = replace(maintenance, hosts=tuple(host.name for host in chosen), cluster=clusters[0].name)
    return named, inventory, clusters[0], list(chosen)


def _check(maintenance: Maintenance, store: str) -> None:
    if "://" in store:
        raise run.CannotAsk(f"{store}: the store of locks and decisions must be a local folder")
    if maintenance.purpose not in PURPOSES:
        raise run.CannotAsk(f"unknown purpose {maintenance.purpose!r}; expected one of {', '.join(PURPOSES)}")
    if not maintenance.hosts:
        raise run.CannotAsk("no host given; use --host")
    if maintenance.purpose == REPLACE_DISK and not maintenance.disk and not maintenance.after:
        raise run.CannotAsk("--disk must name the serial number of the disk that is replaced")
    if maintenance.disk and maintenance.purpose != REPLACE_DISK:
        raise run.CannotAsk(f"--disk is for {REPLACE_DISK} only")
    if not 0 < maintenance.minutes <= MOST_MINUTES:
        raise run.CannotAsk(f"a maintenance takes 1 to {MOST_MINUTES} minutes")
    problem = rules.unacceptable(maintenance.accept)
    if problem:
        raise run.CannotAsk(problem)


def _check_login(cluster: Cluster) -> None:
    """A client.properties that cannot be used is a mistake of ours, and told before anybody is asked."""
    try:
        client_properties.of(cluster.name)
    except readers.CannotRead as error:
        raise run.CannotAsk(str(error)) from None


def _situation(
    maintenance: Maintenance, wanted: run.RunOptions, run_id: str, at: float, say: Callable[[str], None]
) -> tuple[Maintenance, GateContext]:
    named, inventory, cluster, leaving = resolved(maintenance, wanted)
    for note in inventory.notes:
        say(note)
    _check_login(cluster)
    store = wanted.store or decision_store.STORE
    unread: dict[str, str] = {}
    before = _before(store, named, at, unread)
    if named.after and not named.disk:
        named = replace(named, disk=str(before.get("disk", "")))
    served = [
        other for other in inventory.clusters if other.name != cluster.name and _serves(leaving, other, inventory)
    ]
    hosts = cluster.hosts
    if not wanted.write_probe:
        hosts = tuple(replace(host, write_probe=False) for host in hosts)
    views = _views([replace(cluster, hosts=hosts), *served], wanted, rules.checks(named), run_id)
    views[0] = own_kafka(views[0], inventory)
    locks, now = _locks(store, cluster, unread), lock.clock(store)
    return named, GateContext(
        named, views[0], tuple(leaving), tuple(views[1:]), locks, unread, before,
        now, os.path.abspath(store),
        frozenset(other.name for other in inventory.clusters if _serves(other.hosts, cluster, inventory)),
        acceptance.standing(store, cluster.name, now), decision_store.recent(store, cluster.name, at),
        lock.owner(), _runs(store, cluster.name, unread),
    )  # fmt: skip


def own_kafka(view: ClusterView, inventory: Inventory) -> ClusterView:
    """Without what Kafka said if that is another cluster's: ids alone look alike everywhere."""
    cluster = view.cluster
    if not view.kafka:
        return view
    stranger = _another_cluster(view)
    if stranger:
        return replace(view, kafka=None, problems={**view.problems, "kafka": stranger})
    if not may_have_brokers(cluster):
        return view
    servers = [*cluster.kafka, *(f"{row.host}:{row.port}" for row in view.kafka.brokers)]
    if any(holders(server, cluster.hosts) for server in servers):
        return view
    others = [host for host in inventory.hosts if host.cluster != cluster.name]
    theirs = next((found[0] for server in servers if (found := holders(server, others))), None)
    if theirs is None:
        return view
    why = f"kafka: of {cluster.name} in the inventory leads to {theirs.name}, which is of {theirs.cluster}"
    return replace(view, kafka=None, problems={**view.problems, "kafka": why})


def _another_cluster(view: ClusterView) -> str:
    """Both sides, where no machine is of the cluster that Kafka tells; empty if one is, or none tells."""
    ours: dict[str, list[str]] = {}
    for name, servers in servers_seen(view).items():
        for server in servers:
            for cluster_id in server.clusters:
                ours.setdefault(cluster_id, []).append(name)
    said = view.kafka.cluster_id if view.kafka else ""
    if not said or not ours or said in ours:
        return ""
    sides = "; ".join(f"{cluster_id} (meta.properties of {some(hosts, 3)})" for cluster_id, hosts in ours.items())
    return f"kafka: of {view.cluster.name} leads to the cluster {said}, and its machines are of {sides}"


def _serves(hosts: Sequence[Host], cluster: Cluster, inventory: Inventory) -> bool:
    """Whether a server of this cluster's ensemble runs on one of these hosts."""
    names, everyone = {host.name for host in hosts}, list(inventory.hosts)
    on = (holders(server.partition("/")[0], everyone) for server in cluster.zookeeper)
    return any(host.name in names for found in on for host in found)


def _locks(store: str, cluster: Cluster, unread: dict[str, str]) -> list[lock.Lock] | None:
    try:
        return shared_lock.held(store, cluster)
    except lock.CannotLock as error:
        unread["locks"] = str(error)
        return None


def _runs(store: str, cluster: str, unread: dict[str, str]) -> list[playbook_runs.Run] | None:
    try:
        return playbook_runs.unfinished(store, cluster)
    except playbook_runs.UnreadableRuns as error:
        unread["runs"] = str(error)
        return None


def _before(store: str, maintenance: Maintenance, now: float, unread: dict[str, str]) -> dict[str, object]:
    if not maintenance.after:
        return {}
    try:
        return decision_store.before(store, maintenance, now)
    except decision_store.NoRecord as error:
        unread["before"] = str(error)
        return {}


def _views(
    clusters: Sequence[Cluster], wanted: run.RunOptions, checks: Sequence[str], run_id: str
) -> list[ClusterView]:
    """The clusters as they are now: the first with its hosts' reports, all with what ZooKeeper and Kafka say."""
    first, *_others = clusters
    said = [readers.begin(functools.partial(services.look, cluster, {})) for cluster in clusters]
    reports: dict[str, HostReport] = {}
    stop = run.Stop()
    with Progress([host.name for host in first.hosts]) as progress, stop:
        for one in stop.until(run.host_reports(wanted, first.hosts, checks, run_id)):
            progress.heard(one)
            reports[one.host.name] = one
    if stop.asked:
        raise KeyboardInterrupt
    views = [answer(None) for answer in said]
    windows = {name: one.window for name, one in reports.items() if one.window}
    heard = {host.name: reports.get(host.name) or _unheard(host) for host in first.hosts}
    return [replace(views[0], reports=heard, windows=windows), *views[1:]]


def _unheard(host: Host) -> HostReport:
    from smoketests.remote.fanout import HostReport

    return HostReport(host, Report({}, [], []), [], unknown("no reply"), 0.0, "unheard")
