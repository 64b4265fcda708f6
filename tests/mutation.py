"""Mutation testing of one module: each small change to it should make one of its own tests fail.

scripts/mutate is the command. A mutant is the module with one node of its syntax tree changed; its own tests, the files
that carry its name, run on it in a process of their own, with a time limit, in a temporary copy of the tree.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import difflib
import importlib
import multiprocessing
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
LEAST_PERCENT = 85.0
# A mutant may loop for ever, and fill the memory while it does.
SLOWEST_S, TIMES_SLOWER = 15.0, 4
MOST_MEMORY_BYTES = 6 << 30

OPERATORS: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.And: (ast.Or,), ast.Or: (ast.And,),
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div,), ast.Div: (ast.Mult,), ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.Mult,), ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,),
    ast.LShift: (ast.RShift,), ast.RShift: (ast.LShift,),
}  # fmt: skip
OPPOSITES = {"min": "max", "max": "min", "any": "all", "all": "any"}
NO_CODE = ("annotation", "returns", "decorator_list")


class Mutant(NamedTuple):
    """One change: the line of the module that it is in, the lines before (-) and after (+), and the whole new text."""

    line: int
    diff: str
    text: str


class Place(NamedTuple):
    """Where a node hangs: in a field of its parent, or in a list of that field. line: of the statement around it."""

    parent: ast.AST
    field: str
    place: int | None
    line: int

    @property
    def node(self) -> ast.AST:
        held = getattr(self.parent, self.field)
        return held if self.place is None else held[self.place]  # type: ignore[no-any-return]

    def put(self, node: ast.AST) -> None:
        if self.place is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.place] = node


def mutants(text: str) -> Iterator[Mutant]:
    """Every mutant of a module's text, one change each. Texts, annotations and docstrings stay as they are."""
    tree = ast.parse(text)
    before = ast.unparse(tree)
    for place in list(_places(tree, 1)):
        node = place.node
        for changed in _changes(node, place.field):
            place.put(changed)
            after = ast.unparse(ast.fix_missing_locations(tree))
            place.put(node)
            if after != before:
                yield Mutant(place.line, _diff(before, after), after)


def _diff(before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return "\n".join(f"{line[0]} {line[1:].strip()}" for line in list(lines)[2:] if not line.startswith("@@"))


def _places(parent: ast.AST, line: int) -> Iterator[Place]:
    for field, value in ast.iter_fields(parent):
        if field in NO_CODE or (isinstance(parent, ast.If) and _is_never_run(parent)):
            continue
        held = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
        for index, node in held:
            if isinstance(node, ast.AST):
                # within an f-string a node has no line of its own before Python 3.12
                here = node.lineno if isinstance(node, ast.stmt) else line
                yield Place(parent, field, index, here)
                yield from _places(node, here)


def _is_never_run(block: ast.If) -> bool:
    """`if TYPE_CHECKING` and `if __name__ == "__main__"`: no test reaches what is below."""
    names = {node.id for node in ast.walk(block.test) if isinstance(node, ast.Name)}
    return bool(names & {"TYPE_CHECKING", "__name__"})


def _changes(node: ast.AST, field: str) -> Iterator[ast.AST]:
    """What this node may be changed to."""
    yield from (kind() for kind in OPERATORS.get(type(node), ()))
    if isinstance(node, ast.stmt):
        yield from _other_statements(node)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.Constant):
        yield from _other_constants(node.value)
    elif isinstance(node, ast.Name) and node.id in OPPOSITES:
        yield ast.Name(OPPOSITES[node.id], ast.Load())
    elif isinstance(node, ast.expr) and field in ("test", "ifs") and not isinstance(node, ast.Compare):
        yield ast.UnaryOp(ast.Not(), node)


def _other_constants(value: Any) -> Iterator[ast.AST]:
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, (int, float)):
        yield ast.Constant(value + 1)
        yield ast.Constant(value - 1)


def _other_statements(node: ast.stmt) -> Iterator[ast.AST]:
    """Nothing in its place, or another value returned."""
    if isinstance(node, ast.Return) and not isinstance(node.value, (ast.Constant, type(None))):
        yield ast.Return(ast.Constant(None))
    elif isinstance(node, (ast.AugAssign, ast.Raise, ast.Continue, ast.Break, ast.Delete)) or _has_effect(node):
        yield ast.Pass()


def _has_effect(node: ast.stmt) -> bool:
    """A call, or a value put where one already is: a first `name = value` left out would be an error at once."""
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant)
    if not isinstance(node, ast.Assign):
        return False
    used = {name.id for name in ast.walk(node.value) if isinstance(name, ast.Name)}
    return any(not isinstance(target, ast.Name) or target.id in used for target in node.targets)


def own_tests(module: str, root: pathlib.Path = ROOT) -> list[str]:
    """The test files that carry the module's name: in the folder that mirrors its own, or else wherever one does."""
    path = pathlib.PurePath(module)
    patterns = (f"test_{path.stem}.py", f"test_{path.stem}_*.py")
    mirror = root / "tests" / path.parent
    found = [one for pattern in patterns for one in sorted(mirror.glob(pattern))]
    found = found or sorted((root / "tests" / path.parts[0]).rglob(patterns[0]))
    return [str(one.relative_to(root)) for one in found]


class Copy:
    """A temporary copy of the tree, in which one module is replaced again and again."""

    def __init__(self, folder: str, module: str, tests: Sequence[str], root: pathlib.Path) -> None:
        self._folder = pathlib.Path(folder)
        self._module = self._folder / module
        self._tests = tests
        self._writes = 0
        self.imported = self._folder / ".imported"
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=root, check=True, capture_output=True, text=True,
        )  # fmt: skip
        for name in filter(None, listed.stdout.split("\0")):
            source, target = root / name, self._folder / name
            if source.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target, follow_symlinks=False)

    def passes(self, text: str, seconds: float | None = None) -> bool:
        """Whether the tests pass with this text of the module. Too slow, or too large in memory, is a failure."""
        self._module.write_text(text)
        # compiled files are told apart by time in whole seconds and by size, both of which mutants share
        self._writes += 1
        os.utime(self._module, (self._writes, self._writes))
        process = multiprocessing.get_context("fork").Process(target=self._run)
        process.start()
        process.join(seconds)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid or 0, signal.SIGKILL)
        process.join()
        return process.exitcode == 0

    def _run(self) -> None:
        """In the process of one mutant: the tests, on the copy alone, in silence."""
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY_BYTES, MOST_MEMORY_BYTES))
        os.chdir(self._folder)
        os.environ.update(CI="1", PYTHONPATH=str(self._folder))
        sys.path.insert(0, str(self._folder))
        for name in [name for name in sys.modules if name.split(".")[0] == "tests"]:
            del sys.modules[name]
        code = pytest.main(["-q", "-x", "-p", "no:cacheprovider", *self._tests])
        if not self.imported.exists():
            self.imported.write_text("\n".join(sorted(filter(_is_library, sys.modules))))
        os._exit(code)


def _is_library(name: str) -> bool:
    file = getattr(sys.modules[name], "__file__", None) or ""
    return file.startswith((sys.prefix, sys.base_prefix)) and name.split(".")[0] not in ("__main__", "tests")


def _import_libraries(names: Sequence[str]) -> None:
    """What each of the tests' processes would import anew; nothing of the tree is among it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            with contextlib.suppress(Exception):
                importlib.import_module(name)


def survivors(module: str, tests: Sequence[str], lines: range | None, root: pathlib.Path) -> tuple[int, int]:
    """Print the mutants that no test notices; their number, and that of all. ValueError if the tests cannot judge."""
    text = (root / module).read_text()
    with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
        copy = Copy(folder, module, tests, root)
        started = time.monotonic()
        if not copy.passes(text):
            raise ValueError(f"{' '.join(tests)}: these tests fail on the module as it is")
        seconds = max(SLOWEST_S, TIMES_SLOWER * (time.monotonic() - started))
        _import_libraries(copy.imported.read_text().split())
        if copy.passes("raise ImportError\n", seconds):
            raise ValueError(f"{' '.join(tests)}: these tests do not import {module}")
        made = [one for one in mutants(text) if lines is None or one.line in lines]
        left = 0
        for number, mutant in enumerate(made, 1):
            print(f"\r{number} of {len(made)}", end="", file=sys.stderr, flush=True)
            if copy.passes(mutant.text, seconds):
                left += 1
                print(f"\r{module}:{mutant.line}: survived\n{mutant.diff}", flush=True)
        print(file=sys.stderr)
        return left, len(made)


def _lines(words: str) -> range:
    first, _, last = words.partition("-")
    return range(int(first), int(last or first) + 1)


def main(arguments: Sequence[str] | None = None, root: pathlib.Path = ROOT) -> int:
    """0: at least so many percent were noticed. 1: fewer. 2: the tests cannot judge this module."""
    parser = argparse.ArgumentParser(prog="scripts/mutate", description="Mutation testing of one module.")
    parser.add_argument("module", help="agent/engine.py, say")
    parser.add_argument("tests", nargs="*", help="instead of the test files that carry the module's name")
    parser.add_argument("--least", type=float, default=LEAST_PERCENT, metavar="PERCENT", help="default %(default)s")
    parser.add_argument("--lines", type=_lines, metavar="FIRST-LAST", help="mutate only these lines of the module")
    given = parser.parse_args(arguments)
    tests = given.tests or own_tests(given.module, root)
    try:
        if not tests:
            raise ValueError(f"no test file carries the name of {given.module}: name its tests after it")
        left, count = survivors(given.module, tests, given.lines, root)
    except (OSError, ValueError) as error:
        print(f"mutate: {error}", file=sys.stderr)
        return 2
    killed = count - left
    percent = 100 * killed / count if count else 100.0
    print(f"{given.module}: {killed} of {count} mutants killed, {percent:.0f} % (at least {given.least:g} %)")
    return 0 if percent >= given.least else 1


if __name__ == "__main__":
    sys.exit(main())
