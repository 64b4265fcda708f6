"""What a schema cannot say of a playbook: placeholders that stand for something, no shell, keys that fit the step."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from inventory.problems import Place, Problem, did_you_mean, shown
from inventory.tree import Node
from playbooks import fact_schema, placeholders
from playbooks.model import Playbook, Step
from playbooks.placeholders import BadPlaceholder, Placeholder

SHELLS = ("sh", "bash", "dash", "zsh", "ksh", "ash", "busybox")
# they run what they are given, past everything that is checked here
NEVER = ("sudo", "su", "doas", "eval", "ssh", "xargs", "nohup", "setsid")
# programs as text: a fact has no place inside of one
PROGRAMS = {"python": "-c", "python3": "-c", "perl": "-e", "awk": "", "gawk": "", "mawk": ""}

ANY = ("name", "when", "note", "each")
COMMAND = ("run", "on", "seconds")
KEYS: Mapping[str, Sequence[str]] = {
    "gate": (*ANY, "gate", "after", "minutes"),
    "run": (
        *ANY,
        *COMMAND,
        "changes",
        "input",
        "done",
        "was_done",
        "undo",
        "no_undo",
        "destroys",
        "may_fail",
        "exits",
        "takes_away",
    ),
    "kafka": (*ANY, "kafka", "mb_per_second", "changes", "seconds", "no_undo", "may_fail"),
    "check": (*ANY, "check", "item", "status", "may_fail"),
    "confirm": (*ANY, "confirm", "takes_away", "unattended"),
    "wait": (
        *ANY,
        *COMMAND,
        "wait",
        "check",
        "item",
        "status",
        "every",
        "deadline",
        "gate",
        "after",
        "minutes",
        "readings",
    ),
}
DESTROYED = ("jbod-disk", "md-disk", "raid10-disk", "empty-disk")

Tell = Callable[[Place, str], None]


def check(playbook: Playbook, root: Node) -> list[Problem]:
    """Everything that is wrong with a playbook that fits the schema."""
    problems: list[Problem] = []

    def tell(place: Place, words: str) -> None:
        problems.append(Problem(place, words))

    _check_names(playbook, root, tell)
    _check_needs(playbook, root, tell)
    _check_rolling(playbook, root, tell)
    steps = root.get("steps")
    for step, node in zip(playbook.steps, steps.value if steps else ()):
        _check_step(playbook, step, node, tell)
    return problems


def _check_names(playbook: Playbook, root: Node, tell: Tell) -> None:
    """Checks that exist."""
    from smoketests.results import run

    known = run.check_names()
    for place, name in _checks(playbook, root):
        if name not in known:
            tell(place, f"no check named {shown(name)}{did_you_mean(name, known)}")


def _checks(playbook: Playbook, root: Node) -> Iterator[tuple[Place, str]]:
    for part in ("findings", "steps"):
        rows = root.get(part)
        for node in rows.value if rows else ():
            name = node.get("check")
            if name:
                yield name.place, str(name.to_plain())


def _check_needs(playbook: Playbook, root: Node, tell: Tell) -> None:
    needs = root.get("needs")
    used = {name.need for step in playbook.steps for name in _uses(step)} | {step.destroys for step in playbook.steps}
    used |= {need.of for need in playbook.needs.values()}
    for name, place, _node in needs.pairs() if needs else ():
        need = playbook.needs[name]
        if need.of and need.of not in playbook.needs:
            tell(
                place,
                f"{name} is of {shown(need.of)}, not listed under `needs`{did_you_mean(need.of, playbook.needs)}",
            )
        if name not in used and need.kind not in ("broker", "zookeeper"):
            tell(place, f"{name} is listed under `needs`, but no step uses it")


def _uses(step: Step) -> list[Placeholder]:
    try:
        return step.uses()
    except BadPlaceholder:
        return []  # told where it stands


def _check_step(playbook: Playbook, step: Step, node: Node, tell: Tell) -> None:
    allowed = KEYS[step.kind]
    for key, place, value in node.pairs():
        if key not in allowed:
            tell(place, f"{key} has no meaning in a step with `{step.kind}`")
        for text, where in _texts(value):
            _check_text(playbook, f"{{{text}}}" if key == "each" else text, where, tell)
            if not step.each and "{each}" in text.replace("{{", ""):
                tell(where, "{each} has no meaning in a step without `each`")
        if key in ("run", "done", "was_done", "undo"):
            _check_command(value, tell)
    if step.kind in ("run", "kafka") and not node.get("name"):
        tell(node.place, f"a step with `{step.kind}` requires a `name`")
    when = node.get("when")
    if when and step.when is None:
        tell(when.place, "expected a condition such as {disk.fstype} == xfs; the operators are ==, !=, in, not in")
    _check_danger(playbook, step, node, tell)
    _check_gate(playbook, step, node, tell)


def _check_danger(playbook: Playbook, step: Step, node: Node, tell: Tell) -> None:
    place = node.place
    if step.destroys:
        need = playbook.needs.get(step.destroys)
        if need is None:
            tell(
                place,
                f"destroys {shown(step.destroys)}, not under `needs`{did_you_mean(step.destroys, playbook.needs)}",
            )
        elif need.kind not in DESTROYED:
            tell(
                place,
                f"destroys {step.destroys}, which is a {need.kind}; allowed kinds: {', '.join(DESTROYED)}",
            )
        elif not any(name.need == step.destroys for name in _uses(step)):
            tell(place, f"destroys {step.destroys}, but its command does not name it")
    if playbook.safe and (step.destroys or step.takes_away or step.kind in ("confirm", "gate")):
        what = "destroys" if step.destroys else "takes_away" if step.takes_away else step.kind
        tell(place, f"a safe playbook cannot have a step with {what}")
    if step.kind == "run" and not step.changes and (step.undo or step.destroys):
        tell(place, "a step with `changes: false` cannot have `undo` or `destroys`")
    if step.undo and step.no_undo:
        tell(place, "a step cannot have both `undo` and `no_undo`")
    if step.destroys and step.each:
        tell(place, "a step cannot have both `destroys` and `each`")


def _check_rolling(playbook: Playbook, root: Node, tell: Tell) -> None:
    """One machine after the other is safe only between two questions to the gate."""
    asked = {step.after for step in playbook.steps if step.purpose}
    if playbook.rolling and asked != {False, True}:
        tell(root.place, "a rolling playbook requires a step with `gate` and a later one with `after: true`")


def _check_gate(playbook: Playbook, step: Step, node: Node, tell: Tell) -> None:
    if node.get("readings") and not step.purpose:
        tell(node.place, "`readings` requires a wait with `gate`")
    if step.unattended and not playbook.rolling:
        tell(node.place, "`unattended` requires a playbook with `rolling: true`")
    if step.takes_away and not any(one.purpose and not one.after for one in playbook.steps):
        tell(node.place, "a step with `takes_away` requires a step with `gate`")


def _texts(node: Node) -> Iterator[tuple[str, Place]]:
    rows = node.value if isinstance(node.value, list) else [node]
    for row in rows:
        if isinstance(row.value, str):
            yield row.value, row.place


def _check_text(playbook: Playbook, text: str, place: Place, tell: Tell) -> None:
    try:
        found = placeholders.names(text)
    except BadPlaceholder as error:
        tell(place, str(error))
        return
    for name in found:
        if name == placeholders.EACH:
            continue
        need = playbook.needs.get(name.need)
        if need is None and name.need not in fact_schema.ALWAYS:
            known = [*playbook.needs, *fact_schema.ALWAYS]
            tell(place, f"{name} has no value: {name.need} is not listed under `needs`{did_you_mean(name.need, known)}")
            continue
        fields = fact_schema.fields(need.kind if need else name.need)
        if name.field not in fields:
            tell(place, f"{name}: a {need.kind if need else name.need} has no {name.field}"
                        f"{did_you_mean(name.field, fields)}")  # fmt: skip


def _check_command(node: Node, tell: Tell) -> None:
    """No shell, and no fact inside of a program's text."""
    arguments: list[Any] = [row.value for row in node.value]
    words = [os.path.basename(word) for word in arguments]
    first = arguments[0]
    if "{" in first:
        tell(node.place, "the program must be a literal name, not a placeholder")
    shell = next((word for word, after in zip(words, [*words[1:], ""]) if word in SHELLS and after.startswith("-")), "")
    never = words[0] if words[0] in NEVER else ""
    if shell or never or words[0] in SHELLS[:-1]:
        tell(node.place, f"{shell or never or words[0]}: a step is one command with its arguments, without a shell"
                         f"{' (added automatically)' if never == 'sudo' else ''}")  # fmt: skip
    if words[0] in PROGRAMS and any("{" in word.replace("{{", "") for word in _program(words, arguments)):
        tell(node.place, f"a placeholder is not allowed in program text; pass it to {words[0]} as an argument")


def _program(words: Sequence[str], arguments: Sequence[str]) -> Sequence[str]:
    """The argument that is a program: behind its switch, or of awk the first that is none."""
    switch = PROGRAMS[words[0]]
    if switch:
        return [after for word, after in zip(arguments, arguments[1:]) if word == switch]
    return [word for word in arguments[1:] if not word.startswith("-")][:1]
