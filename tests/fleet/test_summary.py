"""smoke nightly --summary: a week and a month from the nights of a store, mailed, kept, and put beside the pages."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bench import fleet_store
from fleet import nightly, summary
from fleet.archive import manifests
from fleet.digest import page_paths
from fleet.digest.night_digest import Digest
from fleet.digest.period_digest import summary as summarise
from fleet.ingest import flat_tables
from fleet.mail import delivery
from fleet.nights.period_facts import Facts, facts
from fleet.render import html_page, plain_text
from fleet.site import folder, summaries
from fleet.store import periods, reports
from fleet.store.files import LocalFiles
from smoketests.commands import nightly as nightly_command
from tests.fleet.mail.test_delivery import Server, night, server, settings  # noqa: F401
from tests.fleet.site.test_pages import Read

duckdb = pytest.importorskip("duckdb")
SUNDAY, YESTERDAY = "2026-11-15", "2026-11-22"
WEEK = periods.named("2026-W46")
CHANGE = night().tables["changes"][0]
HOSTS = ("kafka-a03", "kafka-a04", "kafka-b01")


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nightly, "yesterday", lambda: YESTERDAY)
    monkeypatch.setenv("SMOKE_TEST_PASSWORD", "s3cret-of-mail")


def problem(item: str, change: str, age: int, **more: Any) -> dict[str, Any]:
    return {**CHANGE, "item": item, "change": change, "age_days": age, "reason": f"{item} is broken", **more}


def judged(store: Path, date: str, *changes: dict[str, Any], **more: list[dict[str, Any]]) -> None:
    """A night as the job leaves it."""
    health = {f"{name}_hosts": 0 for name in ("unknown", "warning", "silent", "maintenance")}
    critical = len({row["host"] for row in changes if row["change"] in ("new", "ongoing")})
    counts = {**health, "hosts": 3, "critical_hosts": critical, "ok_hosts": 3 - critical}
    tables = {
        **night().tables,
        "changes": list(changes),
        "cluster_health": [{**counts, "cluster": "prod-a"}],
        "health_days": [{**counts, "day": reports.number_of(date)}],
        "host_health": [{"cluster": "prod-a", "host": host} for host in HOSTS],
        **more,
    }
    nightly._write(LocalFiles(str(store)), date, tables)


def measured(store: Path, date: str, disks: str = "", mounts: str = "") -> None:
    """A day's Parquet. disks: `host item slot status`, mounts: `host item percent`, one a line."""
    rows, paths = (
        dict.fromkeys(flat_tables.TABLES, 0),
        dict[str, list[str]]((table, []) for table in flat_tables.TABLES),
    )
    day = reports.number_of(date)
    picked = {
        "disks": [(f"'prod-a' AS cluster, '{host}' AS host, '{item}' AS item, '{item}' AS disk, '{slot}' AS slot, "
                   f"'{status}' AS status, 'ACME 8T' AS model")
                  for host, item, slot, status in map(str.split, disks.splitlines())],
        "mounts": [(f"'prod-a' AS cluster, '{host}' AS host, '{item}' AS item, {used} AS used_bytes, "
                    f"100 - {used} AS free_bytes")
                   for host, item, used in map(str.split, mounts.splitlines())],
    }  # fmt: skip
    for table, found in picked.items():
        if found:
            path = f"{manifests.FLAT}/{table}/run=x/date={date}/part-0.parquet"
            (store / path).parent.mkdir(parents=True)
            duckdb.execute(
                f"CREATE OR REPLACE TEMP TABLE t ({flat_tables.COLUMNS[table].replace('STRING', 'VARCHAR')})"
            )
            for one in found:
                duckdb.execute(f"INSERT INTO t BY NAME SELECT {day} AS day, {one}")
            duckdb.execute(f"COPY t TO '{store / path}' (FORMAT parquet)")
            paths[table] = [path]
    fleet_store._vouch(store, date, rows, paths)


def a_week(store: Path) -> Path:
    """W46 (9 to 15 November), all nights, and the one before it."""
    judged(store, "2026-11-08", problem("old", "ongoing", 40), problem("mended", "new", 0),
           disk_trends=[{"cluster": "prod-a", "host": host, "item": item, "disk": item, "days_left": 12,
                         "failing": False} for host, item in (("kafka-a03", "S1"), ("kafka-a04", "S9"))])  # fmt: skip
    judged(store, "2026-11-09", problem("old", "ongoing", 41), problem("mended", "resolved", 0))
    judged(store, "2026-11-10", problem("old", "ongoing", 42), problem("short", "new", 0))
    judged(store, "2026-11-11", problem("old", "ongoing", 43), problem("short", "resolved", 1))
    judged(store, "2026-11-12", problem("old", "ongoing", 44), problem("fresh", "new", 0, host="kafka-b01"))
    judged(store, "2026-11-13", problem("old", "ongoing", 45), problem("fresh", "ongoing", 1, host="kafka-b01"))
    judged(store, "2026-11-14", problem("old", "ongoing", 46), problem("dark", "new", 0, host="kafka-a04"))
    judged(store, SUNDAY, problem("old", "ongoing", 47), problem("fresh", "ongoing", 3, host="kafka-b01"),
           problem("dark", "unseen", 1, host="kafka-a04"))  # fmt: skip
    whole = "kafka-a03 S1 1 ok\nkafka-a03 S2 2 ok\nkafka-b01 S5 1 critical"
    measured(store, "2026-11-08", whole, "kafka-a03 /kafka/d1 60\nkafka-a03 /kafka/d2 80")
    measured(store, "2026-11-12", whole.replace("S1 1 ok", "S1 1 critical"))
    measured(store, SUNDAY, whole.replace("S1 1", "S7 1") + "\nkafka-a04 S9 1 ok",
             "kafka-a03 /kafka/d1 79\nkafka-a03 /kafka/d2 80")  # fmt: skip
    return store


def found(store: Path, period: periods.Period = WEEK, through: str = YESTERDAY) -> Facts:
    return facts(LocalFiles(str(store)), period, reports.number_of(through))


def section(said: Digest, title: str) -> list[tuple[str, str]]:
    return [(line.what, line.text) for part in said.sections if part.title == title for line in part.lines]


def smoke(*arguments: str) -> Result:
    return CliRunner().invoke(nightly_command.nightly, arguments)


@pytest.mark.parametrize(
    ("kind", "date", "label", "span"),
    [
        ("week", "2026-11-15", "2026-W46", "2026-11-09 to 2026-11-15"),
        ("week", "2026-11-16", "2026-W47", "2026-11-16 to 2026-11-22"),
        ("week", "2027-01-01", "2026-W53", "2026-12-28 to 2027-01-03"),
        ("week", "2024-12-30", "2025-W01", "2024-12-30 to 2025-01-05"),
        ("month", "2026-02-28", "2026-02", "2026-02-01 to 2026-02-28"),
        ("month", "2024-02-01", "2024-02", "2024-02-01 to 2024-02-29"),
        ("month", "2026-12-31", "2026-12", "2026-12-01 to 2026-12-31"),
    ],
)
def test_a_week_is_that_of_iso_8601_and_a_month_that_of_the_calendar(
    kind: str, date: str, label: str, span: str
) -> None:
    period = periods.of(kind, reports.number_of(date))

    assert (period.label, period.span) == (label, span)
    assert periods.named(label) == period


@pytest.mark.parametrize("label", ["2026-W54", "2026-13", "2026-11-31", "../x", "2026", "2026-W1", ""])
def test_what_names_no_period_is_refused(label: str) -> None:
    with pytest.raises(ValueError):
        periods.named(label)


@pytest.mark.parametrize(
    ("kind", "yesterday", "label"),
    [("week", "2026-11-22", "2026-W47"), ("week", "2026-11-21", "2026-W46"), ("month", "2026-11-22", "2026-10"),
     ("month", "2026-11-30", "2026-11")],
)  # fmt: skip
def test_without_a_date_it_is_the_last_one_that_is_over(kind: str, yesterday: str, label: str) -> None:
    assert periods.last_whole(kind, reports.number_of(yesterday)).label == label


def test_new_older_and_resolved_problems_of_a_week(tmp_path: Path) -> None:
    said = summarise(found(a_week(tmp_path)))

    assert said.subject == ("[smoke] week 2026-W46: 1 new, 1 older, 2 resolved problems; 2 critical of 3 hosts")
    assert section(said, "New and still open") == [("mounts fresh", "fresh is broken")]
    assert section(said, "Open before, oldest first") == [("mounts old", "old is broken")]
    assert {what for what, _text in section(said, "Resolved")} == {"mounts mended", "mounts short"}
    assert section(said, "No result at the end") == [("mounts dark", "was critical: dark is broken")]
    assert said.headline == (
        "2026-11-09 to 2026-11-15, UTC. Open problems: 1 for 30 d or more, 1 for less than 7 d. "
        "Hosts from 2026-11-08 to 2026-11-15: critical 1 to 2."
    )
    assert section(said, "Clusters that changed") == [("hosts", "critical 1 to 2")]


def test_disks_that_failed_were_replaced_and_added(tmp_path: Path) -> None:
    said = summarise(found(a_week(tmp_path)))

    assert section(said, "Disks failed, replaced or added") == [
        ("S1 slot 1 ACME 8T", "failed on 2026-11-12, replaced by S7 on 2026-11-15")
    ]
    assert section(said, "Disk forecasts") == [
        ("forecast", "2 disks named on 2026-11-08: 1 failed or replaced; failed or replaced without a forecast: 0")
    ]


def test_a_disk_that_vanished_is_not_called_replaced(tmp_path: Path) -> None:
    for date, rows in (("2026-11-08", "h S1 1 ok\nh S2 2 ok\nh S3 3 ok"), ("2026-11-12", "h S1 1 ok\nh S3 3 critical"),
                       (SUNDAY, "h S1 1 ok\nh S3 3 critical\nh S4 4 ok")):  # fmt: skip
        judged(tmp_path, date)
        measured(tmp_path, date, rows)

    assert section(summarise(found(tmp_path)), "Disks failed, replaced or added") == [
        ("S3 slot 3 ACME 8T", "failed on 2026-11-12"),
        ("S2 slot 2 ACME 8T", "not detected since 2026-11-09"),
        ("S4 slot 4 ACME 8T", "added on 2026-11-15"),
    ]


def test_the_fullest_mounts_and_those_that_grew_most(tmp_path: Path) -> None:
    said = summarise(found(a_week(tmp_path)))

    assert section(said, "Fullest mounts") == [
        ("/kafka/d2", "80 % used, +0.0 points in 7 days"),
        ("/kafka/d1", "79 % used, +19.0 points in 7 days"),
    ]
    assert section(said, "Mounts that grew most") == [("/kafka/d1", "79 % used, +19.0 points in 7 days")]


def test_a_week_with_gaps_says_which_days_are_missing(tmp_path: Path) -> None:
    judged(tmp_path, "2026-11-10", problem("old", "ongoing", 42))
    judged(tmp_path, "2026-11-12", problem("old", "ongoing", 44))

    said = summarise(found(tmp_path))

    assert said.subject.startswith("[smoke] week 2026-W46 (2 of 7 days): ")
    assert "No results before 2026-11-09 to compare with." in said.headline
    assert "No nightly results for 2026-11-09, 2026-11-11, 2026-11-13, 2026-11-14, 2026-11-15: " in said.headline


def test_a_week_that_is_not_over_says_so(tmp_path: Path) -> None:
    said = summarise(found(a_week(tmp_path), through="2026-11-13"))

    assert said.subject.startswith("[smoke] week 2026-W46 (5 of 7 days): ")
    assert "The week is not over; results up to 2026-11-13." in said.headline
    assert "No nightly results" not in said.headline


def test_a_period_without_a_night_is_refused_with_what_to_do(tmp_path: Path) -> None:
    done = smoke("--store", str(a_week(tmp_path)), "--summary", "month", "--date", "2026-10-05")

    assert done.exit_code == 3
    assert "no night of 2026-10 (2026-10-01 to 2026-10-31) was computed: smoke nightly --date DATE" in done.output


@pytest.mark.parametrize(
    ("arguments", "words", "code"),
    [
        (["--date", "2026-11-30"], "2026-11-30 is not over yet", 3),
        (["--demo"], "--summary needs a store with nights", 2),
        (["--store", "hdfs://nn/smoke"], "--summary requires a local store", 3),
        (["--mail", "none.yaml"], "none.yaml", 3),
        (["--site", "{store}"], "has no pages yet: smoke nightly --site", 1),
    ],
)
def test_what_cannot_be_done_is_said(tmp_path: Path, arguments: list[str], words: str, code: int) -> None:
    store = a_week(tmp_path)
    given = [one.format(store=store) for one in arguments]

    done = smoke(
        "--store", str(store), "--summary", "week", *(["--date", SUNDAY] if "--date" not in given else []), *given
    )

    assert (done.exit_code, words in done.output) == (code, True), done.output


def test_a_week_is_mailed_once_kept_and_put_beside_the_pages(
    tmp_path: Path,
    server: Server,  # noqa: F811
) -> None:
    store, site, out = a_week(tmp_path / "store"), tmp_path / "site", tmp_path / "out"
    host = page_paths.host_page("prod-a", "kafka-b01")
    folder.write(str(site), [("index.html", b"night"), (host, b""), (page_paths.cluster_page("prod-a"), b"")])
    config = tmp_path / "mail.yaml"
    known = settings(server)
    config.write_text(f"host: localhost\nport: {server.port}\nto: [ops@example.org]\nsender: smoke@example.org\n"
                      f"user: {known.user}\npassword_env: SMOKE_TEST_PASSWORD\nca_file: {known.ca_file}\n")  # fmt: skip
    command = ["--store", str(store), "--summary", "week", "--date", SUNDAY, "--mail", str(config), "--print",
               "--site", str(site), "--site-url", "https://ops.example.org/smoke", "--out", str(out)]  # fmt: skip

    first, second = smoke(*command), smoke(*command)

    assert (first.exit_code, second.exit_code) == (0, 0), first.output
    assert len(server.mails) == 1
    assert b"Message-ID: <smoke-2026-W46-" in server.mails[0]
    assert b"Subject: [smoke] week 2026-W46: 1 new, 1 older, 2 resolved problems" in server.mails[0].replace(
        b"\r\n ", b" "
    )
    assert "its mail was sent earlier" in second.output
    assert (store / "_fleet/summary/week=2026-W46/summary.txt").read_text() in first.output
    assert (out / "index.html").exists()
    text = (site / page_paths.summary_page("2026-W46")).read_text()
    assert f'href="../{host}"' in text and "kafka-a03</a>" not in text
    assert "week 2026-W46: 1 new" in (site / page_paths.SUMMARIES).read_text()
    assert (site / "pictures/2026-W46.png").read_bytes().startswith(b"\x89PNG")
    assert (site / "index.html").read_text() == "night"
    assert [name for name in os.listdir(site) if name.startswith("pages-")] == [os.readlink(site / "current")]


def test_a_week_s_mail_that_waits_is_tried_again_by_the_nights_after_it(tmp_path: Path) -> None:
    files = LocalFiles(str(tmp_path))
    for label in ("2026-W46", "2026-10", "2026-11-15"):
        files.replace(f"{delivery.DELIVERIES}/{label}.json", b"{}")

    assert sorted(delivery._earlier(files, "2026-11-16")) == ["2026-11-15", "2026-W46"]
    assert delivery._earlier(files, "2026-11-30") == []
    assert delivery._earlier(files, "2026-11-01") == ["2026-10"]


def test_the_pages_of_the_next_night_keep_the_summaries(tmp_path: Path) -> None:
    store = a_week(tmp_path)
    for kind in ("week", "month"):
        summary.run(summary.Wanted(str(store), kind, SUNDAY))

    kept = summaries.kept(LocalFiles(str(store)))
    made = dict(summaries.pages(kept, lambda _path: False))

    assert [one.said.date for one in kept] == ["2026-11", "2026-W46"]
    assert {page_paths.summary_page("2026-11"), page_paths.summary_page("2026-W46"), page_paths.SUMMARIES} <= set(made)
    assert kept[1].said == summarise(found(store))
    links = {link for path, content in made.items() if path.endswith("html") for link in Read(content.decode()).links}
    assert not [link for link in links if "hosts/" in link or "clusters/prod" in link]


def test_a_summary_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    store = a_week(tmp_path)
    summary.run(summary.Wanted(str(store), "week", SUNDAY))
    (store / "_fleet/summary/week=2026-W46/digest.json").write_text('{"first": 3}')

    assert summaries.kept(LocalFiles(str(store))) == []
    assert b"None yet" in dict(summaries.pages([], lambda _path: True))[page_paths.SUMMARIES]


def test_what_hosts_say_is_escaped_and_bounded_and_the_mail_small(tmp_path: Path) -> None:
    evil = "<script>\x1b[2J\u202e=1+1" + "x" * 300
    rows = [problem(f"{evil}{n}", "new", n % 40, host=f"{evil}{n}", reason=f"{evil * 3} {chr(97 + n % 26) * 3}{n % 7}")
            for n in range(2000)]  # fmt: skip
    judged(tmp_path, SUNDAY, *rows)

    said = summarise(found(tmp_path))
    html = html_page.html(said, [], html_page.by_cid, "https://ops.example.org/smoke")

    assert "<script" not in html and "\x1b" not in html and "\u202e" not in html
    assert len(html.encode()) < 90_000
    assert max(len(line.where) for part in said.sections for line in part.lines) <= 120
    assert plain_text.text(said).replace("\n", "").isprintable()
