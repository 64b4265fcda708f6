"""One page for each output format, with the same example report in each."""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Mapping
from typing import Any

from agent import report
from agent.report import Report
from agent.status import CRITICAL, OK, WARNING
from docs.generator import markdown
from docs.generator.markdown import Page
from smoketests import show

FOLDER = "formats"
INTRO = """One page for each output format, with the same three findings in each. `smoke all --format NAME` writes the
formats of the controller, `smoke-agent --format NAME` those of the agent."""
LANGUAGES = {"json": "json", "jsonl": "json", "junit": "xml"}
# formats that only the agent has: checkmk, and the report itself
OF_THE_AGENT = {"checkmk": "agent.formats.checkmk", "jsonl": "agent.report"}
CONTROLLER, AGENT = "`smoke … --format {}`", "`smoke-agent --format {}`"
AT = "2026-11-20T03:12:00Z"


def pages() -> list[Page]:
    modules = {**show.FORMATS, **OF_THE_AGENT}
    return [page(name, modules[name]) for name in sorted(modules)]


def index(made: list[Page]) -> Page:
    return markdown.index(FOLDER, "Output formats", INTRO, made)


def page(name: str, module: str) -> Page:
    summary, _, body = (inspect.getdoc(importlib.import_module(module)) or "").partition("\n")
    command = (AGENT if name in OF_THE_AGENT else CONTROLLER).format(name)
    return markdown.page(
        f"{FOLDER}/{name}.md",
        name,
        summary,
        markdown.escaped(summary),
        markdown.escaped(body.strip()),
        f"Written by {command}.",
        markdown.section("Example", markdown.block(rendered(name, module), LANGUAGES.get(name, "text"))),
    )


def rendered(name: str, module: str) -> str:
    """The example report in this format."""
    if name == "jsonl":
        return "\n".join(json.dumps(record) for record in [example().header, *example().findings])
    text: str = importlib.import_module(module).render([example()])
    return text


def example() -> Report:
    """Three findings of one broker."""
    header = {"schema": report.SCHEMA, "kind": "header", "at": AT, "host": "kafka-a03", "cluster": "prod-a"}
    findings = [
        finding("mounts", "/kafka/d3", CRITICAL, "/kafka/d3 (sdd): create fails with EROFS", "hidden-readonly"),
        finding("swappiness", "-", WARNING, "vm.swappiness is 60, limit 1", "tune-os"),
        finding("clock", "-", OK, "synchronised, offset 0.2 ms", ""),
    ]
    return Report(header, findings, [])


def finding(check: str, item: str, status: str, reason: str, playbook: str) -> Mapping[str, Any]:
    """A record with every field that a finding has."""
    values = {
        "schema": report.SCHEMA, "run_id": "5f1c", "at": AT, "cluster": "prod-a", "host": "kafka-a03", "role": "broker",
        "layout": "jbod", "rack": "r1", "check": check, "item": item, "status": status, "reason": reason,
        "playbook": playbook, "facts": {}, "duration_ms": 12, "first_seen": AT,
    }  # fmt: skip
    return {name: values[name] for name in report.FIELDS}
