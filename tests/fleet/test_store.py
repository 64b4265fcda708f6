"""What a store may hold: bad lines, cut files, late reports, runs of one check, hosts that lie. None of it is fatal."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from fleet import nightly
from fleet.archive import compact, manifests
from fleet.digest import night_digest
from fleet.nights import stored_nights
from fleet.nights.night import Night
from fleet.render import plain_text
from fleet.store import reports
from fleet.store.files import LocalFiles
from tests.fleet.history import NIGHT, header, host, line, write_run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
BEFORE = "2026-11-18"


def night(spark: Any, store: Path, date: str = NIGHT) -> Night:
    return nightly.judge(spark, LocalFiles(str(store)), date)


def changes(judged: Night) -> set[tuple[str, str, str, str]]:
    return {(row["change"], row["host"], row["check_name"], row["item"]) for row in judged.tables["changes"]}


def healthy(name: str = "a01", run_id: str = "r") -> list[str]:
    return [header(host(name, run_id)), line(host(name, run_id), "raid"), line(host(name, run_id), "power", "PS1")]


BAD = {
    "no json": "not JSON",
    '{"schema":1,"run_id":"r"': "not JSON",
    '{"schema":2}': "not a record of schema 1",
    "[1,2]": "not JSON",
    "null": "not",
    "{}": "not a record of schema 1",
    "[" * 5000: "not JSON",
    '{"schema":1,"kind":"header"}': "header without host or run",
    line(host("a01"), "raid").replace('"status":"ok"', '"status":"fine"'): "no such status",
    line(host("a01"), "raid").replace('"facts":{}', '"facts":[]'): "facts is no object",
    line(host("a01"), "raid").replace('"facts":{}', '"facts":null'): "field facts is missing",
    line(host("a01"), "raid").replace('"duration_ms":3', '"duration_ms":"x"'): "not JSON, or a field",
    line(host("a01"), "raid").replace('"host":"a01",', ""): "field host is missing",
}


def test_bad_lines_are_counted_kept_aside_and_named_and_the_rest_is_used(spark: Any, tmp_path: Path) -> None:
    good = [*healthy(), line(host("a01"), "mounts", "/d1", "critical"), "", "   "]
    write_run(tmp_path, NIGHT, [*BAD, *good, "\x00\xff\x1b[31m"])

    judged = night(spark, tmp_path)

    assert changes(judged) == {("new", "a01", "mounts", "/d1")}
    assert sum(aside.lines for aside in judged.aside) == len(BAD) + 1
    assert {aside.source for aside in judged.aside} == {f"date={NIGHT}/030000-r.jsonl"}
    (said,) = [section for section in night_digest.digest(judged).sections if section.name == "aside"]
    assert {told for told in BAD.values() if not any(told in row.text for row in said.lines)} == set()
    kept = list((tmp_path / "_fleet" / "flat" / "bad_lines").rglob("*.json"))
    lines = [json.loads(text) for path in kept for text in path.read_text().splitlines()]
    assert len(lines) == len(BAD) + 1
    assert "no json" in {row["line"] for row in lines}


def test_a_cut_gzip_is_set_aside_whole_and_taken_when_it_is_whole(spark: Any, tmp_path: Path) -> None:
    write_run(tmp_path, NIGHT, healthy("a01"))
    lines = [line(host("a02", "s"), "mounts", f"/d{number}", "critical") for number in range(500)]
    path = write_run(tmp_path, NIGHT, [header(host("a02", "s")), *lines], "040000", "s", zipped=True)
    whole = Path(path).read_bytes()
    Path(path).write_bytes(whole[: len(whole) // 2])

    cut = night(spark, tmp_path)
    Path(path).write_bytes(whole)
    mended = night(spark, tmp_path)

    assert [(aside.source, aside.lines) for aside in cut.aside] == [(f"date={NIGHT}/040000-s.jsonl.gz", 0)]
    assert len(cut.tables["changes"]) == 0  # none of its findings, not half of them
    assert mended.aside == []
    assert len(mended.tables["changes"]) == 500


@pytest.mark.parametrize("junk", [b"", b"\x1f\x8b", b"not gzip at all", gzip.compress(b"x\n") + b"behind it"])
def test_other_broken_gzip_is_named_too(spark: Any, tmp_path: Path, junk: bytes) -> None:
    write_run(tmp_path, NIGHT, healthy())
    (tmp_path / f"date={NIGHT}" / "050000-j.jsonl.gz").write_bytes(junk)

    judged = night(spark, tmp_path)

    assert [aside.source for aside in judged.aside] == ([f"date={NIGHT}/050000-j.jsonl.gz"] if junk else [])
    assert len(judged.tables["host_health"]) == 1


def test_a_report_twice_in_the_store_counts_once(spark: Any, tmp_path: Path) -> None:
    lines = [*healthy(), line(host("a01"), "mounts", "/d1", "critical")]
    write_run(tmp_path, NIGHT, lines)
    write_run(tmp_path, NIGHT, lines, zipped=True)

    judged = night(spark, tmp_path)

    (row,) = judged.tables["host_health"]
    assert (row["criticals"], row["oks"]) == (1, 2)


def test_the_same_night_twice_gives_the_same_tables(spark: Any, tmp_path: Path) -> None:
    write_run(tmp_path, BEFORE, [*healthy("a01"), line(host("a01"), "mounts", "/d1", "critical")])
    write_run(tmp_path, NIGHT, [*healthy("a01"), line(host("a01"), "mounts", "/d1", "ok")])

    first, again = night(spark, tmp_path), night(spark, tmp_path)

    assert first == again
    assert changes(first) == {("resolved", "a01", "mounts", "/d1")}
    assert len(os.listdir(tmp_path / "_fleet" / "tables" / f"date={NIGHT}")) == 1


def test_what_was_compacted_is_not_read_again(spark: Any, tmp_path: Path) -> None:
    write_run(tmp_path, BEFORE, healthy())
    write_run(tmp_path, NIGHT, healthy())
    night(spark, tmp_path)

    assert [day.stale for day in manifests.plan(LocalFiles(str(tmp_path)), [BEFORE, NIGHT])] == [False, False]


def test_a_late_report_is_taken_in_the_next_night(spark: Any, tmp_path: Path) -> None:
    write_run(tmp_path, BEFORE, healthy("a01"))
    write_run(tmp_path, NIGHT, [*healthy("a01"), *healthy("a02"), line(host("a02"), "mounts", "/d1", "critical")])
    assert changes(night(spark, tmp_path, BEFORE)) == set()

    write_run(
        tmp_path,
        BEFORE,
        [header(host("a02", "late")), line(host("a02", "late"), "mounts", "/d1", "critical")],
        run_id="late",
    )
    judged = night(spark, tmp_path)

    assert judged.late == [BEFORE]
    assert changes(judged) == {("ongoing", "a02", "mounts", "/d1")}  # without the late report it would be new


def test_a_run_of_one_check_does_not_resolve_the_others(spark: Any, tmp_path: Path) -> None:
    everything = [*healthy(), line(host("a01"), "mounts", "/d1", "critical")]
    write_run(tmp_path, NIGHT, everything)
    write_run(tmp_path, NIGHT, [header(host("a01", "s")), line(host("a01", "s"), "raid")], "120000", "s")

    assert changes(night(spark, tmp_path)) == {("new", "a01", "mounts", "/d1")}


def test_what_is_gone_is_resolved_only_when_the_check_could_look(spark: Any, tmp_path: Path) -> None:
    bad = [line(host(name), "mounts", "/d1", "critical") for name in ("mended", "blind", "unasked", "silent")]
    write_run(tmp_path, BEFORE, [header(host(name)) for name in ("mended", "blind", "unasked", "silent")] + bad)
    write_run(
        tmp_path,
        NIGHT,
        [
            line(host("mended"), "mounts", "/d1"),
            line(host("blind"), "mounts", "-", "unknown"),
            line(host("unasked"), "raid"),
        ],
    )

    assert changes(night(spark, tmp_path)) == {
        ("resolved", "mended", "mounts", "/d1"),
        ("unseen", "blind", "mounts", "/d1"),
        ("new", "blind", "mounts", "-"),
        ("unseen", "unasked", "mounts", "/d1"),
        ("unseen", "silent", "mounts", "/d1"),
    }


def test_a_host_that_only_the_controller_speaks_of_is_silent(spark: Any, tmp_path: Path) -> None:
    write_run(tmp_path, BEFORE, [*healthy("a01"), *healthy("a02")])
    reach = line(host("a02"), "reach", "ssh", "critical", reason="no answer within 5 s")
    write_run(tmp_path, NIGHT, [*healthy("a01"), reach])

    judged = night(spark, tmp_path)

    assert [(row["host"], row["silent_days"], row["reason"]) for row in judged.tables["silent_hosts"]] == [
        ("a02", 1, "no answer within 5 s")
    ]
    assert night_digest.digest(judged).subject == f"[smoke] {NIGHT}: 1 silent of 2 hosts"


def test_the_inventory_says_who_is_missed(spark: Any, tmp_path: Path) -> None:
    """One is retired, one in maintenance, one never reported, and one answers though it is not named."""
    for date in (BEFORE, NIGHT):
        names = ["a01", "extra"] + (["retired", "mended", "gone"] if date == BEFORE else [])
        write_run(tmp_path, date, [text for name in names for text in healthy(name)])
    named = (("a01", ""), ("mended", "new board"), ("gone", ""), ("never", ""))
    roster = [nightly.Member("prod-a", name, why) for name, why in named]

    judged = nightly.judge(spark, LocalFiles(str(tmp_path)), NIGHT, roster=roster)

    assert [(row["host"], row["health"]) for row in judged.tables["host_health"]] == [
        ("a01", "ok"),
        ("extra", "ok"),
        ("gone", "silent"),
        ("mended", "maintenance"),
        ("never", "silent"),
    ]
    assert sorted(row["host"] for row in judged.tables["silent_hosts"]) == ["gone", "never"]
    (cluster,) = judged.tables["cluster_health"]
    assert (cluster["hosts"], cluster["silent_hosts"], cluster["maintenance_hosts"]) == (5, 2, 1)
    assert "never" in plain_text.text(night_digest.digest(judged))


def test_a_day_without_any_report_says_so(spark: Any, tmp_path: Path) -> None:
    write_run(tmp_path, BEFORE, [*healthy("a01"), *healthy("a02")])

    judged = night(spark, tmp_path)

    said = night_digest.digest(judged)
    assert said.subject == f"[smoke] {NIGHT}: no reports; 2 hosts known"
    assert said.headline.startswith(f"No reports received on {NIGHT}.")


def test_a_file_that_is_still_being_written_is_overlooked(spark: Any, tmp_path: Path) -> None:
    write_run(tmp_path, NIGHT, healthy())
    (tmp_path / f"date={NIGHT}" / ".050000-j.jsonl.77").write_text("half a li")
    (tmp_path / "date=soon").mkdir()
    (tmp_path / f"date={NIGHT}" / "notes.txt").write_text("hello")

    judged = night(spark, tmp_path)

    assert judged.aside == []
    assert judged.sources == 1


def test_what_others_keep_beside_the_days_is_overlooked(spark: Any, tmp_path: Path) -> None:
    """smoke gate and playbooks keep their records in the same store."""
    write_run(tmp_path, NIGHT, healthy())
    for folder in ("gate", "playbooks"):
        write_run(tmp_path / folder, NIGHT, [*healthy("x99"), line(host("x99"), "mounts", "/d1", "critical")])
        (tmp_path / folder / "lock").write_text("")

    judged = night(spark, tmp_path)

    assert (changes(judged), judged.aside, judged.sources) == (set(), [], 1)
    assert [row["host"] for row in judged.tables["host_health"]] == ["a01"]


def test_findings_of_two_clusters_as_wholes_are_both_told(spark: Any, tmp_path: Path) -> None:
    """They have no host; each stands under its own cluster, and counts for no host of the other one."""
    whole = {name: host("", cluster=name, role="", layout="", rack="") for name in ("prod-a", "prod-b")}
    lines = [
        *(header(host("a01", cluster=name)) for name in whole),
        line(whole["prod-a"], "partitions", "offline", "critical", reason="3 partitions have no leader"),
        line(whole["prod-b"], "partitions", "offline", "critical", reason="17 partitions have no leader"),
        line(whole["prod-b"], "cluster_disk_balance", "brokers", "ok"),
    ]
    write_run(tmp_path, BEFORE, [line(whole["prod-a"], "partitions", "offline"), *lines[:2], *lines[3:]])
    write_run(tmp_path, NIGHT, lines)

    judged = night(spark, tmp_path)

    told = [(row["change"], row["cluster"], row["reason"]) for row in judged.tables["cluster_changes"]]
    assert told == [
        ("new", "prod-a", "3 partitions have no leader"),
        ("ongoing", "prod-b", "17 partitions have no leader"),
    ]
    assert judged.tables["changes"] == []
    clusters = [(row["cluster"], row["hosts"], row["cluster_criticals"]) for row in judged.tables["cluster_health"]]
    assert clusters == [("prod-a", 1, 1), ("prod-b", 1, 1)]
    assert judged.tables["silent_hosts"] == []
    words = plain_text.text(night_digest.digest(judged))
    assert ("3 partitions have no leader" in words, "17 partitions have no leader" in words) == (True, True)


def test_two_clusters_may_each_have_a_host_of_one_name(spark: Any, tmp_path: Path) -> None:
    for cluster, status in (("prod-a", "critical"), ("prod-b", "ok")):
        run = host("kafka-01", cluster=cluster)
        lines = [header(run), line(run, "mounts", "/d1", status), line(run, "disk_usage", "/d1")]
        write_run(tmp_path, BEFORE, lines, time=f"03000{len(cluster)}", run_id=cluster)
        if cluster == "prod-a":
            write_run(tmp_path, NIGHT, lines, run_id=cluster)

    judged = night(spark, tmp_path)

    health = [(row["cluster"], row["host"], row["health"]) for row in judged.tables["host_health"]]
    assert health == [("prod-a", "kafka-01", "critical"), ("prod-b", "kafka-01", "silent")]
    assert [(row["change"], row["cluster"]) for row in judged.tables["changes"]] == [("ongoing", "prod-a")]
    assert [row["cluster"] for row in judged.tables["silent_hosts"]] == ["prod-b"]


def test_a_report_that_could_not_be_read_for_a_moment_is_taken_the_next_time(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may read everything, so the refusal is made here; the file itself stays as it is."""
    write_run(tmp_path, NIGHT, healthy("a01"))
    lines = [header(host("a02", "s")), line(host("a02", "s"), "mounts", "/d1", "critical")]
    refused = write_run(tmp_path, NIGHT, lines, "040000", "s")
    with monkeypatch.context() as patched:
        said = {refused: "Permission denied"}
        patched.setattr(LocalFiles, "read_problem", lambda files, name: said.get(files.url(name), ""))
        before = night(spark, tmp_path)

    after = night(spark, tmp_path)

    assert [(aside.source, aside.problem) for aside in before.aside] == [
        (f"date={NIGHT}/040000-s.jsonl", "Permission denied")
    ]
    assert (changes(before), changes(after)) == (set(), {("new", "a02", "mounts", "/d1")})
    assert after.aside == []


def test_cut_parquet_heals_and_a_day_without_reports_keeps_its_own(spark: Any, tmp_path: Path) -> None:
    for date in (BEFORE, NIGHT):
        write_run(tmp_path, date, [*healthy("a01"), line(host("a01"), "mounts", "/d1", "critical")])
    before = night(spark, tmp_path)
    shutil.rmtree(tmp_path / f"date={BEFORE}")
    cut = next((tmp_path / "_fleet" / "flat" / "problem_days").rglob(f"date={NIGHT}/*.parquet"))
    cut.write_bytes(cut.read_bytes()[:-9])

    after = night(spark, tmp_path)

    assert (after.tables, after.days) == (before.tables, 2)
    assert changes(after) == {("ongoing", "a01", "mounts", "/d1")}


def test_numbers_beyond_all_bounds_and_a_clock_at_2000_spoil_no_table(spark: Any, tmp_path: Path) -> None:
    run = host("a01")
    odd = [
        line(run, "mounts", "/d1", "critical", first_seen=946684800.0),
        line(run, "disk_usage", "/d1", facts={"data": True, "used_bytes": 1e300, "free_bytes": 5}),
        line(run, "smart", "S1", facts={"model": "M", "firmware": "F", "reallocated_sectors": 7}),
        line(run, "clock", "time", "critical", facts={"offset_ms": 3}),
    ]
    texts = [text.replace(":7", ":1e400").replace('"offset_ms":3', '"offset_ms":-1e400') for text in odd]
    write_run(tmp_path, NIGHT, [header(run, clock=946684800.0), *texts])

    judged = night(spark, tmp_path)

    assert max(row["age_days"] for row in judged.tables["changes"]) <= 1
    stored = (tmp_path / stored_nights.folder(LocalFiles(str(tmp_path)), NIGHT)).glob("*.jsonl")
    assert [path.name for path in stored if "Infinity" in path.read_text() or "NaN" in path.read_text()] == []


def test_hostile_words_stay_in_their_own_row(spark: Any, tmp_path: Path) -> None:
    evil = host("x'; DROP TABLE fleet; --", cluster="<script>alert(1)</script>", rack="../../etc")
    lines = [
        header(evil, clock="NaN", drawer=["d"]),
        line(evil, "mounts", "\x1b[2J" + "i" * 5000, "critical", reason="r" * 9000),
    ]
    lines.append(
        line(evil, "smart", "S1", facts={"model": {"a": 1}, "reallocated_sectors": "many", "wear_percent": 1e400})
    )
    write_run(tmp_path, NIGHT, [*healthy("a01"), *lines])

    judged = night(spark, tmp_path)

    (row,) = judged.tables["changes"]
    assert (row["host"], len(row["item"]), len(row["reason"])) == ("x'; DROP TABLE fleet; --", 200, 500)
    assert "\x1b" not in plain_text.text(night_digest.digest(judged))
    assert "[2Jiii" in "".join(plain_text.text(night_digest.digest(judged)).split())  # lines are broken anywhere
    assert {row["host"] for row in judged.tables["host_health"]} == {"a01", "x'; DROP TABLE fleet; --"}


def test_a_store_without_reports_is_no_night(tmp_path: Path) -> None:
    with pytest.raises(nightly.NoReports, match="has no reports of the 30 days up to 2026-11-19"):
        nightly.run(nightly.Wanted(str(tmp_path), NIGHT))


def test_left_overs_of_killed_runs_are_swept(spark: Any, tmp_path: Path) -> None:
    write_run(tmp_path, NIGHT, healthy())
    night(spark, tmp_path)
    left = tmp_path / "_fleet" / "flat" / "states" / "run=dead" / "date=2026-11-01"
    left.mkdir(parents=True)
    (left / "part-0.parquet").write_text("half")

    judged = night(spark, tmp_path)

    assert not left.parent.exists()
    assert len(judged.tables["host_health"]) == 1


def test_rows_that_do_not_come_back_stop_the_night_before_its_manifest(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(tmp_path, NIGHT, healthy())
    files = LocalFiles(str(tmp_path))
    monkeypatch.setattr(compact._Batch, "_paths", lambda *_given: [])

    with pytest.raises(compact.Incomplete, match="rows were written and 0 read back"):
        nightly.judge(spark, files, NIGHT)

    assert manifests.manifest(files, NIGHT) is None


def test_dates_are_days_since_1970() -> None:
    assert reports.date_of(reports.number_of(NIGHT)) == NIGHT
    assert reports.number_of("1970-01-02") == 1
