"""The pages of smoke nightly --site: small, safe, whole, and readable in a real browser."""

from __future__ import annotations

import html
import json
import multiprocessing
import os
import re
import subprocess
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from bench import fleet_store
from fleet import nightly
from fleet.digest import night_digest, page_paths
from fleet.mail import message
from fleet.nights.night import Night
from fleet.render import charts, html_page
from fleet.site import folder, history, pages
from fleet.store import reports
from fleet.store.files import LocalFiles
from tests.fleet import duckdb_reference
from tests.fleet.history import NIGHT
from tests.fleet.render.test_html_page import browser

pytest.importorskip("duckdb")
HOSTS = 60
DAY = reports.number_of(NIGHT)
EVIL = "../../../etc/<script>alert(1)</script>\"'&\x1b[2J\n\u202e" + "x" * 150
Site = dict[str, str]


class Made:
    """A store of 60 hosts and 30 days, its night by DuckDB, and the pages of it."""

    def __init__(self, store: Path) -> None:
        self.store = store
        fleet_store.write(store, HOSTS, NIGHT)
        tables = duckdb_reference.tables_by_duckdb(str(store), NIGHT)
        whole = {
            name: [{key: _whole(value) for key, value in row.items()} for row in rows] for name, rows in tables.items()
        }
        self.night = Night(NIGHT, whole, [], [], 30, 1)
        self.site = self.pages(self.night)

    def pages(self, night: Night) -> Site:
        past = history.History(LocalFiles(str(self.store)), night.day)
        try:
            made = dict(pages.pages(night, night_digest.digest(night), [], past))
        finally:
            past.close()
        return {path: content.decode() for path, content in made.items()}


def _whole(value: Any) -> Any:
    """Spark gives whole numbers where DuckDB's peer gives floats."""
    return int(value) if isinstance(value, float) and value == int(value) else value


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Made(tmp_path_factory.mktemp("store"))


class Read(HTMLParser):
    """What a browser and a screen reader are given."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "a":
            self.links.append(str(dict(attrs)["href"]))


def host_of(made: Made, table: str) -> tuple[str, str]:
    row = made.night.tables[table][0]
    return row["cluster"], row["host"]


def test_there_is_a_page_for_the_fleet_each_cluster_host_and_model(made: Made) -> None:
    tables = made.night.tables
    wanted = {page_paths.FLEET, page_paths.CLUSTERS, page_paths.DISKS, page_paths.MODELS, "style.css"}
    wanted |= {page_paths.cluster_page(row["cluster"]) for row in tables["cluster_health"]}
    wanted |= {page_paths.host_page(row["cluster"], row["host"]) for row in tables["host_health"]}
    wanted |= {page_paths.model_page(row["model"]) for row in tables["failure_rates"]}

    wanted |= {page_paths.FINDINGS, page_paths.SILENT, page_paths.SUMMARIES}

    assert {path for path in made.site if not re.match(r"findings/(?!index|silent)", path)} == wanted


def test_a_finding_of_several_hosts_has_a_page_with_every_one_of_them(made: Made) -> None:
    shared = [
        rows
        for rows in night_digest.causes(made.night, *night_digest.STANDING)
        if len({row["host"] for row in rows}) > 1
    ]

    assert shared
    for rows in shared:
        assert all(f">{row['host']}</a>" in made.site[night_digest.page_of(rows)] for row in rows)
    silent = re.findall(r">(kafka-\d+)</a>", made.site[page_paths.SILENT])
    assert set(silent) == {row["host"] for row in made.night.tables["silent_hosts"]}


def test_the_list_of_findings_names_every_cause(made: Made) -> None:
    whole = [night_digest.line(rows) for rows in night_digest.causes(made.night, *night_digest.STANDING)]

    assert len(whole) > 10
    assert all(html.escape(line.what) in made.site[page_paths.FINDINGS] for line in whole)


def test_every_link_leads_to_a_page(made: Made) -> None:
    for path, text in made.site.items():
        for link in Read(text).links:
            if link != "#content":
                assert os.path.normpath(os.path.join(os.path.dirname(path), link)) in made.site, (path, link)


def test_every_link_of_the_mail_leads_to_a_page(made: Made) -> None:
    settings = message.Settings("h", ("a@b",), "c@d", link="https://ops.example.org/smoke/")
    letter = message.letter(night_digest.digest(made.night), [], settings, "id")
    body = letter.get_body(("html",))
    assert body

    links = [link for link in Read(body.get_content()).links if link.startswith("https:")]

    assert len(links) > 5
    assert all(link.removeprefix("https://ops.example.org/smoke/") in made.site for link in links)


def test_a_host_s_page_has_its_history_findings_and_disks_with_their_counters(made: Made) -> None:
    worn = next(row for row in made.night.tables["disk_trends"] if row["metric"] == "reallocated")
    text = made.site[page_paths.host_page(worn["cluster"], worn["host"])]

    assert re.search(r"90 days up to 2026-11-19: [^.]*\d+ without a report\.", text)
    assert f"{worn['item']}<br>" in text
    assert re.search(rf"reallocated sectors \d+ to {worn['value']:g}, since 2026-\d\d-\d\d<svg", text)
    host = {row["item"] for row in made.night.tables["changes"] if row["host"] == worn["host"]}
    assert all(item in text for item in host)


def test_disks_by_risk_begin_with_those_that_fail(made: Made) -> None:
    past = history.History(LocalFiles(str(made.store)), DAY)
    ailing = past.ailing()
    past.close()
    order = re.findall(r'<th scope="row">(\w+)<br>', made.site[page_paths.DISKS])
    trends = sorted(made.night.tables["disk_trends"], key=lambda row: float(row["days_left"]))

    assert set(order) == {row["item"] for row in ailing} | {row["item"] for row in trends}
    critical = {row["item"] for row in ailing if row["status"] == "critical"}
    assert critical and set(order[: len(critical)]) == critical
    assert next(item for item in order if item in {row["item"] for row in trends} - critical) == next(
        row["item"] for row in trends if row["item"] not in critical
    )


def hostile(made: Made) -> Night:
    """Every name and word that a host can say, and many of them."""
    tables = made.night.tables
    worst = {
        name: [
            {key: f"{EVIL}{number}" if isinstance(value, str) and key not in
             ("change", "status", "health", "metric", "level", "operation", "kind") else value
             for key, value in row.items()}
            for number in range(300) for row in rows[:1]
        ]
        for name, rows in tables.items()
    }  # fmt: skip
    worst["changes"] = [{**row, "cluster": "c", "host": "h"} for row in worst["changes"]]
    return made.night._replace(tables={**worst, "health_days": tables["health_days"]})


def test_what_hosts_say_is_escaped_bounded_and_never_a_path(made: Made) -> None:
    site = made.pages(hostile(made))

    assert len(site) > 600
    for path, text in site.items():
        assert folder.PATH.fullmatch(path) and ".." not in path, path
        assert len(text.encode()) < 300_000, path
        assert "<script" not in text, path
        assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", text), path


def test_no_page_is_larger_than_300_kb_with_ten_thousand_hosts_in_one_cluster(made: Made) -> None:
    row = made.night.tables["host_health"][0]
    hosts = [{**row, "cluster": "c", "host": f"kafka-{n:05d}.{'x' * 180}"} for n in range(10_000)]
    health = {**made.night.tables["cluster_health"][0], "cluster": "c", "hosts": 10_000}
    tables = {**made.night.tables, "host_health": hosts, "cluster_health": [health]}
    night = made.night._replace(tables=tables)
    past = history.History(LocalFiles(str(made.store)), DAY)
    lists = pages._Pages(night, night_digest.digest(night), past)

    found = dict(lists.clusters())
    past.close()

    assert len(found) == 1 + 10_000 // pages.ROWS_OF_PAGE
    assert max(map(len, found.values())) < 300_000
    linked = {os.path.basename(link) for content in found.values() for link in Read(content.decode()).links}
    assert {os.path.basename(page_paths.host_page("c", host["host"])) for host in hosts} <= linked
    assert {os.path.basename(path) for path in found} <= linked


def test_a_screen_reader_is_told_what_is_what(made: Made) -> None:
    for path, text in made.site.items():
        if not path.endswith(".html"):
            continue
        tags = Read(text).tags
        names = [tag for tag, _said in tags]
        assert ("html", {"lang": "en"}) in tags
        assert names.count("title") == names.count("h1") == names.count("main") == 1, path
        assert all(said.get("scope") in ("col", "row") for tag, said in tags if tag == "th"), path
        assert all(said.get("alt") for tag, said in tags if tag == "img")
        assert all(said.get("aria-label") or said.get("aria-hidden") for tag, said in tags if tag == "svg")
        assert all(said.get("aria-label") for tag, said in tags if tag == "nav")
        assert "script" not in names
        levels = [int(name[1]) for name in names if re.fullmatch("h[1-6]", name)]
        assert all(after <= before + 1 for before, after in zip(levels, levels[1:], strict=False))


def write(target: Path, *, body: str = "new", hosts: int = 3) -> int:
    page_of = {f"hosts/h{n}.html": body for n in range(hosts)} | {"index.html": body, "style.css": ""}
    return folder.write(str(target), ((path, text.encode()) for path, text in page_of.items()))


def test_pages_of_hosts_that_are_gone_are_gone(tmp_path: Path) -> None:
    write(tmp_path, hosts=5)
    write(tmp_path, hosts=2)

    assert sorted(os.listdir(tmp_path / "hosts")) == ["h0.html", "h1.html"]
    assert len([name for name in os.listdir(tmp_path) if name.startswith("pages-")]) == 1


def test_what_else_lies_in_the_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_text("mine")
    (tmp_path / "pages-of-mine").mkdir()

    write(tmp_path)

    assert (tmp_path / "robots.txt").read_text() == "mine"
    assert (tmp_path / "pages-of-mine").is_dir()


@pytest.mark.parametrize("name", ["index.html", "hosts", "current"])
def test_a_folder_with_a_page_of_somebody_else_is_refused_untouched(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")

    with pytest.raises(folder.NotWritten, match="--site requires a folder of its own"):
        write(tmp_path)
    assert os.listdir(tmp_path) == [name]


def test_a_folder_that_is_a_file_or_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(folder.NotWritten, match="file is no folder"):
        write(tmp_path / "file")
    with pytest.raises(folder.NotWritten, match="Not a directory"):
        write(tmp_path / "file" / "below")


@pytest.mark.parametrize("path", ["../x.html", "/etc/x", "hosts/../../x", "a/b/c.html", "hosts/.x", "", "hosts/x\n"])
def test_no_path_leads_out_of_the_folder(tmp_path: Path, path: str) -> None:
    write(tmp_path / "site", body="old")

    with pytest.raises(folder.NotWritten, match="no path of a page"):
        folder.write(str(tmp_path / "site"), [(path, b"x")])
    assert (tmp_path / "site/index.html").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["site"]


def test_pages_that_fail_half_way_leave_those_of_before(tmp_path: Path) -> None:
    def half() -> Iterator[tuple[str, bytes]]:
        yield "index.html", b"new"
        raise OSError(28, "No space left on device")

    write(tmp_path, body="old")

    with pytest.raises(folder.NotWritten, match="No space left on device"):
        folder.write(str(tmp_path), half())
    assert (tmp_path / "index.html").read_text() == "old"
    assert len([name for name in os.listdir(tmp_path) if name.startswith("pages-")]) == 1


def _for_ever(target: str) -> None:
    while True:
        body = f"{time.monotonic_ns()}"
        folder.write(target, [(f"hosts/h{n}.html", body.encode()) for n in range(40)] + [("index.html", body.encode())])


def _looks(site: Path, seconds: float) -> int:
    """How many looks saw one whole site; one during which the pages were replaced does not count."""
    looks, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        shown = os.readlink(site / "current")
        try:
            names, front = os.listdir(site / "hosts"), (site / "index.html").read_text()
        except FileNotFoundError:
            names, front = [], ""
        if shown == os.readlink(site / "current"):
            assert len(names) == 40 and front
            looks += 1
    return looks


def test_a_reader_never_sees_half_a_site_also_when_the_writer_is_killed(tmp_path: Path) -> None:
    """One look: everything is read while `current` names the same folder."""
    site = tmp_path / "site"
    write(site, hosts=40)
    looks = 0
    for _ in range(4):
        writer = multiprocessing.get_context("spawn").Process(target=_for_ever, args=(str(site),))
        writer.start()
        try:
            looks += _looks(site, seconds=2)
        finally:
            writer.kill()
            writer.join()
        bodies = {(site / "hosts" / name).read_text() for name in os.listdir(site / "hosts")}
        assert bodies == {(site / "index.html").read_text()}
    write(site)

    assert looks > 100
    assert len([name for name in os.listdir(site) if "pages-" in name]) == 1


def test_two_jobs_do_not_write_the_same_pages_at_once(tmp_path: Path) -> None:
    write(tmp_path)

    with folder._alone(str(tmp_path)), pytest.raises(folder.NotWritten, match="another job is writing"):
        write(tmp_path)


def test_a_night_without_room_for_pages_still_says_its_summary(made: Made, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("mine")
    wanted = nightly.Wanted(str(made.store), NIGHT, site=str(tmp_path))

    done = nightly.deliver(LocalFiles(str(made.store)), made.night, wanted, None, lambda _words: None)

    assert "--site requires a folder of its own" in done.no_pages
    assert done.subject in done.summary


# Runs in the browser only: how wide the page is, what sticks out, and which words can hardly be read (WCAG AA, 4.5:1).
MEASURE = """<script>addEventListener("load", () => {
  const root = document.documentElement, body = document.body;
  const out = [...document.querySelectorAll("*")].filter(e => !e.closest(".skip") &&
    e.getBoundingClientRect().right > root.clientWidth + 1).map(e => e.tagName);
  const parse = c => c.match(/[0-9.]+/g).map(Number);
  const light = c => { const v = parse(c).slice(0, 3).map(x => x / 255).map(x => x <= .03928 ? x / 12.92 :
    ((x + .055) / 1.055) ** 2.4); return .2126 * v[0] + .7152 * v[1] + .0722 * v[2]; };
  const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
    const p = parse(c); if (p.length < 4 || p[3] > 0) return c; } return "rgb(255, 255, 255)"; };
  const faint = [...document.querySelectorAll("main *, nav *, p")].filter(e =>
    [...e.childNodes].some(n => n.nodeType == 3 && n.data.trim()) && !e.closest("details:not([open]) > :not(summary)"))
    .map(e => { const a = light(getComputedStyle(e).color), b = light(behind(e));
      return [(Math.max(a, b) + .05) / (Math.min(a, b) + .05), e]; })
    .filter(([r]) => r < 4.5).map(([r, e]) => r.toFixed(1) + " " + e.className + " " + e.textContent.slice(0, 20));
  parent.postMessage({scroll: root.scrollWidth, client: root.clientWidth, out, faint: [...new Set(faint)],
    styled: getComputedStyle(document.querySelector(".page")).maxWidth,
    background: getComputedStyle(document.querySelector(".page")).backgroundColor}, "*");
});</script>"""
LINE = re.compile(r"<pre>(.*)</pre>", re.DOTALL)


# One page after the other in a frame of the wanted width: headless, Chromium has no window narrower than 500.
FRAME = """<body><pre></pre><script>
const names = NAMES, frame = document.createElement("iframe");
frame.width = WIDTH; frame.height = 4000; document.body.append(frame);
const next = () => { if (names.length) frame.src = names.shift(); };
addEventListener("message", e => { document.querySelector("pre").append(JSON.stringify(e.data) + "\\n"); next(); });
next();</script>"""
BACKGROUND = {"light": "rgb(255, 255, 255)", "dark": "rgb(29, 29, 27)"}


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (390, "dark"), (1280, "light")])
def test_every_kind_of_page_can_be_read_at_phone_and_desk_width(
    made: Made, tmp_path: Path, width: int, scheme: str
) -> None:
    """In real Chromium: nothing is cut, nothing scrolls sideways, no words are too faint; also with hostile names."""
    cluster = made.night.tables["cluster_health"][0]["cluster"]
    model = made.night.tables["failure_rates"][0]["model"]
    of_host = page_paths.host_page(*host_of(made, "disk_trends"))
    lists = [
        page_paths.FLEET,
        page_paths.CLUSTERS,
        page_paths.SUMMARIES,
        page_paths.FINDINGS,
        page_paths.SILENT,
        page_paths.DISKS,
        page_paths.MODELS,
    ]
    shown = [
        made.site[path] for path in [*lists, of_host, page_paths.cluster_page(cluster), page_paths.model_page(model)]
    ]
    evil = made.pages(hostile(made))
    evil_name = hostile(made).tables["host_health"][7]
    shown += [evil[path] for path in (*lists, page_paths.host_page(evil_name["cluster"], evil_name["host"]))]
    (tmp_path / "style.css").write_text(made.site["style.css"])
    names = [f"{number}.html" for number in range(len(shown))]
    for text, name in zip(shown, names, strict=True):
        # the measuring script is ours: the page itself allows none
        bare = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text).replace(
            "../style.css", "style.css"
        )
        (tmp_path / name).write_text(bare.replace("</head>", f"{MEASURE}</head>"))
    frame = FRAME.replace("NAMES", json.dumps(names)).replace("WIDTH", str(width))
    (tmp_path / "frame.html").write_text(frame)
    colours = f"--blink-settings=preferredColorScheme={0 if scheme == 'dark' else 1}"
    command = [browser(), "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", colours,
               f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=60000", "--window-size=1400,1200",
               "--dump-dom", f"file://{tmp_path / 'frame.html'}"]  # fmt: skip

    dumped = subprocess.run(command, capture_output=True, text=True, timeout=110, check=True).stdout

    found = LINE.search(dumped)
    assert found
    measured = [json.loads(line) for line in html.unescape(found[1]).splitlines()]
    assert len(measured) == len(shown)
    for seen in measured:
        assert (seen["styled"], seen["background"]) == ("980px", BACKGROUND[scheme])
        assert (seen["out"], seen["faint"]) == ([], []), seen
        assert seen["scroll"] <= seen["client"]


@pytest.mark.slow
def test_the_page_s_own_policy_lets_its_style_and_pictures_through(made: Made, tmp_path: Path) -> None:
    """From a file, as from a server: the policy must not cost the style."""
    with_charts = charts.charts(made.night)
    past = history.History(LocalFiles(str(made.store)), DAY)
    folder.write(str(tmp_path / "site"), pages.pages(made.night, night_digest.digest(made.night), with_charts, past))
    past.close()
    command = [browser(), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
               "--enable-logging=stderr", "--v=0", "--dump-dom", f"file://{tmp_path / 'site/index.html'}"]  # fmt: skip

    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=True)

    assert "Refused to" not in done.stderr and "violates" not in done.stderr
    assert html_page.inside(with_charts[0]).startswith("data:image/png")
