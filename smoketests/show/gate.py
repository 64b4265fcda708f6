"""The gate's decision: a table for a person, JSON for programs, JUnit for CI. Compute nothing."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from agent.formats.text import printable
from smoketests.gate import decision as of
from smoketests.gate import decision_store, rules
from smoketests.show import terminal

if TYPE_CHECKING:
    from smoketests.gate.decision import Decision, RuleResult

STYLES = {of.FAILED: "bold red", of.CANNOT_TELL: "magenta", of.WARNED: "yellow", of.ACCEPTED: "yellow",
          of.PASSED: "green", of.GO: "bold green", of.NO_GO: "bold red", of.UNTOLD: "bold magenta"}  # fmt: skip
WIDEST, WITHOUT_TERMINAL = 120, 80
STATUS_WIDTH = len("CANNOT TELL")
LONGEST_REASON = 1200
DECISIVE_LINES = 2
FINE = (of.PASSED, of.SKIPPED)
OUTCOMES = {of.FAILED: "failure", of.CANNOT_TELL: "error", of.SKIPPED: "skipped"}


def render(name: str, decision: Decision) -> str:
    return FORMATS[name](decision)


def table(decision: Decision) -> str:
    """What decides comes first, then the rules, worst first, and how many there were. All on one screen."""
    width = terminal.width(WIDEST, WITHOUT_TERMINAL)
    return "\n".join(_lines(decision, width, terminal.is_coloured()))


def _lines(decision: Decision, width: int, colour: bool) -> Iterator[str]:
    yield from _decisive(decision, width, colour)
    yield from textwrap.wrap(_title(decision), width, break_on_hyphens=False)
    name_width = max((len(rule.token or rule.name) for rule in decision.rules), default=0)
    worse = [status for status in reversed(of.BY_SEVERITY) if decision.with_status(status) and status not in FINE]
    for status in worse or [of.PASSED]:
        for names, words in _folded(decision.with_status(status)):
            yield from _row(status, names, words, name_width, width, colour)
    if worse:
        yield from _in_short(of.PASSED, [rule.name for rule in decision.with_status(of.PASSED)], "", width)
    yield from _not_asked(decision, width)
    yield ""
    yield from textwrap.wrap(f"{decision.answer}: {_totals(decision)}", width, break_on_hyphens=False)


def _decisive(decision: Decision, width: int, colour: bool) -> Iterator[str]:
    """The answer with its reason; at most so many lines."""
    answer, words = decision.answer, printable(decision.summary)
    first, *others = textwrap.wrap(words, width, max_lines=DECISIVE_LINES, placeholder=" …", break_on_hyphens=False)
    rest = first[len(answer) :]
    yield f"{terminal.painted(answer, STYLES[answer])}{terminal.painted(rest, terminal.BOLD)}" if colour else first
    yield from others


def _title(decision: Decision) -> str:
    asked = decision.maintenance
    when = "After" if asked["after"] else "Before"
    disk = f" of disk {asked['disk']}" if asked["disk"] else ""
    hosts = ", ".join(asked["hosts"])
    cluster = f" ({asked['cluster']})" if asked["cluster"] else ""
    minutes = "" if asked["after"] else f" for {asked['minutes']} min"
    return printable(f"{when} {asked['purpose']}{disk} on {hosts}{cluster}{minutes}, {decision.at}")


def _not_asked(decision: Decision, width: int) -> Iterator[str]:
    """Rules that were not asked for the same reason share a line."""
    reasons: dict[str, list[str]] = {}
    for rule in decision.with_status(of.SKIPPED):
        other = rule.reason.startswith(rules.ONLY)
        reasons.setdefault("other purposes" if other else printable(rule.reason), []).append(rule.name)
    for reason, names in reasons.items():
        yield from _in_short(of.SKIPPED, names, f": {reason}", width)


def _in_short(status: str, names: Sequence[str], reason: str, width: int) -> Iterator[str]:
    words = f"{status.upper():<{STATUS_WIDTH}} {', '.join(names)}{reason}"
    if names:
        yield from textwrap.wrap(words, width, subsequent_indent=" " * (STATUS_WIDTH + 1), break_on_hyphens=False)


def _folded(results: Sequence[RuleResult]) -> Iterator[tuple[list[str], str]]:
    """The names of the rules that say the same, a single one as --accept takes it, and what they say."""
    said: dict[str, list[RuleResult]] = {}
    for rule in results:
        because = f" (accepted because: {printable(rule.because)})" if rule.because else ""
        said.setdefault(printable(rule.reason[:LONGEST_REASON]) + because, []).append(rule)
    for words, folded in said.items():
        yield [_named(rule) if len(folded) == 1 else rule.name for rule in folded], words


def _named(rule: RuleResult) -> str:
    """disks#1a2b3c where its findings can be accepted."""
    known = rule.name in rules.names() and not rules.load(rule.name).final
    return (rule.token if known else "") or rule.name


def _row(status: str, names: Sequence[str], words: str, name_width: int, width: int, colour: bool) -> Iterator[str]:
    indent = STATUS_WIDTH + name_width + 2
    padded = f"{status.upper():<{STATUS_WIDTH}}"
    shown = terminal.painted(padded, STYLES[status]) if colour else padded
    who = names[0] if len(names) == 1 else f"{len(names)} rules"
    if len(names) > 1:
        words = f"{words} ({', '.join(names)})"
    parts = textwrap.wrap(words, max(width - indent, 20), break_on_hyphens=False) or [""]
    for number, part in enumerate(parts):
        yield f"{shown} {who:<{name_width}} {part}" if number == 0 else f"{'':<{indent}}{part}"


def _totals(decision: Decision) -> str:
    """3 of 20 rules failed, 1 cannot tell, 2 warned, in 11.8 s; exit 2"""
    asked = [rule for rule in decision.rules if rule.status != of.SKIPPED]
    statuses = (of.FAILED, of.CANNOT_TELL, of.WARNED, of.ACCEPTED, of.PASSED)
    counts = [(len(decision.with_status(status)), status) for status in statuses]
    said = ", ".join(f"{count} {status}" for count, status in counts if count)
    looked = f", {len(decision.readings)} readings" if decision.readings else ""
    unsteady = f"; {decision.unsteady}" if decision.unsteady else ""
    seconds = f"{decision.seconds:.1f} s"
    return f"of {len(asked)} rules {said or 'no rule ran'}{looked}, in {seconds}{unsteady}; exit {decision.exit_code}"


def as_json(decision: Decision) -> str:
    return json.dumps(decision_store.as_json(decision), indent=1, default=str)


def junit(decision: Decision) -> str:
    """One suite, one case for each rule; what was accepted or warned passes, and says so."""
    outcomes = [OUTCOMES.get(rule.status, "") for rule in decision.rules]
    root = ElementTree.Element("testsuites", name="smoke gate")
    suite = ElementTree.SubElement(
        root, "testsuite", name=_title(decision), timestamp=decision.at.removesuffix("Z"), tests=str(len(outcomes)),
        failures=str(outcomes.count("failure")), errors=str(outcomes.count("error")),
        skipped=str(outcomes.count("skipped")), time=f"{decision.seconds:.3f}",
    )  # fmt: skip
    suite.extend(map(_case, decision.rules))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode")


def _case(rule: RuleResult) -> ElementTree.Element:
    case = ElementTree.Element("testcase", classname="gate", name=rule.name)
    outcome = OUTCOMES.get(rule.status)
    reason = printable(rule.reason[:LONGEST_REASON])
    if outcome:
        ElementTree.SubElement(case, outcome, type=rule.status, message=reason).text = rule.question
    else:
        because = f" (accepted because: {printable(rule.because)})" if rule.because else ""
        ElementTree.SubElement(case, "system-out").text = f"{rule.status}: {reason}{because}"
    return case


FORMATS: Mapping[str, Callable[[Decision], str]] = {"table": table, "json": as_json, "junit": junit}
