"""The schema of an inventory: schema.json, with readable errors."""

from __future__ import annotations

import functools
import json
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

from inventory.problems import Place, Problem, did_you_mean, plainly, shown
from inventory.tree import LIST, MAP, Node

FILE = pathlib.Path(__file__).parent / "schema.json"
KINDS = {
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "object": "a mapping (key: value)",
    "array": "a list",
    "null": "empty",
}
SECRETS = ("password", "passwd", "secret", "token")


@functools.cache
def _schema(file: pathlib.Path = FILE) -> Mapping[str, Any]:
    loaded: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return loaded


@functools.cache
def _validator(file: pathlib.Path) -> Any:
    import jsonschema

    return jsonschema.Draft202012Validator(_schema(file))


def check(root: Node, file: pathlib.Path = FILE) -> list[Problem]:
    """Everything that the schema finds wrong; it is taken out of the tree, so that the rest can be judged.

    file: another JSON Schema than that of inventories.
    """
    problems: list[Problem] = []
    wrong: list[tuple[Any, ...]] = []
    for error in _validator(file).iter_errors(root.to_plain()):
        for place, words, path in _told(error, root):
            problems.append(Problem(place, words))
            wrong.append(path)
    for path in sorted(wrong, key=len, reverse=True):
        _take_out(root, path)
    return problems


def _told(error: Any, root: Node) -> Iterator[tuple[Place, str, tuple[Any, ...]]]:
    path = tuple(error.absolute_path)
    node = _at(root, path)
    if error.validator == "additionalProperties":
        known = [name for name in error.schema.get("properties", ()) if name != "password"]
        for key, place, _node in node.pairs():
            if key not in error.schema.get("properties", ()):
                yield place, _unknown_key(key, known), (*path, key)
    elif "propertyNames" in error.absolute_schema_path:
        place = next((place for key, place, _node in node.pairs() if key == error.instance), node.place)
        yield (
            place,
            f"{shown(error.instance)} is not {error.schema.get('description', 'a name')}",
            (*path, error.instance),
        )
    else:
        name = next((f"{plainly(part)}: " for part in reversed(path) if isinstance(part, str)), "")
        yield node.place, name + _words(error), path


def _unknown_key(key: str, known: list[str]) -> str:
    if any(word in key.lower() for word in SECRETS) and not any(word in " ".join(known) for word in SECRETS):
        return f"unknown key {shown(key)}; an inventory contains no passwords"
    return f"unknown key {shown(key)}{did_you_mean(key, known)}"


def _words(error: Any) -> str:
    value, asked, said = error.instance, error.validator_value, error.schema.get("description", "")
    if error.validator == "type":
        kinds = [asked] if isinstance(asked, str) else asked
        words = said if said and len(kinds) > 2 else " or ".join(KINDS[kind] for kind in kinds)
        more = f" ({said})" if said and words != said else ""
        return f"{_shown(value)} is not {words}{_switch(value, kinds)}{more}"
    if error.validator == "enum":
        return f"{_shown(value)} is not one of {_alternatives(asked)}{_near(value, asked)}"
    if error.validator == "not":
        return said if asked == {} else f"{_shown(value)} is not {said}"
    if error.validator == "required":
        return f"{next(name for name in asked if name not in value)} is missing"
    simple = {
        "pattern": f"{_shown(value)} is not {said}",
        "minimum": f"{value} is less than {asked}",
        "maximum": f"{value} is more than {asked}",
        "maxLength": f"longer than {asked} characters",
        "minLength": f"{_shown(value)} is too short to be {said}",
        "oneOf": f"not {said}",
        "maxItems": f"more than {asked} entries",
        "maxProperties": f"more than {asked} entries",
    }
    return simple.get(error.validator, str(error.message)[:200])


def _switch(value: Any, kinds: list[str]) -> str:
    """YAML 1.1 took yes and no for true and false."""
    if "boolean" in kinds and isinstance(value, str) and value.lower() in ("yes", "on", "no", "off"):
        return f"; did you mean {'true' if value.lower() in ('yes', 'on') else 'false'}?"
    return ""


def _shown(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return "a mapping" if isinstance(value, dict) else "a list"
    return shown(value) if isinstance(value, str) else json.dumps(value)


def _alternatives(asked: list[Any]) -> str:
    return ", ".join(one if isinstance(one, str) else json.dumps(one) for one in asked[:20])


def _near(value: Any, asked: list[Any]) -> str:
    hint = did_you_mean(value, [one for one in asked if isinstance(one, str)]) if isinstance(value, str) else ""
    return hint if "did you mean" in hint else ""


def _at(root: Node, path: tuple[Any, ...]) -> Node:
    node = root
    for part in path:
        node = node.value[part] if node.kind == LIST else node.value[part][1]
    return node


def _take_out(root: Node, path: tuple[Any, ...]) -> None:
    """Removes a node that may be gone already with what held it; later paths into a list keep their meaning."""
    if not path:
        root.kind, root.value = MAP, {}
        return
    try:
        parent = _at(root, path[:-1])
        if parent.kind == LIST:
            parent.value[path[-1]] = Node("", None, parent.place)
        else:
            del parent.value[path[-1]]
    except (KeyError, IndexError, TypeError):
        return
