"""The same job on a real Spark standalone cluster: a master and two workers on loopback, from pip's pyspark."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fleet import nightly
from fleet.spark import session
from fleet.store.files import LocalFiles
from tests.fleet import standalone
from tests.fleet.conftest import need_spark
from tests.fleet.history import NIGHT
from tests.fleet.mail.test_delivery import free_port
from tests.fleet.standalone import SECRET, Cluster
from tests.fleet.test_crash import make_store, tables

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    need_spark()
    with standalone.cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMOKE_SPARK_SECRET", SECRET)


def run_apart(store: Path, cluster: Cluster, start_s: int = 300) -> subprocess.CompletedProcess[str]:
    """In a process of its own: this one may have a session already."""
    return subprocess.run(night(store, cluster, start_s), capture_output=True, text=True, timeout=700, check=False)


def night(store: Path, cluster: Cluster, start_s: int = 300) -> list[str]:
    """The command of a night that prints its steps."""
    script = (
        "import sys; from fleet import nightly; from fleet.spark import session\n"
        "store, date, master, settings, start_s = sys.argv[1:]\n"
        "try: nightly.run(nightly.Wanted(store, date, session.Wanted(master, settings, int(start_s))),\n"
        "    lambda step: print(step, flush=True))\n"
        "except session.CannotRun as error: sys.exit(f'cannot: {error}')\n"
    )
    return [sys.executable, "-c", script, str(store), NIGHT, cluster.url, cluster.settings, str(start_s)]


@pytest.mark.usefixtures("_secret")
def test_two_workers_give_the_same_tables_as_this_machine(cluster: Cluster, spark: Any, tmp_path: Path) -> None:
    here, there = make_store(tmp_path / "here"), make_store(tmp_path / "there")

    nightly.judge(spark, LocalFiles(str(here)), NIGHT)
    done = run_apart(there, cluster)

    assert (done.returncode, done.stderr) == (0, "")
    assert tables(there) == tables(here)


@pytest.mark.usefixtures("_secret")
def test_executors_that_are_killed_cost_time_and_no_row(cluster: Cluster, spark: Any, tmp_path: Path) -> None:
    """While the days are written, and while the tables are computed."""
    here, there = make_store(tmp_path / "here"), make_store(tmp_path / "there")
    nightly.judge(spark, LocalFiles(str(here)), NIGHT)
    killed = []

    with subprocess.Popen(night(there, cluster), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout
        for step in running.stdout:
            if step.startswith(("compacting", "computing")):
                end = time.monotonic() + 60
                while not cluster.executors() and time.monotonic() < end:
                    time.sleep(0.2)
                killed.append(cluster.executors())
                for pid in killed[-1]:
                    os.kill(pid, signal.SIGKILL)
        errors = running.stderr.read() if running.stderr else ""

    assert (running.returncode, errors) == (0, "")
    assert len([pids for pids in killed if pids]) == 2
    assert tables(there) == tables(here)


def test_the_masters_rest_port_is_off(cluster: Cluster) -> None:
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(f"http://127.0.0.1:{cluster.rest_port}/v1/submissions/status/x", timeout=5)


def test_without_the_secret_it_fails_in_time_and_says_so(cluster: Cluster, tmp_path: Path) -> None:
    done = run_apart(make_store(tmp_path), cluster, start_s=30)

    assert done.returncode == 1
    assert "no Spark session within 30 s; no secret is set here (SMOKE_SPARK_SECRET)" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_master_that_is_not_there_is_said_at_once(tmp_path: Path) -> None:
    wanted = session.Wanted(f"spark://127.0.0.1:{free_port()}")
    with pytest.raises(session.CannotRun, match="cannot be reached: Connection refused"):
        nightly.run(nightly.Wanted(str(make_store(tmp_path)), NIGHT, wanted))


@pytest.mark.parametrize(
    ("text", "said"), [("spark.ui.enabled\n", "each line must be a name and a value"), (None, "No such")]
)
def test_settings_that_cannot_be_read_are_said(tmp_path: Path, text: str | None, said: str) -> None:
    path = tmp_path / "mine.conf"
    if text is not None:
        path.write_text(text)

    with pytest.raises(session.CannotRun, match=said):
        session.read_settings(str(path))
