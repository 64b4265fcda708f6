"""What a family starts from: recorded outputs, and the words that stand in its tests and above its expressions."""

from __future__ import annotations

import ast
import functools
import io
import json
import pathlib
import tokenize
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LONGEST_BYTES = 20_000
# shorter words are names and the like, not outputs
SHORTEST = 12


@functools.cache
def of(globs: tuple[str, ...]) -> list[bytes]:
    """Of a Python file its strings, its objects as JSON and its comments; any other file whole. Each once."""
    found: dict[bytes, None] = {}
    for pattern in globs:
        for path in sorted(ROOT.glob(pattern)):
            if path.suffix == ".py":
                found.update(dict.fromkeys(text.encode("utf-8", "replace") for text in _words(path.read_text())))
            elif path.is_file():
                found[path.read_bytes()] = None
    return [seed for seed in found if SHORTEST <= len(seed) <= LONGEST_BYTES]


def _words(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, (ast.Dict, ast.List)):
            try:
                yield json.dumps(ast.literal_eval(node))
            except (ValueError, TypeError):
                continue
    comments = [one.string[1:].strip() for one in tokenize.generate_tokens(io.StringIO(source).readline)
                if one.type == tokenize.COMMENT]  # fmt: skip
    yield from comments
    yield "\n".join(comments)
