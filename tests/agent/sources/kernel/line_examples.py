"""Reads the real lines that stand above each form of a table of kernel lines."""

from __future__ import annotations

import ast
import pathlib
import tokenize
from typing import Any

from agent.sources.kernel.log import unescape


def documented(module: Any) -> list[tuple[str, Any]]:
    """(real line, form) of each comment that stands directly above an element of the module's FORMS."""
    path = pathlib.Path(module.__file__)
    tree = ast.parse(path.read_text())
    comments: dict[int, str] = {}
    with path.open("rb") as source:
        for token in tokenize.tokenize(source.readline):
            if token.type == tokenize.COMMENT and token.line.strip().startswith("#"):
                comments[token.start[0]] = token.string.removeprefix("# ")
    pairs = []
    for form, start in zip(module.FORMS, _starts(tree), strict=True):
        row = start - 1
        while row in comments and not comments[row].startswith("---"):
            pairs.append((unescape(comments[row]), form))
            row -= 1
        assert row < start - 1, f"line {start}: no real line stands above this form"
    return pairs


def _starts(tree: ast.Module) -> list[int]:
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == "FORMS":
            assert isinstance(node.value, ast.Tuple)
            return [element.lineno for element in node.value.elts]
    raise AssertionError("no table FORMS")
