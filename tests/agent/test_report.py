"""The record: what is written is read back, and what is not of ours is named, never lost and never obeyed."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from agent import report
from agent.expected import Expected
from agent.status import Finding, Verdict
from tests.machine import NOW, FakeHost
from tests.records import finding

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def lines() -> list[str]:
    host = FakeHost(expected=Expected(host="kafka-a03", cluster="prod-a", roles=("broker",), layout="jbod", rack="r7"))
    run = report.about(host, "r1")
    verdict = Verdict("critical", "größer\nals 3", "full-disk")
    return [
        report.header(run, host),
        report.line(run, Finding("mounts", "/d1", verdict, {"n": 1, "t": (1, 2)}, 7, NOW)),
    ]


def test_a_report_is_read_back_whole() -> None:
    seen = report.read(lines())

    assert seen.bad_lines == []
    assert seen.header["host"] == "kafka-a03"
    (record,) = seen.findings
    assert set(record) == set(report.FIELDS)
    assert record["reason"] == "größer\nals 3"
    assert record["first_seen"] == report.timestamp(NOW) == "2026-11-18T11:06:40Z"


def test_a_record_is_one_line_of_ascii() -> None:
    assert all(line.isascii() and "\n" not in line for line in lines())


def test_a_report_cut_short_keeps_what_it_had() -> None:
    whole = lines()

    seen = report.read([whole[0], whole[1], whole[1][:40]])

    assert len(seen.findings) == 1
    assert seen.bad_lines == ["line 3: not JSON"]


def test_a_record_of_another_schema_or_without_a_field_is_named() -> None:
    wrong = [finding(), {**finding(), "schema": 2}, {**finding(), "status": "fine"}, {**finding(), "facts": []}]
    del wrong[0]["reason"]

    seen = report.read(json.dumps(record) for record in wrong)

    assert seen.findings == []
    assert [line.partition(": ")[2] for line in seen.bad_lines] == [
        "field 'reason' is missing or of the wrong kind",
        "not a record of schema 1",
        "no such status",
        "field 'facts' is missing or of the wrong kind",
    ]


@given(st.text() | st.builds(json.dumps, json_values))
def test_rubbish_is_named_and_never_a_finding(text: str) -> None:
    seen = report.read([text])

    assert (len(seen.findings), len(seen.bad_lines)) == (0, 1)


@given(st.sampled_from(report.FIELDS), json_values)
def test_a_field_of_any_value_is_a_finding_or_named(field: str, value: object) -> None:
    seen = report.read([json.dumps({**finding(), field: value})])

    assert len(seen.findings) + len(seen.bad_lines) == 1


def test_deep_nesting_is_named() -> None:
    assert report.read(["[" * 100_000]).bad_lines == ["line 1: not JSON"]
