"""Real Kafka servers on loopback, from the jars that scripts/kafka-jars fetches."""

from __future__ import annotations

import os
import pathlib
import shutil
import socket
import subprocess
from collections.abc import Sequence
from types import TracebackType
from typing import Optional

import pytest

from tests.real.parts.namespace import kill, wait_for
from tests.real.parts.zookeeper import free_port

# what a test gets that asks for no version; scripts/kafka-jars fetches others too
VERSION = "3.9.1"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "fleet-smoke/kafka"
# As in Kafka's own log4j.properties: server.log in its folder, and the same on standard output.
LOGGING = """log4j.rootLogger=INFO,out,file
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=[%d] %p %m (%c)%n
log4j.appender.file=org.apache.log4j.FileAppender
log4j.appender.file.File=${kafka.logs.dir}/server.log
log4j.appender.file.layout=org.apache.log4j.PatternLayout
log4j.appender.file.layout.ConversionPattern=[%d] %p %m (%c)%n
"""
CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
SMALL = {
    "offsets.topic.replication.factor": 1,
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "group.initial.rebalance.delay.ms": 0,
    "auto.create.topics.enable": "false",
    "replica.lag.time.max.ms": 2000,
    "controlled.shutdown.enable": "false",
}


def classpath(version: str = VERSION) -> str:
    """Where the classes of this Kafka are; skips the test where they are nowhere."""
    if not shutil.which("java"):
        pytest.skip("needs java (package default-jre-headless)")
    jars = sorted((CACHE / version).glob("*.jar"))
    if not jars:
        pytest.skip(f"needs the jars of Kafka {version} (scripts/kafka-jars {version})")
    return ":".join(map(str, jars))


def _java(folder: pathlib.Path, version: str, *words: str) -> list[str]:
    (folder / "log4j.properties").write_text(LOGGING)
    logging = [f"-Dkafka.logs.dir={folder}", f"-Dlog4j.configuration=file:{folder}/log4j.properties"]
    small = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    return ["java", *small, *logging, "-cp", classpath(version), *words]


class Kafka:
    """with Kafka(folder, {...server.properties}) as server: server.address; killed by its process id at the end.

    It may be stopped and started again. host: the address that it listens on. enter: a command in front of java's,
    such as `nsenter …`, to run it in the namespaces of a host. version: of Kafka.
    """

    def __init__(
        self, folder: pathlib.Path, settings: dict[str, object], port: int = 0, host: str = "127.0.0.1",
        enter: Sequence[str] = (), version: str = VERSION,
    ) -> None:  # fmt: skip
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.port, self.host = folder, port or free_port(), host
        self.address = f"{host}:{self.port}"
        self.config = folder / "server.properties"
        self._enter, self._version = list(enter), version
        given = {**SMALL, "log.dirs": folder / "logs", "listeners": f"PLAINTEXT://{self.address}", **settings}
        self.config.write_text("".join(f"{name}={value}\n" for name, value in given.items()))

    def __enter__(self) -> Kafka:
        self.start()
        try:
            self.wait()
        except BaseException:
            self.stop()
            raise
        return self

    def start(self) -> None:
        """Start its process; `wait` waits until it listens."""
        with open(self.folder / "kafkaServer.out", "ab") as log:
            command = [*self._enter, *_java(self.folder, self._version, "kafka.Kafka", str(self.config))]
            self.process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=self.folder)

    def format(self) -> subprocess.Popen[bytes]:
        """Begin to format its log dirs; those that are formatted already stay as they are."""
        words = ("kafka.tools.StorageTool", "format", "--ignore-formatted", "-t", CLUSTER_ID, "-c", str(self.config))
        return subprocess.Popen([*self._enter, *_java(self.folder, self._version, *words)], stdout=subprocess.DEVNULL)

    def wait(self) -> None:
        wait_for("Kafka's answer", self._answers, 120.0)

    def _answers(self) -> bool:
        if self.process.poll() is not None:
            raise AssertionError((self.folder / "kafkaServer.out").read_text()[-2000:])
        try:
            socket.create_connection((self.host, self.port), timeout=2).close()
        except OSError:
            return False
        return True

    def stop(self) -> None:
        """As by a power cut; harmless when it has ended."""
        kill(self.process)

    def __exit__(self, kind: Optional[type], error: Optional[BaseException], where: Optional[TracebackType]) -> None:
        self.stop()


def with_zookeeper(
    folder: pathlib.Path, number: int, zookeeper: str, version: str = VERSION, **settings: object
) -> Kafka:
    """A broker that registers itself in ZooKeeper."""
    given = {"broker.id": number, "zookeeper.connect": zookeeper, "zookeeper.session.timeout.ms": 4000, **settings}
    return Kafka(folder, given, version=version)


def with_kraft(folder: pathlib.Path, protocol: str = "PLAINTEXT", version: str = VERSION, **settings: object) -> Kafka:
    """Broker and controller in one process, its log formatted. protocol: what its clients must speak."""
    port, controller = free_port(), free_port()
    broker = f"127.0.0.1:{port}"
    server = Kafka(
        folder,
        {
            "process.roles": "broker,controller",
            "node.id": 1,
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"CLIENTS://{broker},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"CLIENTS://{broker}",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "CLIENTS",
            "listener.security.protocol.map": f"CONTROLLER:PLAINTEXT,CLIENTS:{protocol}",
            **settings,
        },
        port,
        version=version,
    )
    format_logs([server])
    return server


def format_logs(servers: Sequence[Kafka]) -> None:
    """Write the cluster's id into those log dirs of KRaft servers that have none yet."""
    running = [server.format() for server in servers]
    assert [process.wait(120) for process in running] == [0] * len(servers)
