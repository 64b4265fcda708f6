"""A night's tables -> what the mail says: what to do today, what changed, the clusters, the rest. Pure; no HTML."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from fleet.digest import consequences, page_paths, table_lines, trend_lines
from fleet.digest.table_lines import PLACE_TEXT, Line, Row, bounded
from fleet.nights.night import Night, Rows

LINES_OF_SECTION = 10
REASON_TEXT = 400
CLUSTERS = 10
STANDING = ("new", "worse", "ongoing")
HEALTHS = ("critical", "unknown", "warning", "silent")
# Forecasts that cannot wait until tomorrow.
TODAY_DAYS = 3
FIRST_SECTIONS = ("today", "new", "worse")
OF_CHANGES = ("today", "new", "worse", "ongoing", "resolved", "unseen", "settings")
OF_NO_TABLE = ("aside", "undelivered")


NUMBER = re.compile(r"\d+(?:\.\d+)?")
# not a part of a name, a time, an address or a path
LONE_NUMBER = r"(?<![\w:./-])\d+(?:\.\d+)?(?![\w:/-]|\.\d)"


class Section(NamedTuple):
    """Lines under a title; `more` is how many were left out. name: of the table or of the kind of change. note: what
    must be known of them all."""

    name: str
    title: str
    lines: list[Line]
    more: int = 0
    note: str = ""

    @property
    def whole(self) -> str:
        """Which table has all of it; empty where none has."""
        return "" if self.name in OF_NO_TABLE else "changes" if self.name in OF_CHANGES else self.name


class Digest(NamedTuple):
    """The night in words. first: what a reader must see before anything else. clusters: those with news, or all if few.

    totals: counts of hosts by health, of all clusters. quiet: clusters that are not listed.
    """

    date: str
    subject: str
    headline: str
    first: list[Section]
    rest: list[Section]
    clusters: Rows
    totals: Row
    quiet: int = 0

    @property
    def sections(self) -> list[Section]:
        return [*self.first, *self.rest]


def digest(night: Night, undelivered: Sequence[str] = ()) -> Digest:
    """undelivered: a sentence for each earlier mail that did not reach somebody."""
    causes = _causes(_standing(night))
    today = [cause for cause in causes if _is_urgent(cause)]
    sections = [_shortened(section) for section in _sections(night, causes, today, undelivered) if section.lines]
    totals = _totals(night.tables["cluster_health"])
    clusters, quiet = _listed(night)
    return Digest(
        night.date,
        _subject(night, today, totals),
        _headline(night, today, totals),
        [section for section in sections if section.name in FIRST_SECTIONS],
        [section for section in sections if section.name not in FIRST_SECTIONS],
        clusters,
        totals,
        quiet,
    )


def _standing(night: Night) -> Rows:
    return [row for row in _both(night) if row["change"] in STANDING]


def _both(night: Night) -> Rows:
    """The changes of hosts and of clusters; `host` is empty for those of a cluster."""
    return [*night.tables["changes"], *({"host": "", **row} for row in night.tables["cluster_changes"])]


def causes(night: Night, *changes: str) -> list[Rows]:
    """All findings of these kinds of change, by cause, the most urgent first."""
    return _causes([row for row in _both(night) if row["change"] in changes])


def page_of(rows: Rows) -> str:
    """The page of a cause that several hosts share."""
    kind = "standing" if rows[0]["change"] in STANDING else rows[0]["change"]
    return page_paths.cause_page(kind, *map(str, _cause(rows[0])))


def _cause(row: Row) -> tuple[Any, ...]:
    whole = "" if row["host"] else f"{row['cluster']} {row['item']}"
    return row["check_name"], row["status"], row["playbook"], NUMBER.sub("#", row["reason"] or ""), whole


def _causes(rows: Rows) -> list[Rows]:
    """Findings that say the same but for numbers, of one host or many, together; the most urgent first.

    Those of a cluster as a whole stand alone: their numbers are what counts.
    """
    alike: dict[tuple[Any, ...], Rows] = {}
    for row in rows:
        alike.setdefault(_cause(row), []).append(row)
    return sorted(alike.values(), key=lambda rows: (min(map(consequences.urgency, rows)), -len(rows), _place(rows[0])))


def _reason(rows: Rows) -> str:
    """What all of them say; numbers that differ become a range: `load 6.4 to 9.1 per CPU`."""
    split = [re.split(f"({LONE_NUMBER})", row["reason"] or "") for row in rows]
    if len(rows) == 1 or len({len(parts) for parts in split}) > 1:
        return str(rows[0]["reason"] or "")
    return "".join(
        parts[0] if place % 2 == 0 or len(set(parts)) == 1 else " to ".join(_ends(parts))
        for place, parts in enumerate(zip(*split, strict=True))
    )


def _ends(numbers: Sequence[str]) -> tuple[str, str]:
    return min(numbers, key=float), max(numbers, key=float)


def _place(row: Row) -> tuple[str, str]:
    return row["cluster"] or "", row["host"]


def _is_urgent(cause: Rows) -> bool:
    """What loses data, redundancy or service now. Settings can wait, whatever their status."""
    first = cause[0]
    consequence = consequences.of(first["check_name"], first["status"])
    return first["status"] == "critical" and consequence != consequences.SETTING


def _totals(clusters: Rows) -> Row:
    names = ("hosts", *(f"{name}_hosts" for name in (*HEALTHS, "ok")))
    return {name: sum(row[name] for row in clusters) for name in names}


def _listed(night: Night) -> tuple[Rows, int]:
    """All clusters if there are few, else those with trouble; and how many are left out."""
    rows = night.tables["cluster_health"]
    if len(rows) <= CLUSTERS:
        return rows, 0
    moved = {row["cluster"] for row in _both(night) if row["change"] != "ongoing"}
    with_news = [row for row in rows if row["cluster"] in moved or row["critical_hosts"] or row["silent_hosts"]]
    with_news.sort(key=lambda row: (-row["critical_hosts"] - row["silent_hosts"], row["cluster"] or ""))
    shown = sorted(with_news[:CLUSTERS], key=lambda row: row["cluster"] or "")
    return shown, len(rows) - len(shown)


def _subject(night: Night, today: list[Rows], totals: Row) -> str:
    """The numbers are those of hosts, as in the table of clusters."""
    counts = [(totals[f"{name}_hosts"], name) for name in ("critical", "silent", "unknown", "warning")]
    words = ", ".join(f"{count} {name}" for count, name in counts if count)
    hosts = f"{totals['hosts']} hosts"
    if not night.sources:
        return f"[smoke] {night.date}: no reports; {hosts} known"
    # a cluster can be in trouble while its hosts are well
    if not words and not today:
        return f"[smoke] {night.date}: all healthy, {hosts}"
    risk = "DATA AT RISK, " if _at_risk(today) else ""
    return f"[smoke] {night.date}: {risk}{words or 'hosts healthy'} of {hosts}"


def _at_risk(today: list[Rows]) -> list[Rows]:
    return [rows for rows in today if _consequence(rows) == consequences.DATA]


def _consequence(cause: Rows) -> int:
    return consequences.of(cause[0]["check_name"], cause[0]["status"])


def _headline(night: Night, today: list[Rows], totals: Row) -> str:
    changes = _both(night)
    new = sum(row["change"] in ("new", "worse") for row in changes)
    resolved = sum(row["change"] == "resolved" for row in changes)
    parts = [] if night.sources else [f"No reports received on {night.date}."]
    at_risk = _at_risk(today)
    if at_risk:
        named = [_plain(f"{table_lines.places(rows)} ({_what(rows)})", PLACE_TEXT) for rows in at_risk]
        parts.append(f"Data at risk: {'; '.join(named[:3])}{f' and {len(named) - 3} more' if len(named) > 3 else ''}.")
    elif today:
        parts.append(f"No data at risk. {len(today)} to act on today.")
    else:
        parts.append("Nothing to do today.")
    return " ".join([*parts, f"{new} new or worse since the previous report, {resolved} resolved."])


def _shortened(section: Section) -> Section:
    shown, rest = section.lines[:LINES_OF_SECTION], section.lines[LINES_OF_SECTION:]
    return section._replace(lines=list(map(_cleaned, shown)), more=len(rest))


def _sections(night: Night, causes: list[Rows], today: list[Rows], undelivered: Sequence[str]) -> list[Section]:
    tables = night.tables
    settings = [rows for rows in causes if _consequence(rows) == consequences.SETTING]
    other = [rows for rows in causes if not _is_urgent(rows) and _consequence(rows) != consequences.SETTING]
    return _noted([
        Section("today", "Do today", [*map(_line, today), *_soon(tables)]),
        Section("new", "New since the previous report", _of_change(other, "new")),
        Section("worse", "Worse than in the previous report", _of_change(other, "worse")),
        Section("shared_fate", "Shared causes", list(map(table_lines.shared, tables["shared_fate"]))),
        Section("silent_hosts", "Hosts without a report", table_lines.silent(tables["silent_hosts"])),
        Section("ongoing", "Ongoing", _of_change(other, "ongoing")),
        Section("disk_trends", "Disks most likely to fail", trend_lines.trends(tables["disk_trends"])),
        Section("forecasts", "Forecast accuracy", trend_lines.score(night.score)),
        Section("failure_rates", "Disk models with a high failure rate", table_lines.suspects(tables["failure_rates"])),
        Section("slow_disks", "Disks slower than their peers", table_lines.slow(tables["slow_disks"])),
        Section("dimm_trends", "DIMMs with more corrected errors", list(map(table_lines.dimm, tables["dimm_trends"]))),
        Section("usage_forecast", "Mounts filling up", list(map(table_lines.filling, tables["usage_forecast"]))),
        Section("usage_balance", "Uneven disk usage", table_lines.uneven(tables["usage_balance"])),
        Section("flapping", "Flapping", list(map(table_lines.flapping, tables["flapping"]))),
        Section("clocks", "Clock differences", list(map(table_lines.clock, tables["clocks"]))),
        Section("resolved", "Resolved", _gone(night, "resolved")),
        Section("unseen", "No result today", _gone(night, "unseen")),
        Section("failing_checks", "Checks with the most findings", table_lines.failing(tables["failing_checks"])),
        Section("aside", "Unreadable reports", table_lines.aside(night)),
        Section("undelivered", "Undelivered mail", [Line("warning", "mail", "", said) for said in undelivered]),
        Section("settings", "Settings", [_line(rows) for rows in settings]),
    ])  # fmt: skip


def _noted(sections: list[Section]) -> list[Section]:
    """Where disks are named first by what smart foretells of them: how often that comes true."""
    for place, section in enumerate(sections):
        if any(_is_foretold(line) for line in section.lines):
            return [*sections[:place], section._replace(note=trend_lines.SMART_WORTH), *sections[place + 1 :]]
    return sections


def _is_foretold(line: Line) -> bool:
    """A finding of smart that stands; not one that is gone."""
    return bool(line.level) and line.what.split(" ")[0] == "smart"


def _of_change(causes: list[Rows], change: str) -> list[Line]:
    """A cause of several hosts is as new as its newest."""
    return [_line(rows) for rows in causes if min((row["change"] for row in rows), key=STANDING.index) == change]


def _gone(night: Night, change: str) -> list[Line]:
    return [_line(rows) for rows in _causes([row for row in _both(night) if row["change"] == change])]


def _soon(tables: dict[str, Rows]) -> list[Line]:
    """Forecasts that will not wait until tomorrow's mail. A disk that fails already stands there with its finding."""
    disks = [trend_lines.trend(row) for row in tables["disk_trends"] if _ends_soon(row) and not row["failing"]]
    return disks + [table_lines.filling(row) for row in tables["usage_forecast"] if _ends_soon(row)]


def _ends_soon(row: Row) -> bool:
    return row["days_left"] is not None and row["days_left"] <= TODAY_DAYS


def _cleaned(line: Line) -> Line:
    """A host's words without control characters, each on one line, of bounded length."""
    return Line(*(_plain(part, REASON_TEXT) for part in line))


def _plain(text: str, length: int) -> str:
    return bounded("".join(char if char.isprintable() else " " for char in text), length)


def _what(rows: Rows) -> str:
    items = sorted({row["item"] for row in rows} - {"-"})
    return " ".join([rows[0]["check_name"], *([items[0]] if len(items) == 1 else [])])


def _line(rows: Rows) -> Line:
    """One cause, of one host or of many."""
    first = rows[0]
    places = sorted({_place(row) for row in rows})
    counted = []
    if len(places) > 1:
        counted.append(f"{len(places)} {'hosts' if first['host'] else 'clusters'}")
    if len(rows) > len(places):
        counted.append(f"{len(rows)} findings")
    text = _reason(rows) + (f" ({', '.join(counted)})" if counted else "")
    days = max(row["age_days"] for row in rows)
    age = f"{days:.0f} d" if days >= 1 else "new" if first["change"] in ("new", "worse") else ""
    whose = dict(zip(("cluster", "host"), places[0], strict=True)) if len(places) == 1 else {"page": page_of(rows)}
    if first["change"] in ("resolved", "unseen"):
        return Line("", table_lines.places(rows), _what(rows), f"was {first['status']}: {text}", "", age, **whose)
    title = consequences.TITLES[_consequence(rows)] if _is_urgent(rows) else ""
    todo = first["playbook"] or ""
    return Line(first["status"], table_lines.places(rows), _what(rows), text, todo, age, title, **whose)


def line(rows: Rows) -> Line:
    """One line for a cause, for a page of its own."""
    return _cleaned(_line(rows))


def lines(rows: Rows) -> list[Line]:
    """One line for each row of `changes` or `cluster_changes`, for a page of its own; the most urgent first."""
    return [_cleaned(_line([row])) for row in sorted(({"host": "", **row} for row in rows), key=consequences.urgency)]
