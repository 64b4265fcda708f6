"""Which days are made anew and which are kept: reports come, go, change or cannot be read, and Parquet is cut."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from fleet.archive import manifests
from fleet.archive.manifests import Day, Manifest, Part
from fleet.ingest import flat_tables
from fleet.store import reports
from fleet.store.files import Entry, LocalFiles
from tests.fleet.history import NIGHT, write_run

TABLE_BYTES = b"PAR1 the rows of a table PAR1"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """One day, of two reports, compacted."""
    write_run(tmp_path, NIGHT, ["a"], run_id="a")
    write_run(tmp_path, NIGHT, ["b"], run_id="b")
    keep(tmp_path)
    return tmp_path


def keep(store: Path, unread: tuple[str, ...] = (), run: str = "run=1") -> Manifest:
    """A manifest as compaction leaves it, of files that only have to be whole."""
    files = LocalFiles(str(store))
    found = reports.sources(files, NIGHT)
    parts: dict[str, list[Part]] = {}
    for table in flat_tables.TABLES:
        path = f"{manifests.FLAT}/{table}/{run}/date={NIGHT}/part-0.parquet"
        files.replace(path, TABLE_BYTES)
        parts[table] = [Part(path, files.stamp(path))]
    made_of = {path: signature for path, signature in found.signatures.items() if path not in unread}
    rows = dict.fromkeys(flat_tables.TABLES, 1)
    made = Manifest(NIGHT, manifests.LAYOUT, made_of, dict.fromkeys(unread, "Permission denied"), parts, rows, [])
    manifests.keep(files, made)
    return made


def day(store: Path) -> Day:
    (planned,) = manifests.plan(LocalFiles(str(store)), [NIGHT])
    return planned


def report(store: Path, run_id: str = "a") -> Path:
    return store / f"date={NIGHT}" / f"030000-{run_id}.jsonl"


def table(store: Path) -> Path:
    return next((store / manifests.FLAT / "problem_days").rglob("*.parquet"))


def remove_reports(store: Path) -> None:
    shutil.rmtree(store / f"date={NIGHT}")


def test_a_day_that_was_read_and_is_whole_is_kept(store: Path) -> None:
    assert (day(store).stale, day(store).made, day(store).aside) == (False, keep(store), [])


def test_a_late_report_makes_its_day_anew(store: Path) -> None:
    write_run(store, NIGHT, ["c"], run_id="c")

    assert day(store).stale


def test_a_report_that_changed_makes_its_day_anew(store: Path) -> None:
    report(store).write_text("longer than before")

    assert day(store).stale


def test_a_report_that_could_not_be_read_is_taken_as_soon_as_it_can_be(store: Path) -> None:
    """Its name, size and time are what they were: only reading it shows that it can be read now."""
    keep(store, unread=(f"date={NIGHT}/030000-b.jsonl",))

    assert day(store).stale


def test_a_report_that_still_cannot_be_read_does_not_make_its_day_anew_every_night(store: Path) -> None:
    broken = store / f"date={NIGHT}" / "040000-z.jsonl.gz"
    broken.write_bytes(b"\x1f\x8b\x08 cut")
    keep(store, unread=(f"date={NIGHT}/{broken.name}",))

    assert not day(store).stale


@pytest.mark.parametrize("harm", ["cut", "overwritten", "removed"])
def test_parquet_that_is_not_what_was_written_is_made_anew(store: Path, harm: str) -> None:
    whole = table(store).read_bytes()
    if harm == "removed":
        table(store).unlink()
    else:
        table(store).write_bytes(whole[:-7] if harm == "cut" else whole.replace(b"rows", b"wors"))

    assert (day(store).stale, day(store).made) == (True, None)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"date": "x"}', '{"files": {}}', "removed", "one table less"])
def test_a_manifest_that_is_damaged_is_made_anew(store: Path, text: str) -> None:
    path = store / manifests.path_of(NIGHT)
    if text == "one table less":
        said = json.loads(path.read_text())
        del said["files"]["disks"]
        text = json.dumps(said)
    path.write_text(text)
    if text == "removed":
        path.unlink()

    assert (day(store).stale, day(store).made) == (True, None)


def test_a_day_whose_reports_are_gone_keeps_its_parquet(store: Path) -> None:
    remove_reports(store)

    assert manifests.dates(LocalFiles(str(store))) == [NIGHT]
    assert (day(store).stale, bool(day(store).made), day(store).aside) == (False, True, [])


def test_a_day_of_which_some_reports_are_gone_keeps_all_that_its_parquet_holds(store: Path) -> None:
    report(store).unlink()
    write_run(store, NIGHT, ["c"], run_id="c")

    assert (day(store).stale, bool(day(store).made)) == (False, True)
    assert [(aside.source, aside.problem) for aside in day(store).aside] == [
        (f"date={NIGHT}/030000-c.jsonl", "arrived after reports of its day were deleted; not counted")
    ]


@pytest.mark.parametrize("text", ["", "{"])
def test_a_damaged_manifest_of_a_day_without_reports_comes_back_from_its_copy(store: Path, text: str) -> None:
    made = keep(store)
    remove_reports(store)
    (store / manifests.path_of(NIGHT)).write_text(text)

    assert day(store).made == made
    assert manifests.manifest(LocalFiles(str(store)), NIGHT) == made


def test_a_day_of_which_nothing_whole_is_left_is_named_and_not_counted(store: Path) -> None:
    remove_reports(store)
    table(store).write_bytes(b"cut")

    assert (day(store).stale, day(store).made) == (False, None)
    assert "damaged and 2 of its reports are missing" in day(store).aside[0].problem


def test_a_day_of_an_older_layout_is_made_anew_and_named_where_that_cannot_be(store: Path) -> None:
    keep(store)
    for path in (store / "_fleet").rglob("*.json"):
        path.write_text(path.read_text().replace(f'"layout": {manifests.LAYOUT}', '"layout": 2'))
    assert day(store).stale

    remove_reports(store)

    assert (day(store).stale, day(store).made) == (False, None)
    assert "compacted by another version" in day(store).aside[0].problem


def test_a_folder_that_cannot_be_listed_keeps_its_day_and_is_named(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may list everything, so the refusal is made here."""
    listed = LocalFiles.list

    def refused(files: LocalFiles, path: str) -> list[Entry]:
        if path == f"date={NIGHT}":
            raise PermissionError(13, "Permission denied")
        return listed(files, path)

    monkeypatch.setattr(LocalFiles, "list", refused)

    assert (day(store).stale, bool(day(store).made)) == (False, True)
    assert [aside.problem for aside in day(store).aside] == ["Permission denied"]


def test_left_overs_are_swept_and_nothing_else(store: Path) -> None:
    made = keep(store)
    keep(store, run="run=2")
    manifests.keep(LocalFiles(str(store)), made)

    assert manifests.sweep(LocalFiles(str(store))) > 0
    assert manifests.sweep(LocalFiles(str(store))) == 0
    assert manifests.damage(LocalFiles(str(store)), made) == ""
    assert not list(store.rglob("run=2"))


def test_what_may_be_all_that_is_left_of_a_day_is_never_swept(store: Path) -> None:
    remove_reports(store)
    os.unlink(store / manifests.path_of(NIGHT))

    manifests.sweep(LocalFiles(str(store)))

    assert table(store).read_bytes() == TABLE_BYTES
    assert day(store).made
