"""What the results store says of a host, a cluster or all: the last results, and 30 days of history. Without Spark.

A day's state is that of the last run which asked each check, as in the nightly tables.
"""

from __future__ import annotations

import datetime
import gzip
import json
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from agent import report
from agent.status import BY_SEVERITY, OK, SKIPPED, worst

DAYS = 30
DAY_FOLDER = re.compile(r"date=(\d{4}-\d\d-\d\d)")
FILE = re.compile(r"\d{6}-[0-9a-zA-Z-]{1,64}\.jsonl(\.gz)?")
SIGNS = {"critical": "C", "unknown": "?", "warning": "w", OK: ".", SKIPPED: ".", "": " "}


class Past(NamedTuple):
    """states: host -> check -> item -> finding, as of the host's last day with a report (`last_day`).

    days: the dates of the window; worst: host -> date -> worst status. unread: what could not be read, and why.
    """

    days: list[str]
    states: dict[str, dict[str, dict[str, Mapping[str, Any]]]]
    last_day: dict[str, str]
    worst: dict[str, dict[str, str]]
    unread: list[str]


def past(store: str, wanted: str = "", days: int = DAYS) -> Past:
    """Read the last days of the store; `wanted` names a host or a cluster. FileNotFoundError if there is no store."""
    folders = sorted(match[1] for match in map(DAY_FOLDER.fullmatch, os.listdir(store)) if match)
    window = _window(folders, days)
    found = Past(window, {}, {}, {}, [])
    for day in window:
        states = _states(os.path.join(store, f"date={day}"), wanted, found.unread)
        for host, checks in states.items():
            found.states[host], found.last_day[host] = checks, day
            statuses = (finding["status"] for items in checks.values() for finding in items.values())
            found.worst.setdefault(host, {})[day] = worst(statuses)
    return found


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


def _states(folder: str, wanted: str, unread: list[str]) -> dict[str, dict[str, dict[str, Mapping[str, Any]]]]:
    """host -> check -> item -> finding; a later run of a check replaces all items of an earlier one."""
    states: dict[str, dict[str, dict[str, Mapping[str, Any]]]] = {}
    names = sorted(name for name in (os.listdir(folder) if os.path.isdir(folder) else ()) if FILE.fullmatch(name))
    for name in names:
        run: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
        read = report.read(_lines(os.path.join(folder, name), wanted, unread))
        if read.bad_lines:
            unread.append(f"{folder}/{name}: {len(read.bad_lines)} lines, the first: {read.bad_lines[0]}")
        for finding in read.findings:
            if not wanted or wanted in (finding["host"], finding["cluster"]):
                seen = {**finding, "source": f"{os.path.basename(folder)}/{name}"}
                run.setdefault((finding["host"], finding["check"]), {})[finding["item"]] = seen
        for (host, check), items in run.items():
            states.setdefault(host, {})[check] = items
    return states


def _lines(path: str, wanted: str, unread: list[str]) -> Iterator[str]:
    """The file's lines that can concern what is wanted: parsing is the dear part."""
    needle = json.dumps(wanted)
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
        return f"no report of {wanted or 'any host'} in these {len(found.days)} days"
    blocks = [_standing(found), _strips(found, wanted), *(f"not read: {words}" for words in found.unread[:20])]
    return "\n\n".join(filter(None, blocks))


def _standing(found: Past) -> str:
    findings = [f for checks in found.states.values() for items in checks.values() for f in items.values()]
    bad = [finding for finding in findings if finding["status"] not in (OK, SKIPPED)]
    bad.sort(key=lambda f: (-BY_SEVERITY.index(f["status"]), f["host"], f["check"], f["item"]))
    lines = [_row(finding, found.last_day[finding["host"]], found.days[-1]) for finding in bad]
    hosts = f"{len(found.states)} host{'s' if len(found.states) > 1 else ''}"
    return "\n".join([*lines, f"{hosts}, last reports {max(found.last_day.values())}: {len(bad)} problems"])


def _row(finding: Mapping[str, Any], day: str, last: str) -> str:
    todo = f"  > {finding['playbook']}" if finding["playbook"] else ""
    when = f"  (as of {day})" if day != last else ""
    since = f"  since {finding['first_seen'][:10]}"
    head = f"{finding['status'].upper():<8} {finding['host']}  {finding['check']} {finding['item']}"
    return _clean(f"{head}{since}{when}") + "\n" + _clean(f"         {finding['reason']}{todo}")


def _strips(found: Past, wanted: str) -> str:
    """kafka-a03  ....w..w....C   one sign a day, a blank where there was no report."""
    shown = [host for host in sorted(found.worst) if host == wanted or _troubled(found.worst[host])]
    width = max((len(host) for host in shown), default=0)
    head = f"{found.days[0]} to {found.days[-1]}: C critical, ? unknown, w warning, . ok, blank no report"
    strips = [
        f"{_clean(host):<{width}}  |{''.join(SIGNS[found.worst[host].get(day, '')] for day in found.days)}|"
        for host in shown
    ]
    return "\n".join([head, *strips]) if shown else ""


def _troubled(days: Mapping[str, str]) -> bool:
    return any(status not in (OK, SKIPPED) for status in days.values())


def _clean(words: str) -> str:
    """What a host said, without control characters."""
    return "".join(char if char.isprintable() else " " for char in words)
