"""The same suite as pytest items, and a site's own smoke tests beside it: pytest --smoke-inventory inv.yaml

Loaded by every pytest where fleet-smoke is installed, so it imports nothing before it is asked to.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from smoketests import hidden_package

if TYPE_CHECKING:
    from smoketests.remote.remote_host import FarCluster, RemoteHost
    from smoketests.results.run import RunOptions
    from smoketests.results.run_results import Survey

NO_ITEM = "-"
NO_INVENTORY = "needs hosts: pytest --smoke-inventory FILE"


class SmokeWarning(pytest.PytestWarning):
    """A finding that is a warning."""


class Problem(Exception):
    """A finding that fails its item."""


class Fleet:
    """One run over the inventory's hosts, for the items and the fixtures of one session."""

    def __init__(self, wanted: RunOptions, survey: Survey, notes: Sequence[str]) -> None:
        from smoketests.remote.remote_host import FarCluster, RemoteHost
        from smoketests.results import run

        access = run.access(wanted)
        self.survey, self.notes = survey, notes
        self.hosts: dict[str, RemoteHost] = {
            host.name: RemoteHost(host, list(survey.report(host).findings), access) for host in survey.asked
        }
        self.clusters: dict[str, FarCluster] = {}
        for cluster in survey.clusters:
            hosts = [self.hosts[host.name] for host in cluster.hosts if host.name in self.hosts]
            self.clusters[cluster.name] = FarCluster(cluster, hosts, survey.of_cluster(cluster.name))

    def findings(self) -> Iterator[Mapping[str, Any]]:
        for host in self.hosts.values():
            yield from host.findings
        for cluster in self.clusters.values():
            yield from cluster.findings


FLEET = pytest.StashKey[Fleet]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("smoke", "hardware smoke tests of the hosts of an inventory")
    add = group.addoption
    add(
        "--smoke-inventory",
        action="append",
        default=[],
        metavar="FILE",
        help="check the hosts of this inventory; repeatable",
    )
    add("--smoke-limit", default="", metavar="PATTERN", help="only these hosts: kafka-a03, kafka-a*, kafka-a[01-14]")
    add("--smoke-checks", default="", metavar="NAMES", help="only these checks, comma separated")
    add("--smoke-strict", action="store_true", help="a warning fails its item")
    add("--smoke-known-hosts", action="append", default=[], metavar="FILE", help="instead of ssh's own")
    add("--smoke-identity", action="append", default=[], metavar="FILE", help="private key, instead of ~/.ssh's")
    add("--smoke-ssh-config", default="", metavar="FILE", help="instead of ~/.ssh/config")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "smoke: a finding about a host or a cluster (pytest --smoke-inventory)")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Ask all hosts once, before anything is collected: what they have decides which items there are."""
    config = session.config
    if not config.getoption("smoke_inventory"):
        return
    if config.getoption("numprocesses", None) or hasattr(config, "workerinput"):
        raise pytest.UsageError("--smoke-inventory contacts all hosts at once itself: do not use pytest-xdist's -n")
    if problem := hidden_package():
        raise pytest.UsageError(f"--smoke-inventory: {problem}")
    from smoketests.results import run

    wanted = _wanted(config)
    notes: list[str] = []
    unknown = sorted(set(wanted.checks) - set(run.check_names()))
    if unknown:
        raise pytest.UsageError(f"--smoke-checks: no check named {unknown[0]!r}; `smoke list` names them all")
    try:
        survey = run.ask(wanted, notes.append)
    except run.CannotAsk as error:
        raise pytest.UsageError(f"--smoke-inventory: {error}") from error
    config.stash[FLEET] = Fleet(wanted, survey, notes)


def _wanted(config: pytest.Config) -> RunOptions:
    from smoketests.results.run import RunOptions

    option = config.getoption
    checks = [name.strip() for name in option("smoke_checks").split(",") if name.strip()]
    return RunOptions(
        option("smoke_inventory"), limit=option("smoke_limit"), checks=checks, whole=True,
        known_hosts=option("smoke_known_hosts"), keys=option("smoke_identity"), ssh_config=option("smoke_ssh_config"),
    )  # fmt: skip


def pytest_report_header(config: pytest.Config) -> list[str]:
    if FLEET not in config.stash:
        return []
    fleet = config.stash[FLEET]
    return [f"smoke: {len(fleet.hosts)} hosts checked in {fleet.survey.seconds:.1f} s", *fleet.notes]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """The findings become items, before -k and -m choose among them."""
    if FLEET not in config.stash:
        return
    suite = SmokeSuite.from_parent(session, name="smoke", nodeid="smoke")
    taken: dict[str, int] = {}
    for finding in config.stash[FLEET].findings():
        name = _name(finding)
        taken[name] = taken.get(name, 0) + 1
        name += f"#{taken[name]}" if taken[name] > 1 else ""
        items.append(SmokeItem.from_parent(suite, name=name, finding=finding))


def _name(finding: Mapping[str, Any]) -> str:
    """mounts[kafka-a03-/kafka/d3], swappiness[kafka-a03], zk_quorum[prod-a]"""
    from agent.formats.text import printable

    who = finding["host"] or finding["cluster"]
    item = "" if finding["item"] in (NO_ITEM, who) else f"-{finding['item']}"
    return printable(f"{finding['check']}[{who}{item}]").replace("::", ":")


class SmokeSuite(pytest.Collector):
    """What all smoke items are part of."""

    def collect(self) -> list[pytest.Item]:
        return []


class SmokeItem(pytest.Item):
    """One finding. Critical fails; so does what could not be told; a warning warns, and fails with --smoke-strict."""

    def __init__(self, *, finding: Mapping[str, Any], **about: Any) -> None:
        super().__init__(**about)
        self.finding = finding
        self.add_marker("smoke")
        self.user_properties += [("status", finding["status"]), ("playbook", finding["playbook"])]

    def runtest(self) -> None:
        from agent.formats.text import printable

        status, reason = self.finding["status"], printable(self.finding["reason"])
        if status == "skipped":
            pytest.skip(reason)
        if status == "unknown":
            raise Problem(f"cannot tell: {reason}")
        if status == "critical" or (status == "warning" and self.config.getoption("smoke_strict")):
            raise Problem(f"{status}: {reason}")
        if status == "warning":
            warnings.warn(SmokeWarning(f"{self.name}: {reason}"), stacklevel=1)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, Problem):
            playbook = self.finding["playbook"]
            what = f"\nwhat to do: playbook {playbook}, smoke explain {self.finding['check']}" if playbook else ""
            return f"{excinfo.value}{what}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        return self.path, None, self.name


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes `host` runs for each host, one that takes `cluster` for each cluster."""
    fleet = metafunc.config.stash.get(FLEET, None)
    for name in ("host", "cluster"):
        if name in metafunc.fixturenames and _is_ours(metafunc, name):
            there = [] if fleet is None else list(fleet.hosts if name == "host" else fleet.clusters)
            metafunc.parametrize(name, there or [None], ids=there or ["no-inventory"], indirect=True)


def _is_ours(metafunc: pytest.Metafunc, name: str) -> bool:
    """A site may have a fixture of its own by that name (testinfra has)."""
    found = getattr(metafunc, "_arg2fixturedefs", {}).get(name, ())
    return bool(found) and getattr(found[-1].func, "__module__", "") == __name__


@pytest.fixture
def host(request: pytest.FixtureRequest) -> RemoteHost:
    """Each host of the inventory: its findings and facts, and commands of your own (remote/remote_host.py)."""
    name = getattr(request, "param", None)
    if name is None:
        pytest.skip(NO_INVENTORY)
    return request.config.stash[FLEET].hosts[name]


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> FarCluster:
    """Each cluster of the inventory with its hosts (smoketests/remote/remote_host.py)."""
    name = getattr(request, "param", None)
    if name is None:
        pytest.skip(NO_INVENTORY)
    return request.config.stash[FLEET].clusters[name]
