"""Every regular expression of the project, and texts that make one slow if anything does.

`python -m tests.worst_cases` tries all texts (some minutes); tests/test_worst_cases.py the likeliest of each.
"""

from __future__ import annotations

import ast
import functools
import importlib
import itertools
import pathlib
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, NamedTuple

NEW = sys.version_info >= (3, 11)
sre: Any = importlib.import_module("re._constants" if NEW else "sre_constants")
sre_parse: Any = importlib.import_module("re._parser" if NEW else "sre_parse")

ROOT = pathlib.Path(__file__).parents[1]
ROOMS = ("agent", "inventory", "smoketests", "playbooks", "fleet")
METHODS = ("match", "fullmatch", "search", "findall", "finditer", "sub", "split")
MAKERS = ("compile", "pattern")
MOST_SAMPLES = 4
# Linear expressions take 20 to 600 microseconds for 4 kB, quadratic ones 8 ms and more.
LENGTH = 4096
SUSPICIOUS_S = 0.004
# What takes so long is measured once: a disturbance does not change it much.
LONG_ENOUGH_S = 0.05
# Between 4, which is linear, and 16, which is quadratic.
LINEAR_GROWTH = 8.0


class Found(NamedTuple):
    """One regular expression: where it stands, and how it is applied."""

    where: str
    text: str
    flags: int
    methods: frozenset[str]


class TooLong(Exception):
    """It took longer than anything linear does."""


def patterns() -> list[Found]:
    """All of the project's, wherever they stand in its modules."""
    trees = {path: ast.parse(path.read_text()) for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))}
    used = _used(trees.values())
    return [found for path, tree in trees.items() for found in _of_module(path, tree, used)]


def _used(trees: Any) -> dict[str, set[str]]:
    """Name of a constant, as `NAME` in its own module or as `.NAME` in others -> the methods that are called on it."""
    used: dict[str, set[str]] = {}
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.Attribute) and node.attr in METHODS:  # NAME.match(row), filter(NAME.fullmatch, rows)
            on = node.value
            name = on.id if isinstance(on, ast.Name) else f".{on.attr}" if isinstance(on, ast.Attribute) else ""
            used.setdefault(name, set()).add(node.attr)
    return used


def _of_module(path: pathlib.Path, tree: ast.Module, used: dict[str, set[str]]) -> Iterator[Found]:
    here = _used([tree])
    of_file = {method for methods in here.values() for method in methods} or {"search"}
    names = {
        id(call): target.id
        for node in ast.walk(tree)
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
        for call in [node.value]
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        by_module = isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") == "re"
        if not (name in MAKERS and (by_module or name == "pattern")) and not (by_module and name in METHODS):
            continue
        where = f"{path.relative_to(ROOT)}:{node.lineno}"
        constant = names.get(id(node), "")
        methods = {name} if name in METHODS else here.get(constant, set()) | used.get(f".{constant}", set()) or of_file
        for text in _texts(path, node.args[0]):
            yield Found(where, text, _flags(path, node), frozenset(methods))


def _texts(path: pathlib.Path, node: ast.expr) -> list[str]:
    """The expression; those of a name that a loop fills cannot be told from outside, their parts are seen elsewhere."""
    if isinstance(node, ast.Constant):
        return [node.value.decode("latin-1") if isinstance(node.value, bytes) else str(node.value)]
    try:
        value = eval(compile(ast.Expression(node), "", "eval"), vars(_module(path)))
    except Exception:  # a local name
        return []
    return [value] if isinstance(value, str) else []


def _flags(path: pathlib.Path, node: ast.Call) -> int:
    given = [word.value for word in node.keywords if word.arg == "flags"]
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    given += node.args[1:2] if name in ("compile", "") or getattr(node.func, "id", "") == "pattern" else []
    try:
        return int(eval(compile(ast.Expression(given[0]), "", "eval"), vars(_module(path)))) if given else 0
    except Exception:  # not a constant
        return 0


@functools.cache
def _module(path: pathlib.Path) -> Any:
    return importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


# Texts


def attacks(found: Found, most: int) -> list[tuple[str, str, str]]:
    """(before, repeated, after): what each repetition of the expression can be made to run along, and to fail behind.

    The likeliest to be slow first, at most so many; 0 is all.
    """
    tree = sre_parse.parse(found.text, found.flags)
    pumps: list[tuple[str, str]] = []
    for before, body in _repeats(list(tree), [""]):
        pumps += itertools.product(before[:MOST_SAMPLES], body[:MOST_SAMPLES])
    pumps += [("", before + body) for before, body in pumps]
    pumps += [("", text) for text in _samples(list(tree))[:MOST_SAMPLES]]
    letters = list(dict.fromkeys([*(part[:1] for _, part in pumps), *' a0,./:=-("_\t']))
    pumps += [("", letter) for letter in letters]
    pumps += [(before, letter) for before in {before: 0 for before, _ in pumps} for letter in letters]
    pumps += [("", one + other) for one in letters for other in letters if one != other]
    kept = list(dict.fromkeys((before, body) for before, body in pumps if body))[: most or None]
    return [(before, body, "\x01") for before, body in kept]


def _repeats(nodes: list[Any], before: list[str]) -> Iterator[tuple[list[str], list[str]]]:
    """For each repetition: texts that lead up to it, and texts that it takes once."""
    for op, value in nodes:
        if op in (sre.MAX_REPEAT, sre.MIN_REPEAT) and value[1] > 8:
            body = _samples(list(value[2]))
            yield before, [text for text in body if text]
            yield [text + some for text in before[:2] for some in body[:1]], body
            yield from _repeats(list(value[2]), before)
        elif op in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            yield from _repeats(list(value[2]), before)
        elif op is sre.SUBPATTERN:
            yield from _repeats(list(value[-1]), before)
        elif op is sre.BRANCH:
            for branch in value[1]:
                yield from _repeats(list(branch), before)
        elif op in (sre.ASSERT, sre.ASSERT_NOT):
            yield from _repeats(list(value[1]), before)
        after = _samples([(op, value)])
        before = [text + more for text in before[:MOST_SAMPLES] for more in after[:2]][:MOST_SAMPLES]


def _samples(nodes: list[Any]) -> list[str]:
    """Some texts that a sequence takes."""
    texts = [""]
    for op, value in nodes:
        some = _of_node(op, value)
        texts = [text + more for text in texts for more in some][:MOST_SAMPLES]
    return texts


def _of_node(op: Any, value: Any) -> list[str]:
    if op is sre.LITERAL:
        return [chr(value)]
    if op is sre.NOT_LITERAL:
        return [letter for letter in "a/ " if ord(letter) != value][:2]
    if op is sre.ANY:
        return ["a", "/", " "]
    if op is sre.IN:
        return _of_set(value)
    if op in (sre.MAX_REPEAT, sre.MIN_REPEAT):
        least = max(value[0], 1) if value[1] else 0
        return [text * min(least, 40) for text in _samples(list(value[2]))] + ([""] if value[0] == 0 else [])
    if op is sre.SUBPATTERN:
        return _samples(list(value[-1]))
    if op is sre.BRANCH:
        return [text for branch in value[1] for text in _samples(list(branch))[:2]][:8]
    return [""]


def _of_set(items: list[Any]) -> list[str]:
    negated = items and items[0][0] is sre.NEGATE
    wanted = 'a/ 0:,.=-_"([<x\t' + "".join(chr(value) for op, value in items if op is sre.LITERAL)
    wanted += "".join(chr(value[0]) for op, value in items if op is sre.RANGE)
    inside = [letter for letter in dict.fromkeys(wanted) if _takes(items, letter)]
    return (inside or ["\n" if negated else "a"])[:MOST_SAMPLES]


def _takes(items: list[Any], letter: str) -> bool:
    classes = {sre.CATEGORY_SPACE: r"\s", sre.CATEGORY_DIGIT: r"\d", sre.CATEGORY_WORD: r"\w"}
    classes |= {sre.CATEGORY_NOT_SPACE: r"\S", sre.CATEGORY_NOT_DIGIT: r"\D", sre.CATEGORY_NOT_WORD: r"\W"}
    negated = False
    taken = False
    for op, value in items:
        if op is sre.NEGATE:
            negated = True
        elif op is sre.LITERAL:
            taken |= ord(letter) == value
        elif op is sre.RANGE:
            taken |= value[0] <= ord(letter) <= value[1]
        elif op is sre.CATEGORY:
            taken |= re.fullmatch(classes[value], letter) is not None
    return taken != negated


# Times


def applied(found: Found) -> list[Callable[[str], object]]:
    """The expression as the project applies it: at one place, anywhere, or everywhere."""
    compiled = re.compile(found.text, found.flags)
    every = {"findall", "finditer", "sub", "split"}
    ways: list[Callable[[str], object]] = []
    if found.methods & every:
        ways.append(lambda text: compiled.sub("", text))
    elif "search" in found.methods:
        ways.append(compiled.search)
    if "match" in found.methods:
        ways.append(compiled.match)
    if "fullmatch" in found.methods:
        ways.append(compiled.fullmatch)
    return ways


def seconds(way: Callable[[str], object], text: str, most_s: float, tries: int = 1) -> float:
    """The processor time of the fastest of some tries; TooLong beyond `most_s`."""

    def late(_number: int, _frame: FrameType | None) -> None:
        raise TooLong

    before = signal.signal(signal.SIGVTALRM, late)
    best = most_s
    try:
        for _ in range(tries):
            signal.setitimer(signal.ITIMER_VIRTUAL, most_s)
            started = time.process_time()
            way(text)
            best = min(best, time.process_time() - started)
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            if best > LONG_ENOUGH_S:
                break
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return best


def text_of(attack: tuple[str, str, str], length: int) -> str:
    before, body, after = attack
    return before + body * (max(length - len(before), 0) // len(body)) + after


def slow(found: Found, most: int) -> Iterator[tuple[Callable[[str], object], tuple[str, str, str]]]:
    """The expression and texts with which it takes suspiciously long."""
    for way in applied(found):
        for attack in attacks(found, most):
            try:
                if seconds(way, text_of(attack, LENGTH), SUSPICIOUS_S) < SUSPICIOUS_S:
                    continue
            except TooLong:
                pass
            yield way, attack


def growth(way: Callable[[str], object], attack: tuple[str, str, str]) -> float:
    """How many times longer a text of four times the length takes: 4 where it is linear, 16 where it is quadratic."""
    try:
        short, long = (seconds(way, text_of(attack, size), 1.0, tries=3) for size in (2 * LENGTH, 8 * LENGTH))
    except TooLong:
        return float("inf")
    return long / max(short, 2 * SUSPICIOUS_S)


def superlinear(found: Found, most: int) -> list[str]:
    """What takes more than its share of time as the text grows; empty of a good expression."""
    told = []
    for way, attack in slow(found, most):
        times = growth(way, attack)
        if times > LINEAR_GROWTH:  # measured again: another process may have had the caches
            times = growth(way, attack)
        if times > LINEAR_GROWTH:
            told.append(
                f"{found.where}: {found.text[:200]!r} on {attack!r} repeated: {times:.0f} times longer on 4 times"
            )
            break
    return told


if __name__ == "__main__":
    for one in patterns():
        for words in superlinear(one, 0):
            print(words, flush=True)
