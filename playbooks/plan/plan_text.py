"""A plan as a person reads it: 80 columns, prose as comments, commands as they can be pasted into a shell."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator, Sequence

from agent.formats.text import printable
from playbooks import placeholders, show
from playbooks.fact_schema import Fact, fields
from playbooks.model import Step
from playbooks.placeholders import EACH, Placeholder
from playbooks.plan.plan import Plan
from playbooks.plan.template import Action, Filling, FoundLater, NotTold

WIDTH = 80
WRAP_AT = 78


def render(plan: Plan, as_root: bool = True) -> str:
    """The whole plan."""
    filling = plan.filling()
    lines = [*_head(plan, as_root)]
    seen: set[str] = set()
    gap = True
    for number, step in enumerate(plan.playbook.steps, 1):
        why = _left_out(filling, number, step)
        lines += ["", *_step(plan, filling, number, step, seen)] if not why else [*([""] if gap else []), *comment(why)]
        gap = not why
    return "\n".join(lines)


def _left_out(filling: Filling, number: int, step: Step) -> str:
    """One line for a step that is not for this machine; empty for one that is, or of which it is not known yet."""
    try:
        if not filling.holds(step.when):
            return f"{number}. skipped: {step.name} ({step.when} is false here)"
        if not filling.actions(number, step):
            return f"{number}. skipped: {step.name} ({step.each} is empty here)"
    except FoundLater:
        pass
    return ""


def problems(plan: Plan) -> list[str]:
    """What would stop a run for sure: commands that need what the machine does not tell."""
    filling = plan.filling()
    found = []
    for number, step in enumerate(plan.playbook.steps, 1):
        try:
            for action in filling.actions(number, step) if filling.holds(step.when) else ():
                filling.argv(step.run, action.each)
                filling.input(step.input, action.each)
        except FoundLater:
            continue
        except NotTold as error:
            found.append(f"step {number} ({step.name}): {error}")
    return found


def _head(plan: Plan, as_root: bool) -> Iterator[str]:
    yield from comment(f"{plan.playbook.title}: plan {plan.id} for {plan.host}, made {plan.at}. Nothing was changed.")
    yield "#"
    yield from comment("Meaning: " + plan.playbook.means)
    yield from comment("Risk: " + plan.playbook.risk)
    for why in plan.why:
        yield from comment(f"Finding: {why}")
    for untold in plan.untold:
        yield from comment(f"Unknown: {untold}")
    yield "#"
    for name, fact in plan.facts.items():
        yield from comment(f"{name}: {describe(fact)}")
    for name in plan.late:
        yield from comment(f"{name}: determined when the first step that uses it is reached")
    yield "#"
    root = " as root" if as_root else ""
    yield from comment(
        f"Run the commands on {plan.host}{root} unless stated otherwise. ? prompts first, ! destroys data."
    )
    for problem in problems(plan):
        yield from comment(f"CANNOT RUN: {problem}")


def describe(fact: Fact) -> str:
    """All that is known of it."""
    lists = {name: " and ".join(value) for name, value in fact.values.items() if isinstance(value, tuple)}
    told = [f"{name} {lists.get(name) or fact.words(name)}" for name in fields(fact.kind) if name in fact.values]
    return ", ".join(told) or "none on this machine"


def comment(text: str, indent: str = "# ") -> list[str]:
    """Prose that a shell does not take for commands, whatever it says."""
    return textwrap.wrap(printable(" ".join(text.split())), WIDTH, initial_indent="# " if indent == "# " else indent,
                         subsequent_indent=indent, break_on_hyphens=False)  # fmt: skip


def _step(plan: Plan, filling: Filling, number: int, step: Step, seen: set[str]) -> Iterator[str]:
    yield from comment(f"{number}. {show.mark(step).strip()} {_words(filling, step.name)}".replace(".  ", ". "))
    try:
        filling.holds(step.when)
        actions = filling.actions(number, step)
    except FoundLater as error:
        yield from comment(f"{error}: whether this step applies to {plan.host} is determined then", "#    ")
        actions = [Action(str(number), step)]
    if step.note:
        yield from comment(_words(filling, step.note), "#    ")
    late = sorted({name for name in step.uses() if filling.is_late(name)})
    for need in dict.fromkeys(name.need for name in late if name.need not in seen):
        named = ", ".join(variable(name) for name in late if name.need == need)
        yield from comment(f"determined when this step is reached: {named}", "#    ")
    for action in actions:
        yield from _action(plan, filling, action)


def _action(plan: Plan, filling: Filling, action: Action) -> Iterator[str]:
    step = action.step
    if step.kind == "confirm":
        yield from comment(f"to confirm: {_words(filling, step.words)}", "#    ")
    elif step.purpose:
        yield from comment("must be GO" + (", polled until it is" if step.kind == "wait" else ""), "#    ")
        yield from _wrapped(_gate(plan, step))
    elif step.kind == "kafka":
        yield from comment(f"Kafka action: {step.act}", "#    ")
    elif step.check:
        until = show.patience(step)
        item = f" of {_words(filling, step.item)}" if step.item else ""
        better = " or better" if step.status != "ok" else ""
        yield from comment(f"{step.check}{item} must be {step.status}{better}{until}", "#    ")
        yield from _wrapped(_check(plan, step))
    else:
        yield from _command(filling, action)


def _command(filling: Filling, action: Action) -> Iterator[str]:
    step = action.step
    if step.on == "controller":
        yield from comment("on the controller", "#    ")
    if step.kind == "wait":
        yield from comment(f"until it succeeds{show.patience(step)}", "#    ")
    for words, said in ((step.done, "already done if this succeeds"), (step.undo, "undo")):
        if words:
            yield f"#    {said}: {' '.join(_argument(filling, word, action.each) for word in words)}"
    command = [_argument(filling, word, action.each) for word in step.run]
    if step.input.endswith("\n"):
        quoted, text = _here_document(filling, step.input, action.each)
        yield from _wrapped([*command, f"<<{quoted}"])
        yield text + quoted.strip("'")
    elif step.input:
        yield from _wrapped(["printf", "%s", _argument(filling, step.input, action.each), "|", *command])
    else:
        yield from _wrapped(command)


def _argument(filling: Filling, word: str, each: str) -> str:
    """Quoted for a shell; what is not known yet stands as a variable."""
    if not word:
        return "''"
    parts = _joined(filling, word, each)
    return "".join(f'"${variable(part)}"' if isinstance(part, Placeholder) else _quoted(part) for part in parts)


def _joined(filling: Filling, word: str, each: str) -> list[str | Placeholder]:
    """Known values are text; only what is late stays apart."""
    parts: list[str | Placeholder] = []
    for part in placeholders.parts(word):
        text = part if isinstance(part, str) else "" if filling.is_late(part) else filling.value(part, each)
        if isinstance(part, Placeholder) and filling.is_late(part):
            parts.append(part)
        elif parts and isinstance(parts[-1], str):
            parts[-1] += text
        else:
            parts.append(text)
    return parts


def _quoted(text: str) -> str:
    return shlex.quote(text) if text else ""


def variable(name: Placeholder) -> str:
    """How a plan calls what is found later.

    >>> variable(Placeholder("new", "device"))
    'NEW_DEVICE'
    """
    return f"{name.need}_{name.field}".upper()


def _here_document(filling: Filling, text: str, each: str) -> tuple[str, str]:
    """The end word as it stands behind <<, and the text, which a shell must not change."""
    parts = _joined(filling, text, each)
    whole = "".join(part for part in parts if isinstance(part, str))
    end = _end_word(whole)
    if all(isinstance(part, str) for part in parts):
        return f"'{end}'", whole
    escaped = str.maketrans({"\\": "\\\\", "$": "\\$", "`": "\\`"})
    return end, "".join(
        part.translate(escaped) if isinstance(part, str) else f"${{{variable(part)}}}" for part in parts
    )


def _end_word(text: str) -> str:
    """EOF, if no line begins as it does: dash 0.5.12 loses a byte of such a line when it is not ASCII."""
    lines = text.split("\n")
    begin = {line[:1] for line in lines}
    longer = f"E{'O' * max(map(len, lines))}F"
    return next((word for word in ("EOF", "SMOKE_EOF", "THE_END", "QED", "FINIS") if word[0] not in begin), longer)


def _wrapped(words: Sequence[str]) -> Iterator[str]:
    """A command over several lines, broken only between arguments."""
    row = ""
    for word in words:
        if row and len(row) + 1 + len(word) > WRAP_AT:
            yield row + " \\"
            row = "    " + word
        else:
            row = f"{row} {word}" if row else word
    yield row


def _words(filling: Filling, text: str) -> str:
    """A sentence; what is not known yet stands as its variable."""
    return placeholders.fill(
        text, lambda name: "each" if name == EACH else variable(name) if filling.is_late(name)
        else filling.value(name) or "(unknown)",
    )  # fmt: skip


def _access(plan: Plan) -> list[str]:
    return [word for path in plan.inventories for word in ("-i", shlex.quote(path))]


def _gate(plan: Plan, step: Step) -> list[str]:
    after = ["--after"] if step.after else []
    disk = next((fact.words("serial") for fact in plan.facts.values() if fact.kind.endswith("-disk")), "")
    named = ["--disk", shlex.quote(disk)] if disk and step.purpose == "replace-disk" and not step.after else []
    return ["smoke", "gate", *_access(plan), "--host", shlex.quote(plan.host), "--for", step.purpose, *named, *after]


def _check(plan: Plan, step: Step) -> list[str]:
    where = ["--limit", shlex.quote(plan.host)] if plan.inventories else []
    return ["smoke", "check", step.check, *_access(plan), *where]
