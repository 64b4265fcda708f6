"""smoke explain: every check's facts with their types and units."""

from __future__ import annotations

import typing

import pytest
from click.testing import CliRunner

from agent import engine
from smoketests import cluster
from smoketests.cli import smoke
from smoketests.commands import explain
from smoketests.commands.explain import Fact


@pytest.mark.parametrize("name", engine.names())
def test_every_check_is_explained_with_each_fact_its_type_and_its_unit(name: str) -> None:
    shown = CliRunner().invoke(smoke, ["explain", name])
    _, _, listed = shown.output.partition("Facts in every finding:\n")
    lines = listed.partition("\n\n")[0].splitlines()

    assert shown.exit_code == 0
    assert [line.split()[0] for line in lines] == [fact.name for fact in explain.facts_of(name)]
    assert set(explain.facts(name)) == {line.split()[0] for line in lines}
    for line, fact in zip(lines, explain.facts_of(name)):
        assert line.endswith(f"{fact.type}, {fact.unit}" if fact.unit else fact.type)


@pytest.mark.parametrize("name", cluster.names())
def test_every_check_of_a_cluster_is_explained(name: str) -> None:
    shown = CliRunner().invoke(smoke, ["explain", name])

    assert shown.exit_code == 0 and shown.output.startswith(f"{name}: ")


@pytest.mark.parametrize("name", engine.names())
def test_a_fact_that_is_not_a_whole_number_has_a_unit(name: str) -> None:
    known = explain.facts_of(name)
    without = {fact.name for fact in known if "number" in fact.type and not fact.type.startswith("list of [")}

    assert without - {fact.name for fact in known if fact.unit} <= WITHOUT_UNIT.get(name, set())


# a sensor's reading has its unit in the fact beside it
WITHOUT_UNIT = {"cooling": {"reading"}, "cpu": {"load_15_minutes"}}


def test_types_and_units_are_those_of_the_json() -> None:
    known = {fact.name: fact for fact in explain.facts_of("smart")}

    assert known["temperature_celsius"] == Fact("temperature_celsius", "integer or null", "°C")
    assert known["pending_growth"] == Fact("pending_growth", "integer or null", "in 7 days")
    assert known["failing_now"] == Fact("failing_now", "list of text", "")
    assert {fact.name for fact in explain.facts_of("cpu")} >= {"load_15_minutes", "iowait_percent"}


def test_a_type_that_json_does_not_have_is_no_fact() -> None:
    with pytest.raises(TypeError, match="no name for a fact"):
        explain.type_of(typing.List[int])
