"""One page for each rule of `smoke gate`: what `smoke gate rules NAME` prints, with links to the checks it reads."""

from __future__ import annotations

from agent import engine
from docs.generator import markdown
from docs.generator.markdown import Page
from smoketests.gate import rules
from smoketests.gate.maintenance import PURPOSES

FOLDER = "gate-rules"
INTRO = """One page for each rule of [`smoke gate`](../gate.md), written from its source file. `smoke gate rules NAME`
prints the same on a terminal."""


def pages() -> list[Page]:
    return [page(name) for name in rules.names()]


def index(made: list[Page]) -> Page:
    return markdown.index(FOLDER, "Gate rules", INTRO, made)


def page(name: str) -> Page:
    rule = rules.load(name)
    question, _, body = rule.doc.partition("\n")
    limits = markdown.limits(rule.limits)
    change = f"An inventory can change each for a cluster, under `{rules.PREFIX}{name}`."
    return markdown.page(
        f"{FOLDER}/{name}.md",
        name,
        question,
        f"**{markdown.escaped(question)}**",
        markdown.prose(body),
        markdown.table(("", ""), facts(rule)),
        markdown.section("Limits", limits and f"{change}\n\n{limits}"),
        markdown.section("Accept a finding", accept(name, rule)),
    )


def facts(rule: rules.Rule) -> list[tuple[str, str]]:
    every = set(rule.purposes) == set(PURPOSES)
    known = engine.names()
    reads = [f"[{check}](../checks/{check}.md)" if check in known else markdown.code(check) for check in rule.checks]
    return [
        ("evaluated", " and ".join(rule.when) + " a maintenance"),
        ("for", "every purpose" if every else ", ".join(map(markdown.code, rule.purposes))),
        ("host checks that it reads", ", ".join(reads) or "none"),
    ]


def accept(name: str, rule: rules.Rule) -> str:
    if rule.final:
        return f"A finding of this rule cannot be accepted: {markdown.escaped(rule.final)}."
    return markdown.block(f'smoke gate … --accept {name}#ID --because "…"')
