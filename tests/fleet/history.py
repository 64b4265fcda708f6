"""Writes small results stores for tests, with the agent's own record, and reads tables back."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

from agent import report
from agent.report import Run
from agent.status import Finding, Verdict

NIGHT = "2026-11-19"


def host(name: str, run_id: str = "r", **said: str) -> Run:
    given = {"cluster": "prod-a", "role": "broker", "layout": "jbod", "rack": "r1", "at": "2026-11-19T03:00:00Z"}
    return Run(run_id=run_id, host=name, **{**given, **said})


def line(
    run: Run,
    check: str,
    item: str = "-",
    status: str = "ok",
    facts: Mapping[str, Any] | None = None,
    first_seen: float = 1795000000.0,
    reason: str = "",
) -> str:
    playbook = "" if status in ("ok", "skipped") else "tune-os"
    verdict = Verdict(status, reason or f"{check} {item} is {status}", playbook)
    return report.line(run, Finding(check, item, verdict, facts or {}, 3, first_seen))


def header(run: Run, **said: Any) -> str:
    return json.dumps({"schema": 1, "kind": "header", **run._asdict(), "agent": "1", "kernel": "6.1", **said})


def write_run(
    store: Any, date: str, lines: Iterable[str], time: str = "030000", run_id: str = "r", zipped: bool = False
) -> str:
    """One run as the store keeps it; gives the path."""
    folder = os.path.join(str(store), f"date={date}")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{time}-{run_id}.jsonl{'.gz' if zipped else ''}")
    text = "".join(f"{text}\n" for text in lines).encode()
    with open(path, "wb") as file:
        file.write(gzip.compress(text) if zipped else text)
    return path
