"""The record: one JSON line per finding, and a header line before them. Every later step reads these."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any, Dict, Iterable, List, Mapping, Tuple

from agent import __version__
from agent.host import CannotTell, Host
from agent.named_tuples import NamedTuple
from agent.status import BY_SEVERITY, Finding

SCHEMA = 1

FIELDS = (
    "schema",
    "run_id",
    "at",
    "cluster",
    "host",
    "role",
    "layout",
    "rack",
    "check",
    "item",
    "status",
    "reason",
    "playbook",
    "facts",
    "duration_ms",
    "first_seen",
)


class Run(NamedTuple):
    """What all findings of one run have in common; `at` is ISO 8601, UTC."""

    run_id: str
    at: str
    cluster: str
    host: str
    role: str
    layout: str
    rack: str


class Report(NamedTuple):
    """One machine's run, read back: the header, the findings, and one sentence for each line that is not of ours."""

    header: Mapping[str, Any]
    findings: List[Mapping[str, Any]]
    bad_lines: List[str]


def timestamp(seconds: float) -> str:
    """2026-11-20T03:12:00Z"""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def about(host: Host, run_id: str) -> Run:
    expected = host.expected
    return Run(
        run_id,
        timestamp(host.state.now),
        expected.cluster,
        expected.host or os.uname().nodename,
        ",".join(expected.roles),
        expected.layout,
        expected.rack,
    )


def header(run: Run, host: Host) -> str:
    """The first line of a report."""
    try:
        boot_id = host.boot_id()
    except CannotTell:
        boot_id = ""
    fields: Dict[str, Any] = {
        "schema": SCHEMA,
        "kind": "header",
        **run._asdict(),
        "drawer": host.expected.drawer,
        "power_feed": host.expected.power_feed,
        "agent": __version__,
        "kernel": os.uname().release,
        "boot_id": boot_id,
        "clock": host.now(),
        "uptime_s": round(host.uptime_s()),
        "python": ".".join(map(str, sys.version_info[:3])),
        "root": host.is_root(),
        "guessed": list(host.expected.guessed),
        "previous_at": "" if host.state.previous_at is None else timestamp(host.state.previous_at),
    }
    return _line(fields)


def line(run: Run, finding: Finding) -> str:
    """One finding."""
    return _line(
        {
            "schema": SCHEMA,
            **run._asdict(),
            "check": finding.check,
            "item": finding.item,
            "status": finding.status,
            "reason": finding.verdict.reason,
            "playbook": finding.verdict.playbook,
            "facts": dict(finding.facts),
            "duration_ms": finding.duration_ms,
            "first_seen": timestamp(finding.first_seen),
        }
    )


def _line(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=True, separators=(",", ":"), default=str)


def read(lines: Iterable[str]) -> Report:
    """Lines that `header` and `line` wrote, possibly cut short; anything else is named in `bad_lines`, never lost."""
    first: Mapping[str, Any] = {}
    findings: List[Mapping[str, Any]] = []
    bad: List[str] = []
    for number, text in enumerate(lines, 1):
        fields, problem = _parsed(text)
        if problem:
            bad.append(f"line {number}: {problem}")
        elif fields.get("kind") == "header":
            first = fields
        else:
            findings.append(fields)
    return Report(first, findings, bad)


_KINDS: Mapping[str, Any] = {"facts": dict, "duration_ms": (int, float), "schema": int}


def _parsed(text: str) -> Tuple[Mapping[str, Any], str]:
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return {}, "not JSON"
    if not isinstance(fields, dict) or fields.get("schema") != SCHEMA:
        return {}, f"not a record of schema {SCHEMA}"
    if fields.get("kind") == "header":
        return fields, ""
    for name in FIELDS:
        if not isinstance(fields.get(name), _KINDS.get(name, str)):
            return {}, f"field {name!r} is missing or of the wrong kind"
    if fields["status"] not in BY_SEVERITY:
        return {}, "no such status"
    return fields, ""
