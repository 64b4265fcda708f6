"""smoke place as an SRE types it."""

from __future__ import annotations

import json
import pathlib

import pytest
from click.testing import CliRunner, Result

from placement import snapshot
from smoketests.cli import smoke
from tests.placement.made_clusters import cluster


@pytest.fixture
def made(tmp_path: pathlib.Path) -> str:
    path = tmp_path / "prod.json"
    path.write_text(snapshot.dumps(cluster([4, 4, 4], 300, 4, used=0.4, skewed=True)))
    return str(path)


def place(*words: str) -> Result:
    return CliRunner().invoke(smoke, ["place", *words])


def test_a_plan_is_printed_with_what_it_costs(made: str) -> None:
    answer = place("level", "--snapshot", made)

    assert answer.exit_code == 0
    last = answer.output.splitlines()[-1]
    assert last.startswith("made: ") and "least possible" in last and "(1.00x)" in last and "50.0 MB/s" in last
    assert max(map(len, answer.output.splitlines())) <= 132


def test_the_file_is_what_kafkas_own_tool_takes(made: str) -> None:
    found = json.loads(place("level", "--snapshot", made, "--format", "kafka").stdout)

    assert found["version"] == 1
    assert {"topic", "partition", "replicas", "log_dirs"} == set(found["partitions"][0])
    assert all(len(row["replicas"]) == len(row["log_dirs"]) for row in found["partitions"])


def test_a_plan_is_written_whole_and_in_batches_and_taken_back(made: str, tmp_path: pathlib.Path) -> None:
    answer = place(
        "drain", "--broker", "kafka-0003", "--snapshot", made, "--out", str(tmp_path / "out"), "--batch", "500"
    )
    written = sorted(path.name for path in (tmp_path / "out").iterdir())
    batches = [json.loads((tmp_path / "out" / name).read_text())["partitions"] for name in written if "-0" in name]
    whole = json.loads((tmp_path / "out/reassignment.json").read_text())["partitions"]

    assert answer.exit_code == 0 and len(batches) > 3
    assert [row for batch in batches for row in batch] == whole
    assert place("undo", str(tmp_path / "out/plan.json"), "--snapshot", made).exit_code == 1  # nothing was carried out
    assert (
        "exists: name another folder"
        in place("drain", "--broker", "3", "--snapshot", made, "--out", str(tmp_path / "out")).stderr
    )


@pytest.mark.parametrize(
    ("words", "sentence", "code"),
    [
        (("drain", "--broker", "kafka-0033"), "on a host 'kafka-0033', did you mean kafka-0003?", 3),
        (("drain", "--broker", "99"), "broker 99 is not in the snapshot", 3),
        (("replace", "--broker", "3", "--by", "3"), "broker 3 cannot replace itself", 3),
        (("drain", "--broker", "3", "--avoid", "3"), "both the subject of the plan and in --avoid", 3),
        (("disk", "--broker", "3", "--log-dir", "/e"), "broker 3 has no log dir /e (it has /d)", 3),
        (("replicas", "--topics", "nothing", "--to", "2"), "no topic matches 'nothing'", 3),
        (("replicas", "--topics", "topic0001", "--to", "60"), "60 replicas on 12 brokers", 2),
        (("level", "--topics", "("), "--topics '(' is not a regular expression", 3),
    ],
)
def test_what_is_typed_wrong_is_one_sentence(made: str, words: tuple[str, ...], sentence: str, code: int) -> None:
    answer = place(*words, "--snapshot", made)

    assert sentence in answer.stderr and answer.exit_code == code and answer.stdout == ""


def test_a_missing_file_is_one_sentence() -> None:
    assert place("level", "--snapshot", "/nowhere.json").stderr == "smoke: /nowhere.json: No such file or directory\n"


def test_nothing_to_do_is_exit_1(made: str) -> None:
    answer = place("level", "--snapshot", made, "--band", "50", "--topics", "no-such-topic")

    assert (answer.exit_code, answer.output) == (1, answer.output) and "nothing to do" in answer.output
