"""What is kept of a wait for the gate."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from playbooks.executors.gate import News
from smoketests.gate import decision_store
from smoketests.gate.decision import FAILED, PASSED, Decision, RuleResult
from smoketests.gate.maintenance import Maintenance

ASKED = {"hosts": ["kafka-a01"], "purpose": "reboot", "cluster": "prod-a", "after": True}


def look(number: int, status: str = FAILED, **asked: Any) -> Decision:
    reason = f"{4320 - number} partitions under-replicated"
    at = f"2026-11-{20 + number // 1440:02}T{number // 60 % 24:02}:{number % 60:02}:00Z"
    rule = RuleResult(status, reason, name="under_replicated")
    return Decision({**ASKED, **asked}, at, 1.0, [rule], f"{number:032x}", state={"hosts": {}})


def kept(store: pathlib.Path) -> list[str]:
    return [json.loads(path.read_text())["answer"] for path in sorted((store / "gate").glob("date=*/*.json"))]


def test_of_three_days_of_waiting_only_what_changed_and_the_last_look_are_kept(tmp_path: pathlib.Path) -> None:
    news = News(str(tmp_path))
    for number in range(4320):
        last = news.kept(look(number), str(tmp_path))
    for number in range(4320, 4323):
        last = news.kept(look(number, PASSED), str(tmp_path))
    decision_store.kept(last, str(tmp_path))

    assert kept(tmp_path) == ["NO-GO", "GO", "GO"]


def test_each_look_reads_only_the_records_that_are_new(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decision_store.kept(look(0, PASSED, after=False), str(tmp_path))
    for number in range(1, 300):
        decision_store.kept(look(number), str(tmp_path))
    asked = Maintenance(("kafka-a01",), "reboot", "prod-a", after=True)
    now = 1_795_200_000.0  # 2026-11-20
    parsed: list[str] = []
    real = json.loads

    def counted(text: str) -> Any:
        parsed.append(text)
        return real(text)

    monkeypatch.setattr(json, "loads", counted)

    for _ in range(20):
        assert decision_store.before(str(tmp_path), asked, now)["answer"] == "GO"

    assert len(parsed) == 300
