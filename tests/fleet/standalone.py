"""A real Spark standalone cluster on loopback, from pip's pyspark: one master and two workers with a core each."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil

from fleet.spark import session
from tests.fleet.mail.test_delivery import free_port

SECRET = "only-for-this-test"
# A busy machine takes a minute for what a quiet one does in three seconds.
WAIT_S = 240


class Cluster(NamedTuple):
    url: str
    rest_port: int
    settings: str
    workers: tuple[int, ...] = ()

    def executors(self) -> list[int]:
        """The processes that the workers have started."""
        return [child.pid for worker in self.workers for child in psutil.Process(worker).children(recursive=True)]


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """Up when both workers have registered, and gone at the end."""
    port, web, rest = free_port(), free_port(), free_port()
    running: list[subprocess.Popen[bytes]] = []
    try:
        master = ["Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", str(web)]
        running.append(daemon(folder, "master", master, rest))
        wait_for_workers(web, 0)
        url = f"spark://127.0.0.1:{port}"
        for number in (1, 2):
            worker = ["Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", "0", url]
            running.append(daemon(folder, f"worker{number}", [*worker, "--work-dir", str(folder / f"w{number}")], rest))
        wait_for_workers(web, 2)
        yield Cluster(url, rest, str(settings(folder)), tuple(process.pid for process in running[1:]))
    finally:
        for process in running:
            process.terminate()
            process.wait(20)


def settings(folder: Path) -> Path:
    """Those for clusters, for executors on loopback that fit into the test's workers."""
    shipped = Path(session.settings_path(session.Wanted("spark://x:1"))).read_text()
    path = folder / "site.conf"
    path.write_text(f"{shipped}\nspark.driver.host 127.0.0.1\nspark.driver.bindAddress 127.0.0.1\n")
    path.chmod(0o600)
    return path


def daemon(folder: Path, name: str, arguments: list[str], rest: int) -> subprocess.Popen[bytes]:
    import pyspark

    home = os.path.dirname(pyspark.__file__)
    conf = folder / "conf"
    conf.mkdir(exist_ok=True)
    shipped = Path(session.SETTINGS, "daemons.conf").read_text()
    said = f"{shipped}\nspark.authenticate.secret {SECRET}\nspark.master.rest.port {rest}\n"
    (conf / "spark-defaults.conf").write_text(said)
    environment = {**os.environ, "SPARK_HOME": home, "SPARK_CONF_DIR": str(conf), "SPARK_LOCAL_IP": "127.0.0.1"}
    environment["SPARK_DAEMON_MEMORY"] = "256m"
    kind = f"org.apache.spark.deploy.{arguments[0].lower()}.{arguments[0]}"
    command = [os.path.join(home, "bin", "spark-class"), kind, *arguments[1:]]
    with open(folder / f"{name}.log", "wb") as log:
        return subprocess.Popen(command, env=environment, stdout=log, stderr=log)


def wait_for_workers(web: int, count: int) -> None:
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        try:
            page = urllib.request.urlopen(f"http://127.0.0.1:{web}/json/", timeout=5).read().decode()
        except OSError:
            page = None
        if page is not None and len(re.findall(r'"state"\s*:\s*"ALIVE"', page)) >= count:
            return
        time.sleep(0.5)
    raise AssertionError("the workers did not register")
