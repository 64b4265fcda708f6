"""A playbook, and the list of them, as plain text of 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from playbooks.model import Playbook, Step

WIDTH = 80
ROLLING = "Rolling: runs on several hosts (--host kafka-a[01-12]) one at a time; `run --yes` confirms each step."


def table(playbooks: Sequence[Playbook]) -> str:
    """One line each: name, title, and the checks that lead there."""
    width = max((len(playbook.name) for playbook in playbooks), default=0)
    return "\n".join(f"{playbook.name:<{width}}  {playbook.title}" for playbook in playbooks)


def playbook(one: Playbook) -> str:
    """The whole of it, with placeholders where a plan has facts."""
    checks = ", ".join(dict.fromkeys(finding.check for finding in one.findings)) or "no check"
    about = [
        f"{one.name}: {one.title}",
        "",
        *wrapped("Findings that lead here: " + checks),
        "",
        *wrapped("Meaning: " + one.means),
        "",
        *wrapped("Risk: " + one.risk),
        "",
        *(["Safe: `run --yes` confirms each step.", ""] if one.safe else []),
        *([*wrapped(ROLLING), ""] if one.rolling else []),
        "Steps (? prompts first, ! destroys data):",
    ]
    return "\n".join([*about, *(line for number, step in enumerate(one.steps, 1) for line in _step(number, step))])


def mark(step: Step) -> str:
    """How dangerous a step is: one letter."""
    if step.destroys:
        return "!"
    asks = step.kind in ("confirm",) or (step.kind in ("run", "kafka") and step.changes)
    return "?" if asks else " "


def _step(number: int, step: Step) -> Iterator[str]:
    yield f"{number:>3} {mark(step)} {step.name}"
    if step.when:
        yield from wrapped(f"only when {step.when}", 6)
    yield from wrapped(what(step), 6)
    for line in step.input.splitlines():
        yield f"      | {line}"


def what(step: Step) -> str:
    """What a step does, in a line or two."""
    if step.purpose:
        return f"gate: {step.purpose}{', after the maintenance' if step.after else ''}: must be GO{patience(step)}"
    if step.kind == "kafka":
        return f"Kafka: {step.act}"
    if step.kind == "check" or (step.kind == "wait" and step.check):
        item = f" of {step.item}" if step.item else ""
        better = " or better" if step.status != "ok" else ""
        return f"check: {step.check}{item} is {step.status}{better}{patience(step)}"
    if step.kind == "confirm":
        return step.words
    command = " ".join(word if word and " " not in word else repr(word) for word in step.run)
    where = " (on the controller)" if step.on == "controller" else ""
    return f"{'until this succeeds: ' if step.kind == 'wait' else ''}{command}{where}{patience(step)}"


def patience(step: Step) -> str:
    """How often a wait looks, and for how long."""
    return f", every {span(step.every)} for at most {span(step.deadline)}" if step.kind == "wait" else ""


def span(seconds: int) -> str:
    """A time as a person says it.

    >>> span(259200), span(5400), span(15)
    ('3 days', '90 min', '15 s')
    """
    for size, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds % size == 0 and seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def wrapped(text: str, indent: int = 0) -> list[str]:
    """Over lines of 80 columns."""
    room = " " * indent
    return textwrap.wrap(" ".join(text.split()), WIDTH, initial_indent=room, subsequent_indent=room,
                         break_long_words=False, break_on_hyphens=False)  # fmt: skip


def of_check(check: str) -> list[str]:
    """The playbooks that a finding of this check leads to, each with what to type."""
    from playbooks import loader

    try:
        known = [loader.load(path) for _name, path in sorted(loader.files(loader.folders()).items())]
    except loader.PlaybookError:
        return ["  cannot read the playbooks: `smoke playbook list` reports the errors"]
    led = [one for one in known if check in {finding.check for finding in one.findings}]
    return [f"  smoke playbook show {one.name:<22} {one.title}" for one in led]
