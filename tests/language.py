"""Every sentence that a user can read, and the banned phrases in it: python -m tests.language [AREA…] lists them.

An area is a package of the product, a page below docs/, or one of README.md, CONTRIBUTING.md and CHANGELOG.md.
The banned phrases are those in the tables of docs/style.md.
"""

from __future__ import annotations

import ast
import pathlib
import re
import sys
from collections.abc import Iterable, Iterator
from typing import NamedTuple

ROOT = pathlib.Path(__file__).parent.parent
STYLE = ROOT / "docs/style.md"
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
# text files of a package that users read
TEXTS = {".yaml", ".html", ".md"}
COMMANDS = {"command", "group"}
Documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Sentence(NamedTuple):
    """A text in one line of single spaces, and where it begins."""

    path: pathlib.Path
    line: int
    text: str


class Hit(NamedTuple):
    """A banned phrase in a sentence."""

    sentence: Sentence
    phrase: str
    instead: str

    def __str__(self) -> str:
        path = self.sentence.path.relative_to(ROOT)
        around = re.search(f".{{0,50}}{_any_of([self.phrase]).pattern}.{{0,40}}", self.sentence.text, re.IGNORECASE)
        shown = around.group() if around else self.sentence.text[:90]
        return f"{path}:{self.sentence.line}: `{self.phrase}` in “{shown}”; write: {self.instead}"


def banned(style: str) -> dict[str, str]:
    """phrase -> what to write instead, from the rows of the style's tables that begin with phrases in `code`."""
    _, _, tables = style.partition("## Phrases not to use")
    found = {}
    for row in re.findall(r"^\| (`.+?) \| (.+?) \|$", tables, re.MULTILINE):
        found.update(dict.fromkeys(re.findall(r"`([^`]+)`", row[0]), row[1]))
    return found


def areas() -> list[str]:
    """The product's packages, the pages below docs/ and those in the root."""
    packages = [path.parent.name for path in ROOT.glob("*/__init__.py") if path.parent.name not in ("docs", "tests")]
    pages = [str(path.relative_to(ROOT)) for path in ROOT.glob("docs/**/*.md")]
    return sorted([*packages, "docs/generator", "packaging", *pages, *PAGES])


def sentences(area: str) -> Iterator[Sentence]:
    path = ROOT / area
    if path.is_dir():
        for file in sorted(path.rglob("*")):
            if file.suffix == ".py":
                yield from in_code(file, file.read_text())
            elif file.suffix in TEXTS:
                yield from in_text(file, file.read_text())
    elif path == ROOT / "CHANGELOG.md":
        newest = re.split(r"^(?=## )", path.read_text(), flags=re.MULTILINE)[1]
        yield from in_text(path, newest)
    elif path == STYLE:
        yield from in_text(path, path.read_text().partition("## Phrases not to use")[0])
    else:
        yield from in_text(path, path.read_text())


def in_text(path: pathlib.Path, text: str) -> Iterator[Sentence]:
    """Each paragraph; a list's item or a table's row is one of its own."""
    line = 1
    for part in re.split(r"(\n\s*\n|\n(?=\s*(?:[*|#]|- |\d+\. )))", text):
        if part.strip():
            yield Sentence(path, line, " ".join(part.split()))
        line += part.count("\n")


def in_code(path: pathlib.Path, code: str) -> Iterator[Sentence]:
    """String literals, and the docstrings of modules and of click's commands; what is put in for {…} is left out."""
    tree = ast.parse(code)
    left_out = {id(constant) for constant in _internal_docstrings(tree)}
    for node in ast.walk(tree):
        if id(node) in left_out:
            continue
        if isinstance(node, ast.JoinedStr):
            left_out |= {id(part) for part in node.values}
            parts = [str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values]
            yield Sentence(path, node.lineno, " ".join("".join(parts).split()))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield Sentence(path, node.lineno, " ".join(node.value.split()))


def _internal_docstrings(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, Documented[1:]) and ast.get_docstring(node) is not None and not _is_command(node):
            first = node.body[0]
            assert isinstance(first, ast.Expr)
            yield first.value


def _is_command(node: ast.AST) -> bool:
    """Whether it carries @click.command(), @group.command(…) or the like: its docstring is the command's help."""
    called = [getattr(decorator, "func", decorator) for decorator in getattr(node, "decorator_list", [])]
    return any(isinstance(function, ast.Attribute) and function.attr in COMMANDS for function in called)


def hits(area: str, phrases: dict[str, str]) -> list[Hit]:
    any_phrase = _any_of(phrases)
    found = []
    for sentence in sentences(area):
        for phrase in dict.fromkeys(match.group().lower() for match in any_phrase.finditer(sentence.text)):
            found.append(Hit(sentence, phrase, phrases[phrase]))
    return found


def _any_of(phrases: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, phrases))})\b", re.IGNORECASE)


def main(wanted: list[str]) -> int:
    phrases = banned(STYLE.read_text())
    found = [hit for area in wanted or areas() for hit in hits(area, phrases)]
    print(*found, f"{len(found)} banned phrases", sep="\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
