"""A host that lies, or was taken over, spoils its own row and nothing else, in every format."""

from __future__ import annotations

import json
import pathlib
import re
from collections.abc import Iterable
from typing import Any
from xml.etree import ElementTree

import pytest

from inventory.model import Host
from smoketests import belief, show
from smoketests.fanout import HostReport
from smoketests.hearing import Heard
from smoketests.show.fold import MOST_ROWS_OF_A_HOST
from smoketests.store import Keeping
from tests.many_hosts import host_report, survey, swappiness
from tests.records import AT, finding

ESCAPES = "\x1b[2J\x1b[31m\x07\r\n\u202e\x9b\x00"
HTML = "<script>alert(1)</script>]]>&amp;"
PATH = "../../../../etc/passwd"
LIAR = Host("kafka-a02", cluster="prod-a", roles=("broker",), rack="r7")
HEADER = {"schema": 1, "kind": "header", "host": "kafka-a02", "at": AT, "guessed": [], "previous_at": ""}
LAST = finding(check="agent", item="state")


def rows(*findings: Any) -> list[str]:
    return [text if isinstance(text, str) else json.dumps(text) for text in [HEADER, *findings, LAST]]


def lie(**fields: Any) -> dict[str, Any]:
    return finding("critical", reason="a lie", **fields)


def evil(words: str) -> dict[str, Any]:
    return finding("critical", item=words, reason=words, facts={words: words}, run_id=words, cluster=words, role=words)


LIES: dict[str, list[str]] = {
    "escape sequences": rows(evil(ESCAPES)),
    "markup": rows(evil(HTML)),
    "a path": rows(evil(PATH), finding("critical", check=PATH), finding("critical", playbook=PATH)),
    "another host's name": rows(lie(host="kafka-a01"), {**HEADER, "host": "kafka-a01"}),
    "another cluster's name": rows(lie(cluster="prod-b")),
    "a wrong schema": [json.dumps({**HEADER, "schema": 2}), json.dumps({**finding(), "schema": 2})],
    "a wrong kind": rows({**finding(), "facts": []}, {**finding(), "status": "fine"}, {**finding(), "reason": None}),
    "no JSON": ["{" * 60_000, "{half", "[]", ""],
    "numbers that are none": rows(
        finding("warning", facts={"huge": 10**400, "big": 1e308, "true": True}, duration_ms=10**400),
        '{"schema":1,"status":NaN}',
        finding("warning", duration_ms=-5),
        finding("warning", item="i", facts={"nan": 1e999}),
    ),
    "the same item again and again": rows(*[finding("critical", reason=f"reason {n}") for n in range(30)]),
    # so many of a million come through the cap on output
    "a million findings": rows(*[finding("critical", item=f"i{n}", reason=f"r{n}") for n in range(7_000)]),
    "times that are none": rows(lie(at="9999", first_seen="x" * 1000)),
    "halves of surrogate pairs": rows('{"schema":1,' + json.dumps(evil("\\ud800"))[1:].replace("\\\\ud800", "\\ud800")),
    "deep nesting": rows('{"a":' * 5000, {**finding(), "facts": {"a": [[[[["x"]]]]]}}),
}


def told(lines: Iterable[str]) -> HostReport:
    """What the fan-out makes of these lines of the host."""
    heard = Heard(list(lines), [], 0)
    kept = belief.believed(LIAR, heard.lines, "r1", AT)
    kind, verdict = belief.reach(heard, kept, 0.1)
    return HostReport(LIAR, kept.report, kept.lines, verdict, 0.1, kind)


def run(lie: HostReport, keeper: Keeping | None = None) -> Any:
    honest = [host_report("kafka-a01", swappiness(), finding()), host_report("kafka-a03", finding("critical"))]
    return survey([honest[0], lie, honest[1]], keeper=keeper)


def about_others(name: str, shown: str) -> list[str]:
    """What a format says that is not about the liar."""
    if name == "junit":
        suites = [suite for suite in ElementTree.fromstring(shown) if suite.attrib["name"] != LIAR.name]
        return [re.sub(' time="[^"]*"', "", ElementTree.tostring(suite, encoding="unicode")) for suite in suites]
    if name == "json":
        document = json.loads(shown)
        return [json.dumps({**row, "duration_ms": 0}) for row in document["findings"] if row["host"] != LIAR.name]
    if name == "table":  # the summary before and the totals behind it count the liar too
        blocks = re.split(r"\n(?=[A-Z]{2})", shown.split("\n\n")[1])
        return [" ".join(block.split()) for block in blocks if LIAR.name not in block]
    own = ("SMOKE", "smoke_duration")
    return [line for line in shown.splitlines() if LIAR.name not in line and not line.startswith(own)]


@pytest.mark.parametrize("name", show.OF_MANY)
@pytest.mark.parametrize("lie", LIES)
def test_a_lie_changes_only_the_liars_own_row(name: str, lie: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    shown = "\n".join(show.many(name, run(told(LIES[lie]))))
    honest = "\n".join(show.many(name, run(host_report(LIAR, finding(), LAST))))

    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", shown)
    assert sorted(about_others(name, honest)) == sorted(about_others(name, shown))


@pytest.mark.parametrize("lie", LIES)
def test_no_lie_is_taken_for_health(lie: str) -> None:
    seen = run(told(LIES[lie]))
    of_liar = [problem for problem in seen.problems if problem["host"] == LIAR.name]

    assert of_liar
    assert {problem["cluster"] for problem in seen.problems} == {"prod-a"}


@pytest.mark.parametrize("lie", LIES)
def test_no_lie_becomes_a_path_or_another_hosts_line_of_the_store(lie: str, tmp_path: pathlib.Path) -> None:
    keeper = Keeping(str(tmp_path / "results"), "r1", AT)
    run(told(LIES[lie]), keeper)
    keeper.end()

    (kept,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert kept.relative_to(tmp_path).as_posix() == "results/date=2026-11-20/031200-r1.jsonl"
    stored = [json.loads(line) for line in kept.read_text().splitlines()]
    assert {row["host"] for row in stored} == {"kafka-a01", "kafka-a02", "kafka-a03"}
    assert {row["run_id"] for row in stored} == {"r1"}
    assert len([row for row in stored if row["host"] == "kafka-a01"]) == 4


def test_a_flood_leaves_the_others_in_sight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = list(show.many("table", run(told(LIES["a million findings"]))))

    assert len(shown) < MOST_ROWS_OF_A_HOST + 40
    assert any("kafka-a03" in line for line in shown)
