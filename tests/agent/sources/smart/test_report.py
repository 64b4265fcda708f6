"""Both readers of smartctl: the same disk gives the same facts, and rubbish gives none."""

from __future__ import annotations

import json
from typing import Any, Dict, get_type_hints

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent.host import Answer, CannotTell
from agent.sources.smart import report as smart_report
from agent.sources.smart import text_report
from agent.sources.smart.attributes import unpacked
from agent.sources.smart.json_report import parse_json
from agent.sources.smart.report import BadReport, Facts
from agent.sources.smart.self_tests import SelfTest, with_self_tests
from tests.agent.sources.smart import made_reports as reports

# What only one of the two says: JSON has the exit status inside it, and lists it with messages.
ONLY_JSON = ("messages", "exit_status")


def from_json(report: Dict[str, Any]) -> Facts:
    return parse_json(json.dumps(report))


def from_text(text: str, code: int = 0) -> Facts:
    return text_report.read(Answer(code, text, ""))


def told(facts: Facts) -> Dict[str, Any]:
    return {key: value for key, value in facts._asdict().items() if key not in ONLY_JSON}


@pytest.mark.parametrize("short", [False, True], ids=["-a", "-x"])
@pytest.mark.parametrize(
    ("changes", "health"),
    [
        ({}, "PASSED"),
        ({"a5": "1303", "a197": "8", "a198": "8", "a187": "6"}, "PASSED"),
        ({"a5": "16 (2 0)", "failed": {5: "now"}, "passed": False}, "FAILED!"),
        ({"a190": "65 (Min/Max 20/66)", "failed": {190: "past", 5: "past"}}, "PASSED"),
        ({"a188": "1 1 9", "a194": "35 (255 255 59 25 0)", "a184": "1"}, "PASSED"),
        ({"a188": "51540393996", "a9": "41234h+12m+03.1s"}, "PASSED"),
    ],
)
def test_both_readers_agree_on_a_sata_drive(changes: Dict[str, Any], health: str, short: bool) -> None:
    report = reports.ata(**changes)

    assert told(from_text(reports.ata_text(report, health, short))) == told(from_json(report))


@pytest.mark.parametrize("outcome", ["Completed: read failure", "Aborted by host", "Fatal or unknown error"])
def test_both_readers_agree_on_self_tests(outcome: str) -> None:
    tests = [
        reports.self_test("Short offline", outcome),
        reports.self_test("Extended offline", "Completed without error"),
    ]
    report = reports.ata(ata_smart_self_test_log={"standard": {"table": tests}})

    facts = from_json(report)
    assert facts.self_tests_failed == (0 if outcome.startswith("Aborted") else 1)
    assert told(from_text(reports.ata_text(report))) == told(facts)


def test_both_readers_agree_on_a_sas_drive() -> None:
    log = {kind: {"total_uncorrected_errors": 3 if kind == "write" else 0} for kind in ("read", "write", "verify")}
    report = reports.sas(scsi_grown_defect_list=12, scsi_error_counter_log=log)

    assert told(from_text(reports.sas_text(defects=12, uncorrected=3))) == told(from_json(report))


def test_both_readers_agree_on_a_sas_drive_that_predicts_its_failure() -> None:
    said = "FAILURE PREDICTION THRESHOLD EXCEEDED [asc=5d, ascq=0]"
    report = reports.sas(smart_status={"passed": False, "scsi": {"asc": 93, "ascq": 0, "ie_string": said}})

    assert told(from_text(reports.sas_text(health=said), code=8)) == told(from_json(report))


@pytest.mark.parametrize("bits", [0, 1, 2, 4, 8, 16, 24])
def test_both_readers_agree_on_an_nvme_drive(bits: int) -> None:
    assert told(from_text(reports.nvme_text(bits))) == told(from_json(reports.nvme(bits=bits)))


def test_an_unknown_assessment_is_not_a_failed_one() -> None:
    assert from_text(reports.ata_text(reports.ata(), "UNKNOWN!")).passed is None
    assert from_json(reports.ata(passed=None)).passed is None


@pytest.mark.parametrize(
    ("raw", "timeouts"),
    [("51540393996", 12), ("17180131332", 4), ("4295032841", 9), ("1 1 9", 9), ("2 2 2", 2), ("33", 33), ("-", None)],
)
def test_command_timeouts_of_seagate_are_unpacked(raw: str, timeouts: int) -> None:
    assert unpacked(raw) == timeouts


def test_a_number_that_means_something_else_on_this_drive_is_not_taken() -> None:
    row = reports.attribute(184, "7523")
    row["name"] = "Error_Correction_Count"
    report = reports.ata(ata_smart_attributes={"table": [row]})

    assert from_json(report).end_to_end_errors is None


def test_wear_of_a_sata_ssd_comes_from_its_statistics_and_else_from_its_attributes() -> None:
    row = {"id": 233, "name": "Media_Wearout_Indicator", "value": 12, "raw": {"string": "0"}}
    report = reports.ata(rotation_rate=0, ata_smart_attributes={"table": [row]})
    statistics = {"pages": [{"table": [{"name": "Percentage Used Endurance Indicator", "value": 91}]}]}

    assert from_json(report).wear_percent == 88
    assert from_json(reports.changed(report, ata_device_statistics=statistics)).wear_percent == 91


def test_a_failed_self_test_is_over_when_an_extended_one_passed_later() -> None:
    failed, short, long = (
        SelfTest("Short offline", "Completed: read failure", 9),
        SelfTest("Short offline", "Completed without error", 10),
        SelfTest("Extended offline", "Completed without error", 11),
    )

    assert with_self_tests(Facts(), [short, failed, long]).self_tests_failed == 1
    assert with_self_tests(Facts(), [long, short, failed]).self_tests_failed == 0


@pytest.mark.parametrize("hidden", ["--", "", "***", None, 7])
def test_a_serial_that_is_hidden_is_none(hidden: Any) -> None:
    assert from_json(reports.ata(serial=hidden)).serial == ""


@pytest.mark.parametrize("limit", [40, 0, 255, -1])
def test_a_temperature_limit_that_no_drive_has_is_none(limit: int) -> None:
    assert from_json(reports.ata(temperature={"current": 45, "op_limit_max": limit})).limit_celsius is None


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
REAL = [reports.ata(), reports.sas(), reports.nvme()]
PATHS = sorted({key for report in REAL for key in report})


def assert_well_typed(facts: Facts) -> None:
    kinds = {name: str(kind) for name, kind in get_type_hints(Facts).items()}
    for name, value in facts._asdict().items():
        if isinstance(value, bool):
            assert "bool" in kinds[name], name
        elif isinstance(value, int):
            assert "int" in kinds[name] or "float" in kinds[name], name
            assert 0 <= value <= smart_report.HIGHEST, name
        elif isinstance(value, str):
            assert "str" in kinds[name] and len(value) <= 400 and "\n" not in value, name
        elif value is not None:
            assert isinstance(value, tuple) and all(isinstance(part, str) for part in value), name
        else:
            assert "Optional" in kinds[name], name


@given(st.sampled_from(REAL), st.sampled_from(PATHS), ANY_JSON)
@example(reports.ata(), "smartctl", {"exit_status": 10**400})
def test_json_with_any_key_replaced_by_rubbish_is_facts_or_unknown(
    report: Dict[str, Any], key: str, value: Any
) -> None:
    try:
        facts = from_json({**report, key: value})
    except (BadReport, ValueError):  # json itself refuses to print huge numbers
        return
    assert_well_typed(facts)


@given(st.sampled_from(REAL), st.data())
def test_json_with_a_leaf_replaced_by_rubbish_is_facts_or_unknown(report: Dict[str, Any], data: st.DataObject) -> None:
    tree = json.loads(json.dumps(report))
    node = tree
    while isinstance(node, (dict, list)) and node:
        keys = sorted(node) if isinstance(node, dict) else list(range(len(node)))
        key = data.draw(st.sampled_from(keys))
        below = node[key]
        if not isinstance(below, (dict, list)) or not below or data.draw(st.booleans()):
            node[key] = data.draw(ANY_JSON)
            break
        node = below
    try:
        assert_well_typed(from_json(tree))
    except BadReport:
        assert not isinstance(tree.get("smartctl"), dict)


@given(st.text() | st.just("[" * 100_000) | st.just('{"a":' * 100_000))
def test_what_is_no_json_is_no_report(printed: str) -> None:
    with pytest.raises(BadReport):
        parse_json(printed)


@given(st.sampled_from(REAL), st.integers(1, 3000))
def test_json_that_is_cut_short_is_no_report(report: Dict[str, Any], cut: int) -> None:
    whole = json.dumps(report)
    with pytest.raises(BadReport):
        parse_json(whole[: min(cut, len(whole) - 1)])


TEXTS = [
    reports.ata_text(reports.ata()),
    reports.ata_text(reports.ata(), short=True),
    reports.sas_text(),
    reports.nvme_text(),
]


@given(st.sampled_from(TEXTS), st.data())
def test_text_that_is_cut_or_spoilt_is_facts_or_unknown(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 60) | st.just(len(text)))
    spoilt = text[:start] + data.draw(st.text(max_size=30)) + text[start + length :]
    try:
        facts = from_text(spoilt)
    except CannotTell as error:
        assert str(error)
        return
    assert_well_typed(facts)


@given(st.sampled_from(TEXTS), st.integers(1, 1500))
def test_text_that_ends_in_the_middle_of_a_line_is_no_report(text: str, cut: int) -> None:
    part = text[:cut]
    if not part.endswith("\n"):
        with pytest.raises(BadReport):
            from_text(part)


@given(st.text())
def test_what_is_no_report_gives_no_facts(text: str) -> None:
    try:
        facts = from_text(text)
    except CannotTell:
        return
    assert facts.passed is None
