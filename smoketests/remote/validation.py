"""Validates a host's report: records about the host itself, of the current schema, within bounds. Pure.

A compromised host can falsify its own row and nothing else: each line is read alone, as strict JSON, and what is kept
is a new encoding of the checked record, never the host's text.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from agent.report import FIELDS, SCHEMA, Report
from agent.status import BY_SEVERITY, Verdict, ok, unknown
from inventory.model import Host
from smoketests.remote import strict_json
from smoketests.remote.agent_output import MARK, AgentOutput

MOST_FINDINGS = 5000
MOST_BAD_LINES = 20
LONGEST_WORDS = (("reason", 1000), ("item", 300))
LONGEST_GUESS = 100
LONGEST_MS = 1e9
# the agent's own finding about its memory ends every whole report
LAST_CHECK = "agent"
TEXTS = tuple(name for name in FIELDS if name not in ("schema", "facts", "duration_ms"))
ALL_TEXT = [str] * len(TEXTS)
ENCODE = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False).encode
# 2026-11-20T03:12:00Z
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
# smart, disk_balance, hidden-readonly; never ../something
NAME = re.compile(r"[a-z][a-z0-9_-]{0,59}")
HEADER_KINDS: Mapping[str, Any] = {
    "schema": int, "kind": str, "agent": str, "kernel": str, "boot_id": str, "clock": (int, float),
    "uptime_s": (int, float), "python": str, "root": bool, "guessed": list, "previous_at": str,
    "drawer": str, "power_feed": str,
}  # fmt: skip
# where the inventory is silent the host may guess
GUESSABLE = ("role", "layout", "rack")
SAID = {
    "no-python": "no Python found; the agent requires 3.9 or later",
    "old-python": "only Python {} found; the agent requires 3.9 or later",
    "unsafe-folder": "{} is writable by another user: the agent is not stored or run there",
    "noexec": "{} is mounted noexec: the agent's compiled modules cannot run from it",
    "damaged": "{}",
    "no-room": "cannot store the agent: {}",
    "no-build": "CPU architecture {} is not in the bundle",
    "cannot-start": "the agent cannot start: {}",
}
# what a shell or sudo says instead of the agent, and what it means
REFUSALS = (
    ("a password is required", "sudo-password", "sudo requires a password (use --ask-sudo)"),
    ("incorrect password", "sudo-password", "sudo rejected the password"),
    ("you must have a tty", "sudo", "sudo requires a terminal (requiretty in sudoers)"),
    ("not in the sudoers", "sudo", "no root access: the user is not in the sudoers file"),
    ("not allowed to execute", "sudo", "no root access: sudo does not allow the user to run the agent"),
    ("may not run sudo", "sudo", "no root access: the user may not run sudo"),
    ("sudo: command not found", "sudo", "no root access: sudo is not installed and the user is not root"),
    ("sudo: not found", "sudo", "no root access: sudo is not installed and the user is not root"),
    ("timeout: command not found", "no-timeout", "command `timeout` (package coreutils) not found"),
    ("Unknown option: -E", "old-python", "Python is too old; the agent requires 3.9 or later"),
)


class Believed(NamedTuple):
    """How much of a host's words is believed, as a report and as lines for the store, and what was odd about them."""

    report: Report
    lines: list[str]
    told: int
    complete: bool
    foreign_hosts: bool


def believed(host: Host, lines: Iterable[str], run_id: str, now: str) -> Believed:
    """The host's records, about itself and nobody else. now: the time where it gives none.

    This is most of the work on a healthy host's report, hence the care for speed.
    """
    header: dict[str, Any] = {}
    findings: list[Mapping[str, Any]] = []
    bad: list[str] = []
    kept: list[str] = []
    told, complete, foreign_hosts = 0, False, False
    ours, guessed = _identity(host, run_id)
    for number, line in enumerate(lines, 1):
        try:
            fields = strict_json.value(line)
            if _is_header(fields):
                strict_json.keys_once(line)
                header = header or _header(fields, ours, guessed, now)
                continue
            _check(fields)
            told += 1
            complete = fields["check"] == LAST_CHECK
            foreign_hosts = foreign_hosts or fields["host"] != host.name
            if len(findings) < MOST_FINDINGS:
                finding = _finding(fields, ours, guessed, now, "\\u" in line)
                encoded = ENCODE(finding)
                if encoded != line:  # our own encoding to the letter has each key once
                    strict_json.keys_once(line)
                kept.append(encoded)
                findings.append(finding)
        except (ValueError, RecursionError) as error:
            if len(bad) < MOST_BAD_LINES:
                bad.append(f"line {number}: {error}"[:200])
    if header:
        kept.insert(0, ENCODE(header))
    return Believed(Report(header, findings, bad), kept, told, complete, foreign_hosts)


def _identity(host: Host, run_id: str) -> tuple[dict[str, str], list[str]]:
    """Who this is, by the inventory; and the fields in which it is silent, so that the host's own guess counts."""
    ours = {"run_id": run_id, "cluster": host.cluster, "host": host.name, "role": ",".join(host.roles),
            "layout": host.layout, "rack": host.rack}  # fmt: skip
    guessed = [name for name in GUESSABLE if not ours[name]]
    for name in guessed:
        del ours[name]
    return ours, guessed


def _is_header(fields: Any) -> bool:
    return type(fields) is dict and fields.get("kind") == "header" and fields.get("schema") == SCHEMA


def _check(fields: Any) -> None:
    """ValueError where this is no finding of our schema."""
    if type(fields) is not dict or fields.get("schema") != SCHEMA or type(fields["schema"]) is not int:
        raise ValueError(f"not a record of schema {SCHEMA}")
    if list(map(type, map(fields.get, TEXTS))) != ALL_TEXT:
        name = next(name for name in TEXTS if type(fields.get(name)) is not str)
        raise ValueError(f"field {name!r} is missing or of the wrong type")
    if type(fields.get("facts")) is not dict or type(fields.get("duration_ms")) not in (int, float):
        raise ValueError("facts or duration_ms are missing or of the wrong type")
    if not 0 <= fields["duration_ms"] < LONGEST_MS:
        raise ValueError("implausible duration_ms")
    if fields["status"] not in BY_SEVERITY:
        raise ValueError("unknown status")
    if not _is_name(fields["check"]) or (fields["playbook"] and not _is_name(fields["playbook"])):
        raise ValueError("invalid name of a check or playbook")


@functools.lru_cache(maxsize=1000)
def _is_time(word: str) -> bool:
    return TIME.fullmatch(word) is not None


@functools.lru_cache(maxsize=1000)
def _is_name(word: str) -> bool:
    return NAME.fullmatch(word) is not None


def _finding(
    fields: Mapping[str, Any], ours: Mapping[str, str], guessed: Sequence[str], now: str, escapes: bool
) -> dict[str, Any]:
    """One finding, bounded. ValueError where a number is none."""
    kept = dict(fields) if len(fields) == len(FIELDS) else {name: fields[name] for name in FIELDS}
    for name, longest in LONGEST_WORDS:
        if len(kept[name]) > longest:
            kept[name] = kept[name][:longest]
    if escapes:
        kept = _whole(kept)
    kept.update(ours)
    for name in guessed:
        kept[name] = kept[name][:LONGEST_GUESS]
    if not _is_time(kept["at"]):
        kept["at"] = now
    if not _is_time(kept["first_seen"]):
        kept["first_seen"] = kept["at"]
    return kept


def _whole(value: Any) -> Any:
    """Without halves of surrogate pairs, which no file or terminal takes; they come as escapes only."""
    text = json.dumps(value, ensure_ascii=False)
    return value if text.isascii() else json.loads(text.encode("utf-8", "replace"))


def _header(told: Mapping[str, Any], ours: Mapping[str, str], guessed: Sequence[str], now: str) -> dict[str, Any]:
    """What the host says of itself as a whole; a field of the wrong type is left out."""
    kept = {name: _short(told[name]) for name, kind in HEADER_KINDS.items() if _is(told.get(name), kind)}
    at = str(told.get("at"))
    guesses = {name: str(told.get(name, ""))[:LONGEST_GUESS] for name in guessed}
    return dict(_whole({**kept, **guesses, **ours, "at": at if TIME.fullmatch(at) else now}))


def _is(value: Any, kind: Any) -> bool:
    if isinstance(value, bool) != (kind is bool) or not isinstance(value, kind):
        return False
    return not isinstance(value, float) or math.isfinite(value)


def _short(value: Any) -> Any:
    if isinstance(value, list):
        return [part[:200] for part in value[:50] if isinstance(part, str)]
    return value[:200] if isinstance(value, str) else value


def reach(heard: AgentOutput, kept: Believed, seconds: float) -> tuple[str, Verdict]:
    """Whether the report is whole: a word for programs, and the verdict with the reason why not."""
    for word in heard.words:
        if word.startswith(MARK):
            kind, _, detail = word[len(MARK) :].partition(" ")
            return kind[:20], unknown(SAID.get(kind, "the agent did not start: {}").format(detail[:300] or kind))
    came = f"kept the {len(kept.report.findings)} findings received until then"
    if heard.cut:
        return "cut", unknown(f"{heard.cut}: {came}")
    if not kept.told:
        return _no_report(heard, kept.report.bad_lines)
    if not kept.complete:
        return "cut", unknown(f"report truncated ({_end(heard)}): {came}")
    return _oddities(kept) or ("answered", ok(f"answered in {seconds:.1f} s"))


def _oddities(kept: Believed) -> tuple[str, Verdict] | None:
    if kept.report.bad_lines:
        return "schema", unknown(f"report contains invalid records ({kept.report.bad_lines[0]})")
    if kept.told > MOST_FINDINGS:
        return "too-many", unknown(f"{kept.told} findings from one host: kept the first {MOST_FINDINGS}")
    if kept.foreign_hosts:
        return "stranger", unknown("report names another host; its findings count for this host only")
    return None


def _no_report(heard: AgentOutput, bad_lines: Sequence[str]) -> tuple[str, Verdict]:
    said = next(reversed(heard.words), "")[:200]
    for words, kind, meaning in REFUSALS:
        if any(words in word for word in heard.words):
            return kind, unknown(meaning)
    if bad_lines:
        return "schema", unknown(f"no valid record in its output ({bad_lines[0]})")
    return "no-report", unknown(f"no report from the agent ({_end(heard)}): {said or 'no output'}")


def _end(heard: AgentOutput) -> str:
    if heard.exit_code is None:
        return "killed or connection lost"
    # `timeout` passes on that its command was killed as 128 and the signal's number
    return "killed" if heard.exit_code == 137 else f"exit {heard.exit_code}"
