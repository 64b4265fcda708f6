"""What is kept of a host's report: its own records, bounded and typed; and what is said where it is not whole."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from agent.report import FIELDS
from inventory.model import Host
from smoketests.remote import validation
from smoketests.remote.agent_output import MARK, AgentOutput
from tests.records import AT, finding

NOW = "2026-11-20T04:00:00Z"
HOST = Host("kafka-a03", cluster="prod-a", roles=("broker", "zookeeper"), layout="jbod", rack="r7")
HEADER: dict[str, Any] = {"schema": 1, "kind": "header", "host": "kafka-a03", "at": AT}
LAST = finding(check="agent", item="state")


def line(record: Any) -> str:
    return record if isinstance(record, str) else json.dumps(record, separators=(",", ":"))


def kept(*records: Any, host: Host = HOST) -> Any:
    return validation.believed(host, [line(record) for record in records], "r9", NOW)


def stored(*records: Any, host: Host = HOST) -> list[dict[str, Any]]:
    return [json.loads(text) for text in kept(*records, host=host).lines]


def one(**fields: Any) -> dict[str, Any]:
    """What is kept of this finding."""
    (row,) = stored({**finding(), **fields})
    return row


def is_kept(record: Any) -> bool:
    seen = kept(record)
    assert (len(seen.report.findings), len(seen.report.bad_lines)) in ((1, 0), (0, 1))
    assert len(seen.lines) == len(seen.report.findings) == seen.told
    return bool(seen.lines)


def header(**fields: Any) -> dict[str, Any]:
    return dict(kept({**HEADER, **fields}).report.header)


def test_a_whole_report_is_kept_with_its_header_first_and_says_who_the_inventory_says_it_is() -> None:
    seen = kept(finding("warning"), HEADER, LAST)

    assert [json.loads(text) for text in seen.lines] == [seen.report.header, *seen.report.findings]
    assert seen.lines[0].startswith("{") and json.loads(seen.lines[0])["kind"] == "header"
    assert [row["status"] for row in seen.report.findings] == ["warning", "ok"]
    assert (seen.told, seen.complete, seen.foreign_hosts, seen.report.bad_lines) == (2, True, False, [])
    for row in map(json.loads, seen.lines):
        assert {row[name] for name in ("run_id", "cluster", "host", "role", "layout", "rack")} == {
            "r9", "prod-a", "kafka-a03", "broker,zookeeper", "jbod", "r7"}  # fmt: skip


def test_a_report_is_whole_when_the_agents_last_finding_is_the_last() -> None:
    assert kept(finding(), LAST).complete
    assert not kept(finding()).complete
    assert not kept(LAST, finding()).complete
    assert not kept().complete


def test_twenty_bad_lines_are_told_with_their_numbers() -> None:
    bad = kept(finding(), *["no JSON"] * 40).report.bad_lines

    assert [text.partition(":")[0] for text in bad] == [f"line {number}" for number in range(2, 22)]


@pytest.mark.parametrize(
    ("change", "good"),
    [
        ({}, True),
        ({"schema": 2}, False),
        ({"schema": 0}, False),
        ({"schema": True}, False),
        ({"schema": 1.0}, False),
        ({"schema": "1"}, False),
        ({"facts": []}, False),
        ({"facts": None}, False),
        ({"facts": {}}, True),
        ({"duration_ms": 0}, True),
        ({"duration_ms": 0.5}, True),
        ({"duration_ms": 1e9 - 1}, True),
        ({"duration_ms": 1e9}, False),
        ({"duration_ms": -1}, False),
        ({"duration_ms": True}, False),
        ({"duration_ms": "12"}, False),
        ({"status": "fine"}, False),
        ({"status": "critical"}, True),
        ({"check": ""}, False),
        ({"check": "a" * 60}, True),
        ({"check": "a" * 61}, False),
        ({"check": "disk_errors-2"}, True),
        ({"check": "../x"}, False),
        ({"check": "2x"}, False),
        ({"check": "smart\n"}, False),
        ({"playbook": ""}, True),
        ({"playbook": "hidden-readonly"}, True),
        ({"playbook": "../x"}, False),
        *(({name: 7}, False) for name in ("run_id", "at", "cluster", "host", "role", "layout", "rack", "item")),
        *(({name: None}, False) for name in ("reason", "first_seen", "status", "check", "playbook")),
    ],
)
def test_a_finding_of_another_schema_kind_or_name_is_left_out_and_told(change: dict[str, Any], good: bool) -> None:
    assert is_kept({**finding(), **change}) is good


@pytest.mark.parametrize("name", FIELDS)
def test_a_finding_without_one_of_its_fields_is_left_out_and_told(name: str) -> None:
    assert not is_kept({key: value for key, value in finding().items() if key != name})


@pytest.mark.parametrize("text", ["[]", "7", "null", '"x"', "", "{}", "[" * 5000, '{"a":' * 5000])
def test_a_line_that_is_no_record_is_told_and_spoils_no_other(text: str) -> None:
    seen = kept(text, LAST)

    assert (len(seen.report.findings), len(seen.report.bad_lines), seen.complete) == (1, 1, True)


def test_a_number_that_is_none_anywhere_in_a_finding_is_a_bad_line() -> None:
    for facts in ({"errors": float("nan")}, {"errors": [{"deep": float("inf")}]}):
        assert kept({**finding(), "facts": facts}).lines == []
    (text,) = kept(line(finding()).replace('"errors":2', '"errors":1e999')).report.bad_lines
    assert text.startswith("line 1")


@pytest.mark.parametrize("name", ["reason", "item", "first_seen"])
def test_a_bad_line_is_told_with_the_field_that_is_odd(name: str) -> None:
    (text,) = kept({**finding(), name: 7}).report.bad_lines

    assert name in text


def test_a_field_that_is_not_ours_is_not_kept() -> None:
    row = one(extra="x")

    assert set(row) == set(FIELDS)


def test_a_key_that_stands_twice_is_a_bad_line_in_findings_and_header() -> None:
    whole = line(finding())
    assert is_kept(whole)
    twice = kept(whole[:-1] + ',"item":"another"}')
    assert (twice.lines, len(twice.report.bad_lines)) == ([], 1)
    assert not kept(line(HEADER)[:-1] + ',"at":"x"}').report.header


def test_a_record_in_another_spelling_is_kept_in_ours() -> None:
    spaced = json.dumps({name: finding()[name] for name in sorted(FIELDS)}, indent=None)

    (text,) = kept(spaced).lines
    assert json.loads(text) == one() and " :" not in text and '": ' not in text


def test_long_texts_are_cut() -> None:
    row = one(reason="r" * 5000, item="i" * 5000)

    assert (len(row["reason"]), len(row["item"])) == (1000, 300)
    row = one(reason="r" * 1000, item="i" * 300)
    assert (len(row["reason"]), len(row["item"])) == (1000, 300)


SILENT = Host("kafka-a03", cluster="prod-a")


def test_where_the_inventory_is_silent_the_host_may_say_its_role_layout_and_rack_in_short() -> None:
    (row,) = stored(finding(role="broker", layout="raid10", rack="r" * 500), host=SILENT)

    assert (row["role"], row["layout"], row["rack"]) == ("broker", "raid10", "r" * 100)
    (head,) = stored({**HEADER, "role": "b" * 500, "rack": 7}, host=SILENT)
    assert (head["role"], head["layout"], head["rack"]) == ("b" * 100, "", "7")


def test_who_it_is_and_where_it_belongs_is_never_the_hosts_to_say() -> None:
    row = one(role="controller", layout="raid10", rack="r1", cluster="prod-b", host="kafka-a01", run_id="r0")

    assert (row["role"], row["layout"], row["rack"]) == ("broker,zookeeper", "jbod", "r7")
    assert (row["cluster"], row["host"], row["run_id"]) == ("prod-a", "kafka-a03", "r9")


def test_a_host_that_speaks_of_another_is_told_whichever_of_its_lines_does() -> None:
    assert not kept(finding(), LAST).foreign_hosts
    for rows in ([finding(host="kafka-a01"), LAST], [finding(), finding(host="kafka-a01"), LAST]):
        seen = kept(*rows)
        assert seen.foreign_hosts
        assert validation.reach(AgentOutput([], [], 0), seen, 1.0)[0] == "stranger"


@pytest.mark.parametrize("at", ["9999", "", "2026-11-20", "2026-11-20T03:12:00Z ", "2026-11-20 03:12:00Z", "x" * 999])
def test_a_time_that_is_none_is_replaced_by_ours(at: str) -> None:
    row = one(at=at, first_seen=at)

    assert (row["at"], row["first_seen"]) == (NOW, NOW)
    assert one(first_seen=at)["first_seen"] == AT, "by that of the finding where it has one"
    assert header(at=at)["at"] == NOW


def test_a_time_of_the_hosts_is_kept() -> None:
    row = one(first_seen="2026-11-19T00:00:00Z")

    assert (row["at"], row["first_seen"], header()["at"]) == (AT, "2026-11-19T00:00:00Z", AT)


def test_half_of_a_surrogate_pair_is_replaced_and_a_whole_letter_is_kept() -> None:
    row = one(reason="a\ud800b", item="\U0001f600", facts={"model": "x\udc00"})

    assert (row["reason"], row["item"], row["facts"]) == ("a?b", "\U0001f600", {"model": "x?"})
    assert header(kernel="a\ud800b")["kernel"] == "a?b"


@pytest.mark.parametrize(
    ("field", "value", "good"),
    [
        ("agent", "0.1", True),
        ("agent", 1, False),
        ("clock", 1.5, True),
        ("clock", 2, True),
        ("clock", True, False),
        ("clock", "now", False),
        ("root", True, True),
        ("root", 1, False),
        ("root", "yes", False),
        ("guessed", ["role"], True),
        ("guessed", "role", False),
        ("uptime_s", 7, True),
        ("uptime_s", None, False),
    ],
)
def test_a_field_of_the_header_is_kept_if_it_is_of_its_kind(field: str, value: Any, good: bool) -> None:
    assert header(**{field: value}).get(field, "left out") == (value if good else "left out")


def test_a_clock_that_is_no_finite_number_is_left_out_of_the_header() -> None:
    seen = kept(line({**HEADER, "clock": 0, "agent": "0.1"}).replace('"clock":0', '"clock":1e999'))

    assert "clock" not in seen.report.header and seen.report.header["agent"] == "0.1"


def test_lists_and_texts_of_the_header_are_cut_and_what_is_no_text_is_left_out_of_a_list() -> None:
    seen = header(guessed=[7, *["g" * 500] * 99], kernel="k" * 500, unknown="x")

    assert seen["guessed"] == ["g" * 200] * 49
    assert seen["kernel"] == "k" * 200 and "unknown" not in seen


def test_the_first_header_counts_and_is_no_finding() -> None:
    seen = kept({**HEADER, "agent": "1"}, {**HEADER, "agent": "2"}, LAST)

    assert seen.report.header["agent"] == "1"
    assert (len(seen.lines), seen.told, seen.report.bad_lines) == (2, 1, [])


@pytest.mark.parametrize("odd", [{"schema": 2}, {"kind": "foot"}])
def test_a_header_of_another_kind_or_schema_is_a_bad_line(odd: dict[str, Any]) -> None:
    seen = kept({**HEADER, **odd}, LAST)

    assert (seen.report.header, len(seen.report.bad_lines), len(seen.lines)) == ({}, 1, 1)


def test_what_is_guessed_is_the_hosts_own_list() -> None:
    (head, _last) = stored(HEADER, LAST, host=SILENT)

    assert head["role"] == head["layout"] == head["rack"] == ""


# --- whether the report is whole


def reach(*records: Any, heard: Iterable[str] = (), code: int | None = 0, cut: str = "") -> tuple[str, str, str]:
    seen = kept(*records)
    kind, verdict = validation.reach(AgentOutput([], list(heard), code, cut), seen, 2.345)
    return kind, verdict.status, verdict.reason


def test_a_whole_report_is_an_answer_with_the_time_it_took() -> None:
    kind, status, reason = reach(HEADER, finding(), LAST)

    assert (kind, status) == ("answered", "ok")
    assert "2.3 s" in reason


@pytest.mark.parametrize(
    ("kind", "detail", "is_told"),
    [
        ("no-python", "", True),
        ("old-python", "3.6", True),
        ("unsafe-folder", "/opt/x", True),
        ("noexec", "/opt/x", True),
        ("damaged", "the bundle is damaged", True),
        ("no-room", "No space left on device", True),
        ("no-build", "s390x", True),
        ("cannot-start", "ImportError", True),
        ("no-python", "/opt/x", False),  # a detail that the sentence has no place for
    ],
)
def test_what_the_boot_program_says_is_the_reason_whatever_else_came(kind: str, detail: str, is_told: bool) -> None:
    got, status, reason = reach(HEADER, LAST, heard=["motd", f"{MARK}{kind} {detail}"])

    assert (got, status) == (kind, "unknown")
    assert (detail in reason) is is_told and "{}" not in reason and len(reason) > 12


def test_a_word_of_the_boot_program_that_we_do_not_know_is_told_in_short() -> None:
    kind, status, reason = reach(heard=[f"{MARK}{'k' * 50} {'d' * 999}"])

    assert (kind, status) == ("k" * 20, "unknown")
    assert "d" * 300 in reason and "d" * 301 not in reason
    assert "odd-word" in reach(heard=[f"{MARK}odd-word"])[2]


def test_a_report_that_we_cut_off_says_why_and_how_much_was_kept() -> None:
    kind, status, reason = reach(finding(), finding(), LAST, cut="no answer in 60 s")

    assert (kind, status) == ("cut", "unknown")
    assert "no answer in 60 s" in reason and "3 findings" in reason


@pytest.mark.parametrize(("code", "said"), [(None, "connection lost"), (137, "killed"), (1, "exit 1"), (0, "exit 0")])
def test_a_report_that_ends_early_says_how_the_agent_ended(code: int | None, said: str) -> None:
    kind, status, reason = reach(HEADER, finding(), code=code)

    assert (kind, status) == ("cut", "unknown")
    assert said in reason and "1 findings" in reason


def test_a_report_with_a_bad_line_is_told_though_it_is_whole() -> None:
    kind, status, reason = reach("rubbish", finding(), "more rubbish", LAST)

    assert (kind, status) == ("schema", "unknown")
    assert "line 1" in reason and "line 3" not in reason


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("sudo: a password is required", "sudo-password"),
        ("sudo: 1 incorrect password attempt", "sudo-password"),
        ("sudo: sorry, you must have a tty to run sudo", "sudo"),
        ("ops is not in the sudoers file.  This incident will be reported.", "sudo"),
        ("Sorry, user ops is not allowed to execute '/bin/sh -c x' as root on kafka-a03.", "sudo"),
        ("Sorry, user ops may not run sudo on kafka-a03.", "sudo"),
        ("bash: line 1: sudo: command not found", "sudo"),
        ("sh: 1: sudo: not found", "sudo"),
        ("bash: line 1: timeout: command not found", "no-timeout"),
        ("Unknown option: -E", "old-python"),
    ],
)
def test_what_a_shell_or_sudo_says_in_place_of_the_agent_is_explained(words: str, kind: str) -> None:
    got, status, reason = reach(heard=["Welcome", words, "bye"], code=1)

    assert (got, status) == (kind, "unknown")
    assert words not in reason and "bye" not in reason


def test_words_of_sudo_do_not_count_where_the_agent_reported() -> None:
    assert reach(HEADER, LAST, heard=["a password is required"])[0] == "answered"


def test_a_host_that_answers_with_no_record_of_ours_is_told_from_one_that_says_nothing() -> None:
    odd, silent = reach("rubbish", code=1), reach(code=1)

    assert (odd[0], odd[1]) == ("schema", "unknown") and "line 1" in odd[2]
    assert (silent[0], silent[1]) == ("no-report", "unknown") and "exit 1" in silent[2]


def test_of_a_host_that_does_not_report_the_last_words_are_told_in_short() -> None:
    kind, _status, reason = reach(heard=["first", "w" * 999], code=1)

    assert kind == "no-report"
    assert "w" * 200 in reason and "w" * 201 not in reason and "first" not in reason


def test_a_header_alone_is_no_report() -> None:
    assert reach(HEADER)[0] == "no-report"


def test_of_a_host_five_thousand_findings_are_kept_and_all_are_counted() -> None:
    few, many = (kept(*[line(finding())] * count, LAST) for count in (4_999, 5_001))

    assert (len(few.report.findings), len(few.lines), few.told, few.complete) == (5_000, 5_000, 5_000, True)
    assert (len(many.report.findings), len(many.lines), many.told, many.complete) == (5_000, 5_000, 5_002, True)
    assert validation.reach(AgentOutput([], [], 0), few, 1.0)[0] == "answered"
    kind, verdict = validation.reach(AgentOutput([], [], 0), many, 1.0)
    assert (kind, verdict.status) == ("too-many", "unknown")
    assert "5002" in verdict.reason and "5000" in verdict.reason
