"""Validates the names of checks and limits in an inventory, which has no list of them itself."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import inventory
from agent import engine
from inventory import Inventory, InventoryError
from inventory.problems import Place, Problem, did_you_mean, shown
from smoketests.gate import rules

ALL_NAMES = "`smoke list` names them all"


def load(paths: Sequence[str]) -> Inventory:
    """The inventory; InventoryError also for a check or a limit that does not exist."""
    loaded = inventory.load(paths)
    found = problems(loaded)
    if found:
        raise InventoryError(found)
    return loaded


def problems(loaded: Inventory) -> list[Problem]:
    """Each once, however many hosts it is said for."""
    found: dict[Problem, None] = {}
    for cluster in loaded.clusters:
        said = loaded.origin.get(f"cluster {cluster.name}", {})
        found.update(dict.fromkeys(_of_limits(cluster.limits, said)))
    for host in loaded.hosts:
        said = loaded.origin.get(host.name, {})
        found.update(dict.fromkeys(_of_limits(host.limits, said)))
        for check in host.skip:
            if _limits_of(check) is None:
                place = said.get(f"skip.{check}", Place("inventory"))
                found[Problem(place, f"skip: no check {shown(check)}{_near(check)}")] = None
    return list(found)


def _of_limits(limits: Mapping[str, Mapping[str, Any]], said: Mapping[str, Place]) -> Iterator[Problem]:
    for check, of_check in limits.items():
        known = _limits_of(check)
        for path, limit, value in _each(f"limits.{check}", of_check):
            place = said.get(path, Place("inventory"))
            if known is None:
                yield Problem(place, f"limits: no check {shown(check)}{_near(check)}")
            elif limit not in known:
                yield Problem(place, f"{check} has no limit {shown(limit)}{_suggestion(check, limit, known)}")
            elif _kind(value) != _kind(known[limit]):
                words = f"{check}: {limit} is {_kind(known[limit])} such as {known[limit]!r}, not {shown(value)}"
                yield Problem(place, words)


def _each(path: str, limits: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """The limits of a check and those of its items, each with the path under which its place is known."""
    for name, value in limits.items():
        if name != "items":
            yield f"{path}.{name}", name, value
            continue
        for item, of_item in value.items():
            yield from ((f"{path}.items.{item}.{limit}", limit, one) for limit, one in of_item.items())


@functools.cache
def _limits_of(check: str) -> Mapping[str, Any] | None:
    """The limits of a check of hosts or clusters, or of a rule of the gate; None where there is no such check."""
    if check in engine.names():
        return engine.load(check).LIMITS
    if check.startswith(rules.PREFIX):
        name = check.removeprefix(rules.PREFIX)
        return rules.load(name).limits if name in rules.names() else None
    clusters = _cluster_checks()
    return clusters.load(check).LIMITS if clusters and check in clusters.names() else None


@functools.cache
def _cluster_checks() -> Any:
    return importlib.import_module("smoketests.cluster") if importlib.util.find_spec("smoketests.cluster") else None


def _near(check: str) -> str:
    clusters = _cluster_checks()
    gate = [rules.PREFIX + name for name in rules.names()]
    known: Iterable[str] = [*engine.names(), *(clusters.names() if clusters else ()), *gate]
    return did_you_mean(check, known, ALL_NAMES)


def _suggestion(check: str, limit: str, known: Mapping[str, Any]) -> str:
    """What to set instead: of one that was removed what took its place, else one of a like name, and all there are."""
    instead = getattr(engine.load(check), "REMOVED_LIMITS", {}) if check in engine.names() else {}
    if limit in instead:
        return f" any more; set {instead[limit]}"
    if not known:
        return "; it has none"
    near = did_you_mean(limit, known, "its limits")
    return (
        f"{near}: {', '.join(sorted(known))}"
        if near == "; its limits"
        else f"{near} Its limits: {', '.join(sorted(known))}"
    )


def _kind(value: Any) -> str:
    return "a number" if isinstance(value, (int, float)) else "a text"
