"""What a check asks, when it turns which colour, how it becomes ok again, and what to do: from its own file."""

from __future__ import annotations

import inspect
import typing

from agent import engine
from smoketests import cluster


def load(name: str) -> typing.Any:
    """The module of a check of hosts or of clusters."""
    return engine.load(name) if name in engine.names() else cluster.load(name)


def question(name: str) -> str:
    """The first line of the check's docstring."""
    return (inspect.getdoc(load(name)) or "").partition("\n")[0]


def facts(name: str) -> tuple[str, ...]:
    """The names of the facts that every finding of the check carries; those of clusters tell none beforehand."""
    if name not in engine.names():
        return ()
    check = engine.load(name)
    (first, *_) = inspect.signature(check.judge).parameters
    kind = typing.get_type_hints(check.judge)[first]
    return tuple(kind._fields)


def explain(name: str) -> str:
    check = load(name)
    told = facts(name)
    limits = "\n".join(f"  {limit} = {value}" for limit, value in check.LIMITS.items()) or "  none"
    parts = [
        f"{name}: {inspect.getdoc(check)}",
        f"Limits (an inventory may change each, for all, a cluster, a host or an item):\n{limits}",
        *([f"Facts in every finding: {', '.join(told)}"] if told else []),
        f"Playbook: {getattr(check, 'PLAYBOOK', 'none')}",
    ]
    return "\n\n".join(parts)


def gate() -> str:
    """What `smoke gate` answers, and its rules."""
    from smoketests.gate import rules

    return (
        "gate: May these hosts leave for a maintenance now, and is everything back behind it?\n\n"
        "GO when no rule failed and none cannot tell; NO-GO when one failed; CANNOT TELL when one could not be read.\n"
        f"`smoke gate rules RULE` explains one.\n\n{rules.listing()}"
    )


def table() -> str:
    """The list of checks as Markdown, for the README."""
    of_hosts = [f"| `{name}` | {question(name)} |" for name in engine.names()]
    of_clusters = [f"| `{name}` | {question(name)} |" for name in cluster.names()]
    return "\n".join(
        ["| of each machine | question |", "|---|---|", *of_hosts, "",
         "| of each cluster, with `-i` | question |", "|---|---|", *of_clusters]
    )  # fmt: skip
