"""Parts that only the management controller and the memory controllers name: named as in the agent's findings."""

from __future__ import annotations

from playbooks.fact_schema import Fact
from playbooks.facts import ASKS, Candidate, Look


def psus(look: Look, _of: Fact | None) -> list[Candidate]:
    return [_named("name", item) for item in _items(look, ASKS["psu"])]


def dimms(look: Look, _of: Fact | None) -> list[Candidate]:
    return [_named("label", item) for item in _items(look, ASKS["dimm"])]


def _items(look: Look, check: str) -> list[str]:
    """All items of a check that saw something, well or not."""
    return [str(finding["item"]) for finding in look.findings if finding["check"] == check and finding["facts"]]


def _named(field: str, item: str) -> Candidate:
    return Candidate((item,), item, lambda: {field: item})
