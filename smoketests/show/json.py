"""The same rows for machines: one JSON document with headers, findings and a summary."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agent.report import SCHEMA, Report
from agent.status import BY_SEVERITY, EXIT_CODES, FINE, UNKNOWN, worst

if TYPE_CHECKING:
    from smoketests.results.run_results import Survey


def render(reports: Sequence[Report], only_problems: bool = False) -> str:
    findings = [finding for report in reports for finding in report.findings]
    counts = {status: sum(finding["status"] == status for finding in findings) for status in reversed(BY_SEVERITY)}
    overall = worst(finding["status"] for finding in findings) if findings else UNKNOWN
    return json.dumps(
        {
            "schema": SCHEMA,
            "summary": {"status": overall, "exit_code": EXIT_CODES[overall], **counts},
            "reports": [report.header for report in reports],
            "findings": [finding for finding in findings if not only_problems or finding["status"] not in FINE],
            "bad_lines": [line for report in reports for line in report.bad_lines],
        },
        indent=1,
    )


def many(seen: Survey, only_problems: bool = False) -> Iterator[str]:
    """The same document, a record a line, and in the summary also the clusters."""
    clusters = {
        name: {"hosts": tally.hosts, "silent": tally.silent, **_counts([tally.statuses])}
        for name, tally in seen.tallies.items()
    }
    summary = {
        "status": seen.status, "exit_code": seen.exit_code,
        **_counts([tally.statuses for tally in seen.tallies.values()]),
        "hosts": len(seen.asked), "seconds": round(seen.seconds, 1), "previous_at": seen.previous_at, "new": seen.new,
        "clusters": clusters,
    }  # fmt: skip
    yield f'{{"schema": {SCHEMA}, "summary": {json.dumps(summary)},'
    yield from _rows("reports", map(json.dumps, seen.headers()))
    yield from _rows("findings", map(_line, seen.problems) if only_problems else seen.lines())
    yield f'"bad_lines": {json.dumps(seen.bad_lines)}}}'


def _counts(statuses: Iterable[Mapping[str, int]]) -> dict[str, int]:
    several = list(statuses)
    return {status: sum(counts.get(status, 0) for counts in several) for status in reversed(BY_SEVERITY)}


def _line(record: Mapping[str, Any]) -> str:
    return json.dumps(record, default=str)


def _rows(name: str, rows: Iterable[str]) -> Iterator[str]:
    """A list of such JSON, without ever holding all of it."""
    yield f'"{name}": ['
    before = ""
    for row in rows:
        if before:
            yield before + ","
        before = row
    yield before + "],"
