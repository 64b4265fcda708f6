"""What goes wrong inside Spark is said in words, with the exit code, and never as a trace."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from fleet import nightly
from fleet.archive import manifests
from fleet.spark import session, spark_errors
from fleet.store.files import LocalFiles
from tests.fleet.conftest import need_spark, quick_settings
from tests.fleet.history import NIGHT
from tests.fleet.test_crash import make_store

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def test_a_java_process_that_is_killed_is_said_and_no_trace(tmp_path: Path) -> None:
    need_spark()
    store = make_store(tmp_path / "store")
    command = [sys.executable, "-m", "smoketests.cli", "nightly", "-s", str(store), "-d", NIGHT]
    command += ["--settings", quick_settings(tmp_path)]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert running.stderr
    assert running.stderr.readline().startswith("smoke: compacting")

    (java,) = [child for child in psutil.Process(running.pid).children() if child.name() == "java"]
    java.kill()
    said = running.communicate(timeout=400)[1].splitlines()

    assert running.returncode == 3
    assert said[-1].startswith("smoke: Spark's Java process was killed (usually out of memory); increase ")
    assert [line for line in said if not line.startswith("smoke: ")] == []


@pytest.mark.parametrize(("code", "words"), [(52, "ran out of memory; increase "), (7, "ended with code 7 during")])
def test_a_java_process_that_ends_by_itself_is_said(tmp_path: Path, code: int, words: str) -> None:
    need_spark()
    script = (
        "import sys; from fleet.spark import session\n"
        "try:\n"
        "    with session.session(session.Wanted('local[1]', sys.argv[1])) as spark:\n"
        "        spark.sparkContext._jvm.java.lang.System.exit(int(sys.argv[2]))\n"
        "except session.CannotRun as error: sys.exit(f'cannot: {error}')\n"
    )
    command = [sys.executable, "-c", script, quick_settings(tmp_path), str(code)]

    done = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)

    assert done.stderr.startswith(f"cannot: Spark's Java process {words}")
    assert "Traceback" not in done.stderr


def test_a_compacted_file_that_breaks_while_it_is_read_is_named(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifests, "damage", lambda *_given: "")  # it was whole when it was looked at
    store = make_store(tmp_path)
    nightly.judge(spark, LocalFiles(str(store)), NIGHT)
    broken = next((store / "_fleet" / "flat" / "problem_days").rglob(f"date={NIGHT}/*.parquet"))
    broken.write_bytes(b"PAR1 not any more")

    with pytest.raises(Exception, match="parquet") as failed:
        nightly.judge(spark, LocalFiles(str(store)), NIGHT)

    assert spark_errors.is_sparks(failed.value)
    said = spark_errors.words(failed.value, None, "")
    assert said.startswith("Spark failed: ")
    assert broken.name in said
    assert "\n" not in said


def test_what_is_not_sparks_fault_is_not_said_to_be() -> None:
    need_spark()

    assert not spark_errors.is_sparks(ValueError("x"))


def test_a_second_session_would_take_the_first_ones_java_away_and_is_refused(spark: Any) -> None:
    with pytest.raises(RuntimeError, match="already has a Spark session"), session.session(session.Wanted()):
        pass

    assert spark.range(2).count() == 2


# Python workers would be /bin/false here, and what needs one would fail.
NO_WORKERS = {"PYSPARK_PYTHON": "/bin/false", "PYSPARK_DRIVER_PYTHON": sys.executable}


def run_without_workers(body: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    need_spark()
    script = f"import sys; from fleet import nightly; from fleet.spark import session\n{body}"
    command = [sys.executable, "-c", script, *arguments]
    environment = {**os.environ, **NO_WORKERS}
    return subprocess.run(command, capture_output=True, text=True, timeout=500, check=False, env=environment)


def test_no_python_worker_is_started(tmp_path: Path) -> None:
    """The store has a day without a report: tables without a file too."""
    store = make_store(tmp_path / "store")
    night = (
        "for date in sys.argv[3:]: nightly.run(nightly.Wanted(sys.argv[1], date, session.Wanted(settings=sys.argv[2])))"
    )

    done = run_without_workers(night, str(store), quick_settings(tmp_path), NIGHT, "2026-11-20")

    assert (done.returncode, done.stderr) == (0, "")


def test_a_python_worker_would_have_been_noticed(tmp_path: Path) -> None:
    rows = (
        "with session.session(session.Wanted(settings=sys.argv[1])) as spark:\n"
        "    spark.createDataFrame([], 'a INT').count()"
    )

    done = run_without_workers(rows, quick_settings(tmp_path))

    assert (done.returncode, "CannotRun" in done.stderr) == (1, True)
