"""python -m agent on a machine that lacks what every program takes for granted: still a whole report, no traceback."""

from __future__ import annotations

import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
from typing import Any

import pytest

from agent import engine
from tests.agent.test_main import ROOT, readable_by_anyone

__all__ = ["readable_by_anyone"]
COMMAND = [sys.executable, "-m", "agent"]
NOT_LOGGED_IN = 61234  # a user of whom nothing else runs


def whole(answer: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    """The findings of a report that speaks of every check, and says at its end what became of the run."""
    rows = [json.loads(line) for line in answer.stdout.splitlines()]
    findings = [row for row in rows if "check" in row]
    assert {row["check"] for row in findings} == {*engine.names(), "agent"}
    assert findings[-1]["check"] == "agent"
    assert "Traceback" not in answer.stderr + answer.stdout
    by_status = {"critical": 2, "unknown": 3, "warning": 1}
    worst = next((status for status in ("critical", "unknown", "warning") if any(
        row["status"] == status for row in findings)), "ok")  # fmt: skip
    assert answer.returncode == by_status.get(worst, 0)
    return findings


def after(script: str, *command: str) -> subprocess.CompletedProcess[str]:
    """A command in a mount namespace of its own, after a script has changed something there."""
    words = ["unshare", "-m", "sh", "-c", f'{script} && exec "$@"', "sh", *command]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=90, check=False)


@pytest.mark.root
@pytest.mark.parametrize("most", [1, 2, 3, 4, 6, 10])
@pytest.mark.skipif(not os.path.exists("/usr/bin/python3"), reason="needs a Python that any user may run")
def test_a_machine_without_processes_or_threads_left_gets_a_report(readable_by_anyone: pathlib.Path, most: int) -> None:
    """The kernel counts threads as processes; of root it counts nothing, so this is another user."""
    answer = subprocess.run(
        ["prlimit", f"--nproc={most}", "/usr/bin/python3", "-m", "agent", "--deadline", "15",
         "--state", str(readable_by_anyone / "state")],
        cwd=readable_by_anyone, capture_output=True, text=True, timeout=90, check=False,
        user=NOT_LOGGED_IN, group=NOT_LOGGED_IN, extra_groups=[], env={"PATH": "/usr/bin:/bin"},
    )  # fmt: skip

    findings = whole(answer)
    said = " ".join(finding["reason"] for finding in findings)
    assert "RuntimeError" not in said and "BlockingIOError" not in said
    assert "fails with EAGAIN" not in said, "want of a process is no news of a disk"


@pytest.mark.parametrize("megabytes", [80, 120, 200])
def test_a_machine_without_memory_left_gets_a_report(tmp_path: pathlib.Path, megabytes: int) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))

    answer = subprocess.run(
        [*COMMAND, "--deadline", "15", "--state", str(tmp_path / "state")], cwd=ROOT, capture_output=True, text=True,
        timeout=90, check=False, preexec_fn=limit,
    )  # fmt: skip
    whole(answer)


@pytest.mark.root
def test_a_machine_without_dev_null_gets_a_report_and_finds_its_tools(tmp_path: pathlib.Path) -> None:
    answer = after("mount -t tmpfs none /dev", *COMMAND, "--state", str(tmp_path / "state"))

    said = [finding["reason"] for finding in whole(answer)]
    assert not [words for words in said if "/dev/null" in words]
    assert not [words for words in said if shutil.which("smartctl") and "smartctl is not installed" in words]


def test_a_report_that_cannot_be_written_is_said_and_exits_3(tmp_path: pathlib.Path) -> None:
    for redirection, words in ((">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")):
        for form in ("jsonl", "nagios"):
            answer = subprocess.run(
                ["sh", "-c", f'exec "$@" {redirection}', "sh", *COMMAND, "swappiness", "--format", form, "--state",
                 str(tmp_path / "state")],
                cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
            )  # fmt: skip
            assert answer.returncode == 3
            assert answer.stderr.splitlines() == [f"standard output: {words}: the report is incomplete"]


def test_without_any_standard_file_it_runs_and_exits_3(tmp_path: pathlib.Path) -> None:
    state = tmp_path / "state"
    words = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *COMMAND, "swappiness", "--state", str(state)]

    assert subprocess.run(words, cwd=ROOT, timeout=60, check=False).returncode == 3
    assert state.exists(), "the run itself was well"


def test_help_that_cannot_be_printed_is_no_traceback() -> None:
    answer = subprocess.run(
        ["sh", "-c", f"exec {sys.executable} -m agent --help >/dev/full"], cwd=ROOT, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip

    assert answer.returncode in (0, 3) and "Traceback" not in answer.stderr


@pytest.mark.root
def test_a_machine_without_room_keeps_its_old_memory_and_says_so(tmp_path: pathlib.Path) -> None:
    full = f"mount -t tmpfs -o size=4k none {tmp_path} && {{ head -c 8192 /dev/zero > {tmp_path}/full 2>&- || true; }}"
    answer = after(full, *COMMAND, "swappiness", "--state", str(tmp_path / "state"))
    output = after(full, *COMMAND, "swappiness", "--output", str(tmp_path / "out"), "--state", str(tmp_path / "state"))

    last = json.loads(answer.stdout.splitlines()[-1])
    assert (last["status"], answer.returncode) == ("unknown", 3)
    assert "No space left on device" in last["reason"]
    assert output.returncode == 3 and "No space left on device" in output.stderr


def test_a_worker_that_is_killed_leaves_a_whole_report_that_says_so(tmp_path: pathlib.Path) -> None:
    """A stand-in smartctl, the first of PATH, kills the process that started it."""
    tool = tmp_path / "smartctl"
    tool.write_text("#!/bin/sh\nsleep 1\nkill -9 $PPID\n")
    tool.chmod(0o755)
    answer = subprocess.run(
        [*COMMAND, "--state", str(tmp_path / "state")], cwd=ROOT, capture_output=True, text=True, timeout=90,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}, check=False,
    )  # fmt: skip

    findings = whole(answer)
    assert (findings[-1]["item"], findings[-1]["status"]) == ("run", "unknown")
    assert f"the agent process was killed (signal {signal.SIGKILL.value}" in findings[-1]["reason"]
    assert any(row["status"] in ("ok", "skipped") for row in findings), "what was told before stays told"
