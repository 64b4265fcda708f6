"""Killed with SIGKILL at any point and run again: the same tables, and exactly one mail."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fleet import nightly
from fleet.archive import manifests
from fleet.nights import stored_nights
from fleet.store.files import LocalFiles
from tests.fleet.conftest import quick_settings
from tests.fleet.history import NIGHT, header, host, line, write_run
from tests.fleet.mail.test_delivery import PASSWORD, Server, server

__all__ = ["server"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

BEFORE = "2026-11-18"
# What the job says when it has just come to these points.
POINTS = ("half-written", "written", f"manifest {BEFORE}", "tables written", "sending", "sent")


def make_store(store: Path) -> Path:
    for date, status in ((BEFORE, "ok"), (NIGHT, "critical")):
        names = [f"a{number:02d}" for number in range(12)]
        lines = [header(host(name)) for name in names]
        lines += [line(host(name), "mounts", "/d1", status if name == "a03" else "ok") for name in names]
        write_run(store, date, lines)
    return store


def settings(folder: Path, server: Server) -> str:
    path = folder / "mail.yaml"
    said = {"host": "localhost", "port": server.port, "sender": "smoke@example.org", "to": ["ops@example.org"]}
    secret = {"user": "smoke", "password_env": "SMOKE_TEST_PASSWORD", "ca_file": server.ca_file}
    path.write_text(json.dumps({**said, **secret}))
    return str(path)


def run(store: Path, mail: str, word: str = "never") -> int:
    return start(store, mail, word, stderr=None).wait(timeout=300)


def start(store: Path, mail: str, word: str = "never", stderr: int | None = subprocess.PIPE) -> subprocess.Popen[str]:
    """A night in a process of its own. mail: its settings, beside which those of Spark are written."""
    settings = quick_settings(Path(mail).parent)
    command = [sys.executable, "-m", "tests.fleet.killed_night", str(store), NIGHT, mail, settings, word]
    environment = {**os.environ, "SMOKE_TEST_PASSWORD": PASSWORD}
    return subprocess.Popen(command, env=environment, stderr=stderr, text=True)


def tables(store: Path) -> dict[str, str]:
    folder = store / stored_nights.folder(LocalFiles(str(store)), NIGHT)
    return {path.name: path.read_text() for path in folder.iterdir()}


def rows(store: Path) -> dict[str, dict[str, int]]:
    made = (manifests.manifest(LocalFiles(str(store)), date) for date in (BEFORE, NIGHT))
    return {day.date: day.rows for day in made if day}


@pytest.fixture(scope="module")
def undisturbed(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = make_store(tmp_path_factory.mktemp("undisturbed"))
    nightly.judge(spark, LocalFiles(str(store)), NIGHT)
    return store


@pytest.mark.parametrize("point", POINTS)
def test_killed_and_run_again_gives_the_same_tables_and_one_mail(
    point: str, undisturbed: Path, tmp_path: Path, server: Server
) -> None:
    store, mail = make_store(tmp_path / "store"), settings(tmp_path, server)

    killed = run(store, mail, point)
    again = run(store, mail)

    assert (killed, again) == (-signal.SIGKILL, 0)
    assert tables(store) == tables(undisturbed)
    assert rows(store) == rows(undisturbed)
    assert len(server.mails) == 1
    assert left_overs(store) == []


def left_overs(store: Path) -> list[str]:
    """Folders of runs that no manifest names."""
    named = {path for date in (BEFORE, NIGHT) for path in _files(store, date)}
    found = {str(path.relative_to(store)) for path in (store / "_fleet" / "flat").rglob("*.parquet")}
    return sorted(found - named)


def _files(store: Path, date: str) -> list[str]:
    made = manifests.manifest(LocalFiles(str(store)), date)
    return [part.path for parts in made.files.values() for part in parts] if made else []


def test_a_kill_while_a_late_report_is_taken_leaves_the_old_day_whole(
    undisturbed: Path, tmp_path: Path, server: Server
) -> None:
    store = tmp_path / "store"
    shutil.copytree(undisturbed, store, copy_function=shutil.copy2)
    for path in store.rglob("*.jsonl"):
        os.utime(path, ns=(path.stat().st_atime_ns, (undisturbed / path.relative_to(store)).stat().st_mtime_ns))
    before = rows(store)
    write_run(store, BEFORE, [header(host("late", "s")), line(host("late", "s"), "raid")], run_id="s")

    assert run(store, settings(tmp_path, server), "half-written") == -signal.SIGKILL

    assert rows(store) == before
    assert all((store / path).exists() for path in _files(store, BEFORE))


def test_of_two_nights_at_once_one_is_computed_and_one_is_refused(
    undisturbed: Path, tmp_path: Path, server: Server
) -> None:
    store, mail = make_store(tmp_path / "store"), settings(tmp_path, server)

    both = [start(store, mail) for _ in range(2)]
    errors = sorted((process.communicate(timeout=300)[1], process.returncode) for process in both)

    assert [code for _error, code in errors] == [0, 1], errors
    assert "another nightly job is at work" in errors[1][0]
    assert tables(store) == tables(undisturbed)
    assert rows(store) == rows(undisturbed)
    assert len(server.mails) == 1
    assert left_overs(store) == []


@pytest.mark.root
@pytest.mark.parametrize("free", [0, 96 * 1024], ids=["full", "full while it writes"])
def test_a_disk_that_is_full_all_night_costs_that_night_and_nothing_else(
    free: int, undisturbed: Path, tmp_path: Path, server: Server
) -> None:
    """A small tmpfs holds the store. After the night there is room again."""
    disk, mail = tmp_path / "disk", settings(tmp_path, server)
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(disk)], check=True, timeout=30)
    try:
        store = make_store(disk / "store")
        taken = 64 * 1024 * 1024 - shutil.disk_usage(disk).free
        size = f"remount,size={taken + free}"
        subprocess.run(["mount", "-o", size, str(disk)], check=True, timeout=30)

        night = start(store, mail)
        errors = night.communicate(timeout=300)[1]

        assert night.returncode == 1
        assert "No space left on device" in errors
        assert len(server.mails) == 0
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True, timeout=30)
        assert run(store, mail) == 0
        assert tables(store) == tables(undisturbed)
        assert rows(store) == rows(undisturbed)
        assert left_overs(store) == []
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=False, timeout=30)


def test_two_jobs_do_not_work_on_one_store(tmp_path: Path, hold: Callable[[Path], Any]) -> None:
    store = make_store(tmp_path)
    hold(store)

    from fleet.store.files import Busy

    with pytest.raises(Busy, match="another nightly job is at work"):
        nightly.run(nightly.Wanted(str(store), NIGHT))


@pytest.fixture
def hold() -> Any:
    """Another process that holds the store's lock."""
    running: list[subprocess.Popen[str]] = []

    def start(store: Path) -> None:
        script = (
            "import sys, time; from fleet.store.files import LocalFiles\n"
            f"with LocalFiles(sys.argv[1]).lock({nightly.LOCK!r}): print('held', flush=True); time.sleep(60)"
        )
        process = subprocess.Popen([sys.executable, "-c", script, str(store)], stdout=subprocess.PIPE, text=True)
        running.append(process)
        assert process.stdout
        assert process.stdout.readline() == "held\n"

    yield start
    for process in running:
        process.kill()
        process.wait()
