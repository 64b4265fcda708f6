"""The gate's rules: one pure module each; the folder's listing is their registry."""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent import engine
from agent.host import CannotTell, NotApplicable
from agent.status import unknown
from smoketests import cluster
from smoketests.cluster.view import ClusterFinding, ClusterView
from smoketests.gate import acceptance
from smoketests.gate.context import GateContext
from smoketests.gate.decision import SKIPPED, RuleResult, ruled
from smoketests.gate.maintenance import PURPOSES, Maintenance

BEFORE, AFTER = "before", "after"
ONLY = "only asked"
NAME_WIDTH = 18
# an inventory changes limits for a cluster under gate_NAME
PREFIX = "gate_"
# what a rule may state of itself
DIFFERS = ("limits", "purposes", "when", "checks", "final")


@dataclass
class Rule:
    """A module of this folder's folders: each says in capitals (PURPOSES = …) what differs from these defaults.

    doc: its docstring, which begins with its question and says when it is failed, warned and so on. purposes: what it
    is asked for. when: before, after, or both. checks: host checks whose findings it reads. final: why its answer
    cannot be accepted, empty if it can.
    """

    doc: str
    judge: Callable[[GateContext, Mapping[str, Any]], RuleResult]
    limits: Mapping[str, Any] = field(default_factory=dict)
    purposes: Sequence[str] = PURPOSES
    when: Sequence[str] = (BEFORE, AFTER)
    checks: Sequence[str] = ()
    final: str = ""

    @property
    def question(self) -> str:
        return self.doc.partition("\n")[0]


def names() -> list[str]:
    """The rules there are."""
    return sorted(engine.rooms(__path__[0]))


@functools.cache
def load(name: str) -> Rule:
    module = importlib.import_module(f"{__name__}.{engine.rooms(__path__[0])[name]}.{name}")
    own = {one: getattr(module, one.upper()) for one in DIFFERS if hasattr(module, one.upper())}
    doc = "\n\n".join(filter(None, [inspect.getdoc(module), getattr(module, "VERDICTS", "")]))
    return Rule(doc, module.judge, **own)


def question(name: str) -> str:
    """The first line of the rule's docstring."""
    return load(name).question


def listing() -> str:
    """Every rule and its question, for a terminal of 80 columns."""
    rows = [f"{name:<{NAME_WIDTH}} {question(name)}" for name in names()]
    indent = " " * (NAME_WIDTH + 1)
    return "\n".join(textwrap.fill(row, 80, subsequent_indent=indent, break_on_hyphens=False) for row in rows)


def why_not(rule: Rule, maintenance: Maintenance) -> str:
    """Why this rule is not asked; empty if it is."""
    when = AFTER if maintenance.after else BEFORE
    if when not in rule.when:
        return f"{ONLY} {' and '.join(rule.when)} a maintenance"
    return "" if maintenance.purpose in rule.purposes else f"{ONLY} for {', '.join(rule.purposes)}"


def checks(maintenance: Maintenance) -> tuple[str, ...]:
    """The host checks that the rules of this question read."""
    asked = [load(name) for name in names() if not why_not(load(name), maintenance)]
    known = engine.names()
    return tuple(dict.fromkeys(check for rule in asked for check in rule.checks if check in known))


def judge_all(situation: GateContext) -> list[RuleResult]:
    """Every rule there is, asked or not."""
    return taken(situation, [judged(situation, name) for name in names()])


def taken(situation: GateContext, results: Sequence[RuleResult]) -> list[RuleResult]:
    """These answers without what is accepted of them."""
    given, accepted = situation.maintenance.accept, situation.accepted
    return [one if load(one.name).final else acceptance.applied(given, accepted, one) for one in results]


def judged(situation: GateContext, name: str) -> RuleResult:
    """One rule's answer, never an exception: one broken rule never hides another."""
    rule = load(name)
    unasked = why_not(rule, situation.maintenance)
    try:
        result = RuleResult(SKIPPED, unasked) if unasked else rule.judge(situation, _limits(situation, name, rule))
    except NotApplicable as problem:
        result = RuleResult(SKIPPED, str(problem))
    except CannotTell as problem:
        result = ruled([unknown(str(problem))], "")
    except Exception as error:
        result = ruled([unknown(f"the rule itself failed: {type(error).__name__}: {error}"[:300])], "")
    return result._replace(name=name, question=question(name))


def _limits(situation: GateContext, name: str, rule: Rule) -> Mapping[str, Any]:
    return {**rule.limits, **situation.view.cluster.limits.get(PREFIX + name, {})}


def unacceptable(accept: Mapping[str, str]) -> str:
    """Why something of this cannot be accepted, in a sentence; empty if it can."""
    for token, because in accept.items():
        name, mark, number = token.partition("#")
        if name not in names():
            near = difflib.get_close_matches(name, names(), 1)
            return f"no rule {name!r}; " + (f"did you mean {near[0]}?" if near else "see smoke gate rules")
        if load(name).final:
            return f"{name} cannot be accepted: {load(name).final}"
        if mark and not acceptance.ID.fullmatch(number):
            return f"{token!r} names no finding: the decision shows each with its id, such as {name}#1a2b3c"
        if not because.strip():
            return f"--accept {token} requires --because"
    return ""


def explain(name: str) -> str:
    """A rule's own words, its limits and what it is asked for."""
    rule = load(name)
    limits = "\n".join(f"  {limit} = {value}" for limit, value in rule.limits.items()) or "  none"
    purposes = "every purpose" if set(rule.purposes) == set(PURPOSES) else ", ".join(rule.purposes)
    reads = f"Host checks that it reads: {', '.join(rule.checks)}\n\n" if rule.checks else ""
    taken = f'One finding of it is accepted with: --accept {name}#ID --because "…"'
    accept = f"Cannot be accepted: {rule.final}" if rule.final else taken
    return (
        f"{name}: {rule.doc}\n\nEvaluated {' and '.join(rule.when)} a maintenance, for {purposes}.\n\n"
        f"{reads}Limits (an inventory may change each for a cluster, under {PREFIX}{name}):\n{limits}\n\n{accept}"
    )


def judged_in(view: ClusterView, check: str) -> Sequence[ClusterFinding]:
    """What a question about the whole cluster (smoketests/cluster) finds."""
    return cluster.judged(view, check)
