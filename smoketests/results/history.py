"""The results store of a host, a cluster or all: the last results, and 30 days of history. Without Spark.

A day's state is that of the last run which asked each check, as in the nightly tables.
"""

from __future__ import annotations

import datetime
import gzip
import json
import os
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from agent import report
from agent.status import BY_SEVERITY, OK, SKIPPED, UNKNOWN, worst
from smoketests.cluster.view import NO_ITEM

DAYS = 30
DAY_FOLDER = re.compile(r"date=(\d{4}-\d\d-\d\d)")
FILE = re.compile(r"\d{6}-[0-9a-zA-Z-]{1,64}\.jsonl(\.gz)?")
SIGNS = {"critical": "C", "unknown": "?", "warning": "w", OK: ".", SKIPPED: ".", "": " "}


class Who(NamedTuple):
    cluster: str
    host: str


Checks = dict[str, dict[str, Mapping[str, Any]]]
States = dict[Who, Checks]


class Past(NamedTuple):
    """states: who -> check -> item -> finding, each as of the last day on which its check was asked and could look.

    Who: a host, by cluster and name; the name is empty for what is found of a whole cluster. Each finding's `day` says
    of which day it is. days: the dates of the window; last_day: the last one with a report of it; worst: who -> date ->
    worst status; unread: what could not be read, and why.
    """

    days: list[str]
    states: States
    last_day: dict[Who, str]
    worst: dict[Who, dict[str, str]]
    unread: list[str]


def past(store: str, wanted: str = "", days: int = DAYS) -> Past:
    """Read the last days of the store; `wanted` names a host or a cluster. FileNotFoundError if there is no store."""
    folders = sorted(match[1] for match in map(DAY_FOLDER.fullmatch, os.listdir(store)) if match)
    window = _window(folders, days)
    found = Past(window, {}, {}, {}, [])
    for day in window:
        states = _states(os.path.join(store, f"date={day}"), wanted, found.unread)
        for who, checks in states.items():
            found.last_day[who] = day
            _update(found.states.setdefault(who, {}), checks, day)
            statuses = (finding["status"] for items in checks.values() for finding in items.values())
            found.worst.setdefault(who, {})[day] = worst(statuses)
    return found


def _update(known: Checks, told: Checks, day: str) -> None:
    """Take a day's findings: a check that was not asked keeps its last ones, and so does one that could not look."""
    for check, items in told.items():
        fresh: dict[str, Mapping[str, Any]] = {item: {**finding, "day": day} for item, finding in items.items()}
        blind = items.get(NO_ITEM, {}).get("status") in (UNKNOWN, SKIPPED)
        known[check] = {**known.get(check, {}), **fresh} if blind else fresh


def _window(folders: list[str], days: int) -> list[str]:
    """The calendar days up to the last one that has a folder."""
    dates = [datetime.date.fromisoformat(name) for name in folders if _is_date(name)]
    if not dates:
        return []
    return [(dates[-1] - datetime.timedelta(days=back)).isoformat() for back in range(days - 1, -1, -1)]


def _is_date(text: str) -> bool:
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _states(folder: str, wanted: str, unread: list[str]) -> States:
    """who -> check -> item -> finding; a later run of a check replaces all items of an earlier one."""
    states: States = {}
    names = sorted(name for name in (os.listdir(folder) if os.path.isdir(folder) else ()) if FILE.fullmatch(name))
    for name in names:
        run: dict[tuple[Who, str], dict[str, Mapping[str, Any]]] = {}
        read = report.read(_lines(os.path.join(folder, name), wanted, unread))
        if read.bad_lines:
            unread.append(f"{folder}/{name}: {len(read.bad_lines)} lines, the first: {read.bad_lines[0]}")
        for finding in read.findings:
            if not wanted or wanted in _names_of(finding):
                seen = {**finding, "source": f"{os.path.basename(folder)}/{name}"}
                run.setdefault((Who(finding["cluster"], finding["host"]), finding["check"]), {})[finding["item"]] = seen
        for (who, check), items in run.items():
            states.setdefault(who, {})[check] = items
    return states


def _names_of(finding: Mapping[str, Any]) -> tuple[str, ...]:
    """What a person may call it: the host, its cluster, or both as CLUSTER/HOST."""
    return (finding["host"], finding["cluster"], f"{finding['cluster']}/{finding['host']}")


def _lines(path: str, wanted: str, unread: list[str]) -> Iterator[str]:
    """The file's lines that can concern what is wanted: parsing is the dear part."""
    needle = json.dumps(wanted.rpartition("/")[2] or wanted.rstrip("/"))
    try:
        with gzip.open(path, "rt", errors="replace") if path.endswith(".gz") else open(path, errors="replace") as file:
            for line in file:
                if line.strip() and (not wanted or needle in line):
                    yield line
    except (OSError, EOFError, zlib.error) as error:
        unread.append(f"{path}: {error}")


def text(found: Past, wanted: str) -> str:
    """For a terminal: what stands, worst first, then one line of history for each host that had trouble."""
    if not found.states:
        return f"no report of {wanted or 'any host'} in the last {len(found.days)} days"
    blocks = [_standing(found), _strips(found, wanted), *(f"not read: {words}" for words in found.unread[:20])]
    return "\n\n".join(filter(None, blocks))


def _standing(found: Past) -> str:
    findings = [f for checks in found.states.values() for items in checks.values() for f in items.values()]
    bad = [finding for finding in findings if finding["status"] not in (OK, SKIPPED)]
    bad.sort(key=lambda f: (-BY_SEVERITY.index(f["status"]), f["cluster"], f["host"], f["check"], f["item"]))
    names = _names(found)
    lines = [_row(finding, names, found) for finding in bad]
    count = sum(bool(who.host) for who in found.states)
    hosts = f"{count} host{'' if count == 1 else 's'}"
    return "\n".join([*lines, f"{hosts}, last reports {max(found.last_day.values())}: {len(bad)} problems"])


def _names(found: Past) -> dict[Who, str]:
    """What each is called: the host's name, with its cluster where two have a host of that name."""
    twice = Counter(who.host for who in found.states)
    return {
        who: f"cluster {who.cluster}" if not who.host else who.host if twice[who.host] == 1 else "/".join(who)
        for who in found.states
    }


def _row(finding: Mapping[str, Any], names: Mapping[Who, str], found: Past) -> str:
    who = Who(finding["cluster"], finding["host"])
    day = finding["day"]
    todo = f"  > {finding['playbook']}" if finding["playbook"] else ""
    when = f"  (as of {day})" if day != found.days[-1] else ""
    since = f"  since {finding['first_seen'][:10]}"
    head = f"{finding['status'].upper():<8} {names[who]}  {finding['check']} {finding['item']}"
    return _clean(f"{head}{since}{when}") + "\n" + _clean(f"         {finding['reason']}{todo}")


def _strips(found: Past, wanted: str) -> str:
    """kafka-a03  ....w..w....C   one sign a day, a blank where there was no report."""
    names = _names(found)
    asked = [who for who in found.worst if wanted and wanted in (who.host, "/".join(who))]
    shown = sorted({*asked, *(who for who, days in found.worst.items() if _troubled(days))})
    width = max((len(names[who]) for who in shown), default=0)
    head = f"{found.days[0]} to {found.days[-1]}: C critical, ? unknown, w warning, . ok, blank no report"
    strips = [
        f"{_clean(names[who]):<{width}}  |{''.join(SIGNS[found.worst[who].get(day, '')] for day in found.days)}|"
        for who in shown
    ]
    return "\n".join([head, *strips]) if shown else ""


def _troubled(days: Mapping[str, str]) -> bool:
    return any(status not in (OK, SKIPPED) for status in days.values())


def _clean(words: str) -> str:
    """What a host said, without control characters."""
    return "".join(char if char.isprintable() else " " for char in words)
