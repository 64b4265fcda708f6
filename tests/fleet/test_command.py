"""smoke nightly and smoke report as typed: what is printed, and the exit codes."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from fleet import nightly
from fleet.archive import retention
from fleet.spark import session
from smoketests.commands import fleet_extra
from smoketests.commands import nightly as nightly_command
from smoketests.commands.report import report_command
from tests.fleet.conftest import need_spark, quick_settings
from tests.fleet.history import NIGHT, header, host, line, write_run

BEFORE = "2026-11-18"


def fill(store: Path) -> Path:
    for date, status in ((BEFORE, "warning"), (NIGHT, "critical")):
        bad = line(host("a01"), "mounts", "/d1", status, reason="create fails with EROFS\x1b[2J")
        write_run(store, date, [header(host("a01")), bad, line(host("b01", cluster="prod-b"), "raid")], zipped=True)
    return store


def smoke(command: Any, *arguments: str) -> Result:
    return CliRunner().invoke(command, arguments)


def test_a_hosts_report_shows_what_stands_and_its_history(tmp_path: Path) -> None:
    done = smoke(report_command, "a01", "--store", str(fill(tmp_path)))

    assert done.exit_code == 2
    assert "CRITICAL a01  mounts /d1" in done.output
    assert "create fails with EROFS [2J  > tune-os" in done.output
    assert f"|{' ' * 28}wC|" in done.output


def test_what_others_keep_beside_the_days_is_no_report(tmp_path: Path) -> None:
    fill(tmp_path / "gate")
    fill(tmp_path / "playbooks")

    assert smoke(report_command, "--store", str(tmp_path)).exit_code == 3


def test_a_clusters_report_leaves_the_others_out(tmp_path: Path) -> None:
    done = smoke(report_command, "prod-b", "--store", str(fill(tmp_path)))

    assert (done.exit_code, "a01" in done.output) == (0, False)
    assert f"1 host, last reports {NIGHT}: 0 problems" in done.output


def test_the_findings_of_each_cluster_as_a_whole_are_reported(tmp_path: Path) -> None:
    lines = [
        line(host("", cluster=name, rack=""), "partitions", "offline", "critical", reason=f"{count} partitions")
        for name, count in (("prod-a", 3), ("prod-b", 17))
    ]
    write_run(tmp_path, NIGHT, lines)

    done = smoke(report_command, "--store", str(tmp_path))
    of_one = smoke(report_command, "prod-b", "--store", str(tmp_path))

    assert "cluster prod-a  partitions offline" in done.output
    assert "17 partitions" in done.output
    assert ("3 partitions" in of_one.output.replace("13 ", ""), "17 partitions" in of_one.output) == (False, True)


def test_hosts_of_one_name_are_told_apart_by_their_clusters(tmp_path: Path) -> None:
    for cluster, status in (("prod-a", "critical"), ("prod-b", "ok")):
        run = host("kafka-01", cluster=cluster)
        write_run(tmp_path, NIGHT, [header(run), line(run, "mounts", "/d1", status)], run_id=cluster)

    done = smoke(report_command, "kafka-01", "--store", str(tmp_path))
    other = smoke(report_command, "prod-b/kafka-01", "--store", str(tmp_path))

    assert "CRITICAL prod-a/kafka-01  mounts /d1" in done.output
    assert (done.exit_code, other.exit_code) == (2, 0)


def test_a_check_that_was_not_asked_again_or_could_not_look_keeps_its_last_finding(tmp_path: Path) -> None:
    run = host("a01")
    before = [line(run, "mounts", "/d1", "critical"), line(run, "raid", "md0", "critical")]
    write_run(tmp_path, BEFORE, [header(run), *before])
    write_run(tmp_path, NIGHT, [header(run), line(run, "mounts", "-", "unknown", reason="timed out")])

    done = smoke(report_command, "a01", "--store", str(tmp_path))

    assert done.exit_code == 2
    assert f"mounts /d1  since 2026-11-18  (as of {BEFORE})" in done.output
    assert f"raid md0  since 2026-11-18  (as of {BEFORE})" in done.output
    assert "UNKNOWN  a01  mounts -" in done.output


def test_all_hosts_are_reported_when_none_is_named(tmp_path: Path) -> None:
    done = smoke(report_command, "--store", str(fill(tmp_path)))

    assert f"2 hosts, last reports {NIGHT}: 1 problems" in done.output


def test_a_host_without_a_report_is_unknown(tmp_path: Path) -> None:
    done = smoke(report_command, "nobody", "--store", str(fill(tmp_path)))

    assert (done.exit_code, done.output) == (3, "no report of nobody in the last 30 days\n")


def test_no_store_is_said(tmp_path: Path) -> None:
    done = smoke(report_command, "--store", str(tmp_path / "none"))

    assert done.exit_code == 3
    assert "No such file" in done.output


def test_what_cannot_be_read_is_named_and_the_rest_is_shown(tmp_path: Path) -> None:
    fill(tmp_path)
    (tmp_path / f"date={NIGHT}" / "040000-cut.jsonl.gz").write_bytes(b"\x1f\x8b\x08")
    write_run(tmp_path, NIGHT, ["rubbish"], "050000", "x")

    done = smoke(report_command, "--store", str(tmp_path))

    assert done.exit_code == 2
    assert "040000-cut.jsonl.gz: " in done.output
    assert "050000-x.jsonl: 1 lines, the first: line 1: not JSON" in done.output


def test_report_needs_no_spark(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom smoketests.commands.report import report_command\n"
        "try: report_command(sys.argv[1:])\n"
        "finally: print('heavy:', sorted(set(sys.modules) & {'pyspark', 'matplotlib', 'numpy', 'fleet'}))"
    )
    command = [sys.executable, "-c", script, "--store", str(fill(tmp_path))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert done.stdout.endswith("heavy: []\n")


def test_a_date_that_is_none_is_wrong_usage() -> None:
    need_spark()

    assert smoke(nightly_command.nightly, "--date", "yesterday").exit_code == 2


def test_a_store_without_reports_says_so(tmp_path: Path) -> None:
    need_spark()

    done = smoke(nightly_command.nightly, "--store", str(tmp_path), "--date", NIGHT)

    assert done.exit_code == 3
    assert f"has no reports of the 30 days up to {NIGHT}" in done.output


def test_mail_settings_that_cannot_work_are_said_before_anything_is_done(tmp_path: Path) -> None:
    need_spark()
    (tmp_path / "mail.yaml").write_text("host: h\n")

    done = smoke(nightly_command.nightly, "-s", str(fill(tmp_path)), "-d", NIGHT, "--mail", str(tmp_path / "mail.yaml"))

    assert done.exit_code == 3
    assert "mail.yaml: to is missing" in done.output
    assert not (tmp_path / "_fleet").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--date", "2999-01-01"], "2999-01-01 is not over yet: the last whole day is"),
        (["--store", "no-such-store"], "no reports of the 30 days"),
        (["--mail", "no-such.yaml"], "No such file"),
        (["--settings", "no/such.conf"], "No such file"),
        (["--inventory", "no-such.yaml"], "no-such.yaml"),
        (["--keep-days", "29"], "29 is not in the range x>=30"),
    ],
)
def test_wrong_arguments_are_told_before_anything_is_fetched(
    arguments: list[str], words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fetched() -> None:
        raise AssertionError("the extra was asked for")

    monkeypatch.setattr(fleet_extra, "need", fetched)
    store = ["--store", str(fill(tmp_path))] if "--store" not in arguments else []

    done = smoke(nightly_command.nightly, "--date", NIGHT, *store, *arguments)

    assert (done.exit_code, words in done.output) == (2 if "range" in words else 3, True)


def test_the_extra_is_fetched_when_it_is_missing_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    def offline(command: list[str], **_given: Any) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        return subprocess.CompletedProcess(command, 1)

    monkeypatch.setattr(subprocess, "run", offline)

    done = smoke(nightly_command.nightly, "--date", NIGHT, "--demo")

    assert done.exit_code == 3
    assert asked[0][:4] == [sys.executable, "-m", "pip", "install"]
    assert any(name.startswith("pyspark") for name in asked[0])
    assert "could not be downloaded; is a package index reachable? By hand: " in done.output


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_night_that_cannot_be_mailed_is_kept_and_the_exit_code_says_so(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import contextlib

    monkeypatch.setattr(session, "session", lambda _wanted: contextlib.nullcontext(spark))
    store, out = fill(tmp_path / "store"), tmp_path / "out"
    mail = tmp_path / "mail.yaml"
    said = {"host": "127.0.0.1", "port": 1, "security": "none", "sender": "a@b", "to": "c@d", "tries": 1}
    mail.write_text(json.dumps(said))
    arguments = ["-s", str(store), "-d", NIGHT, "--mail", str(mail), "--out", str(out), "--print"]

    done = smoke(nightly_command.nightly, *arguments)

    assert done.exit_code == 1
    assert "the mail could not be sent: 127.0.0.1:1: " in done.output
    assert f"[smoke] {NIGHT}: DATA AT RISK, 1 critical of 2 hosts\n" in done.output
    kept = store / "_fleet" / "summary" / f"date={NIGHT}"
    assert sorted(path.name for path in kept.iterdir()) == ["index.html", "summary.txt"]
    assert sorted(path.name for path in out.iterdir()) == ["health.png", "index.html", "summary.txt"]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_what_is_older_than_wanted_is_deleted_and_nothing_else(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import contextlib

    monkeypatch.setattr(session, "session", lambda _wanted: contextlib.nullcontext(spark))
    store = fill(tmp_path / "store")
    for date in ("2026-11-10", "2026-11-17"):
        write_run(store, date, [header(host("a01")), line(host("a01"), "raid")])
    (store / "date=2026-11-09").symlink_to(tmp_path)
    for folder in ("gate", "playbooks"):
        (store / folder / "date=2026-01-01").mkdir(parents=True)

    keep = retention.Wanted(keep_days=3, prune=True)
    nightly.run(nightly.Wanted(str(store), NIGHT, keep=keep))

    assert sorted(path.name for path in store.iterdir()) == [
        "_fleet",
        "date=2026-11-09",
        "date=2026-11-17",
        f"date={BEFORE}",
        f"date={NIGHT}",
        "gate",
        "playbooks",
        "tables",
    ]
    assert {path.name for path in (store / "tables" / "states").iterdir()} == {
        "date=2026-11-17", f"date={BEFORE}", f"date={NIGHT}"}  # fmt: skip
    assert all(os.listdir(store / folder) == ["date=2026-01-01"] for folder in ("gate", "playbooks"))
    assert sorted(path.stem for path in (store / "_fleet" / "manifest").iterdir()) == ["2026-11-17", BEFORE, NIGHT]
    assert {path.name for path in (store / "_fleet" / "flat").rglob("date=*")} == {
        "date=2026-11-17",
        f"date={BEFORE}",
        f"date={NIGHT}",
    }


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_session_that_starts_a_second_time_uses_the_class_archive_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_spark()
    script = (
        "import sys; from fleet.spark import session\n"
        "wanted = session.Wanted('local[1]', sys.argv[1])\n"
        "with session.session(wanted) as spark:\n"
        "    spark.range(3).count()\n"
        "    jvm = spark.sparkContext._jvm\n"
        "    beans = jvm.java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments()\n"
        "    print([flag for flag in beans if 'Archive' in flag])\n"
    )
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    command = [sys.executable, "-c", script, quick_settings(tmp_path)]

    said = [subprocess.run(command, capture_output=True, text=True, timeout=400, check=True).stdout for _ in range(2)]

    (archive,) = (tmp_path / "fleet-smoke").iterdir()
    assert "ArchiveClassesAtExit" in said[0]
    assert f"-XX:SharedArchiveFile={archive}" in said[1]


@pytest.mark.parametrize("store", ["s3a://bucket/smoke", "S3://bucket", "gs://bucket/smoke"])
def test_an_object_store_is_refused_before_anything_is_started(store: str) -> None:
    with pytest.raises(session.CannotRun, match="no exclusive lock; use hdfs:// or a local folder"):
        nightly.check(nightly.Wanted(store, "2026-11-19"))
