"""The page in a real browser, at phone and desktop width: nothing is cut, nothing scrolls sideways."""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from fleet.digest import night_digest, page_paths, table_lines
from fleet.nights.night import Night
from fleet.render import charts, html_page, plain_text
from fleet.store import reports
from tests.fleet.mail.test_delivery import night

WIDE = "/var/lib/a-very-long-mount-point-without-any-break-" + "x" * 120


def crowded() -> Night:
    """Many findings, with words as long as hosts can make them."""
    judged = night()
    change = judged.tables["changes"][0]
    more = [{**change, "host": f"kafka-{n:03d}", "reason": f"{WIDE} {'x' * n}", "item": WIDE} for n in range(40)]
    trends = [
        {
            "cluster": "prod-a",
            "host": f"kafka-with-a-long-name-{n}.dc1.example.org",
            "item": f"SERIAL{n:020d}",
            "model": "HGST HUH728080ALE600",
            "firmware": "A4",
            "slot": str(n),
            "metric": "reallocated",
            "value": 700.0,
            "rise": 650.0,
            "per_day": 20.5,
            "limit_value": 1000,
            "days_left": 3 + n,
            "crossing_day": judged.day + 3 + n,
            "earliest_day": judged.day + 2 + n,
            "latest_day": judged.day + 9 + n,
            "month_per_day": 20.5,
            "recent_per_day": 8.0,
            "failing": False,
        }
        for n in range(12)
    ]
    usage = [
        {
            "cluster": "prod-b",
            "host": "kafka-b12",
            "item": WIDE,
            "used_percent": 81.2,
            "points_per_day": 1.2,
            "days_left": 9,
            "full_day": judged.day + 9,
            "earliest_day": judged.day + 7,
            "latest_day": None,
        }
    ]
    return judged._replace(
        tables={**judged.tables, "changes": [change, *more], "disk_trends": trends, "usage_forecast": usage}
    )


def html(judged: Night, link: str = "") -> str:
    return html_page.html(night_digest.digest(judged), charts.charts(judged), html_page.inside, link)


class Widths(HTMLParser):
    found: tuple[str, ...] = ()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "body":
            said = dict(attrs)
            self.found = (said.get("data-scroll") or "", said.get("data-client") or "", said.get("data-cut") or "")


# Runs in the page, in the browser only: how wide it is, and which elements stick out.
MEASURE = """<script>addEventListener("load", () => {
  const page = document.documentElement, body = document.body;
  body.dataset.scroll = page.scrollWidth; body.dataset.client = page.clientWidth;
  const out = [...document.querySelectorAll("*")].filter(e => e.getBoundingClientRect().right > page.clientWidth + 1);
  const blank = [...document.images].filter(i => !i.naturalWidth);
  body.dataset.cut = out.concat(blank).map(e => e.tagName).join(" ");
});</script>"""


def browser() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not found:
        pytest.skip("needs a browser: apt-get install chromium")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("width", [360, 768, 1400])
def test_nothing_is_cut_and_nothing_scrolls_sideways(tmp_path: Path, width: int) -> None:
    # headless Chromium has no window narrower than 500: a phone is a frame in one
    (tmp_path / "page.html").write_text(html(crowded()).replace("</head>", f"{MEASURE}</head>"))
    outer = f"""<body style="margin:0"><iframe src="page.html" width="{width}" height="12000" style="border:0"
        onload="setTimeout(() => {{ const b = this.contentDocument.body; for (const k of ['scroll', 'client', 'cut'])
        document.body.dataset[k] = b.dataset[k]; }}, 300)"></iframe></body>"""
    (tmp_path / "frame.html").write_text(outer)
    command = [browser(), "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"]
    command += [
        f"--user-data-dir={tmp_path / 'profile'}",
        "--virtual-time-budget=5000",
        f"--window-size={width + 20},12100",
    ]
    shot = [f"--screenshot={tmp_path / f'page-{width}.png'}"]
    address = f"file://{tmp_path / 'frame.html'}"

    dumped = subprocess.run([*command, "--dump-dom", address], capture_output=True, text=True, timeout=90, check=True)
    subprocess.run([*command, *shot, address], capture_output=True, timeout=90, check=True)

    widths = Widths()
    widths.feed(dumped.stdout)
    scroll, client, cut = widths.found
    assert (client, cut) == (str(width), "")
    assert int(scroll) <= width
    assert (tmp_path / f"page-{width}.png").stat().st_size > 10_000


def test_what_hosts_say_is_escaped() -> None:
    judged = night()
    row = {**judged.tables["changes"][0], "host": "<script>alert(1)</script>", "reason": '"><img src=x onerror=y>'}

    text = html(judged._replace(tables={**judged.tables, "changes": [row]}))

    assert "<script" not in text
    assert "<img src=x" not in text


def test_a_finding_links_to_the_page_of_its_host() -> None:
    text = html(night(), "https://ops.example.org/smoke/")

    assert f'href="https://ops.example.org/smoke/{page_paths.host_page("prod-a", "kafka-a03")}"' in text
    assert "<a " not in html(night())


@pytest.mark.parametrize(
    ("hosts", "folded"),
    [
        (["kafka-a03", "kafka-a01", "kafka-a02"], "kafka-a[01-03]"),
        (["kafka-a01", "kafka-a03"], "kafka-a[01,03]"),
        (["a9", "a10"], "a10, a9"),
        (["a1.dc", "a2.dc", "b"], "a[1-2].dc, b"),
        (["zk"], "zk"),
    ],
)
def test_hosts_are_folded_into_ranges(hosts: list[str], folded: str) -> None:
    assert table_lines.fold(hosts) == folded


def test_a_list_of_hosts_that_is_cut_begins_with_their_number() -> None:
    rows = [{"cluster": f"prod-{n % 3}", "host": f"kafka-{n * 2:05d}"} for n in range(300)]

    assert table_lines.places(rows).startswith("300 hosts in 3 clusters: prod-0 kafka-[00000,00006,")
    assert table_lines.places(rows[::3]).startswith("100 hosts: prod-0 kafka-[")
    assert len(table_lines.places(rows)) == 120
    assert table_lines.places(rows[:2]) == "prod-0 kafka-00000; prod-1 kafka-00002"


def test_long_lists_say_how_many_were_left_out() -> None:
    said = night_digest.digest(crowded())
    (today,) = said.first

    assert (len(today.lines), today.more) == (night_digest.LINES_OF_SECTION, 42 - night_digest.LINES_OF_SECTION)
    assert "and 32 more: smoke report changes" in plain_text.text(said)


def of(judged: Night, *changes: dict[str, Any]) -> Night:
    first = judged.tables["changes"][0]
    return judged._replace(tables={**judged.tables, "changes": [{**first, **change} for change in changes]})


def test_what_loses_data_comes_before_what_costs_redundancy_a_failing_disk_and_a_clock() -> None:
    judged = of(
        night(),
        {"host": "kafka-a01", "check_name": "clock", "reason": "no server"},
        {"host": "kafka-a02", "check_name": "smart", "reason": "predicts its failure"},
        {"host": "kafka-z99", "check_name": "mounts", "reason": "read-only", "change": "ongoing", "age_days": 9},
        {"host": "kafka-a03", "check_name": "power", "reason": "PS1 failed"},
    )

    (today,) = night_digest.digest(judged).first

    assert [line.where for line in today.lines] == [f"prod-a kafka-{name}" for name in ("z99", "a03", "a02", "a01")]
    assert [line.consequence for line in today.lines] == [
        "data at risk", "redundancy lost", "hardware about to fail", "service affected"]  # fmt: skip
    assert night_digest.digest(judged).headline.startswith("Data at risk: prod-a kafka-z99 (mounts /kafka/d3). ")


def test_no_control_character_of_a_host_reaches_subject_headline_or_text() -> None:
    evil = "\x1b[2J\x9b31m\r\n" + "i" * 500

    said = night_digest.digest(of(night(), {"host": evil, "cluster": evil, "item": evil, "reason": evil}))

    for words in (said.subject, said.headline, plain_text.text(said).replace("\n", "")):
        assert words.isprintable()
    assert len(said.headline) < 300


def test_a_setting_is_one_row_at_the_end_however_many_hosts_have_it() -> None:
    changes = [
        {"host": f"kafka-{n:04d}", "check_name": "swappiness", "reason": f"is {n}", "status": "warning"}
        for n in range(1, 3001)
    ]

    said = night_digest.digest(of(night(), *changes))

    assert [section.name for section in said.sections] == ["settings"]
    (line,) = said.sections[0].lines
    assert (line.where, line.text) == ("prod-a kafka-[0001-3000]", "is 1 to 3000 (3000 hosts)")
    assert said.headline.startswith("Nothing to do today. ")


@pytest.mark.parametrize(
    ("reasons", "together"),
    [
        (["load 6.4 per CPU", "load 12 per CPU"], "load 6.4 to 12 per CPU (2 hosts)"),
        (["PS2 lost AC 02:58Z", "PS2 lost AC 03:12Z"], "PS2 lost AC 02:58Z (2 hosts)"),
        (["10.0.0.1 is slow", "10.0.0.2 is slow"], "10.0.0.1 is slow (2 hosts)"),
        (["3 of 10, 5 %", "4 of 10, 7 %"], "3 to 4 of 10, 5 to 7 % (2 hosts)"),
    ],
)
def test_hosts_that_differ_in_numbers_are_one_row_with_a_range(reasons: list[str], together: str) -> None:
    said = night_digest.digest(of(night(), *({"host": f"k{n}", "reason": reason} for n, reason in enumerate(reasons))))

    assert [line.text for section in said.sections for line in section.lines] == [together]


def test_findings_of_two_clusters_keep_their_numbers() -> None:
    row = {**night().tables["changes"][0], "check_name": "partitions", "item": "offline"}
    rows = [{**row, "cluster": name, "reason": f"{count} offline"} for name, count in (("a", 3), ("b", 17))]
    for one in rows:
        del one["host"]

    said = night_digest.digest(night()._replace(tables={**night().tables, "changes": [], "cluster_changes": rows}))

    assert [(line.where, line.text) for line in said.first[0].lines] == [
        ("cluster a", "3 offline"), ("cluster b", "17 offline")]  # fmt: skip


def test_the_numbers_of_the_subject_are_those_of_the_table() -> None:
    judged = night()
    row = judged.tables["cluster_health"][0]
    clusters = [
        {**row, "cluster": f"c{n:02d}", "hosts": 5, "critical_hosts": n % 2, "silent_hosts": 1, "ok_hosts": 4 - n % 2}
        for n in range(30)
    ]

    said = night_digest.digest(judged._replace(tables={**judged.tables, "cluster_health": clusters}))
    text = plain_text.text(said)

    assert said.subject == "[smoke] 2026-11-19: DATA AT RISK, 15 critical, 30 silent of 150 hosts"
    assert re.search(r"^all +150 +15 +0 +0 +30 +105$", text, re.MULTILINE)
    assert (len(said.clusters), said.quiet) == (10, 20)
    assert "and 20 clusters without changes" in text


def test_a_night_of_ten_thousand_troubled_hosts_fits_into_a_mail() -> None:
    judged = night()
    health = judged.tables["cluster_health"][0]
    checks = ("mounts", "smart", "raid", "power", "clock", "swappiness", "nic_link", "kafka_config", "cpu", "drift")
    changes = [
        {
            "host": f"kafka-{n * 7 % 10_000:05d}.a-very-long-domain.dc{n % 3}.example.org",
            "cluster": f"prod-{n % 40:02d}",
            "check_name": checks[n % len(checks)],
            "item": f"item-{n}",
            "change": ("new", "worse", "ongoing", "resolved", "unseen")[n // 10 % 5],
            "status": ("critical", "warning", "unknown")[n // 50 % 3],
            "reason": f"{'reads ' * (n % 60)}{WIDE} on {chr(97 + n % 26)} since {n} s",
        }
        for n in range(10_000)
    ]
    clusters = [{**health, "cluster": f"prod-{n:02d}", "hosts": 250, "critical_hosts": 250} for n in range(40)]
    silent = [
        {"cluster": "prod-01", "host": f"zk-{n}", "last_day": judged.day - n % 9, "reason": f"timed out {n}"}
        for n in range(800)
    ]
    judged = of(judged, *changes)
    judged = judged._replace(tables={**judged.tables, "cluster_health": clusters, "silent_hosts": silent})
    crowd = crowded().tables
    judged = judged._replace(tables={**judged.tables, "disk_trends": crowd["disk_trends"] * 20})

    said = night_digest.digest(judged)
    whole = html_page.html(said, [], html_page.by_cid, "https://ops.example.org/smoke")

    text = plain_text.text(said, "https://ops.example.org/smoke")

    assert len(whole.encode()) < 90_000
    assert len(text.encode()) < 90_000
    words = [word for line in text.splitlines() if len(line) > 80 for word in line.split()]
    assert all(len(word) > 60 or word in ("and", "more") for word in words), "only a word that is longer than a line"
    assert max(len(line.where) for section in said.sections for line in section.lines) <= 120
    assert said.first[0].name == "today"
    assert len(said.first[0].lines) == 10


def test_the_table_of_clusters_can_be_read_aloud() -> None:
    text = html(night())

    assert '<th scope="col">critical</th>' in text
    assert '<th scope="row">prod-a</th>' in text
    assert "<caption>Hosts by health</caption>" in text


def test_the_page_has_colours_for_the_dark() -> None:
    text = html(night())

    assert '<meta name="color-scheme" content="light dark">' in text
    assert "@media (prefers-color-scheme:dark)" in text


def test_settings_are_the_last_section_of_a_mail() -> None:
    judged = of(night(), {"host": "k1", "check_name": "swappiness", "status": "warning"}, {"host": "k2"})
    failing = {
        "check_name": "mounts",
        "hosts": 2,
        "clusters": 0,
        "criticals": 2,
        "unknowns": 0,
        "warnings": 0,
        "item_days": 3,
    }
    judged = judged._replace(aside=[reports.Aside("x.jsonl", "cut short")],
                             tables={**judged.tables, "failing_checks": [failing]})  # fmt: skip

    said = night_digest.digest(judged, ["2026-11-18: not delivered to a@b: busy"])

    assert [section.name for section in said.sections] == [
        "today",
        "failing_checks",
        "aside",
        "undelivered",
        "settings",
    ]


def test_the_plain_text_stays_within_80_columns() -> None:
    assert [line for line in plain_text.text(night_digest.digest(night())).splitlines() if len(line) > 80] == []


def test_a_playbook_stands_on_one_line_with_its_arrow() -> None:
    judged = night()
    words = [{**judged.tables["changes"][0], "reason": "w" * length} for length in range(30, 75)]

    nights = [{**judged.tables, "changes": [word]} for word in words]
    text = "".join(plain_text.text(night_digest.digest(judged._replace(tables=tables))) for tables in nights)

    assert text.count("> hidden-readonly\n") == len(words)


def test_what_is_resolved_is_not_shown_as_a_problem() -> None:
    judged = night()
    row = {**judged.tables["changes"][0], "change": "resolved"}

    (resolved,) = night_digest.digest(judged._replace(tables={**judged.tables, "changes": [row]})).sections

    assert (resolved.name, resolved.lines[0].level, resolved.lines[0].todo) == ("resolved", "", "")
    assert resolved.lines[0].text.startswith("was critical: create fails")
