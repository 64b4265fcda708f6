"""The command: wrong usage, the three formats, locks. Nothing here asks a host; tests/real/test_gate.py does."""

from __future__ import annotations

import json
import pathlib
import sys
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest

from smoketests import cli
from smoketests.gate import decision as of
from smoketests.gate import decision_store, lock, rules
from smoketests.gate.decision import Decision
from smoketests.show import gate as show
from tests.smoketests.gate.situations import decided, kafka, partition, rule, situation, trouble

INVENTORY = """
clusters:
  prod-a:
    hosts:
      kafka-a[01-03]: {roles: [broker], broker_id: "[1-3]"}
  zk:
    hosts: {zk-a01: {roles: [zookeeper]}}
"""
HOSTILE = decided(situation(problems={"kafka": "\x1b[2J\x07 evil & <b>\n"}, kafka_says=None))
REBOOT = ("-i", "INV", "--host", "kafka-a01", "--for", "reboot")
ACCEPT = (*REBOOT, "--accept", "disks#1a2b3c", "--because", "x")
GIVEN: dict[str, Any] = {
    "found": {"kafka-a02": [trouble("smart")], "kafka-a03": [trouble("nic_link", "unknown")]},
    "kafka_says": kafka(partition(), partition("tmp", 0, (1,)), throttled=("topic x",)),
}
MIXED = decided(situation(**GIVEN, accept={rule(situation(**GIVEN), "unreplicated").token: "a test topic"}))


@pytest.fixture
def inventory(tmp_path: pathlib.Path) -> str:
    (tmp_path / "prod.yaml").write_text(INVENTORY)
    return str(tmp_path / "prod.yaml")


def smoke(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: str) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["smoke", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out, said.err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([], "say -i INVENTORY"),
        (["--host", "kafka-a01"], "say -i INVENTORY"),
        (["-i", "INV"], "say --host HOST"),
        (["-i", "INV", "--host", "kafka-a01"], "say --for PURPOSE"),
        (["-i", "INV", "--host", "kafka-a01", "--for", "dusting"], "'dusting' is not one of"),
        (["-i", "INV", "--host", "kafka-a09", "--for", "reboot"], "no host matches 'kafka-a09'"),
        (["-i", "INV", "--host", "kafka-a01", "--for", "reboot", "--cluster", "zk"], "no host matches"),
        (["-i", "INV", "--host", "kafka-a01,zk-a01", "--for", "reboot"], "belong to 2 clusters (prod-a, zk)"),
        (["-i", "INV", "--host", "kafka-a01", "--for", "replace-disk"], "--disk must name the serial number"),
        (["-i", "INV", "--host", "kafka-a[01-02]", "--for", "replace-disk", "--disk", "X"], "one host at a time"),
        (["-i", "INV", "--host", "kafka-a01", "--for", "reboot", "--disk", "X"], "--disk is for replace-disk only"),
        (["-i", "INV", "--host", "kafka-a01", "--for", "reboot", "--accept", "offline"], "needs its own --because"),
        (["-i", "INV", "--host", "kafka-a01", "--for", "reboot", "--accept", "ofline", "--because", "x"],
         "did you mean offline"),
        (["-i", "INV", "--host", "kafka-a01", "--for", "reboot", "--accept", "disk", "--because", "x"],
         "disk cannot be accepted"),
        (["-i", "INV", "--host", "kafka-a01", "--for", "reboot", "--after", "--hold"], "--hold applies before"),
        (["-i", "INV", "--host", "kafka-a01", "--for", "reboot", "--duration", "0"], "0 is not in the range"),
        (["-i", "INV", "--host", "kafka-a01", "--for", "reboot", "--wait", "0"], "0.0 is not in the range"),
        (["-i", "/nowhere.yaml", "--host", "kafka-a01", "--for", "reboot"], "/nowhere.yaml"),
        (["-i", "INV", "--host", "kafka-a01", "--for", "lunch"], "'lunch' is not one of 'reboot'"),
        ([*REBOOT, "--accept", "disks#12", "--because", "x"], "'disks#12' names no finding: the decision shows each"),
        ([*ACCEPT, "--until", "2020-01-01"], "--until must be later than now"),
        ([*ACCEPT, "--until", "2999-01-01"], "at most 90 days away"),
        ([*ACCEPT, "--until", "soon"], "'soon' does not match the format"),
        ([*REBOOT, "--accept", "disks", "--because", "x", "--until", "2026-12-01"], "--until is for findings"),
        ([*REBOOT, "--until", "2026-12-01"], "--until is for findings"),
        (["rules", "ofline"], "did you mean offline"),
        (["release", "0badcafe", "--store", "/nowhere"], "no lock '0badcafe'"),
    ],
)  # fmt: skip
def test_wrong_usage_is_exit_3_and_says_what_is_wrong(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, inventory: str, words: list[str], why: str
) -> None:
    code, shown, said = smoke(capsys, monkeypatch, "gate", *[inventory if word == "INV" else word for word in words])

    assert (code, shown) == (3, "")
    assert why in " ".join(said.split()), said
    assert "Traceback" not in said


def test_an_inventory_that_contradicts_itself_is_one_sentence_each_and_nothing_is_kept(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    path = tmp_path / "twice.yaml"
    path.write_text(INVENTORY.replace('broker_id: "[1-3]"', "broker_id: 1"))
    words = ["--host", "kafka-a01", "--for", "reboot", "--store", str(tmp_path / "results")]
    code, shown, said = smoke(capsys, monkeypatch, "gate", "-i", str(path), *words)

    assert (code, shown) == (3, "") and "kafka-a02: broker id 1 belongs to kafka-a01 too" in said, said
    assert "Traceback" not in said and not (tmp_path / "results").exists()


def test_json_has_the_answer_in_one_line_for_programs() -> None:
    summary = json.loads(show.as_json(MIXED))["summary"]

    assert summary == "NO-GO for reboot of kafka-a01: disks failed: kafka-a02: smart: smart says critical; 2 more rules"
    assert "\n" not in json.loads(show.as_json(HOSTILE))["summary"]


@pytest.mark.parametrize("decision", [decided(situation()), decided(situation("zk-a01")), MIXED, HOSTILE])
def test_the_table_fits_eighty_columns_is_safe_and_ends_with_the_answer(
    decision: Decision, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = show.table(decision).splitlines()

    assert max(map(len, lines)) <= 80
    assert all(line.isprintable() for line in lines)
    assert lines[0].startswith(f"{decision.answer} for reboot of ")
    assert "Before reboot on " in lines[1] + lines[2]
    ending = " ".join(lines[lines.index("") :][-2:]) if len(lines[-1]) < 20 else lines[-1]
    assert f"{decision.answer}: of " in show.table(decision) and ending.endswith(f"exit {decision.exit_code}")
    for name in rules.names():
        assert name in " ".join(lines)


def test_the_worst_comes_first_and_an_override_names_its_reason() -> None:
    shown = show.table(MIXED)
    order = [
        shown.index(f"\n{status}") for status in ("FAILED ", "CANNOT TELL", "WARNED", "ACCEPTED", "PASSED", "SKIPPED")
    ]

    assert order == sorted(order)
    assert "(accepted because: a test topic)" in " ".join(shown.split())


def test_rules_that_say_the_same_share_a_row() -> None:
    silent = decided(situation(kafka_says=None, problems={"kafka": "connection refused"}))

    assert show.table(silent).count("connection refused") == 1


def test_a_terminal_gets_colours_unless_it_wants_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[1;31mNO-GO" in show.table(MIXED)

    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in show.table(MIXED)


def test_json_is_the_whole_decision() -> None:
    document = json.loads(show.as_json(MIXED))

    assert (document["answer"], document["exit_code"]) == ("NO-GO", 2)
    assert {rule["name"]: rule["status"] for rule in document["rules"]}["throttles"] == "warned"
    assert all(set(rule) >= {"name", "question", "status", "reason", "evidence"} for rule in document["rules"])


@pytest.mark.parametrize("decision", [MIXED, HOSTILE])
def test_junit_has_a_case_for_each_rule_and_hides_nothing(decision: Decision) -> None:
    (suite,) = ElementTree.fromstring(show.junit(decision))
    cases = {case.attrib["name"]: case for case in suite}

    assert sorted(cases) == rules.names()
    assert int(suite.attrib["failures"]) == len(decision.with_status(of.FAILED))
    assert int(suite.attrib["errors"]) == len(decision.with_status(of.CANNOT_TELL))
    for one in decision.rules:
        kinds = {child.tag for child in cases[one.name]}
        wanted = {of.FAILED: {"failure"}, of.CANNOT_TELL: {"error"}, of.SKIPPED: {"skipped"}}
        assert kinds == wanted.get(one.status, {"system-out"})


def test_what_is_never_asked_is_never_go() -> None:
    nothing = replace(MIXED, rules=[rule for rule in MIXED.rules if rule.status == of.SKIPPED])

    assert (nothing.answer, nothing.exit_code) == ("CANNOT TELL", 3)


def test_locks_are_shown_and_released(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    ours = lock.take(str(tmp_path), ["kafka-a01"], "prod-a", "ann@bastion (pid 1)", "reboot", 60)
    lock.take(str(tmp_path), ["kafka-b01"], "prod-b", "bob@bastion (pid 2)", "reboot", 60, now=1000.0)

    lines = smoke(capsys, monkeypatch, "gate", "locks", "--store", str(tmp_path))[1].splitlines()
    shown = " ".join(" ".join(lines).split())
    assert max(map(len, lines)) <= 80 and lines[0].startswith(ours.id)
    assert f"prod-a: {ours.words}" in shown and "prod-b: EXPIRED, never released: reboot of kafka-b01" in shown
    code, said, _ = smoke(capsys, monkeypatch, "gate", "release", ours.id, "--store", str(tmp_path))
    assert (code, said) == (0, f"released: {ours.words}\n")
    assert [one.cluster for one in lock.held(str(tmp_path))] == ["prod-b"]


def test_all_people_may_share_one_store_by_the_environment(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    ours = lock.take(str(tmp_path), ["kafka-a01"], "prod-a", "ann@bastion (pid 1)", "reboot", 60)
    monkeypatch.setenv("SMOKE_STORE", str(tmp_path))

    assert ours.id in smoke(capsys, monkeypatch, "gate", "locks")[1]


def test_the_rules_are_listed_and_explained(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = smoke(capsys, monkeypatch, "gate", "rules")[1]
    assert [line.split()[0] for line in listed.splitlines() if line[0] != " "] == rules.names()
    assert listed.count("?") == len(rules.names()) and max(map(len, listed.splitlines())) <= 80

    told = smoke(capsys, monkeypatch, "gate", "rules", "disk_room")[1]
    assert "used_percent = 80" in told and "replace-disk, decommission" in told and "--accept disk_room" in told
    assert listed.strip() in smoke(capsys, monkeypatch, "explain", "gate")[1]


@pytest.mark.parametrize("name", rules.names())
def test_every_rule_explains_itself(name: str) -> None:
    rule = rules.load(name)
    question, _, rest = rule.doc.partition("\n")

    assert question.endswith("?")
    assert any(word in rest for word in ("Failed:", "Warned:")) and "ell:" in rest
    assert set(rule.when) <= {"before", "after"} and rule.when and rule.purposes
    assert f"--accept {name}" in rules.explain(name) or rule.final


EVIL = "kafka-\ud800\ufffe\u202e\x1b]0;x\x07\r\n<![CDATA[]]>&"


def test_what_a_host_says_breaks_neither_the_terminal_nor_the_xml_nor_the_encoding(tmp_path: pathlib.Path) -> None:
    evil = {"kafka-a02": [{**trouble("smart"), "reason": EVIL * 20, "item": EVIL}]}
    decision = decided(situation(found=evil, problems={"kafka": EVIL}, kafka_says=None, accept={"offline": EVIL}))
    shown = {name: show.render(name, decision).encode() for name in show.FORMATS}

    assert all(line.isprintable() for line in shown["table"].decode().splitlines())
    assert ElementTree.fromstring(shown["junit"])[0].attrib["failures"] == "1"
    assert json.loads(shown["json"])["answer"] == "NO-GO"
    assert decision_store.kept(replace(decision, run_id="r1"), str(tmp_path)).rules == decision.rules


@pytest.mark.parametrize(
    "decision",
    [MIXED, decided(situation(silent=["kafka-a02"])), decided(situation("kafka-a03")),
     decided(situation(kafka_says=None, problems={"kafka": "kafka-a01:9092: connection refused"}))],
)  # fmt: skip
def test_what_decides_is_on_one_screen_with_the_answer(decision: Decision, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = show.table(decision).splitlines()

    assert len(lines) <= 24, len(lines)
    assert sum(line.startswith("PASSED") for line in lines) == 1


def test_a_lock_that_somebody_forged_does_not_write_on_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    lock.take(str(tmp_path), [EVIL], f"prod-a{EVIL}"[:6] + "\x1b[2J", f"ann{EVIL}", f"reboot{EVIL}", 60)

    shown = smoke(capsys, monkeypatch, "gate", "locks", "--store", str(tmp_path))[1]
    assert shown and all(line.isprintable() for line in shown.splitlines())
