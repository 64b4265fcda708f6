"""The table of many hosts: each cluster in short, problems worst first and folded, totals last."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from agent.formats.text import printable
from agent.status import BY_SEVERITY, FINE
from inventory.names import groups, ranges
from smoketests.show import terminal
from smoketests.show.fold import Row, fold

if TYPE_CHECKING:
    from smoketests.results.run_results import Survey, Tally

STATUS_WIDTH = len("CRITICAL")
# of the whole width, for whom it is about and for the check
MOST_FOR_HOSTS, MOST_FOR_CHECK = 0.25, 0.2
# stands for a space at which no line is broken; no printable text has it
GLUE = "\x02"
IN_TROUBLE = tuple(status for status in reversed(BY_SEVERITY) if status not in FINE)


def many(seen: Survey, only_problems: bool = False) -> Iterator[str]:
    """Lines; what is well is counted only."""
    colour, width = terminal.is_coloured(), terminal.width()
    yield from _clusters(seen.tallies)
    rows = fold(seen.problems, seen.previous_at)
    if rows:
        yield ""
        yield from _table(rows, seen.at, width, colour)
    yield ""
    for line in textwrap.wrap(totals(seen), width, break_on_hyphens=False):
        yield terminal.painted(line, terminal.BOLD) if colour else line


def _clusters(tallies: Mapping[str, Tally]) -> Iterator[str]:
    """Clusters with problems, one a line; the others together."""
    well = [name for name, tally in tallies.items() if not _counts(tally)]
    longest = max((len(printable(name)) for name in tallies if name not in well), default=0)
    for name, tally in tallies.items():
        if name not in well:
            yield "  ".join([f"{printable(name) or '-':<{longest}}", f"{tally.hosts:>4} hosts", *_counts(tally)])
    if well:
        hosts = sum(tallies[name].hosts for name in well)
        yield f"{ranges(printable(name) or '-' for name in well)}  {hosts} hosts  no problem"


def _counts(tally: Tally) -> list[str]:
    counts = [f"{tally.statuses[status]} {status}" for status in IN_TROUBLE if tally.statuses[status]]
    return [*counts, *([f"{tally.silent} silent"] if tally.silent else [])]


def _table(rows: list[Row], now: str, width: int, colour: bool) -> Iterator[str]:
    subjects = [_subject(row, int(width * MOST_FOR_HOSTS)) for row in rows]
    for_hosts = max(len(subject) for subject, _ in subjects)
    for_check = max(len(part) for row in rows for part in _parts(row.check, int(width * MOST_FOR_CHECK)))
    left = STATUS_WIDTH + for_hosts + for_check + 3
    for row, (subject, on) in zip(rows, subjects):
        checks = _parts(row.check, int(width * MOST_FOR_CHECK))
        sentence = textwrap.wrap(_words(row, on, now), max(width - left, 20), break_on_hyphens=False)
        sentence = [part.replace(GLUE, " ") for part in sentence]
        for number in range(max(len(sentence), len(checks))):
            first = number == 0
            status = f"{row.status.upper() if first else '':<{STATUS_WIDTH}}"
            check = checks[number] if number < len(checks) else ""
            words = sentence[number] if number < len(sentence) else ""
            shown = _coloured(row, status, words) if colour else (status, words)
            yield f"{shown[0]} {subject if first else '':<{for_hosts}} {check:<{for_check}} {shown[1]}".rstrip()


def _parts(words: str, width: int) -> list[str]:
    """Cut into pieces that fit, at underscores where there are some."""
    pieces = textwrap.wrap(words.replace("_", "_ "), width, break_on_hyphens=False)
    return [piece.replace("_ ", "_") for piece in pieces] or [""]


def _subject(row: Row, most: int) -> tuple[str, str]:
    """Who, for the column, and what the sentence adds to it."""
    who = ranges(row.hosts)
    count = len(row.hosts)
    if len(who) <= most:
        return who, f" ({count}{GLUE}hosts)" if count > 1 else ""
    on = f" (on {', '.join(groups(row.hosts))})"
    return (f"{count} hosts" if count > 1 else who[: most - 1] + "…"), on


def _words(row: Row, on: str, now: str) -> str:
    words = row.sentence + on
    if row.since:
        new = f", {row.new} of them new" if 0 < row.new < row.findings else ""
        words += f" (since {_moment(row.since, now)}{new})"
    return f"{words}  >{GLUE}{row.playbook}" if row.playbook else words


def _coloured(row: Row, status: str, words: str) -> tuple[str, str]:
    before, arrow, playbook = words.rpartition(f"> {row.playbook}") if row.playbook else (words, "", "")
    sentence = f"{before}{terminal.painted(arrow, terminal.CYAN)}{playbook}" if arrow else words
    return terminal.painted(status, terminal.STATUS_STYLES[row.status]), sentence


def totals(seen: Survey) -> str:
    """412 hosts, 25 checks: 3 critical, 1 unknown, 15 warning in 11.8 s (new since 03:00Z: 2); exit 2"""
    statuses = {status: sum(tally.statuses[status] for tally in seen.tallies.values()) for status in IN_TROUBLE}
    counts = ", ".join(f"{count} {status}" for status, count in statuses.items())
    if not any(statuses.values()):
        counts = "no problem"
    said = f"{len(seen.asked)} hosts, {seen.questions} checks: {counts} in {seen.seconds:.1f} s"
    if seen.previous_at:
        said += f" (new since {_moment(seen.previous_at, seen.at)}: {seen.new})"
    return f"{said}; exit {seen.exit_code}"


def _moment(moment: str, now: str) -> str:
    """2026-11-19T03:12Z, without the date if that is today's."""
    date, _, time = moment[:16].partition("T")
    return f"{time}Z" if now.startswith(date) else f"{date}T{time}Z"
