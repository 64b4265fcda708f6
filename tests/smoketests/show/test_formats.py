"""What people and programs are shown: worst first, nothing hidden, nothing of a host's words obeyed."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.formats import checkmk, nagios, prometheus
from agent.formats.text import printable
from smoketests import show
from smoketests.show import table
from tests.records import finding, report

HOSTILE = "\x1b[31m\x07<script>alert(1)</script>\r\n../../etc/passwd\u202e|\x00\x9b\ud800"
EVERY_STATUS = [finding(status, item=status, reason=f"it is {status}") for status in ("ok", "warning", "skipped")]
EVERY_STATUS += [finding("critical", item="c", playbook="hidden-readonly"), finding("unknown", item="u")]


@pytest.fixture(autouse=True)
def _eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_the_worst_comes_first_and_the_totals_last() -> None:
    lines = show.render("table", [report(*EVERY_STATUS)]).splitlines()

    assert [line.split()[0] for line in lines if line and line[0].isupper()] == [
        "CRITICAL", "UNKNOWN", "WARNING", "OK", "SKIPPED"]  # fmt: skip
    assert lines[-1] == "kafka-a03: 1 checks, 5 findings: 1 critical, 1 unknown, 1 warning; exit 2"


def test_a_long_reason_wraps_within_eighty_columns_and_loses_nothing() -> None:
    reason = "md0: sdc2 failed and its mirror sdd2 has 8 pending sectors: one failure from data loss " * 3
    shown = show.render("table", [report(finding("critical", reason=reason.strip(), item="md0", playbook="raid"))])

    assert max(map(len, shown.splitlines())) <= 80
    assert " ".join(shown.split()).count("one failure from data loss") == 3
    assert "> raid" in shown


def test_an_item_that_the_reason_does_not_name_leads_it() -> None:
    (row,) = table.rows([finding("warning", item="ZA1BC2", reason="8 pending sectors")])

    assert row[2] == "ZA1BC2: 8 pending sectors"


def test_what_stood_before_this_run_says_since_when() -> None:
    (old,) = table.rows([finding("warning", first_seen="2026-11-19T23:00:00Z")])
    (new,) = table.rows([finding("warning")])

    assert old[2].endswith("(since 2026-11-19T23:00:00Z)")
    assert "since" not in new[2]


def test_the_totals_count_what_is_new_since_the_run_before() -> None:
    seen = report(finding("warning"), finding("critical", first_seen="2026-11-01T00:00:00Z"), finding("ok"),
                  previous_at="2026-11-20T03:07:00Z")  # fmt: skip

    assert "; 1 new since 2026-11-20T03:07:00Z; exit 2" in table.totals(seen)


def test_healthy_items_of_a_check_share_a_line_and_so_do_skips_for_one_reason() -> None:
    healthy = [finding("ok", check="smart", item=f"ZA{number}", reason=f"disk {number}") for number in range(3)]
    skipped = [finding("skipped", check=name, item="-", reason="no BMC") for name in ("power", "cooling")]

    assert list(table.rows([*healthy, *skipped])) == [
        ("ok", "smart", "3 items: ZA0, ZA1, ZA2", ""),
        ("skipped", "cooling", "no BMC (also power)", ""),
    ]


def test_no_colour_away_from_a_terminal() -> None:
    assert "\x1b" not in show.render("table", [report(*EVERY_STATUS)])


@pytest.mark.parametrize("no_color", [False, True])
def test_colour_on_a_terminal_unless_no_color_is_set(monkeypatch: pytest.MonkeyPatch, no_color: bool) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")

    shown = show.render("table", [report(*EVERY_STATUS)])

    assert ("\x1b[1;31m" in shown) is not no_color
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", shown) or not no_color


@pytest.mark.parametrize("name", ["table", "json", "junit"])
def test_only_problems_leaves_rows_out_but_totals_are_of_the_whole(name: str) -> None:
    shown = show.render(name, [report(*EVERY_STATUS)], only_problems=True)

    assert "it is ok" not in shown and "it is skipped" not in shown
    assert {"table": "5 findings", "json": '"ok": 1', "junit": 'tests="5"'}[name] in shown


def test_a_report_without_any_finding_is_unknown_never_ok() -> None:
    assert table.totals(report()).endswith("exit 3")
    assert json.loads(show.render("json", [report()]))["summary"]["exit_code"] == 3


def test_guesses_are_said() -> None:
    assert "guessed role: broker" in show.render(
        "table", [report(finding(), guessed=["role: broker (its process runs)"])]
    )


@pytest.mark.parametrize("name", show.FORMATS)
def test_a_hosts_words_stay_data_in_every_format(name: str) -> None:
    hostile = finding("critical", reason=HOSTILE, item=HOSTILE, playbook=HOSTILE, check=HOSTILE, host=HOSTILE)

    shown = show.render(name, [report(hostile, host=HOSTILE, guessed=[HOSTILE])])

    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", shown)
    if name == "junit":
        case = ElementTree.fromstring(shown).find(".//testcase")
        assert case is not None and "<script>" in case.attrib["name"]


@given(st.text())
def test_printable_is_one_line_without_controls(text: str) -> None:
    shown = printable(text)

    assert shown.isprintable()


def test_json_holds_every_row_and_a_summary() -> None:
    document = json.loads(show.render("json", [report(*EVERY_STATUS)]))

    assert document["findings"] == EVERY_STATUS
    counts = {"critical": 1, "unknown": 1, "warning": 1, "ok": 1, "skipped": 1}
    assert document["summary"] == {"status": "critical", "exit_code": 2, **counts}


def test_junit_counts_and_types_every_outcome() -> None:
    suite = ElementTree.fromstring(show.render("junit", [report(*EVERY_STATUS)])).find("testsuite")

    assert suite is not None
    assert [suite.attrib[name] for name in ("tests", "failures", "errors", "skipped")] == ["5", "2", "1", "1"]
    assert {failure.attrib["type"] for failure in suite.iter("failure")} == {"warning", "critical"}


def test_nagios_leads_with_the_worst_and_counts_behind_the_bar() -> None:
    first, *others = nagios.render([report(*EVERY_STATUS)]).splitlines()

    assert first == (
        "SMOKE CRITICAL - 3 of 5 findings: /kafka/d3 (sdd): create fails with EROFS although mounted rw"
        " | critical=1 unknown=1 warning=1 ok=1 skipped=1"
    )
    assert [line.split()[0] for line in others] == ["CRITICAL", "UNKNOWN", "WARNING"]


def test_nagios_without_any_finding_is_unknown_never_ok() -> None:
    assert nagios.render([report()]).startswith("SMOKE UNKNOWN")


def test_checkmk_gets_one_service_a_check_with_the_worst_of_its_items() -> None:
    rows = [finding("ok", item="a"), finding("critical", item="b", reason="dead"), finding("skipped", check="raid")]

    assert checkmk.render([report(*rows)]) == '2 "Smoke mounts" items=2 b: dead'


def test_prometheus_gives_status_and_numbers_with_escaped_labels() -> None:
    row = finding("warning", item='a"b\\c\nd', facts={"wear_percent": 91, "model": "X", "mirrored": True})

    text = prometheus.render([report(row)])

    labels = r'cluster="prod-a",host="kafka-a03",check="mounts",item="a\"b\\c d"'
    assert f"smoke_status{{{labels}}} 1" in text
    assert f'smoke_fact{{{labels},fact="wear_percent"}} 91' in text
    assert f'smoke_fact{{{labels},fact="mirrored"}} 1' in text
    assert 'smoke_findings{cluster="prod-a",host="kafka-a03",status="warning"} 1' in text
