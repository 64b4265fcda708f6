"""The rooms of fleet/ import one way, and none of them is a drawer."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import fleet

FLEET = Path(fleet.__file__).parent
# Each may import those before it; the jobs in the root may import all.
ROOMS = ["spark", "store", "ingest", "archive", "statistics", "rollup", "tables", "nights", "digest", "render", "mail",
         "analysis", "site"]  # fmt: skip


def rooms_imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "fleet":
            for alias in node.names:
                yield f"{node.module}.{alias.name}".split(".")[1]


def test_every_room_is_in_the_order() -> None:
    assert sorted(ROOMS) == sorted(path.parent.name for path in FLEET.glob("*/__init__.py"))


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_import_one_way(room: str) -> None:
    allowed = set(ROOMS[: ROOMS.index(room) + 1])

    for path in (FLEET / room).rglob("*.py"):
        assert set(rooms_imported(path)) <= allowed, path


@pytest.mark.parametrize("room", ["", *ROOMS])
def test_a_room_has_at_most_25_files_and_says_what_it_is(room: str) -> None:
    folder = FLEET / room

    assert len([path for path in folder.iterdir() if path.is_file()]) <= 25
    assert len((ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or "").splitlines()) >= 3
