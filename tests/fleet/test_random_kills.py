"""Killed with SIGKILL, Java and all, at random moments, and run again: the same tables. pytest -m stress."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from fleet import nightly
from fleet.store.files import LocalFiles
from tests.fleet.conftest import quick_settings
from tests.fleet.history import NIGHT
from tests.fleet.test_crash import left_overs, make_store, rows, tables

KILLS = int(os.environ.get("SMOKE_KILLS", "30"))
SCRIPT = (
    "import sys; from fleet import nightly; from fleet.spark import session\n"
    "nightly.run(nightly.Wanted(sys.argv[1], sys.argv[2], session.Wanted(settings=sys.argv[3])))\n"
)

pytestmark = [pytest.mark.stress, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def undisturbed(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    """A store that was judged in peace, and how long a whole night in a process of its own takes here."""
    store = make_store(tmp_path_factory.mktemp("undisturbed"))
    nightly.judge(spark, LocalFiles(str(store)), NIGHT)
    other = make_store(tmp_path_factory.mktemp("timed") / "store")
    began = time.monotonic()
    night(other).wait(600)
    return store, time.monotonic() - began


def night(store: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", SCRIPT, str(store), NIGHT, quick_settings(store.parent)]
    return subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL)


@pytest.mark.parametrize("seed", range(KILLS))
def test_a_night_killed_at_a_random_moment_loses_and_doubles_nothing(
    seed: int, undisturbed: tuple[Path, float], tmp_path: Path
) -> None:
    whole, took_s = undisturbed
    store = make_store(tmp_path / "store")
    killed = night(store)
    time.sleep(random.Random(seed).uniform(0.1, took_s))
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait(60)

    assert night(store).wait(600) == 0

    assert (tables(store), rows(store)) == (tables(whole), rows(whole))
    assert left_overs(store) == []
