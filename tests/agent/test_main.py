"""python -m agent, with no controller installed."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import pytest

from agent import engine

ROOT = pathlib.Path(__file__).parent.parent.parent


def agent(*words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "agent", *words]
    return subprocess.run(command, input=given, capture_output=True, text=True, timeout=90, check=False, cwd=ROOT)


def test_the_first_line_is_the_header_and_the_last_says_whether_it_will_remember(tmp_path: pathlib.Path) -> None:
    answer = agent("swappiness", "--state", str(tmp_path / "state"))
    header, *findings = map(json.loads, answer.stdout.splitlines())

    assert header["kind"] == "header"
    assert header["boot_id"]
    assert findings[-1]["check"] == "agent"
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("format_name", "beginning"),
    [("nagios", "SMOKE "), ("checkmk", '0 "Smoke '), ("prometheus", "# HELP smoke_status")],
)
def test_it_serves_monitoring_systems_by_itself(tmp_path: pathlib.Path, format_name: str, beginning: str) -> None:
    answer = agent("swappiness", "--format", format_name, "--state", str(tmp_path / "state"))

    assert answer.stdout.startswith(beginning)


def test_output_is_written_whole_and_readable_for_the_collector(tmp_path: pathlib.Path) -> None:
    answer = agent("swappiness", "--format", "prometheus", "--output", str(tmp_path / "smoke.prom"), "--state",
                   str(tmp_path / "state"))  # fmt: skip

    assert answer.stdout == ""
    assert (tmp_path / "smoke.prom").read_text().startswith("# HELP")
    assert (tmp_path / "smoke.prom").stat().st_mode & 0o777 == 0o644


def test_an_output_that_cannot_be_written_is_said(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("")

    answer = agent("swappiness", "--output", str(tmp_path / "file" / "x"), "--state", str(tmp_path / "state"))

    assert answer.returncode == 3
    assert "--output" in answer.stderr


def test_the_inventory_comes_by_standard_input(tmp_path: pathlib.Path) -> None:
    given = json.dumps({"host": "kafka-a03", "cluster": "prod-a", "roles": ["broker"], "layout": "jbod"})

    answer = agent("swappiness", "--expected", "-", "--state", str(tmp_path / "state"), given=given)
    record = json.loads(answer.stdout.splitlines()[1])

    assert (record["host"], record["cluster"], record["role"], record["layout"]) == (
        "kafka-a03",
        "prod-a",
        "broker",
        "jbod",
    )
    assert record["status"] != "skipped"


@pytest.mark.parametrize(
    "given", ["", "[]", "{", '{"colour": 1}', '{"psus": "two"}', '{"mounts": ["/kafka"]}', '{"bmc": {"password": "x"}}']
)
def test_a_description_that_is_none_is_refused_by_field(given: str) -> None:
    answer = agent("--expected", "-", given=given)

    assert answer.returncode == 3
    assert answer.stderr.startswith("--expected: ")
    assert answer.stdout == ""


@pytest.mark.parametrize("words", [["--format", "xml"], ["nonsense"], ["--deadline", "soon"]])
def test_wrong_usage_is_unknown_never_critical(words: list[str]) -> None:
    assert agent(*words).returncode == 3


def ended(pid: int) -> bool:
    """Whether it is gone within a second, or waits only for its parent to take note of its end."""
    for _ in range(10):
        try:
            if "\nState:\tZ" in pathlib.Path(f"/proc/{pid}/status").read_text():
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_told_to_end_it_ends_and_leaves_no_tool_running(tmp_path: pathlib.Path, number: signal.Signals) -> None:
    """A stand-in smartctl that never ends, as the first of PATH."""
    tool = tmp_path / "smartctl"
    tool.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 60\n")
    tool.chmod(0o755)
    command = [sys.executable, "-m", "agent", "smart", "--state", str(tmp_path / "state")]
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    for _ in range(100):
        if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip():
            break
        time.sleep(0.1)

    process.send_signal(number)

    assert process.wait(timeout=10) == 128 + number
    assert ended(int((tmp_path / "pid").read_text()))


def packages_for_anyone(folder: pathlib.Path) -> None:
    """Copy the agent, and none of the packages beside it, to where any user may read it."""
    shutil.copytree(ROOT / "agent", folder / "agent", ignore=shutil.ignore_patterns("__pycache__"))


@pytest.fixture
def readable_by_anyone() -> Iterator[pathlib.Path]:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o777)
        packages_for_anyone(folder)
        yield folder


@pytest.mark.root
@pytest.mark.skipif(not os.path.exists("/usr/bin/python3"), reason="needs a Python that any user may run")
def test_without_root_what_needs_root_is_unknown_and_the_rest_works(readable_by_anyone: pathlib.Path) -> None:
    answer = subprocess.run(
        ["/usr/bin/python3", "-m", "agent", "--state", str(readable_by_anyone / "state")],
        cwd=readable_by_anyone, capture_output=True, text=True, timeout=90, check=False,
        user=65534, group=65534, extra_groups=[], env={"PATH": "/usr/bin:/bin", "HOME": str(readable_by_anyone)},
    )  # fmt: skip
    header, *findings = [json.loads(line) for line in answer.stdout.splitlines()]

    assert header["root"] is False
    assert {finding["check"] for finding in findings} == {*engine.names(), "agent"}
    assert not [finding["reason"] for finding in findings if "the check failed" in finding["reason"]]
    assert "Traceback" not in answer.stderr
    assert findings[-1]["status"] == "ok", "its own state folder works"
