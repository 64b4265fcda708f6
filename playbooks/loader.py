"""Playbook files to the model: read, checked by the schema and as a whole, every problem with its place."""

from __future__ import annotations

import hashlib
import os
import pathlib
import re
from collections.abc import Mapping, Sequence

from inventory import schema, tree
from inventory.errors import SmokeError
from inventory.problems import InventoryError, Place, Problem, did_you_mean, shown
from inventory.tree import LIST, MAP, Node
from playbooks import consistency
from playbooks.model import KAFKA_S, STEP_KINDS, Finding, Need, Playbook, Step, condition, duration_s, is_late

FOLDER = pathlib.Path(__file__).parent / "books"
SCHEMA = pathlib.Path(__file__).parent / "schema.json"
VARIABLE = "SMOKE_PLAYBOOKS"
ENDING = ".yaml"
NAME = re.compile(r"[a-z][a-z0-9-]{0,59}")


class PlaybookError(InventoryError):
    """A playbook that cannot be used; `problems` holds everything that was found, each with file, line and column."""


class NoSuchPlaybook(SmokeError):
    """There is none of that name; the message has a suggestion."""


def folders(own: Sequence[str] = (), environment: Mapping[str, str] = os.environ) -> list[str]:
    """Where playbooks are looked for, the most wanted last: ours, those of SMOKE_PLAYBOOKS, those given."""
    named = [path for path in environment.get(VARIABLE, "").split(os.pathsep) if path]
    return [str(FOLDER), *named, *own]


def files(where: Sequence[str]) -> dict[str, str]:
    """Name -> path; a later folder's playbook stands in for one of the same name. PlaybookError."""
    found: dict[str, str] = {}
    problems = []
    for folder in where:
        try:
            names = sorted(name for name in os.listdir(folder) if name.endswith(ENDING) and not name.startswith("."))
        except OSError as error:
            problems.append(Problem(Place(folder), f"cannot be read: {error.strerror}"))
            continue
        for name in names:
            path = os.path.join(folder, name)
            if not NAME.fullmatch(name.removesuffix(ENDING)):
                problems.append(
                    Problem(Place(path), "a playbook's name consists of lower-case letters, digits and dashes")
                )
            found[name.removesuffix(ENDING)] = path
    if problems:
        raise PlaybookError(problems)
    return found


def named(name: str, where: Sequence[str]) -> Playbook:
    """The playbook of this name. NoSuchPlaybook, PlaybookError."""
    known = files(where)
    if name not in known:
        raise NoSuchPlaybook(f"no playbook named {shown(name)}{did_you_mean(name, known)}")
    return load(known[name])


def load(path: str) -> Playbook:
    """The playbook of a file; PlaybookError."""
    try:
        with open(path, "rb") as file:
            data = file.read(tree.LARGEST_FILE + 1)
    except OSError as error:
        raise PlaybookError([Problem(Place(path), f"cannot be read: {error.strerror}")]) from error
    return parse(data, path)


def parse(data: bytes, path: str) -> Playbook:
    """The playbook that these bytes spell; PlaybookError."""
    words, problems = tree.decode(data, path)
    root: Node | None = None
    if not problems:
        root, problems = tree.parse(words, path)
    if not problems and (root is None or root.kind != MAP):
        problems = [Problem(Place(path), "a playbook is a mapping with `title` and `steps`")]
    if not problems and root:
        problems = schema.check(root, SCHEMA)
    if problems or root is None:
        raise PlaybookError(problems)
    playbook = _playbook(root, path, hashlib.sha256(data).hexdigest())
    problems = consistency.check(playbook, root)
    if problems:
        raise PlaybookError(problems)
    return playbook


def _playbook(root: Node, path: str, sha256: str) -> Playbook:
    plain = root.to_plain()
    steps = root.get("steps")
    assert steps and steps.kind == LIST
    return Playbook(
        name=os.path.basename(path).removesuffix(ENDING),
        title=plain["title"].strip(),
        means=plain["means"].strip(),
        risk=plain["risk"].strip(),
        steps=tuple(step(said) for said in plain["steps"]),
        findings=tuple(Finding(**said) for said in plain.get("findings") or ()),
        needs={name: _need(said) for name, said in (plain.get("needs") or {}).items()},
        safe=plain.get("safe", False),
        rolling=plain.get("rolling", False),
        sha256=sha256,
        path=path,
    )


def _need(said: str | Mapping[str, object]) -> Need:
    if isinstance(said, str):
        return Need(said, late=is_late(said))
    kind = str(said["kind"])
    late, optional = bool(said.get("late", is_late(kind))), bool(said.get("optional", False))
    return Need(kind, str(said.get("of", "")), late, optional, str(said.get("holds", "")))


def step(said: Mapping[str, object]) -> Step:
    """A step of plain values that fit the schema."""
    kind = next(kind for kind in STEP_KINDS if kind in said)
    renamed = {"gate": "purpose", "kafka": "act", "confirm": "words", "wait": "words"}
    given = {renamed.get(key, key): tuple(value) if isinstance(value, list) else value for key, value in said.items()}
    for time in ("every", "deadline"):
        if time in given:
            given[time] = duration_s(given[time])  # type: ignore[arg-type]
    if "when" in given:
        given["when"] = condition(str(given["when"]))
    given["kind"] = kind
    if kind == "kafka":
        given.setdefault("seconds", KAFKA_S)
    given.setdefault("name", _name(kind, said))
    return Step(**given)  # type: ignore[arg-type]


def _name(kind: str, said: Mapping[str, object]) -> str:
    """A step that does not name itself; those that run something must."""
    if kind == "gate":
        return "The cluster is healthy again" if said.get("after") else "The cluster can do without it"
    if kind == "check":
        return f"{said['check']} is {said.get('status', 'ok')}"
    return "Confirm by hand" if kind == "confirm" else str(said.get("wait", ""))
