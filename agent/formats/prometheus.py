"""Prometheus text exposition, for node_exporter's textfile collector: a status per item, and every number seen."""

from __future__ import annotations

from collections import Counter
from typing import Any, Callable, Dict, Iterable, Iterator, Mapping, Sequence

from agent.formats.text import printable
from agent.report import Report
from agent.status import BY_SEVERITY, EXIT_CODES

# what is larger is no measurement
MOST = 1e300

Finding = Mapping[str, Any]

HELP = (
    ("smoke_status", "0 ok or skipped, 1 warning, 2 critical, 3 unknown"),
    ("smoke_fact", "a number that a check read; its unit is in the name of the fact"),
    ("smoke_findings", "number of findings with this status"),
    ("smoke_duration_seconds", "time taken to check the item"),
)


def render(reports: Sequence[Report], only_problems: bool = False) -> str:
    """https://prometheus.io/docs/instrumenting/exposition_formats/"""
    return "\n".join(lines(lambda: reports))


def lines(reports: Callable[[], Iterable[Report]]) -> Iterator[str]:
    """Metric by metric, as the format wants it; the reports are asked for anew for each."""
    for metric, meaning in HELP:
        yield f"# HELP {metric} {meaning}"
        yield f"# TYPE {metric} gauge"
        for report in reports():
            samples = sorted(SAMPLES[metric](report.findings).items())
            yield from (f"{metric}{labels} {value}" for labels, value in samples)


def _statuses(findings: Sequence[Finding]) -> Dict[str, str]:
    """An item that is named twice has the worse of its statuses: two samples of one name would spoil the whole."""
    worst: Dict[str, str] = {}
    for finding in sorted(findings, key=lambda finding: BY_SEVERITY.index(finding["status"])):
        worst[_of(finding)] = str(EXIT_CODES[finding["status"]])
    return worst


def _facts(findings: Sequence[Finding]) -> Dict[str, str]:
    samples: Dict[str, str] = {}
    for finding in findings:
        own = _of(finding)[:-1]
        for fact, value in finding["facts"].items():
            if isinstance(value, (int, float)) and -MOST <= value <= MOST:
                samples[f'{own},fact="{_escape(fact)}"}}'] = f"{float(value):g}"
    return samples


def _durations(findings: Sequence[Finding]) -> Dict[str, str]:
    return {_of(finding): f"{min(max(finding['duration_ms'], 0), MOST) / 1000:g}" for finding in findings}


def _counts(findings: Sequence[Finding]) -> Dict[str, str]:
    counts = Counter((f["cluster"], f["host"], f["status"]) for f in findings)
    hosts = {(f["cluster"], f["host"]) for f in findings}
    return {
        _labels(cluster=cluster, host=host, status=status): str(counts[cluster, host, status])
        for cluster, host in hosts
        for status in BY_SEVERITY
    }


SAMPLES: Mapping[str, Callable[[Sequence[Finding]], Dict[str, str]]] = {
    "smoke_status": _statuses,
    "smoke_fact": _facts,
    "smoke_findings": _counts,
    "smoke_duration_seconds": _durations,
}


def _of(finding: Finding) -> str:
    return _labels(**{name: finding[name] for name in ("cluster", "host", "check", "item")})


def _labels(**labels: str) -> str:
    return "{" + ",".join(f'{name}="{_escape(value)}"' for name, value in labels.items()) + "}"


def _escape(value: str) -> str:
    return printable(value).replace("\\", r"\\").replace('"', r"\"")
