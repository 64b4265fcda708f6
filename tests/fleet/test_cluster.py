"""The same job on a real Spark standalone cluster: a master and two workers on loopback, from pip's pyspark."""

from __future__ import annotations

import os
import re
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fleet import nightly, session
from fleet.files import LocalFiles
from tests.fleet.conftest import need_spark
from tests.fleet.history import NIGHT
from tests.fleet.test_crash import make_store, tables
from tests.fleet.test_mail import free_port

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
SECRET = "only-for-this-test"


class Cluster(NamedTuple):
    url: str
    rest_port: int
    settings: str


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    need_spark()
    folder = tmp_path_factory.mktemp("cluster")
    port, web, rest = free_port(), free_port(), free_port()
    running: list[subprocess.Popen[bytes]] = []
    try:
        master = ["Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", str(web)]
        running.append(daemon(folder, "master", master, rest))
        url = f"spark://127.0.0.1:{port}"
        for number in (1, 2):
            worker = ["Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", "0", url]
            running.append(daemon(folder, f"worker{number}", [*worker, "--work-dir", str(folder / f"w{number}")], rest))
        wait_for_workers(web, 2)
        yield Cluster(url, rest, str(settings(folder)))
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
    end = time.monotonic() + 90
    while time.monotonic() < end:
        try:
            page = urllib.request.urlopen(f"http://127.0.0.1:{web}/json/", timeout=5).read().decode()
        except OSError:
            page = ""
        if len(re.findall(r'"state"\s*:\s*"ALIVE"', page)) >= count:
            return
        time.sleep(0.5)
    raise AssertionError("the workers did not register")


@pytest.fixture
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMOKE_SPARK_SECRET", SECRET)


def run_apart(store: Path, cluster: Cluster) -> subprocess.CompletedProcess[str]:
    """In a process of its own: this one may have a session already."""
    script = (
        "import sys; from fleet import nightly, session\n"
        "store, date, master, settings = sys.argv[1:]\n"
        "try: nightly.run(nightly.Wanted(store, date, session.Wanted(master, settings, 40)))\n"
        "except session.CannotRun as error: sys.exit(f'cannot: {error}')\n"
    )
    command = [os.sys.executable, "-c", script, str(store), NIGHT, cluster.url, cluster.settings]  # type: ignore[attr-defined]
    return subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)


@pytest.mark.usefixtures("_secret")
def test_two_workers_give_the_same_tables_as_this_machine(cluster: Cluster, spark: Any, tmp_path: Path) -> None:
    here, there = make_store(tmp_path / "here"), make_store(tmp_path / "there")

    nightly.judge(spark, LocalFiles(str(here)), NIGHT)
    done = run_apart(there, cluster)

    assert (done.returncode, done.stderr) == (0, "")
    assert tables(there) == tables(here)


def test_the_masters_rest_port_is_off(cluster: Cluster) -> None:
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(f"http://127.0.0.1:{cluster.rest_port}/v1/submissions/status/x", timeout=5)


def test_without_the_secret_it_fails_in_time_and_says_so(cluster: Cluster, tmp_path: Path) -> None:
    began = time.monotonic()
    done = run_apart(make_store(tmp_path), cluster)

    assert done.returncode == 1
    assert "no secret is set here (SMOKE_SPARK_SECRET)" in done.stderr
    assert time.monotonic() - began < 90


def test_a_master_that_is_not_there_is_said_at_once(tmp_path: Path) -> None:
    began = time.monotonic()
    wanted = session.Wanted(f"spark://127.0.0.1:{free_port()}")
    with pytest.raises(session.CannotRun, match="cannot be reached: Connection refused"):
        nightly.run(nightly.Wanted(str(make_store(tmp_path)), NIGHT, wanted))

    assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    ("text", "said"), [("spark.ui.enabled\n", "each line is a name and a value"), (None, "No such")]
)
def test_settings_that_cannot_be_read_are_said(tmp_path: Path, text: str | None, said: str) -> None:
    path = tmp_path / "mine.conf"
    if text is not None:
        path.write_text(text)

    with pytest.raises(session.CannotRun, match=said):
        session.read_settings(str(path))
