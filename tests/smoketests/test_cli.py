"""smoke, as a person or a cron job runs it."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest

SMOKE = [sys.executable, "-m", "smoketests.cli"]


def smoke(*words: str, timeout: float = 90, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*SMOKE, *words], capture_output=True, text=True, timeout=timeout, check=False, env={**os.environ, **env}
    )


def test_all_on_this_machine_exits_by_nagios_rules_and_says_what_it_guessed(tmp_path: pathlib.Path) -> None:
    answer = smoke("all", "--state", str(tmp_path / "state"), "-f", "json")
    document = json.loads(answer.stdout)

    assert answer.returncode == document["summary"]["exit_code"]
    assert {finding["check"] for finding in document["findings"]} >= {"swappiness", "agent"}
    assert any(sentence.startswith("role: ") for sentence in document["reports"][0]["guessed"])
    assert not [finding for finding in document["findings"] if "the check failed" in finding["reason"]]


def test_every_check_of_the_list_gives_a_finding_here(tmp_path: pathlib.Path) -> None:
    listed = {line.split()[0] for line in smoke("list").stdout.splitlines() if not line.endswith("(with -i)")}
    document = json.loads(smoke("all", "--state", str(tmp_path / "state"), "-f", "json").stdout)

    assert listed == {finding["check"] for finding in document["findings"]} - {"agent"}


def test_some_checks_only(tmp_path: pathlib.Path) -> None:
    document = json.loads(smoke("check", "swappiness", "--state", str(tmp_path / "state"), "-f", "json").stdout)

    assert {finding["check"] for finding in document["findings"]} == {"swappiness", "agent"}


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["check", "swapines"], "did you mean swappiness?"),
        (["check", "zzz"], "`smoke list` names them all"),
        (["explain", "swapines"], "did you mean swappiness?"),
        (["all", "--format", "yaml"], "'table'"),
        (["al"], "all"),
        (["all", "--deadline", "0"], "deadline"),
        (["all", "--expected", "/nowhere"], "/nowhere"),
        (["check"], "NAME"),
        (["check", "zk_quorum"], "name its inventory with -i"),
        (["all", "--limit", "kafka-*"], "--limit needs an inventory (-i)"),
        (["all", "-i", "/nowhere.yaml"], "/nowhere.yaml"),
        (["all", "-i", "/nowhere.yaml", "--expected", "/etc/hostname"], "the inventory has the expected values"),
        (["all", "-i", "inventory/examples/prod.yaml", "--cluster", "prod-x"], "did you mean"),
        (["all", "-i", "inventory/examples/prod.yaml", "-j", "0"], "jobs"),
        (["all", "-i", "inventory/examples/prod.yaml", "--identity", "/etc/hostname"], "/etc/hostname"),
    ],
)
def test_a_wrong_word_is_unknown_not_critical_and_gives_a_hint(words: list[str], hint: str) -> None:
    answer = smoke(*words)

    assert answer.returncode == 3
    assert hint in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_description_that_is_none_is_told_by_field(tmp_path: pathlib.Path) -> None:
    (tmp_path / "expected.json").write_text('{"ports": "9092"}')

    answer = smoke("all", "--expected", str(tmp_path / "expected.json"))

    assert answer.returncode == 3
    assert "ports: '9092' is not a list of int" in answer.stderr


def test_only_problems_leaves_the_rest_out_but_not_the_exit_code(tmp_path: pathlib.Path) -> None:
    (tmp_path / "expected.json").write_text('{"skip": {"swappiness": "not here"}}')

    answer = smoke("check", "swappiness", "-p", "--expected", str(tmp_path / "expected.json"), "--state",
                   str(tmp_path / "state"), "-f", "json")  # fmt: skip

    assert (answer.returncode, json.loads(answer.stdout)["findings"]) == (0, [])


def test_store_keeps_the_report_under_its_date(tmp_path: pathlib.Path) -> None:
    smoke("check", "swappiness", "--store", str(tmp_path / "results"), "--state", str(tmp_path / "state"))

    (kept,) = (tmp_path / "results").glob("date=*/*.jsonl")
    header, *findings = [json.loads(line) for line in kept.read_text().splitlines()]
    assert header["kind"] == "header"
    assert [finding["check"] for finding in findings] == ["swappiness", "agent"]


def test_a_store_that_cannot_be_written_is_said_and_the_findings_are_still_shown(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("")

    (tmp_path / "expected.json").write_text('{"skip": {"swappiness": "not here"}}')
    answer = smoke("check", "swappiness", "--store", str(tmp_path / "file"), "--state", str(tmp_path / "state"),
                   "--expected", str(tmp_path / "expected.json"))  # fmt: skip

    assert answer.returncode == 3
    assert "cannot store the report" in answer.stderr
    assert "swappiness" in answer.stdout


def test_a_state_that_cannot_be_written_is_said_and_the_run_goes_on(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("")

    answer = smoke("check", "swappiness", "--state", str(tmp_path / "file" / "state"), "-f", "json")
    findings = {finding["check"]: finding for finding in json.loads(answer.stdout)["findings"]}

    assert findings["agent"]["status"] == "unknown"
    assert "cannot save state" in findings["agent"]["reason"]
    assert "swappiness" in findings


def test_a_damaged_state_is_said_once_and_begun_anew(tmp_path: pathlib.Path) -> None:
    state = tmp_path / "state"
    state.write_text("{ half")

    first, second = (smoke("check", "swappiness", "--state", str(state), "-f", "json") for _ in range(2))

    assert "corrupt" in first.stdout
    assert "corrupt" not in second.stdout


def test_a_folder_named_agent_where_one_stands_is_not_run(tmp_path: pathlib.Path) -> None:
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "__init__.py").write_text("raise SystemExit('hijacked')")
    (tmp_path / "agent" / "__main__.py").write_text("")

    answer = subprocess.run(
        [sys.executable, "-I", "-m", "smoketests.cli", "check", "swappiness", "--state", str(tmp_path / "state")],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert "hijacked" not in answer.stdout + answer.stderr


def test_record_writes_a_machine_that_can_be_replayed(tmp_path: pathlib.Path) -> None:
    answer = smoke("record", str(tmp_path / "machine"))

    assert answer.returncode == 0
    assert json.loads((tmp_path / "machine" / "machine.json").read_text())["now"]["value"] > 0
    assert smoke("record", str(tmp_path / "machine")).returncode == 3, "never over another recording"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_the_commands(shell: str) -> None:
    assert "_SMOKE_COMPLETE" in smoke("completion", shell).stdout


def test_completion_completes_the_names_of_checks() -> None:
    answer = smoke(_SMOKE_COMPLETE="bash_complete", COMP_WORDS="smoke check swa", COMP_CWORD="2")

    assert "swappiness" in answer.stdout


def test_explain_tells_the_question_the_limits_the_way_back_and_the_playbook() -> None:
    words = smoke("explain", "swappiness").stdout

    facts = "Facts in every finding:\n  swappiness"
    for part in ("?", "swappiness_warning = 1", "Ok again:", "Playbook: tune-os", facts):
        assert part in words
    assert "smoke playbook show tune-os " in words


def test_a_reader_that_has_had_enough_is_no_error(tmp_path: pathlib.Path) -> None:
    answer = subprocess.run(
        ["bash", "-c", '"$@" | head -n 1', "-", *SMOKE, "list"], capture_output=True, text=True, check=False, timeout=60
    )

    assert "Traceback" not in answer.stderr
