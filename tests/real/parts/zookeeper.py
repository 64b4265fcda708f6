"""A real ZooKeeper on a free loopback port: Debian's package, or the jars inside an installed pyspark."""

from __future__ import annotations

import glob
import importlib.util
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

DEBIAN_JARS = ["/usr/share/java/zookeeper.jar", "/usr/share/java/slf4j-simple.jar"]
PYSPARK_JARS = ("zookeeper-*.jar", "slf4j-api-*.jar", "metrics-core-*.jar")
STANDALONE = "org.apache.zookeeper.server.ZooKeeperServerMain"
QUORUM = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
WHITELIST = "srvr,mntr,cons,conf,isro,ruok"


def classpath() -> str:
    """Where ZooKeeper's classes are; skips the test where they are nowhere."""
    if not shutil.which("java"):
        pytest.skip("needs java (package default-jre-headless)")
    if all(map(os.path.exists, DEBIAN_JARS)):
        return ":".join(DEBIAN_JARS)
    spec = importlib.util.find_spec("pyspark")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    jars = [jar for folder in folders for name in PYSPARK_JARS for jar in glob.glob(f"{folder}/jars/{name}")]
    if len(jars) < len(PYSPARK_JARS):
        pytest.skip("needs ZooKeeper (package zookeeper, or pyspark with its jars)")
    return ":".join(jars)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def ask(port: int, word: str) -> str:
    """The answer to a four-letter word, by a client of its own; empty if the server says nothing."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=4) as connection:
            connection.sendall(word.encode())
            return connection.makefile(encoding="utf-8", errors="replace").read()
    except OSError:
        return ""


class ZooKeeper:
    """with ZooKeeper(folder, maxClientCnxns=3) as server: server.port; stopped by its process id at the end.

    settings: lines of zoo.cfg; `whitelist` are the four-letter words that it allows; `peers` are lines `server.N=…`,
    with which it waits for a quorum; `enter` is a command in front of java's, to run it in the namespaces of a host.
    """

    def __init__(
        self, folder: pathlib.Path, whitelist: str = WHITELIST, peers: tuple[str, ...] = (), java: tuple[str, ...] = (),
        enter: Sequence[str] = (), **settings: object,
    ) -> None:  # fmt: skip
        self.port = free_port()
        self.folder = folder
        self._java, self._enter = java, enter
        (folder / "data").mkdir(parents=True, exist_ok=True)
        (folder / "data" / "myid").write_text("1\n")
        given: dict[str, object] = {
            "tickTime": 2000,
            "initLimit": 5,
            "syncLimit": 2,
            "dataDir": folder / "data",
            "clientPort": self.port,
            "clientPortAddress": "127.0.0.1",
            "admin.enableServer": "false",
            "4lw.commands.whitelist": whitelist,
            **settings,
        }
        self.config = folder / "zoo.cfg"
        rows = [f"{name}={value}" for name, value in given.items() if value != ""]
        self.config.write_text("\n".join([*rows, *peers]) + "\n")
        self._main = QUORUM if peers else STANDALONE

    def __enter__(self) -> ZooKeeper:
        command = [*self._enter, "java", "-Xmx96m", *self._java, "-cp", classpath(), self._main, str(self.config)]
        with open(self.folder / "log", "wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=self.folder)
        try:
            awaited = "ZooKeeper" if self._main == QUORUM else "Mode: "  # a lonely one says that it is not serving
            wait_for("ZooKeeper's answer", lambda: awaited in ask(self.port, "srvr"), 40.0)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        kill(self.process)

    def __exit__(self, kind: Optional[type], error: Optional[BaseException], where: Optional[TracebackType]) -> None:
        self.stop()
