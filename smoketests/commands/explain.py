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
    """The names of the facts in findings of the check, of each kind of item; clusters' checks declare none."""
    if name not in engine.names():
        return ()
    check = engine.load(name)
    (first, *_) = inspect.signature(check.judge).parameters
    kind = typing.get_type_hints(check.judge)[first]
    return tuple(dict.fromkeys(name for one in typing.get_args(kind) or (kind,) for name in one._fields))


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
