"""A night that fails is mailed, without Spark, and leaves nothing of itself behind."""

from __future__ import annotations

import email
import email.policy
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from fleet.mail import failed_night
from fleet.spark import session
from smoketests.commands import nightly as nightly_command
from tests.fleet.mail.test_delivery import PASSWORD, Server, free_port, server, settings

__all__ = ["server"]
UNIT = "fleet-smoke-nightly.service"


@pytest.fixture(autouse=True)
def _password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMOKE_TEST_PASSWORD", PASSWORD)


def config(folder: Path, **said: object) -> str:
    path = folder / "mail.yaml"
    path.write_text(json.dumps({**said, "to": ["ops@example.org"], "sender": "smoke@example.org"}))
    return str(path)


def test_a_failed_night_is_mailed_with_what_the_unit_said_last(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal is a stand-in: a test's machine may have none, and none of this unit."""
    journal = tmp_path / "journalctl"
    journal.write_text('#!/bin/sh\nprintf "smoke: No space left on device\\033[2J\\n$*\\n"\n')
    journal.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    given = settings(server)
    said = {name: getattr(given, name) for name in ("host", "port", "user", "password_env", "ca_file")}

    done = CliRunner().invoke(nightly_command.nightly, ["--mail", config(tmp_path, **said), "--failed", UNIT])

    assert (done.exit_code, done.output) == (0, "")
    (raw,) = server.mails
    mail = email.message_from_bytes(raw, policy=email.policy.default)
    assert mail["Subject"].startswith("[smoke] the nightly job failed on")
    assert "smoke: No space left on device [2J" in mail.get_content()
    assert f"--unit={UNIT}" in mail.get_content()


def test_a_failed_night_whose_mail_cannot_be_sent_is_said(tmp_path: Path) -> None:
    mail = config(tmp_path, host="127.0.0.1", port=free_port(), security="none", tries=1)

    done = CliRunner().invoke(nightly_command.nightly, ["--mail", mail, "--failed", UNIT])

    assert done.exit_code == 1
    assert "the mail could not be sent: 127.0.0.1:" in done.output


def test_the_mail_of_a_failed_night_loads_no_spark(tmp_path: Path) -> None:
    words = (
        "import sys",
        "from fleet.mail import failed_night, message",
        "sys.exit(bool({'pyspark', 'matplotlib', 'jinja2'} & set(sys.modules)))",
    )
    script = chr(10).join(words)

    assert subprocess.run([sys.executable, "-c", script], check=False, timeout=60).returncode == 0


def test_a_machine_without_a_journal_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")

    assert failed_night.last_lines(UNIT) == "This machine has no journal."


def test_what_killed_jobs_left_in_the_temporary_folder_is_removed(tmp_path: Path) -> None:
    over = subprocess.Popen(["true"])
    over.wait()
    for name in (f"smoke-spark-{over.pid}-x1", f"smoke-spark-{os.getpid()}-x2", "smoke-spark-mine", "other"):
        (tmp_path / name / "inside").mkdir(parents=True)

    session._sweep(str(tmp_path))

    assert {path.name for path in tmp_path.iterdir()} == {f"smoke-spark-{os.getpid()}-x2", "smoke-spark-mine", "other"}


def seconds(text: str) -> int:
    """`8h`, `10min`."""
    number, unit = re.fullmatch(r"(\d+)(h|min|s)", text).groups()  # type: ignore[union-attr]
    return int(number) * {"h": 3600, "min": 60, "s": 1}[unit]


def test_the_unit_stops_after_three_tries_and_then_a_mail_is_sent() -> None:
    """However long a try takes: three of them fall into the span in which they are counted."""
    packaging = Path(failed_night.__file__).parent.parent.parent / "packaging"
    unit = dict(line.split("=", 1) for line in (packaging / UNIT).read_text().splitlines() if "=" in line[1:])
    three_tries = 3 * seconds(unit["TimeoutStartSec"]) + 2 * seconds(unit["RestartSec"])

    assert (unit["Restart"], unit["StartLimitBurst"]) == ("on-failure", "3")
    assert three_tries < seconds(unit["StartLimitIntervalSec"]) < 24 * 3600  # and the next night begins anew
    assert unit["OnFailure"] == "fleet-smoke-nightly-failed.service"
    assert "--failed fleet-smoke-nightly.service" in (packaging / unit["OnFailure"]).read_text()
