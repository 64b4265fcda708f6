"""A check's question, thresholds per status, how it becomes ok again, and what to do: from its own module."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Mapping

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
    return tuple(dict.fromkeys(fact.name for fact in facts_of(name)))


class Fact(typing.NamedTuple):
    """A fact as a finding gives it. type: as in JSON, such as "number or null". unit: from its name, or empty."""

    name: str
    type: str
    unit: str


def facts_of(name: str) -> list[Fact]:
    """Those in findings of the check, of one kind of item after the other; clusters' checks declare none."""
    if name not in engine.names():
        return []
    judge = engine.load(name).judge
    (first, *_) = inspect.signature(judge).parameters
    kind = typing.get_type_hints(judge)[first]
    kinds = typing.get_args(kind) or (kind,)
    hints = [(field, hint) for one in kinds for field, hint in typing.get_type_hints(one).items()]
    return [Fact(field, type_of(hint), unit_of(field, hint)) for field, hint in dict.fromkeys(hints)]


TYPES = {str: "text", bool: "true or false", int: "integer", float: "number", type(None): "null"}


def type_of(hint: typing.Any) -> str:
    """
    >>> type_of(typing.Optional[int]), type_of(typing.Tuple[str, ...]), type_of(typing.Tuple[str, float])
    ('integer or null', 'list of text', '[text, number]')
    >>> type_of(typing.Mapping[str, str])
    'object of text'
    """
    if hint in TYPES:
        return TYPES[hint]
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Union:
        return " or ".join(map(type_of, parts))
    if origin is tuple and parts[-1] is Ellipsis:
        return f"list of {type_of(parts[0])}"
    if origin is tuple:
        return f"[{', '.join(map(type_of, parts))}]"
    if origin is not None and issubclass(origin, Mapping):
        return f"object of {type_of(parts[1])}"
    raise TypeError(f"no name for a fact of type {hint}")


# the ends of names, longest first where one is the end of another
UNITS = (
    ("_bytes_per_s", "bytes/s"),
    ("_per_hour", "per hour"),
    ("_in_an_hour", "in one hour"),
    ("_in_a_day", "in 24 hours"),
    ("_growth_30_days", "in 30 days"),
    ("_growth", "in 7 days"),
    ("_bytes", "bytes"),
    ("_gb", "GB"),
    ("_mb", "MB"),
    ("_celsius", "°C"),
    ("_rpm", "rpm"),
    ("_mbps", "Mbit/s"),
    ("_ms", "ms"),
    ("_s", "s"),
    ("seconds", "s"),
    ("_hours", "hours"),
    ("hours_ago", "hours"),
    ("_days", "days"),
    ("days_since_too_hot", "days"),
    ("slower_from", "Mbit/s"),
    ("percent", "%"),
)
NUMBERS = ("integer", "number")


def unit_of(name: str, hint: typing.Any) -> str:
    """The unit of a fact that holds numbers, as its name says it.

    >>> unit_of("uptime_s", float), unit_of("wear_percent", typing.Optional[int]), unit_of("is_in_s", str)
    ('s', '%', '')
    """
    if not any(word in type_of(hint) for word in NUMBERS):
        return ""
    return next((unit for end, unit in UNITS if name.endswith(end)), "")


def explain(name: str) -> str:
    check = load(name)
    known = facts_of(name)
    limits = "\n".join(f"  {limit} = {value}" for limit, value in check.LIMITS.items()) or "  none"
    parts = [
        f"{name}: {inspect.getdoc(check)}",
        f"Limits (an inventory may change each, for all, a cluster, a host or an item):\n{limits}",
        *([f"Facts in every finding:\n{_listed(known)}"] if known else []),
        f"Playbook: {getattr(check, 'PLAYBOOK', 'none')}",
    ]
    return "\n\n".join(parts)


def _listed(known: typing.Sequence[Fact]) -> str:
    width = max(len(fact.name) for fact in known)
    return "\n".join(
        f"  {fact.name:<{width}}  {fact.type}{f', {fact.unit}' if fact.unit else ''}".rstrip() for fact in known
    )


def gate() -> str:
    """What `smoke gate` answers, and its rules."""
    from smoketests.gate import rules

    return (
        "gate: May these hosts leave for a maintenance now, and is everything back afterwards?\n\n"
        "GO when no rule failed and all could be evaluated; NO-GO when one failed; CANNOT TELL when data is missing.\n"
        f"`smoke gate rules RULE` explains one.\n\n{rules.listing()}"
    )
