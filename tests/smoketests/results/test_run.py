"""`smoke check NAME -i X` asks that question, what it needs, and no other."""

from __future__ import annotations

import json
import pathlib
import sys
from typing import Any

import pytest

from smoketests import cli
from smoketests import cluster as judges
from smoketests.results import run
from tests.real.parts.sshd import free_port

ASKED = ["partitions", "broker_ids", "topology"]


@pytest.fixture
def inventory(tmp_path: pathlib.Path) -> str:
    """One host that nobody may reach, and a Kafka that is not there."""
    path = tmp_path / "one-host.yaml"
    path.write_text(
        f"clusters:\n  prod-a:\n    kafka: ['127.0.0.1:{free_port()}']\n"
        "    hosts: {kafka-a01: {address: 127.0.0.1, roles: [broker], broker_id: 1}}\n"
    )
    return str(path)


def smoke(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: str) -> tuple[int, str]:
    def no_host(*_arguments: Any) -> Any:
        raise AssertionError("a host was asked")

    monkeypatch.setattr(run, "host_reports", no_host)
    monkeypatch.setattr(sys, "argv", ["smoke", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(str(ended.value.code)), capsys.readouterr().out


def test_questions_about_kafka_alone_are_asked_and_no_host_check_beside_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, inventory: str, tmp_path: pathlib.Path
) -> None:
    state = str(tmp_path / "state")
    code, shown = smoke(capsys, monkeypatch, "check", *ASKED, "-i", inventory, "--state", state)
    assert code == 3
    for name in ASKED:
        assert name in shown, shown
    assert "connection refused" in " ".join(shown.split())

    code, shown = smoke(capsys, monkeypatch, "check", *ASKED, "-i", inventory, "--state", state, "-f", "json")
    rows = json.loads(shown)["findings"]
    assert {row["check"] for row in rows} == set(ASKED) and {row["status"] for row in rows} == {"unknown"}


def test_what_a_question_about_many_hosts_reads_is_asked_of_them_and_no_more() -> None:
    for name in judges.names():
        of_hosts, of_clusters = run._split([name])
        needed = judges.asks(name)
        assert list(of_hosts) == list(dict.fromkeys(needed)), name
        assert of_clusters == (((run.REACH,) if needed and name != run.REACH else ()) + (name,)), name


def test_without_a_name_everything_is_asked() -> None:
    assert run._split([]) == ((), tuple(judges.names()))
