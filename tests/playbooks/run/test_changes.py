"""What a run writes down of what it changed, and of what it put back."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbooks.run import changes
from tests.playbooks.playbook_fixtures import book, commands, names

UNITS = ["kafka.service", "zookeeper.service"]


@pytest.mark.parametrize(
    ("words", "kinds", "back"),
    [
        ("systemctl stop kafka.service", ["unit stopped"], []),
        ("systemctl disable kafka", ["unit disabled"], []),
        ("systemctl disable --now kafka.service", ["unit disabled", "unit stopped"], []),
        ("systemctl mask kafka.service", ["unit disabled"], []),
        ("systemctl start kafka.service", [], ["unit stopped"]),
        ("systemctl enable --now zookeeper.service", [], ["unit disabled", "unit stopped"]),
        ("systemctl restart kafka.service", [], ["unit stopped"]),
        ("systemctl stop shipper.service", [], []),
        ("systemctl daemon-reload", [], []),
        ("touch kafka.service", [], []),
        ("systemctl", [], []),
    ],
)  # fmt: skip
def test_of_a_command_the_units_that_it_stops_or_disables_are_told(
    words: str, kinds: list[str], back: list[str]
) -> None:
    argv = words.split()

    assert [one["kind"] for one in changes.of_command(argv, UNITS).get("changes", [])] == kinds
    assert [kind for kind, _unit in changes.restored(argv, UNITS).get("restores", [])] == back


@given(st.lists(st.text(max_size=8), min_size=1), st.lists(st.text(max_size=8)))
def test_any_command_may_be_looked_at(argv: list[str], units: list[str]) -> None:
    json.dumps([changes.of_command(argv, units), changes.restored(argv, units)])


@pytest.mark.parametrize("name", names())
def test_each_unit_that_a_playbook_disables_is_enabled_again_or_meant_to_stay_so(name: str) -> None:
    rows = [words for kind, _step, words in commands(book(name)) if kind == "run"]
    units = [words[-1] for words in rows if words[0] == "systemctl"]
    off = [one["item"] for words in rows for one in changes.of_command(words, units).get("changes", ())
           if one["kind"] == "unit disabled"]  # fmt: skip
    on = [unit for words in rows for kind, unit in changes.restored(words, units).get("restores", ())
          if kind == "unit disabled"]  # fmt: skip

    assert name in ("decommission-broker", "antivirus", "clock") or set(off) <= set(on)
