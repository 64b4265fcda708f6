"""Real Kafka servers in trouble: what kafka_log reads in their logs, and that it is silent while they are well."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from agent import report
from agent.expected import Expected, ExpectedMount
from agent.host import Process
from agent.machine.live import LiveHost
from agent.sources.kafka import log_events as lines
from agent.sources.kafka import settings as kafka_settings
from agent.state import State
from agent.status import Finding
from inventory.model import Cluster
from smoketests.cluster import judge_all, services
from smoketests.show.fold import fold
from tests.machine import run_checks
from tests.real.parts import kafka_servers
from tests.real.parts.filesystems import Mounted, command, loop_ext4, need
from tests.real.parts.kafka_servers import Kafka
from tests.real.parts.namespace import wait_for
from tests.real.parts.zookeeper import ZooKeeper, free_port
from tests.smoketests.cluster.views import answered, host

pytestmark = pytest.mark.slow


class Machine(LiveHost):
    """This machine, of whose processes only one server is seen."""

    def __init__(self, server: Kafka, expected: Expected, state: str) -> None:
        super().__init__(expected)
        self._pid = server.process.pid
        self.state = State(self.boot_id(), self.now(), state)

    def processes(self) -> list[Process]:
        return [process for process in super().processes() if process.pid == self._pid]


class Agent:
    """Runs on the machine of one server, again and again, with a memory."""

    def __init__(self, server: Kafka, *mounts: Mounted, **limits: float) -> None:
        named = tuple(ExpectedMount(mount.path) for mount in mounts)
        self._server, self._state = server, ""
        self._expected = Expected(roles=("broker",), layout="jbod", mounts=named, limits={"kafka_log": limits})

    def __call__(self, *checks: str) -> list[Finding]:
        host = Machine(self._server, self._expected, self._state)
        try:
            findings = run_checks(host, *(checks or ("kafka_log",)), deadline_s=60.0)
            self._state = host.state.dump()
        finally:
            host.close()
        assert not [one for one in findings if "the check failed" in one.verdict.reason], findings
        return findings

    def records(self, *checks: str) -> list[dict[str, Any]]:
        """The findings as a controller hears them."""
        host = Machine(self._server, self._expected, self._state)
        try:
            run = report.about(host, "run")
            return [json.loads(report.line(run, finding)) for finding in self(*checks)]
        finally:
            host.close()

    def until(self, *kinds: str) -> Finding:
        """Run until it has told all of these; its last finding of kafka_log."""

        def look() -> Finding | None:
            (finding,) = self()
            return finding if set(kinds) <= set(finding.facts["kinds"]) else None

        found: Finding = wait_for(f"kafka_log's word of {', '.join(kinds)}", look, 90.0)
        return found


def well(findings: list[Finding]) -> bool:
    assert {one.status for one in findings} == {"ok"}, [one.verdict for one in findings]
    return True


@pytest.fixture()
def client() -> Iterator[Callable[[list[Kafka]], Any]]:
    """An admin client of these servers, and how to write to a partition."""
    from kafka import KafkaAdminClient

    opened: list[Any] = []

    def connect(servers: list[Kafka]) -> Any:
        def tried() -> Any:
            try:
                return KafkaAdminClient(bootstrap_servers=[server.address for server in servers])
            except Exception:  # a broker that just started refuses for a while
                return None

        opened.append(wait_for("an admin client", tried, 60.0))
        return opened[-1]

    yield connect
    for one in opened:
        one.close()


def create(admin: Any, topic: str, *replicas: list[int], **configs: str) -> None:
    settings = {name.replace("_", "."): value for name, value in configs.items()}
    new = {topic: {"assignments": dict(enumerate(replicas)), "configs": settings}}

    def tried() -> bool:
        try:
            admin.create_topics(new)
        except Exception:  # not all brokers are there yet
            return any(row["name"] == topic and not row["error_code"] for row in admin.describe_topics([topic]))
        return True

    wait_for(f"topic {topic}", tried, 60.0)


def write(server: Kafka, topic: str, partitions: int, count: int = 20) -> None:
    """Send without waiting for followers; what cannot be written is no matter here."""
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=[server.address], acks=1, delivery_timeout_ms=4000,
                             request_timeout_ms=2000, linger_ms=0)  # fmt: skip
    try:
        for number in range(count):
            producer.send(topic, b"x" * 2000, partition=number % partitions)
        producer.flush(timeout=10)
    except Exception as error:
        print(f"not written: {error}")
    finally:
        producer.close(timeout=2)


def assert_defaults(server: Kafka) -> None:
    """What kafka_config takes for Kafka's defaults is what this Kafka says it uses."""
    given = server.config.read_text()
    written = (server.folder / "server.log").read_text()
    for name, default in ((name, row[name]) for row in kafka_settings.DEFAULTS.values() for name in row):
        assert name in given or f"\t{name} = {default}\n" in written, name


def assert_one_cause(server: Kafka, rows: list[dict[str, Any]], mount: Mounted, log_dir: str) -> None:
    """The broker's log, the mount and Kafka itself tell of one failure: one row of the table names them."""
    machine = replace(host(1), address="127.0.0.1")
    cluster = Cluster("prod-a", (machine,), (), (server.address,))
    asked = services.look(cluster, {})
    seen = replace(asked, reports={machine.name: answered(*({**row, "host": machine.name} for row in rows))})
    records = judge_all(seen, ["partitions", "shared_fate"])
    (row,) = (row for row in fold([*seen.reports[machine.name].report.findings, *records])
              if row.status == "critical" and row.hosts == (machine.name,))  # fmt: skip

    assert (row.check, row.items) == ("shared_fate", (mount.path,))
    assert f"one cause, seen by mounts, kafka_log, partitions: {mount.path} on {mount.device}" in row.sentence
    (record,) = (record for record in records if record["check"] == "shared_fate" and record["host"])
    assert ["partitions", f"broker 1 {log_dir}"] in record["facts"]["seen_by"]
    assert record["facts"]["offline_replicas"] == 4


@pytest.mark.root
def test_a_log_dir_that_fails_is_seen_by_the_broker_and_by_mounts_and_a_restart_without_it_clears_it(
    tmp_path: pathlib.Path, client: Callable[[list[Kafka]], Any]
) -> None:
    need("xfs_io:xfsprogs")
    with loop_ext4(tmp_path, "d1", size_mb=128) as good, loop_ext4(tmp_path, "d2", size_mb=128) as bad:
        dirs = [f"{mount.path}/kafka" for mount in (good, bad)]
        for folder in dirs:
            os.mkdir(folder)
        server = kafka_servers.with_kraft(tmp_path / "broker", **{"log.dirs": ",".join(dirs)})
        with server:
            create(client([server]), "orders", *[[1]] * 8)
            write(server, "orders", 8)
            agent = Agent(server, good, bad)
            assert well(agent())
            assert well(agent("kafka_config"))
            assert_defaults(server)

            command("xfs_io", "-x", "-c", "shutdown", bad.path)
            write(server, "orders", 8)
            finding = agent.until(lines.LOG_DIR)
            assert (finding.status, finding.verdict.playbook) == ("critical", "replace-jbod-disk")
            assert finding.facts["about"][finding.facts["kinds"].index(lines.LOG_DIR)] == dirs[1]
            assert "Input/output error" in finding.verdict.reason
            rows = agent.records("kafka_log", "mounts")
            assert {row["item"]: row["status"] for row in rows if row["status"] == "critical"} == {
                "broker": "critical", bad.path: "critical",
            }  # fmt: skip
            assert_one_cause(server, rows, bad, dirs[1])

        text = server.config.read_text().replace(",".join(dirs), dirs[0])
        server.config.write_text(text)
        with server:
            assert well(agent())


@contextlib.contextmanager
def paused(server: Kafka) -> Iterator[None]:
    """Its process stands still, as in a long garbage collection or over a hung disk."""
    os.kill(server.process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(server.process.pid, signal.SIGCONT)


def test_a_broker_that_pauses_falls_out_of_the_isr_then_loses_its_session_and_an_unclean_election_loses_data(
    tmp_path: pathlib.Path, client: Callable[[list[Kafka]], Any]
) -> None:
    settings: dict[str, Any] = {"zookeeper.session.timeout.ms": 9000, "log.flush.interval.messages": 1}
    with ZooKeeper(tmp_path / "zookeeper") as zookeeper:
        at = f"127.0.0.1:{zookeeper.port}"
        servers = [kafka_servers.with_zookeeper(tmp_path / f"b{number}", number, at, **settings) for number in (1, 2)]
        first, second = servers
        with first, second:
            admin = client([first])
            create(admin, "orders", [1, 2], [2, 1], unclean_leader_election_enable="true")
            agents = [Agent(server, isr_shrinks_per_hour_warning=1) for server in servers]
            assert all(well(agent()) for agent in agents)

            with paused(second):
                write(first, "orders", 1)
                shrunk = agents[0].until(lines.SHRINK)
            assert shrunk.status == "warning" and "broker 2 fell out of the ISR" in shrunk.verdict.reason
            agents[0].until(lines.EXPAND)
            with paused(second):
                wait_for("the end of its session", lambda: registered(at) == ["1"], 60.0)
            assert agents[1].until(lines.EXPIRED).status == "warning"
            wait_for("the return of broker 2", lambda: isr(admin) == [[1, 2], [1, 2]], 90.0)

            second.stop()
            wait_for("the loss of broker 2", lambda: isr(admin) == [[1], [1]], 90.0)
            write(first, "orders", 2)
            first.stop()
            with second:
                agents[1].until(lines.UNCLEAN)
                with first:
                    cut = agents[0].until(lines.TRUNCATED)
                told = agents[1]()[0]
        assert (told.status, told.verdict.playbook) == ("critical", "broker-down")
        assert "records that only the lost leader had are lost" in told.verdict.reason
        assert cut.facts["times"][cut.facts["kinds"].index(lines.TRUNCATED)] == 2


def registered(zookeeper: str) -> list[str]:
    """The broker ids that ZooKeeper knows."""
    from kazoo.client import KazooClient

    asking = KazooClient(zookeeper)
    asking.start()
    try:
        return sorted(asking.get_children("/brokers/ids"))
    finally:
        asking.stop()
        asking.close()


def isr(admin: Any) -> list[list[int]]:
    """Of each partition of `orders`; empty while nobody tells."""
    from kafka.errors import KafkaError

    try:
        (topic,) = admin.describe_topics(["orders"])
    except KafkaError:
        return []
    return [sorted(row["isr_nodes"]) for row in sorted(topic["partitions"], key=lambda row: row["partition_index"])]


def test_a_kraft_controller_tells_whom_it_fenced_and_what_was_elected_uncleanly(
    tmp_path: pathlib.Path, client: Callable[[list[Kafka]], Any]
) -> None:
    controller = kafka_servers.with_kraft(tmp_path / "b1", **{"broker.session.timeout.ms": "9000"})
    followers = [_joined(controller, tmp_path / f"b{number}", number) for number in (2, 3)]
    with controller, followers[0] as second, followers[1] as third:
        servers = [controller, second, third]
        create(client(servers), "orders", [2, 3], [3, 2], unclean_leader_election_enable="true")
        agent = Agent(controller)
        assert well(agent())

        third.stop()
        fenced = agent.until(lines.FENCED)
        assert fenced.status == "warning" and "it fenced broker 3 once" in fenced.verdict.reason
        write(second, "orders", 2)
        second.stop()
        wait_for("both to be fenced", lambda: len(agent()[0].facts["kinds"]) == 2, 60.0)
        with third:
            assert agent.until(lines.UNCLEAN).status == "critical"


def _joined(controller: Kafka, folder: pathlib.Path, number: int) -> Kafka:
    """A broker of the cluster whose only controller is the given server."""
    given = dict(row.partition("=")[::2] for row in controller.config.read_text().splitlines())
    port = free_port()
    address = f"CLIENTS://127.0.0.1:{port}"
    own = {"node.id": number, "process.roles": "broker", "listeners": address, "advertised.listeners": address,
           "log.dirs": folder / "logs"}  # fmt: skip
    server = Kafka(folder, {**given, **own}, port)
    kafka_servers.format_logs([server])
    return server
