"""The page in a real browser, at phone and desktop width: nothing is cut, nothing scrolls sideways."""

from __future__ import annotations

import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from fleet import charts, digest, page
from fleet.night import Night
from tests.fleet.test_mail import night

WIDE = "/var/lib/a-very-long-mount-point-without-any-break-" + "x" * 120


def crowded() -> Night:
    """Many findings, with words as long as hosts can make them."""
    judged = night()
    change = judged.tables["changes"][0]
    more = [{**change, "host": f"kafka-{n:03d}", "reason": f"{WIDE} number {n}", "item": WIDE} for n in range(40)]
    trends = [
        {
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
        }
        for n in range(12)
    ]
    usage = [
        {
            "host": "kafka-b12",
            "item": WIDE,
            "used_percent": 81.2,
            "points_per_day": 1.2,
            "days_left": 9,
            "full_day": judged.day + 9,
        }
    ]
    return judged._replace(
        tables={**judged.tables, "changes": [change, *more], "disk_trends": trends, "usage_forecast": usage}
    )


def html(judged: Night, link: str = "") -> str:
    return page.html(digest.digest(judged), charts.charts(judged), page.inside, link)


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


def test_a_finding_links_to_its_stored_report() -> None:
    text = html(night(), "https://ops.example.org/smoke/")

    assert 'href="https://ops.example.org/smoke/date=2026-11-19/030000-r.jsonl"' in text


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
    assert digest.fold(hosts) == folded


def test_long_lists_say_how_many_were_left_out() -> None:
    said = digest.digest(crowded())
    (new,) = [section for section in said.sections if section.name == "new"]

    assert (len(new.lines), new.more) == (digest.LINES_OF_SECTION, 41 - digest.LINES_OF_SECTION)
    assert "and 16 more in the tables" in digest.text(said)


def test_the_plain_text_stays_within_80_columns() -> None:
    assert [line for line in digest.text(digest.digest(night())).splitlines() if len(line) > 80] == []


def test_a_playbook_stands_on_one_line_with_its_arrow() -> None:
    judged = night()
    words = [{**judged.tables["changes"][0], "reason": "w" * length} for length in range(30, 75)]

    text = digest.text(digest.digest(judged._replace(tables={**judged.tables, "changes": words[:25]})))
    text += digest.text(digest.digest(judged._replace(tables={**judged.tables, "changes": words[25:]})))

    assert text.count("> hidden-readonly\n") == len(words)


def test_what_is_resolved_is_not_shown_as_a_problem() -> None:
    judged = night()
    row = {**judged.tables["changes"][0], "change": "resolved"}

    (resolved,) = digest.digest(judged._replace(tables={**judged.tables, "changes": [row]})).sections

    assert (resolved.name, resolved.lines[0].level, resolved.lines[0].todo) == ("resolved", "", "")
    assert resolved.lines[0].text.startswith("was critical: create fails")
