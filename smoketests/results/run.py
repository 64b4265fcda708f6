"""Ask the hosts of an inventory and its clusters: from the inventory through the fan-out to a survey of what came.

Ctrl-C once ends the run: the reports received are shown, and who did not reply. Ctrl-C twice ends the program.
"""

from __future__ import annotations

import functools
import os
import signal
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from agent import atomic_file, engine, report
from agent.report import Report
from agent.state import State, default_state_path
from agent.status import unknown
from inventory.errors import SmokeError
from smoketests import cluster as judges
from smoketests.results.progress import Progress
from smoketests.results.run_results import Survey
from smoketests.results.store import Keeping

if TYPE_CHECKING:
    from inventory.model import Cluster, Host, Inventory
    from smoketests.cluster.view import ClusterView
    from smoketests.remote.fanout import HostReport
    from smoketests.ssh.connect import Access

REACH = "reach"
STOPPED = "no reply: the run was stopped"
LOOK_AGAIN_S = 0.2


class CannotAsk(SmokeError):
    """The run cannot begin: an inventory with errors, a host that is not in it, a key that is none. Why, in words."""


@dataclass(frozen=True)
class RunOptions:
    """What is asked of whom, and how. Empty means: all, or as usual.

    checks: of hosts and of clusters. state: the file in which we remember since when a cluster's findings stand.
    """

    inventories: Sequence[str]
    limit: str = ""
    cluster: str = ""
    role: str = ""
    layout: str = ""
    checks: Sequence[str] = ()
    jobs: int = 64
    deadline_s: float = engine.RUN_DEADLINE_S
    known_hosts: Sequence[str] = ()
    keys: Sequence[str] = ()
    ssh_config: str = ""
    sudo_password: str = field(default="", repr=False)
    write_probe: bool = True
    store: str = ""
    state: str = ""
    whole: bool = False


def check_names() -> list[str]:
    """All that can be asked of hosts and of clusters."""
    return [*engine.names(), *judges.names()]


def load(wanted: RunOptions) -> tuple[Inventory, tuple[Host, ...]]:
    """The inventory, and those of its hosts that are wanted."""
    from inventory.model import NoSuchHost
    from inventory.problems import InventoryError
    from smoketests.results.inventory_limits import load as read

    try:
        inventory = read(wanted.inventories)
        hosts = inventory.select(wanted.limit, wanted.cluster, wanted.role, wanted.layout)
    except (InventoryError, NoSuchHost) as error:
        raise CannotAsk(str(error)) from error
    if not wanted.write_probe:
        hosts = tuple(replace(host, write_probe=False) for host in hosts)
    return inventory, hosts


def ask(wanted: RunOptions, say: Callable[[str], None]) -> Survey:
    """One run. say: is told, line by line, what a person should know beside the findings."""
    inventory, hosts = load(wanted)
    for note in inventory.notes:
        say(note)
    stop = Stop()
    names = {host.name for host in hosts}
    clusters = [cluster for cluster in inventory.clusters if names & {host.name for host in cluster.hosts}]
    run_id, at = uuid.uuid4().hex, report.timestamp(time.time())
    host_checks, cluster_checks = _split(wanted.checks)
    if not host_checks and cluster_checks and REACH not in cluster_checks:
        hosts = ()  # what is asked of ZooKeeper and Kafka alone needs no host
    reports = host_reports(wanted, hosts, host_checks, run_id) if hosts else iter(())
    survey = Survey(
        clusters, hosts, run_id, at, cluster_checks, _remembered(wanted, say),
        outside=_readers(clusters, cluster_checks, stop), whole=wanted.whole or len(hosts) == 1,
        keeper=Keeping(wanted.store, run_id, at) if wanted.store else None,
    )  # fmt: skip
    try:
        with Progress([host.name for host in hosts]) as progress, stop:
            listen(survey, stop.until(reports), progress.heard)
    finally:
        if survey.keeper:
            survey.keeper.end(keep=False)  # only if it was not ended well: killed half-way, nothing is left behind
    _remember(wanted, survey.memory, say)
    if survey.keeper and survey.keeper.problem:
        say(survey.keeper.problem)
    return survey


def listen(survey: Survey, reports: Iterator[HostReport], heard: Callable[[HostReport], None]) -> None:
    """Hear all that comes; who does not come is not passed over in silence."""
    from smoketests.remote.fanout import HostReport

    for one in reports:
        heard(one)
        survey.hear(one)
    for host in survey.waiting():
        survey.hear(HostReport(host, Report({}, [], []), [], unknown(STOPPED), 0.0, "stopped"))
    survey.end()
    if survey.keeper:
        survey.keeper.end()


def _split(checks: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What to ask of hosts and of clusters. What a cluster's question reads is asked of its hosts.

    Nothing of hosts: everything, unless only ZooKeeper and Kafka are asked; `reach` is about hosts.
    """
    if not checks:
        return (), tuple(judges.names())
    of_clusters = [name for name in judges.names() if name in checks]
    of_hosts = [name for name in engine.names() if name in checks]
    of_hosts += [check for name in of_clusters for check in judges.asks(name)]
    reach = [REACH] if of_hosts or REACH in checks else []
    return tuple(dict.fromkeys(of_hosts)), tuple(dict.fromkeys([*reach, *of_clusters]))


def access(wanted: RunOptions) -> Access:
    """How hosts are reached."""
    from smoketests.ssh import connect

    return connect.Access(
        known_hosts=tuple(wanted.known_hosts) or connect.KNOWN_HOSTS,
        key_files=tuple(wanted.keys),
        ssh_config=wanted.ssh_config or None,
    )


def host_reports(wanted: RunOptions, hosts: Sequence[Host], checks: Sequence[str], run_id: str) -> Iterator[HostReport]:
    """What comes of these hosts, each as it finishes, asked these checks (nothing: all). CannotAsk."""
    from smoketests.remote import fanout
    from smoketests.remote.bundle import BundleError, build
    from smoketests.ssh.failures import AccessError

    try:
        way, bundle = access(wanted), build()
    except (AccessError, BundleError, OSError) as error:
        raise CannotAsk(str(error)) from error
    options = fanout.Options(
        jobs=wanted.jobs, run_s=wanted.deadline_s, checks=tuple(checks), sudo_password=wanted.sudo_password
    )
    return fanout.run(hosts, options, bundle, way, run_id)


def _readers(
    clusters: Sequence[Cluster], checks: Sequence[str], stop: Stop
) -> Callable[[Cluster, bool], ClusterView | None]:
    """Ask every cluster's ZooKeeper and Kafka from now on; gives what they said when the cluster is judged."""
    from smoketests import readers
    from smoketests.cluster import services
    from smoketests.cluster.view import ClusterView

    if set(checks) <= {REACH}:
        return lambda cluster, _wait: ClusterView(cluster, {})
    asked = {cluster.name: readers.begin(functools.partial(services.look, cluster, {})) for cluster in clusters}

    def answer(cluster: Cluster, wait: bool) -> ClusterView | None:
        while not stop.asked:
            try:
                return asked[cluster.name](LOOK_AGAIN_S if wait else 0)
            except readers.NotYet:
                if not wait:
                    return None
        return ClusterView(cluster, {}, problems={"zookeeper": STOPPED, "kafka": STOPPED})

    return answer


def _memory_path(wanted: RunOptions) -> str:
    return wanted.state or os.path.join(os.path.dirname(default_state_path()), "clusters.json")


def _remembered(wanted: RunOptions, say: Callable[[str], None]) -> State:
    """What earlier runs saw of clusters and silent hosts."""
    path, now = _memory_path(wanted), time.time()
    try:
        with open(path, encoding="utf-8") as file:
            return State("", now, file.read())
    except FileNotFoundError:
        return State("", now)
    except (OSError, ValueError) as error:
        say(f"{path}: state file unusable ({error}), reset; old events may be reported again")
        return State("", now)


def _remember(wanted: RunOptions, memory: State, say: Callable[[str], None]) -> None:
    path = _memory_path(wanted)
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        atomic_file.replace(path, memory.dump().encode())
    except OSError as error:
        say(f"cannot save state, trends and new events unavailable in the next run: {error}")


class Stop:
    """The first Ctrl-C ends the waiting, wherever it is; the second is the usual one."""

    def __init__(self) -> None:
        self.asked = False
        self._waiting = False
        self._before: Any = None

    def __enter__(self) -> Stop:
        self._before = signal.signal(signal.SIGINT, self._interrupted)
        return self

    def __exit__(self, *_exception: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _interrupted(self, _number: int, _frame: Any) -> None:
        if self.asked or self._waiting:
            self.asked = True
            raise KeyboardInterrupt
        self.asked = True

    def until(self, reports: Iterator[HostReport]) -> Iterator[HostReport]:
        """The reports up to the first Ctrl-C; then the connections are ended."""
        try:
            while not self.asked:
                one = self._next(reports)
                if one is None:
                    return
                yield one
        finally:
            closing = getattr(reports, "close", None)
            if closing:
                closing()

    def _next(self, reports: Iterator[HostReport]) -> HostReport | None:
        self._waiting = True
        try:
            return next(reports, None)
        except KeyboardInterrupt:
            return None
        finally:
            self._waiting = False
