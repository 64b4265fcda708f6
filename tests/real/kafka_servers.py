"""Real Kafka servers on loopback, from the jars that scripts/kafka-jars fetches."""

from __future__ import annotations

import os
import pathlib
import shutil
import socket
import subprocess
from types import TracebackType
from typing import Optional

import pytest

from tests.real.namespace import wait_for
from tests.real.zookeeper import free_port

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "fleet-smoke/kafka"
LOGGING = """log4j.rootLogger=WARN,out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.SimpleLayout
"""
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


def classpath() -> str:
    """Where Kafka's classes are; skips the test where they are nowhere."""
    if not shutil.which("java"):
        pytest.skip("needs java (package default-jre-headless)")
    versions = sorted(CACHE.glob("*/kafka_2.13-*.jar"))
    if not versions:
        pytest.skip("needs Kafka's jars (scripts/kafka-jars)")
    return ":".join(map(str, sorted(versions[-1].parent.glob("*.jar"))))


def _java(folder: pathlib.Path, *words: str) -> list[str]:
    (folder / "log4j.properties").write_text(LOGGING)
    logging = f"-Dlog4j.configuration=file:{folder}/log4j.properties"
    return ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", logging, "-cp", classpath(), *words]


class Kafka:
    """with Kafka(folder, {...server.properties}) as server: server.address; killed by its process id at the end."""

    def __init__(self, folder: pathlib.Path, settings: dict[str, object], port: int = 0) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.port = folder, port or free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.config = folder / "server.properties"
        given = {**SMALL, "log.dirs": folder / "logs", "listeners": f"PLAINTEXT://{self.address}", **settings}
        self.config.write_text("".join(f"{name}={value}\n" for name, value in given.items()))

    def __enter__(self) -> Kafka:
        with open(self.folder / "log", "wb") as log:
            command = _java(self.folder, "kafka.Kafka", str(self.config))
            self.process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=self.folder)
        try:
            wait_for("Kafka's answer", self._answers, 60.0)
        except BaseException:
            self.stop()
            raise
        return self

    def _answers(self) -> bool:
        if self.process.poll() is not None:
            raise AssertionError((self.folder / "log").read_text()[-2000:])
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=2).close()
        except OSError:
            return False
        return True

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()

    def __exit__(self, kind: Optional[type], error: Optional[BaseException], where: Optional[TracebackType]) -> None:
        self.stop()


def with_zookeeper(folder: pathlib.Path, number: int, zookeeper: str, **settings: object) -> Kafka:
    """A broker that registers itself in ZooKeeper."""
    given = {"broker.id": number, "zookeeper.connect": zookeeper, "zookeeper.session.timeout.ms": 4000, **settings}
    return Kafka(folder, given)


def with_kraft(folder: pathlib.Path, protocol: str = "PLAINTEXT", **settings: object) -> Kafka:
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
    )
    words = ("kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c", str(server.config))
    subprocess.run(_java(folder, *words), check=True, timeout=60, capture_output=True)
    return server
