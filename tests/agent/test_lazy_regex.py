"""Patterns compiled when first needed behave like compiled ones, and every one of the agent's is a valid one."""

from __future__ import annotations

import importlib
import re
from types import ModuleType
from typing import Any

import pytest

from agent.lazy_regex import _Later, pattern
from tests.test_architecture import ROOT, modules

NAMES = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in modules("agent") if path.stem != "__main__"]


def later_ones(value: Any) -> list[_Later]:
    """The patterns in a module's constant, however deep in tuples, lists and mappings."""
    if isinstance(value, _Later):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return [found for part in parts for found in later_ones(part)]


def test_it_answers_like_a_compiled_pattern() -> None:
    word = pattern(r"(\w+)", re.ASCII)

    assert word.findall("a b") == re.compile(r"(\w+)", re.ASCII).findall("a b")
    assert (word.pattern, word.groups) == (r"(\w+)", 1)


@pytest.mark.parametrize("name", NAMES)
def test_every_pattern_of_the_agent_compiles(name: str) -> None:
    module: ModuleType = importlib.import_module(name)

    for value in vars(module).values():
        for found in later_ones(value):
            assert found.pattern, name
