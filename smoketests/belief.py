"""How much of a host's words is believed: records about itself, of our schema, within bounds. Pure.

A host that lies, or was taken over, can spoil its own row and nothing else.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from agent.report import FIELDS, Report, Run
from agent.status import Verdict, ok, unknown
from inventory.model import Host
from smoketests.hearing import MARK, Heard

MOST_FINDINGS = 5000
MOST_BAD_LINES = 20
LONGEST_WORDS = {"reason": 1000, "item": 300, "check": 60, "playbook": 60}
# 2026-11-20T03:12:00Z
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
# smart, disk_balance, hidden-readonly; never ../something
NAME = re.compile(r"[a-z][a-z0-9_-]{0,59}")
HEADER_KINDS: Mapping[str, Any] = {
    "schema": int, "kind": str, "agent": str, "kernel": str, "boot_id": str, "clock": (int, float),
    "uptime_s": (int, float), "python": str, "root": bool, "guessed": list, "previous_at": str,
}  # fmt: skip
# where the inventory is silent the host may guess
GUESSABLE = ("role", "layout", "rack")
SAID = {
    "no-python": "no Python is installed there; the agent needs 3.9 or later",
    "old-python": "only Python {} is there; the agent needs 3.9 or later",
    "unsafe-folder": "{} could be written by another user: the agent is not kept or run there",
    "noexec": "{} is mounted noexec: the agent's compiled parts cannot run there",
    "damaged": "{}",
    "no-room": "the agent cannot be kept there: {}",
    "no-build": "its processor ({}) is none that the bundle was built for",
    "cannot-start": "the agent cannot start there: {}",
}
# what a shell or sudo says instead of the agent, and what it means
REFUSALS = (
    ("a password is required", "sudo-password", "sudo wants a password there (give one with --ask-sudo)"),
    ("incorrect password", "sudo-password", "sudo there does not take the password"),
    ("you must have a tty", "sudo", "sudo there wants a terminal (requiretty in its sudoers)"),
    ("not in the sudoers", "sudo", "no root there: the user is not in the sudoers file"),
    ("not allowed to execute", "sudo", "no root there: sudo does not allow the user to run the agent"),
    ("may not run sudo", "sudo", "no root there: the user may not run sudo"),
    ("sudo: command not found", "sudo", "no root there: sudo is not installed and the user is not root"),
    ("sudo: not found", "sudo", "no root there: sudo is not installed and the user is not root"),
    ("timeout: command not found", "no-timeout", "there is no `timeout` (package coreutils) to end the agent with"),
    ("Unknown option: -E", "old-python", "only an ancient Python is there; the agent needs 3.9 or later"),
)


def believed(host: Host, told: Report, run_id: str, now: str) -> tuple[Report, list[str]]:
    """The host's records, about itself and nobody else, and as lines. now: the time where it gives none."""
    header = _header(host, told.header, run_id, now)
    findings: list[Mapping[str, Any]] = []
    bad, lines = list(told.bad_lines), []
    for fields in told.findings[:MOST_FINDINGS]:
        try:
            finding = _finding(host, fields, run_id, header.get("at", now))
            lines.append(_line(finding))
            findings.append(finding)
        except ValueError as error:
            bad.append(str(error))
    return Report(header, findings, bad[:MOST_BAD_LINES]), ([_line(header)] if header else []) + lines


def _line(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, separators=(",", ":"), allow_nan=False)


def _header(host: Host, told: Mapping[str, Any], run_id: str, now: str) -> dict[str, Any]:
    """What the host says of itself as a whole; a field of the wrong kind is left out."""
    if not told:
        return {}
    kept = {name: _short(told[name]) for name, kind in HEADER_KINDS.items() if _is(told.get(name), kind)}
    return {**kept, **_identity(host, told, run_id, now)}


def _is(value: Any, kind: Any) -> bool:
    if isinstance(value, bool) != (kind is bool) or not isinstance(value, kind):
        return False
    return not isinstance(value, float) or math.isfinite(value)


def _short(value: Any) -> Any:
    if isinstance(value, list):
        return [_short(part) for part in value[:50] if isinstance(part, str)]
    return _text(value)[:200] if isinstance(value, str) else value


def _finding(host: Host, told: Mapping[str, Any], run_id: str, now: str) -> dict[str, Any]:
    """One finding, bounded. ValueError where it is none of ours."""
    if not NAME.fullmatch(told["check"]) or (told["playbook"] and not NAME.fullmatch(told["playbook"])):
        raise ValueError(f"no check is named {_text(told['check'])[:40]!r}")
    kept = {name: told[name] for name in FIELDS}
    for name, longest in LONGEST_WORDS.items():
        kept[name] = _text(kept[name])[:longest]
    kept["facts"] = _clean(kept["facts"])
    kept = {**kept, **_identity(host, told, run_id, now)}
    if not TIME.fullmatch(kept["first_seen"]):
        kept["first_seen"] = kept["at"]
    return kept


def _text(words: str) -> str:
    """Without halves of surrogate pairs, which no file or terminal takes."""
    return words if words.isascii() else words.encode("utf-8", "replace").decode()


def _clean(facts: Mapping[str, Any]) -> Any:
    text = json.dumps(facts, ensure_ascii=False, allow_nan=False)
    return facts if text.isascii() else json.loads(_text(text))


def _identity(host: Host, told: Mapping[str, Any], run_id: str, now: str) -> dict[str, str]:
    """Who this is, by the inventory; where that is silent on role, layout and rack, by the host's own guess."""
    at = told.get("at")
    at = at if isinstance(at, str) and TIME.fullmatch(at) else now
    ours = Run(run_id, at, host.cluster, host.name, ",".join(host.roles), host.layout, host.rack)._asdict()
    guesses = {name: _text(str(told.get(name, "")))[:100] for name in GUESSABLE if not ours[name]}
    return {**ours, **guesses}


def reach(host: Host, heard: Heard, told: Report, bad_lines: list[str], seconds: float) -> tuple[str, Verdict]:
    """Whether the report is whole: a word for programs, and the verdict with the reason why not.

    told: what was read. bad_lines: what was refused of it.
    """
    for word in heard.words:
        if word.startswith(MARK):
            kind, _, detail = word[len(MARK) :].partition(" ")
            return kind[:20], unknown(SAID.get(kind, "the agent did not start: {}").format(_text(detail)[:300] or kind))
    kept = f"kept the {len(told.findings)} findings that came before"
    if heard.cut:
        return "cut", unknown(f"{heard.cut}: {kept}")
    if not told.findings:
        return _no_report(heard, told)
    if told.findings[-1]["check"] != "agent":
        return "cut", unknown(f"its report was cut short ({_end(heard)}): {kept}")
    return _oddities(host, told, bad_lines) or ("answered", ok(f"answered in {seconds:.1f} s"))


def _oddities(host: Host, told: Report, bad_lines: list[str]) -> tuple[str, Verdict] | None:
    if bad_lines:
        return "schema", unknown(f"not all lines of its report are records of ours ({bad_lines[0]})")
    if len(told.findings) > MOST_FINDINGS:
        return "too-many", unknown(f"{len(told.findings)} findings from one host: kept the first {MOST_FINDINGS}")
    if {finding["host"] for finding in told.findings} != {host.name}:
        return "stranger", unknown("it speaks of another host than itself: its words count for itself alone")
    return None


def _no_report(heard: Heard, told: Report) -> tuple[str, Verdict]:
    said = _text(next(reversed(heard.words), ""))[:200]
    for words, kind, meaning in REFUSALS:
        if any(words in word for word in heard.words):
            return kind, unknown(meaning)
    if told.bad_lines:
        return "schema", unknown(f"it answers with no record of ours ({told.bad_lines[0]})")
    return "no-report", unknown(f"the agent gave no report ({_end(heard)}): {said or 'it said nothing'}")


def _end(heard: Heard) -> str:
    if heard.exit_code is None:
        return "killed, or the connection lost"
    # `timeout` passes on that its command was killed as 128 and the signal's number
    return "killed" if heard.exit_code == 137 else f"exit {heard.exit_code}"
