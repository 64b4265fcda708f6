"""A YAML (or JSON) file as a tree of nodes with their places. Every mistake becomes a Problem with its place.

Read from the parser's events, so that nothing is built that the file does not spell out: no Python objects, no aliases
that unfold to millions of nodes, no depth without end. Numbers and switches follow YAML 1.2: `no` and `012` are texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from inventory.problems import Place, Problem, shown

LARGEST_FILE = 16 << 20
MOST_NODES = 1_000_000
DEEPEST = 32

TEXT, LIST, MAP = "text", "list", "mapping"
NULLS = ("", "~", "null", "Null", "NULL")
SWITCHES = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
WHOLE = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})")
FRACTION = re.compile(r"[-+]?[0-9]{1,17}\.[0-9]{1,17}(?:[eE][-+]?[0-9]{1,2})?")
# Ansible's own; an encrypted text stays encrypted
TAGS = ("!vault", "!vault-encrypted", "!unsafe", "!")
STANDARD_TAG = "tag:yaml.org,2002:"
# "\ud83d\ude00": JSON writes two escapes for a character that YAML knows as one
SURROGATES = re.compile(r"(?<!\\)((?:\\\\)*)\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})", re.IGNORECASE)
HINTS = {
    "mapping values are not allowed": "a text with `: ` in it needs quotes, and keys of one level the same indent",
    "found character '\\t'": "YAML is indented with spaces, not tabs",
    "cannot start any token": "a text that starts with it needs quotes; YAML is indented with spaces, not tabs",
    "did not find expected ',' or ']'": "inside of [ ] a name with a range needs quotes: ['kafka-[01-14]']",
    "did not find expected ',' or '}'": "inside of { } a name with a range needs quotes",
}


class Node:
    """A text, a list of nodes, or a mapping: a dict of key -> (key's place, node)."""

    __slots__ = ("kind", "place", "plain", "size", "tag", "value")

    def __init__(self, kind: str, value: Any, place: Place, plain: bool = False, tag: str = "") -> None:
        self.kind, self.value, self.place, self.plain, self.tag = kind, value, place, plain, tag
        self.size = 1

    def get(self, key: str) -> Node | None:
        """The node at a key of a mapping."""
        found = self.value.get(key) if self.kind == MAP else None
        return found[1] if found else None

    def pairs(self) -> Iterator[tuple[str, Place, Node]]:
        """A mapping's keys with their places, and what stands behind them."""
        if self.kind == MAP:
            for key, (place, node) in self.value.items():
                yield key, place, node

    def to_plain(self) -> Any:
        """As JSON values."""
        if self.kind == LIST:
            return [node.to_plain() for node in self.value]
        if self.kind == MAP:
            return {key: node.to_plain() for key, (_place, node) in self.value.items()}
        return _resolved(self)


def _resolved(node: Node) -> Any:
    text: str = node.value
    if not node.plain or node.tag == STANDARD_TAG + "str":
        return text
    if text in NULLS:
        return None
    if WHOLE.fullmatch(text):
        return int(text)
    return float(text) if FRACTION.fullmatch(text) else SWITCHES.get(text, text)


def mapping(pairs: dict[str, Node], place: Place) -> Node:
    """A mapping that stands in no file as such; each key stands where its node does."""
    return Node(MAP, {key: (node.place, node) for key, node in pairs.items()}, place)


def text(value: object, place: Place) -> Node:
    return Node(TEXT, str(value), place, plain=not isinstance(value, str))


def decode(data: bytes, file: str) -> tuple[str, list[Problem]]:
    if len(data) > LARGEST_FILE:
        return "", [Problem(Place(file), f"larger than {LARGEST_FILE >> 20} MB, the limit for an inventory")]
    try:
        return data.decode("utf-8-sig"), []
    except UnicodeDecodeError as error:
        before = data[: error.start]
        place = Place(file, before.count(b"\n") + 1, error.start - before.rfind(b"\n"))
        return "", [Problem(place, f"not UTF-8: byte 0x{data[error.start]:02x}")]


def parse(words: str, file: str) -> tuple[Node | None, list[Problem]]:
    """The tree of one document, None where it is empty or cannot be read; and everything that is wrong with it."""
    import yaml

    if words.lstrip()[:1] == "{":
        words = _json_as_yaml(words)
    building = _Building(file)
    try:
        for event in yaml.parse(words, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            building.take(event)
    except yaml.MarkedYAMLError as error:
        building.problems.append(_syntax(error, file, words))
    except yaml.reader.ReaderError as error:
        building.problems.append(_odd_character(error, file, words))
    except _Stop as error:
        building.problems.append(Problem(error.args[1], error.args[0]))
    else:
        return building.root, building.problems
    return None, building.problems


def _json_as_yaml(words: str) -> str:
    """JSON has no tabs inside of its strings, and YAML none outside."""

    def character(found: re.Match[str]) -> str:
        high, low = int(found[2], 16), int(found[3], 16)
        return found[1] + chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))

    return SURROGATES.sub(character, words.replace("\t", " "))


def _syntax(error: Any, file: str, words: str) -> Problem:
    mark = error.problem_mark or error.context_mark
    place = Place(file, mark.line + 1, mark.column + 1) if mark else Place(file)
    said = str(error.problem or error.context or "cannot be read as YAML")[:200]
    hint = next((hint for words, hint in HINTS.items() if words in said), "")
    if re.match(r"\s*(?:[#;].*\n\s*)*\[[^\]\n]*\]\s*\n", words[:2000]):
        hint = "an Ansible inventory in INI is read through `ansible-inventory --list`"
    return Problem(place, f"not YAML: {said}" + (f" ({hint})" if hint else ""))


def _odd_character(error: Any, file: str, words: str) -> Problem:
    found = re.search(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", words)
    before = words[: found.start()] if found else ""
    place = Place(file, before.count("\n") + 1, len(before) - before.rfind("\n")) if found else Place(file)
    code = ord(found[0]) if found else error.character
    return Problem(place, f"not YAML: the character {code:#x} is not allowed")


class _Stop(Exception):
    """A file that is not worth reading on; its words and the place."""


class _Building:
    """Puts events together to a tree."""

    def __init__(self, file: str) -> None:
        self.root: Node | None = None
        self.problems: list[Problem] = []
        self._file = file
        self._anchors: dict[str, Node] = {}
        # the open lists and mappings, each with its anchor; a mapping's keys and values are told apart when it ends
        self._open: list[tuple[Node, str | None]] = []
        self._documents = 0
        self._size = 0

    def take(self, event: Any) -> None:
        handler = getattr(self, "_take_" + type(event).__name__, None)
        if handler:
            handler(event, Place(self._file, event.start_mark.line + 1, event.start_mark.column + 1))

    def _take_DocumentStartEvent(self, _event: Any, place: Place) -> None:
        self._documents += 1
        if self._documents > 1:
            raise _Stop("a second document starts here (`---`); one file holds one", place)

    def _take_ScalarEvent(self, event: Any, place: Place) -> None:
        node = Node(TEXT, event.value, place, bool(event.implicit[0]), self._tag(event, place))
        self._keep(event.anchor, node)
        self._add(node)

    def _take_AliasEvent(self, event: Any, place: Place) -> None:
        if event.anchor not in self._anchors:
            raise _Stop(f"*{event.anchor[:80]} is undefined: no &{event.anchor[:80]} above", place)
        self._add(self._anchors[event.anchor])

    def _take_SequenceStartEvent(self, event: Any, place: Place) -> None:
        self._begin(Node(LIST, [], place, tag=self._tag(event, place)), event.anchor)

    def _take_MappingStartEvent(self, event: Any, place: Place) -> None:
        self._begin(Node(MAP, [], place, tag=self._tag(event, place)), event.anchor)

    def _begin(self, node: Node, anchor: str | None) -> None:
        if len(self._open) >= DEEPEST:
            raise _Stop(f"nested more than {DEEPEST} deep", node.place)
        self._open.append((node, anchor))

    def _take_SequenceEndEvent(self, _event: Any, _place: Place) -> None:
        self._end()

    def _take_MappingEndEvent(self, _event: Any, _place: Place) -> None:
        node = self._open[-1][0]
        node.value = self._pairs(node.value[::2], node.value[1::2])
        self._end()

    def _end(self) -> None:
        # an anchor stands for something only from here on: no alias can lie inside of what it stands for
        node, anchor = self._open.pop()
        self._keep(anchor, node)
        self._add(node)

    def _keep(self, anchor: str | None, node: Node) -> None:
        if anchor:
            self._anchors[anchor] = node

    def _add(self, node: Node) -> None:
        self._size += 1 if node.kind == TEXT else 0
        if not self._open:
            self.root = node
            return
        parent = self._open[-1][0]
        parent.size += node.size
        if parent.size > MOST_NODES or self._size > MOST_NODES:
            raise _Stop(f"expands to more than {MOST_NODES} values", node.place)
        parent.value.append(node)

    def _tag(self, event: Any, place: Place) -> str:
        tag = str(event.tag or "")
        if (
            tag
            and tag not in TAGS
            and tag not in (STANDARD_TAG + name for name in ("str", "map", "seq", "int", "bool"))
        ):
            self.problems.append(Problem(place, f"the tag {shown(tag)} is not supported in an inventory"))
        return tag

    def _pairs(self, keys: list[Node], values: list[Node]) -> dict[str, tuple[Place, Node]]:
        found: dict[str, tuple[Place, Node]] = {}
        merged: list[Node] = []
        for key, value in zip(keys, values):
            if key.kind != TEXT:
                self.problems.append(Problem(key.place, f"a key must be a word, not a {key.kind}"))
            elif key.value == "<<" and key.plain:
                merged += value.value if value.kind == LIST else [value]
            elif key.value in found:
                first = found[key.value][0]
                self.problems.append(
                    Problem(key.place, f"{shown(key.value)} is listed twice, first in line {first.line}")
                )
            else:
                found[key.value] = (key.place, value)
        for source in merged:
            if source.kind != MAP:
                self.problems.append(Problem(source.place, f"<<: takes a mapping, not a {source.kind}"))
            for name, place, node in source.pairs():
                found.setdefault(name, (place, node))
        return found
