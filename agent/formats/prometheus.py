"""Prometheus text exposition, for node_exporter's textfile collector: a status per item, and every number seen."""

from __future__ import annotations

from typing import Any, Iterator, List, Mapping, Sequence, Tuple

from agent.formats.text import printable
from agent.report import Report
from agent.status import BY_SEVERITY, EXIT_CODES

HELP = (
    ("smoke_status", "0 ok or skipped, 1 warning, 2 critical, 3 unknown"),
    ("smoke_fact", "a number that a check saw; its unit stands in the name of the fact"),
    ("smoke_findings", "how many findings have this status"),
    ("smoke_duration_seconds", "how long it took to look at the item"),
)


def render(reports: Sequence[Report], only_problems: bool = False) -> str:
    """https://prometheus.io/docs/instrumenting/exposition_formats/"""
    samples = sorted(sample for report in reports for sample in _samples(report.findings))
    lines: List[str] = []
    for name, meaning in HELP:
        lines += [f"# HELP {name} {meaning}", f"# TYPE {name} gauge"]
        lines += [f"{metric}{labels} {value}" for metric, labels, value in samples if metric == name]
    return "\n".join(lines)


def _samples(findings: Sequence[Mapping[str, Any]]) -> Iterator[Tuple[str, str, str]]:
    for finding in findings:
        labels = {name: finding[name] for name in ("cluster", "host", "check", "item")}
        yield "smoke_status", _labels(**labels), str(EXIT_CODES[finding["status"]])
        yield "smoke_duration_seconds", _labels(**labels), f"{finding['duration_ms'] / 1000:g}"
        for fact, value in finding["facts"].items():
            if isinstance(value, (int, float)):
                yield "smoke_fact", _labels(**labels, fact=fact), f"{float(value):g}"
    for host in sorted({(finding["cluster"], finding["host"]) for finding in findings}):
        for status in BY_SEVERITY:
            count = sum((f["cluster"], f["host"], f["status"]) == (*host, status) for f in findings)
            yield "smoke_findings", _labels(cluster=host[0], host=host[1], status=status), str(count)


def _labels(**labels: str) -> str:
    return "{" + ",".join(f'{name}="{_escape(value)}"' for name, value in labels.items()) + "}"


def _escape(value: str) -> str:
    return printable(value).replace("\\", r"\\").replace('"', r"\"")
