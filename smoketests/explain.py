"""What a check asks, when it turns which colour, how it becomes ok again, and what to do: from its own file."""

from __future__ import annotations

import inspect
import typing

from agent import engine


def question(name: str) -> str:
    """The first line of the check's docstring."""
    return (inspect.getdoc(engine.load(name)) or "").partition("\n")[0]


def facts(name: str) -> tuple[str, ...]:
    """The names of the facts that every finding of the check carries."""
    check = engine.load(name)
    (first, *_) = inspect.signature(check.judge).parameters
    kind = typing.get_type_hints(check.judge)[first]
    return tuple(kind._fields)


def explain(name: str) -> str:
    check = engine.load(name)
    limits = "\n".join(f"  {limit} = {value}" for limit, value in check.LIMITS.items()) or "  none"
    parts = [
        f"{name}: {inspect.getdoc(check)}",
        f"Limits (an inventory may change each, for all, a cluster, a host or an item):\n{limits}",
        f"Facts in every finding: {', '.join(facts(name))}",
        f"Playbook: {getattr(check, 'PLAYBOOK', 'none')}",
    ]
    return "\n\n".join(parts)


def table() -> str:
    """The list of checks as Markdown, for the README."""
    rows = [f"| `{name}` | {question(name)} |" for name in engine.names()]
    return "\n".join(["| check | question |", "|---|---|", *rows])
