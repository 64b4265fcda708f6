"""One page for each check of a machine or a cluster: what `smoke explain NAME` prints, with links."""

from __future__ import annotations

import inspect

from agent import engine
from docs.generator import markdown
from docs.generator.markdown import Page
from playbooks.model import Playbook
from smoketests import cluster
from smoketests.commands import explain

FOLDER = "checks"
INTRO = """One page for each check, written from its source file: the question, the thresholds per status, the limits
that an inventory may change, and the playbooks. `smoke explain NAME` prints the same on a terminal.

The first group runs on each machine; `smoke all` on a broker runs all of them. The second group compares many hosts and
needs an inventory (`-i`)."""
CHANGE = "An inventory can change each limit for all hosts, for a cluster, a host or an item."


def pages(known: list[Playbook]) -> list[Page]:
    """Those of machines first, then those of clusters."""
    return [page(name, known) for name in [*engine.names(), *cluster.names()]]


def index(made: list[Page]) -> Page:
    return markdown.index(FOLDER, "Checks", INTRO, made)


def page(name: str, known: list[Playbook]) -> Page:
    check = explain.load(name)
    question, _, body = (inspect.getdoc(check) or "").partition("\n")
    rows = [(markdown.code(fact.name), fact.type, markdown.escaped(fact.unit)) for fact in explain.facts_of(name)]
    facts = markdown.table(("fact", "type", "unit"), rows) if rows else ""
    led = [one for one in known if name in {finding.check for finding in one.findings}]
    links = [f"* [{one.name}](../playbooks/{one.name}.md): {markdown.escaped(one.title)}" for one in led]
    limits = markdown.limits(check.LIMITS)
    of = "each machine" if name in engine.names() else "each cluster, with an inventory (`-i`)"
    return markdown.page(
        f"{FOLDER}/{name}.md",
        name,
        question,
        f"**{markdown.escaped(question)}**",
        f"Runs on {of}: `smoke check {name}`.",
        markdown.prose(body),
        markdown.section("Limits", limits and f"{CHANGE}\n\n{limits}"),
        markdown.section("Facts in each finding", facts),
        markdown.section("Playbooks", "\n".join(links)),
    )
