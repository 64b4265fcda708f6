"""STORE/tables and smoke report --sql, --disk: what analysts read, and what a query cannot do."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import pty
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bench import fleet_store
from fleet import nightly, tables
from fleet.analysis import sql, stable_paths
from fleet.archive import manifests, retention
from fleet.ingest import flat_tables, views
from fleet.nights import catalog, stored_nights
from fleet.store import reports
from fleet.store.files import LocalFiles
from smoketests.commands import archive_report
from smoketests.commands.report import report_command
from tests.fleet import duckdb_reference
from tests.fleet.history import NIGHT

duckdb = pytest.importorskip("duckdb")
ROOT = Path(__file__).parent.parent.parent.parent
HOSTS = 30
DISK = "Z00018D06"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """30 days of 30 hosts and one night, its tables by DuckDB from the same SELECTs: this is not about Spark."""
    folder = tmp_path_factory.mktemp("store")
    fleet_store.write(folder, HOSTS, NIGHT)
    files = LocalFiles(str(folder))
    nightly._write(files, NIGHT, duckdb_reference.tables_by_duckdb(str(folder), NIGHT))
    stable_paths.publish(files, NIGHT)
    return str(folder)


def smoke(*arguments: str) -> Result:
    return CliRunner().invoke(report_command, arguments)


def rows(store: str, table: str) -> list[tuple[Any, ...]]:
    found = f"read_parquet('{store}/tables/{table}/date=*/*.parquet', hive_partitioning = true, union_by_name = true)"
    return list(duckdb.sql(f"SELECT * FROM {found}").fetchall())


def test_every_table_and_every_column_is_described() -> None:
    assert set(catalog.NIGHTLY) == set(tables.names())
    assert set(catalog.FLAT) == set(flat_tables.TABLES)
    for table in catalog.every():
        assert set(table.key) <= set(table.columns), table.name
        assert set(table.columns) <= set(catalog.MEANINGS), table.name
    assert {name for table in catalog.every() for name in table.columns} | {"date"} == set(catalog.MEANINGS)


def test_a_night_s_tables_have_the_columns_that_are_described(store: str) -> None:
    """Those of the SELECTs, also of a table without rows, and those that a module adds to its rows."""
    database = duckdb.connect()
    for flat_table, ddl in flat_tables.COLUMNS.items():
        database.execute(f"CREATE TABLE {flat_table} ({ddl.replace('STRING', 'VARCHAR')})")
    database.execute(f"CREATE TABLE roster ({views.ROSTER.replace('STRING', 'VARCHAR')})")
    duckdb_reference.roll_up(database, LocalFiles(store), {}, 20_000)
    for name, select in (pair for chain in views.CHAINS for pair in chain.items()):
        select = select.format(night=20_000, first=19_971, has_roster=False)
        database.execute(f"CREATE TEMP TABLE {name} AS {select}")
    computed = duckdb_reference.tables_by_duckdb(store, NIGHT)

    for table in catalog.night_tables():
        if computed[table.name]:
            named = set(computed[table.name][0])
        elif table.name in tables.selects():
            select = f"DESCRIBE {tables.query(table.name, 20_000, 19_971)}"
            named = {row[0] for row in database.execute(select).fetchall()}
        else:
            named = set(tables.load(table.name).COLUMNS)
        assert named == set(table.columns), table.name


def test_the_key_names_a_row(store: str) -> None:
    for table in catalog.every():
        key = ", ".join(("date", *table.key))
        found = f"read_parquet('{store}/tables/{table.name}/date=*/*.parquet', hive_partitioning = true)"
        twice = duckdb.sql(f"SELECT {key} FROM {found} GROUP BY ALL HAVING count(*) > 1").fetchall()
        assert twice == [], table.name


def test_a_glob_reads_what_the_manifests_name_and_no_left_over(store: str) -> None:
    files = LocalFiles(store)
    for table in flat_tables.TABLES:
        made = [manifests.manifest(files, date) for date in manifests.dates(files)]
        assert len(rows(store, table)) == sum(one.rows[table] for one in made if one), table
    assert len(rows(store, "host_health")) == HOSTS


def test_a_day_made_anew_is_there_once_and_a_day_that_is_gone_is_gone(tmp_path: Path) -> None:
    fleet_store.write(tmp_path, 3, NIGHT)
    files = LocalFiles(str(tmp_path))
    stable_paths.publish(files, NIGHT)
    before = len(rows(str(tmp_path), "disks"))
    made = manifests.manifest(files, NIGHT)
    assert made
    (part,) = made.files["disks"]
    anew = part.path.replace("run=bench", "run=anew")
    os.makedirs(os.path.dirname(files.url(anew)))
    os.link(files.url(part.path), files.url(f"{anew}.tmp"))
    os.replace(files.url(f"{anew}.tmp"), files.url(anew))
    manifests.keep(files, made._replace(files={**made.files, "disks": [manifests.Part(anew, part.stamp)]}))
    files.delete(part.path)
    gone = manifests.dates(files)[0]
    files.delete(manifests.path_of(gone))
    files.delete(f"date={gone}")
    (tmp_path / "tables/disks" / f"date={NIGHT}" / "disks-7.parquet").write_bytes(b"left behind")

    stable_paths.publish(files, NIGHT)

    assert len(rows(str(tmp_path), "disks")) == before - before // 30
    assert not (tmp_path / "tables/disks" / f"date={gone}").exists()
    assert [path.name for path in (tmp_path / f"tables/disks/date={NIGHT}").iterdir()] == ["disks-0.parquet"]


def test_nothing_is_kept_twice_on_the_disk(store: str) -> None:
    made = manifests.manifest(LocalFiles(store), NIGHT)
    assert made
    (path,) = made.paths("disks")

    assert os.path.samefile(f"{store}/{path}", f"{store}/tables/disks/date={NIGHT}/disks-0.parquet")


@pytest.mark.parametrize("form", ["table", "csv", "json", "parquet"])
def test_a_select_is_answered_in_each_format(store: str, form: str, tmp_path: Path) -> None:
    done = smoke("-s", store, "--format", form, "--sql", "SELECT host, day FROM host_health JOIN disks USING (cluster, "
                 f"host) WHERE item = '{DISK}' AND disks.date = '{NIGHT}' -- one row")  # fmt: skip

    assert done.exit_code == 0, done.output
    day = reports.number_of(NIGHT)
    if form == "table":
        assert done.output.split() == ["host", "day", "kafka-00018", str(day), "(1", "row)"]
    elif form == "csv":
        assert list(csv.reader(done.output.splitlines())) == [["host", "day"], ["kafka-00018", str(day)]]
    elif form == "json":
        assert json.loads(done.output) == {"host": "kafka-00018", "day": day}
    else:
        (tmp_path / "answer.parquet").write_bytes(done.stdout_bytes)
        assert duckdb.sql(f"FROM '{tmp_path}/answer.parquet'").fetchall() == [("kafka-00018", day)]


HOSTILE = [
    "COPY (SELECT 1) TO '{store}/tables/disks/x.parquet'",
    "COPY (SELECT 1) TO '{outside}'",
    "WITH x AS (COPY (SELECT 1) TO '{store}/tables/disks/x.parquet') SELECT 1",
    "WITH x AS (INSERT INTO disks VALUES (1) RETURNING *) SELECT * FROM x",
    "SELECT * FROM query('WITH x AS (COPY (SELECT 1) TO ''{store}/tables/x'') SELECT 1')",
    "SELECT 1) AS x; COPY (SELECT 1) TO '{store}/tables/x'; SELECT (1",
    "SELECT 1; SELECT 2",
    "",
    "-- nothing",
    "SELECT * FROM read_text('{secret}')",
    "SELECT * FROM read_blob('{store}/_fleet/night/2026-11-19.json')",
    "SELECT * FROM read_text('{store}/tables/../../secret')",
    "SELECT * FROM '{secret}'",
    "SELECT * FROM glob('/etc/*')",
    "SELECT * FROM read_csv('https://127.0.0.1:1/x.csv')",
    "SELECT * FROM 's3://bucket/x.parquet'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "ATTACH '{outside}' AS other",
    "SET enable_external_access = true",
    "RESET allowed_directories",
    "PRAGMA enable_profiling",
    "CALL enable_logging(storage = 'file')",
    "CREATE TABLE x (a INT)",
    "DROP VIEW disks",
    "EXPORT DATABASE '{outside}'",
    "SELECT * FROM sys.modules",
    "SELECT * FROM tables",
]


@pytest.mark.parametrize("sql", HOSTILE)
def test_a_query_reads_no_other_file_reaches_no_network_and_writes_nothing(
    store: str, tmp_path: Path, sql: str
) -> None:
    secret, outside = tmp_path / "secret", tmp_path / "outside"
    secret.write_text("hidden words")
    Path(store, "..", "secret").write_text("hidden words")
    before = sorted(map(str, Path(store).rglob("*")))

    done = smoke("-s", store, "--sql", sql.format(store=store, secret=secret, outside=outside) or " ")

    assert done.exit_code == 3, done.output
    assert "hidden words" not in done.output
    assert not outside.exists()
    assert sorted(map(str, Path(store).rglob("*"))) == before


def test_an_unknown_table_is_answered_with_those_that_are_known(store: str) -> None:
    done = smoke("-s", store, "--sql", "SELECT *\nFROM hosts")

    assert done.exit_code == 3
    assert "Table with name hosts does not exist" in done.output
    assert "LINE 2: FROM hosts" in done.output
    assert "tables: host_days, states, problem_days, disks" in done.output


def test_a_store_without_tables_says_what_to_do(tmp_path: Path) -> None:
    done = smoke("-s", str(tmp_path), "--sql", "SELECT 1")

    assert (done.exit_code, "run smoke nightly --store" in done.output) == (3, True)


def test_the_history_of_a_disk_is_the_days_on_which_something_changed(store: str) -> None:
    done = smoke("-s", store, "--disk", DISK)
    whole = smoke("-s", store, "--disk", DISK, "--format", "json")

    days = [json.loads(line) for line in whole.output.splitlines()]
    told = [{k: v for k, v in day.items() if k not in ("date", "power_on_hours")} for day in days]
    turns = sum(one != other for one, other in zip(told, told[1:], strict=False))
    assert {day["item"] for day in days} == {DISK}
    assert days == sorted(days, key=lambda day: str(day["date"]))
    assert done.output.splitlines()[-1] in (f"({turns + 1} rows)", f"({turns + 2} rows)")


def test_a_disk_that_nobody_knows_is_said_also_when_its_name_is_sql(store: str) -> None:
    done = smoke("-s", store, "--disk", "x' OR 1=1 --")

    assert done.exit_code == 3
    assert "no disk x' OR 1=1 -- in the tables" in done.output


@pytest.mark.parametrize(
    "words",
    [
        ["a01", "--disk", "x"],
        ["--disk", "x", "--sql", "SELECT 1"],
        ["--format", "csv"],
        ["disks", "--disk", "x"],
        ["--disk", "x", "--days", "3"],
    ],
)
def test_two_questions_at_once_are_wrong_usage(words: list[str]) -> None:
    assert smoke(*words).exit_code == 2


def test_control_characters_of_a_host_reach_neither_terminal_nor_csv(store: str) -> None:
    for form in ("table", "csv", "json"):
        done = smoke("-s", store, "--format", form, "--sql", "SELECT chr(27) || '[2J' || chr(10) || 'x' AS words")

        assert "\x1b" not in done.output
        assert len(done.output.splitlines()) == (1 if form == "json" else 2 + (form == "table"))


@pytest.mark.parametrize("form", ["table", "csv", "json", "parquet"])
def test_a_table_is_shown_by_its_name(store: str, form: str, tmp_path: Path) -> None:
    """The last day of it; more with --days."""
    done = smoke("-s", store, "host_days", "--format", form)
    two = smoke("-s", store, "host_days", "--days", "2", "--format", "json")

    assert (done.exit_code, two.exit_code) == (0, 0), done.output
    assert {json.loads(line)["date"] for line in two.output.splitlines()} == {NIGHT, "2026-11-18"}
    last = duckdb.sql(f"FROM '{store}/tables/host_days/date={NIGHT}/*.parquet'").fetchall()
    if form == "parquet":
        (tmp_path / "answer.parquet").write_bytes(done.stdout_bytes)
        assert len(duckdb.sql(f"FROM '{tmp_path}/answer.parquet'").fetchall()) == len(last)
    elif form == "table":
        assert done.output.splitlines()[-1] == f"({len(last)} rows)"
    else:
        assert len(done.output.splitlines()) == len(last) + (form == "csv")


def test_every_documented_table_can_be_shown_by_its_name(store: str) -> None:
    for table in catalog.every():
        done = smoke("-s", store, table.name, "--format", "csv")
        assert done.exit_code == 0, (table.name, done.output)
        assert set(done.output.splitlines()[0].split(",")) == {"date", *table.columns}


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=HYPERLINK(1)", "'=HYPERLINK(1)"),
        ("+1+cmd", "'+1+cmd"),
        ("-1+cmd|' /C calc'!A0", "'-1+cmd|' /C calc'!A0"),
        ("@SUM(1)", "'@SUM(1)"),
        ("\t=1+1", "' =1+1"),
        ("\r\n=1+1", "'  =1+1"),
        ("\uff1d1+1", "'\uff1d1+1"),
        ("-", "-"),
        ("-12.5", "-12.5"),
        ("kafka-a01", "kafka-a01"),
    ],
)
def test_a_cell_of_a_csv_file_is_no_formula(store: str, text: str, cell: str) -> None:
    escaped = "||".join(f"chr({ord(letter)})" for letter in text)
    done = smoke("-s", store, "--format", "csv", "--sql", f"SELECT {escaped} AS words, -3 AS number")

    assert list(csv.reader(done.output.splitlines()))[1] == [cell, "-3"]


def test_columns_of_one_name_are_told_apart_in_json(store: str) -> None:
    done = smoke("-s", store, "--format", "json", "--sql", "SELECT 1 AS a, 2 AS b, 3 AS a")

    assert json.loads(done.output) == {"a": 1, "b": 2, "a_1": 3}


@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_an_answer_of_millions_of_rows_streams(store: str, form: str) -> None:
    """The first rows are there before the last are computed, and are not all held."""
    sql = "SELECT range AS n FROM range(100_000_000)"
    answer = archive_report.answer(store, archive_report.Question(sql), form)
    before = time.monotonic()
    first = [next(answer) for _ in range(5000)]
    answer.close()  # type: ignore[attr-defined]

    assert len(first) == 5000
    assert time.monotonic() - before < 5


def test_parquet_is_not_written_to_a_terminal(store: str) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "smoketests.cli", "report", "-s", store, "disks", "--format", "parquet"]
    done = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, text=True, cwd=ROOT, check=False)
    os.close(theirs)
    with contextlib.suppress(OSError):  # Linux: EIO where nothing was written
        assert os.read(ours, 100) == b""
    os.close(ours)

    assert done.returncode == 2
    assert done.stderr == "smoke: Parquet is binary: redirect it to a file, for example > answer.parquet\n"


def test_the_nights_of_a_store_are_those_with_a_table_folder(store: str) -> None:
    files = LocalFiles(store)

    assert stored_nights.dates(files) == [NIGHT]
    assert stored_nights.path(files, NIGHT, "disk_trends").endswith("/disk_trends.jsonl")
    assert stored_nights.path(files, NIGHT, "no_such") == stored_nights.path(files, "2000-01-01", "disks") == ""


def test_opening_a_store_with_a_quote_and_a_bracket_in_its_path(tmp_path: Path) -> None:
    fleet_store.write(tmp_path / "plain", 2, NIGHT)
    odd = tmp_path / "it's [1]"
    (tmp_path / "plain").rename(odd)
    nightly._write(LocalFiles(str(odd)), NIGHT, {"clocks": [{"cluster": "a", "host": "b", "skew_s": 3.0}]})
    stable_paths.publish(LocalFiles(str(odd)), NIGHT)
    opened = sql.Store(str(odd))

    assert next(opened.ask("SELECT count(DISTINCT host) FROM disks").rows) == (2,)
    assert next(opened.ask("SELECT host, offset_ms, skew_s FROM clocks").rows) == ("b", None, 3.0)
    opened.close()


def test_a_full_disk_leaves_the_tables_of_before_and_is_said(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The write is refused by a stand-in: a real full disk would be one for the other tests, too."""

    def full(*_given: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(stable_paths, "_aside", full)
    told: list[str] = []

    nightly._publish(LocalFiles(store), NIGHT, told.append)

    assert [words.endswith("is not up to date: [Errno 28] No space left on device") for words in told] == [True]
    assert len(rows(store, "host_health")) == HOSTS


def test_retention_frees_the_space_of_a_day_at_once(tmp_path: Path) -> None:
    fleet_store.write(tmp_path, 2, NIGHT)
    files = LocalFiles(str(tmp_path))
    stable_paths.publish(files, NIGHT)
    inode = next((tmp_path / f"tables/disks/date={NIGHT}").iterdir()).stat().st_ino

    retention._delete(files, NIGHT)

    assert inode not in {path.stat().st_ino for path in tmp_path.rglob("*")}
