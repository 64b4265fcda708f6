"""Reports for tests of what shows and keeps them."""

from __future__ import annotations

from typing import Any

from agent.report import FIELDS, Report

AT = "2026-11-20T03:12:00Z"


def finding(status: str = "ok", **fields: Any) -> dict[str, Any]:
    """A record as the agent writes it, with these fields changed."""
    record = {
        "schema": 1, "run_id": "r1", "at": AT, "cluster": "prod-a", "host": "kafka-a03", "role": "broker",
        "layout": "jbod", "rack": "r7", "check": "mounts", "item": "/kafka/d3", "status": status,
        "reason": "/kafka/d3 (sdd): create fails with EROFS although mounted rw", "playbook": "",
        "facts": {"errors": 2}, "duration_ms": 12, "first_seen": AT,
    }  # fmt: skip
    assert set(fields) <= set(FIELDS)
    return {**record, **fields}


def report(*findings: dict[str, Any], **header: Any) -> Report:
    fields = {"schema": 1, "kind": "header", "host": "kafka-a03", "at": AT, "guessed": [], "previous_at": "", **header}
    return Report(fields, list(findings), [])
