"""Errors of every package have one root, and a command that meets one ends with its sentence."""

from __future__ import annotations

import ast
import pathlib

import click
import pytest
from click.testing import CliRunner

from agent.host import CannotTell
from inventory.errors import SmokeError
from placement.errors import Impossible
from smoketests import cli

ROOT = pathlib.Path(cli.__file__).parent.parent
PACKAGES = ("inventory", "smoketests", "placement", "playbooks")
# signals inside one module, and the failure of a pytest item
NO_ERRORS = {"_Stop", "TookTooLong", "Problem"}
PLAIN = {"Exception", "ValueError", "LookupError", "RuntimeError", "OSError"}


def error_classes() -> list[tuple[str, list[str]]]:
    """Name and bases of each class that is raised."""
    paths = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    nodes = [node for path in paths for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef)]
    bases = [(node.name, [ast.unparse(base) for base in node.bases]) for node in nodes]
    return [(name, of) for name, of in bases if {"SmokeError", *PLAIN} & set(of) and name not in NO_ERRORS]


def test_every_error_has_the_common_root() -> None:
    found = error_classes()

    assert [name for name, bases in found if "SmokeError" not in bases] == ["SmokeError"]
    assert len(found) > 30


def test_a_name_stands_for_one_error() -> None:
    names = [name for name, _bases in error_classes()]

    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize(
    ("error", "code"),
    [(SmokeError("a.yaml: no hosts"), 3), (Impossible("no rack is left"), 2), (CannotTell("no answer"), 3)],
)
def test_an_error_is_a_sentence_and_an_exit_code(error: Exception, code: int) -> None:
    @click.group(cls=cli.Commands)
    def group() -> None: ...

    @group.command()
    def fails() -> None:
        raise error

    done = CliRunner().invoke(group, ["fails"])

    assert done.exit_code == code
    assert done.output == f"smoke: {error}\n"
