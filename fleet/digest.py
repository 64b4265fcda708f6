"""A night's tables -> what the mail says: a subject, sections of lines, worst first. Pure; knows no HTML."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from typing import Any, NamedTuple

from fleet import reports
from fleet.night import Night, Rows
from fleet.schema import STATUSES

WIDTH = 80
LINES_OF_SECTION = 25
# A space at which no line is broken.
JOINED = "\N{NO-BREAK SPACE}"
FOOT = "What to do: smoke playbook show NAME, the name after >.\nA host's history: smoke report HOST."
STANDING = ("new", "worse", "ongoing")
HEALTHS = ("critical", "unknown", "warning", "silent")


class Line(NamedTuple):
    """One thing to know. where: host or hosts. what: check and item. todo: a playbook. source: the stored report."""

    level: str
    where: str
    what: str
    text: str
    todo: str = ""
    age: str = ""
    source: str = ""


class Section(NamedTuple):
    """Lines under a title; `more` is how many were left out. name: of the table or of the kind of change."""

    name: str
    title: str
    lines: list[Line]
    more: int = 0


class Digest(NamedTuple):
    """The night in words. clusters: one row each, with the counts of hosts by health."""

    date: str
    subject: str
    headline: str
    sections: list[Section]
    clusters: Rows


def digest(night: Night) -> Digest:
    sections = [section for section in map(_shortened, _sections(night)) if section.lines]
    counts = _counts(night)
    hosts = len(night.tables["host_health"])
    words = ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "all well"
    subject = f"[smoke] {night.date}: {words} of {hosts} hosts" if any(counts.values()) else ""
    return Digest(
        night.date,
        subject or f"[smoke] {night.date}: all well, {hosts} hosts",
        _headline(night, words, hosts),
        sections,
        night.tables["cluster_health"],
    )


def _counts(night: Night) -> dict[str, int]:
    """Findings by status, and silent hosts."""
    standing = [row["status"] for row in _both(night) if row["change"] in STANDING]
    counts = {status: standing.count(status) for status in ("critical", "unknown", "warning")}
    return {**counts, "silent": len(night.tables["silent_hosts"])}


def _both(night: Night) -> Rows:
    """The changes of hosts and of clusters."""
    return [*night.tables["changes"], *night.tables["cluster_changes"]]


def _headline(night: Night, words: str, hosts: int) -> str:
    new = sum(row["change"] in ("new", "worse") for row in _both(night))
    mended = sum(row["change"] == "resolved" for row in _both(night))
    said = f"{hosts} hosts: {words}. {new} new or worse since the night before, {mended} resolved."
    return said if night.sources else f"No report at all came in on {night.date}. {said}"


def _shortened(section: Section) -> Section:
    shown, rest = section.lines[:LINES_OF_SECTION], section.lines[LINES_OF_SECTION:]
    return section._replace(lines=list(map(_cleaned, shown)), more=len(rest))


def _sections(night: Night) -> list[Section]:
    tables = night.tables
    return [
        Section("cluster_changes", "Clusters as a whole", _of_clusters(tables["cluster_changes"])),
        Section("new", "New since the night before", _changes(tables, "new")),
        Section("worse", "Worse than the night before", _changes(tables, "worse")),
        Section("shared_fate", "One cause behind several", list(map(_shared, tables["shared_fate"]))),
        Section("silent_hosts", "Hosts that fell silent", list(map(_silent, tables["silent_hosts"]))),
        Section("ongoing", "Still there", _changes(tables, "ongoing")),
        Section("disk_trends", "Disks most likely to fail", list(map(_trend, tables["disk_trends"]))),
        Section("failure_rates", "Disk models that fail too often", _suspects(tables["failure_rates"])),
        Section("slow_disks", "Disks slower than their peers", _slow(tables["slow_disks"])),
        Section("dimm_trends", "DIMMs that correct more and more", list(map(_dimm, tables["dimm_trends"]))),
        Section("usage_forecast", "Filling up", list(map(_filling, tables["usage_forecast"]))),
        Section("usage_balance", "Unevenly filled", [_uneven(row) for row in tables["usage_balance"] if row["uneven"]]),
        Section("flapping", "Comes and goes", list(map(_flapping, tables["flapping"]))),
        Section("clocks", "Clocks that disagree", list(map(_clock, tables["clocks"]))),
        Section("resolved", "Resolved", _changes(tables, "resolved")),
        Section("unseen", "Not known today", _changes(tables, "unseen")),
        Section("failing_checks", "Checks that fail most", _failing(tables["failing_checks"])),
        Section("aside", "Reports that could not be read", _aside(night)),
    ]


def _changes(tables: dict[str, Rows], change: str) -> list[Line]:
    """The findings of one kind; the same finding on several hosts is one line."""
    alike: dict[tuple[Any, ...], Rows] = {}
    for row in tables["changes"]:
        if row["change"] == change:
            key = (row["status"], row["check_name"], row["reason"], row["playbook"])
            alike.setdefault(key, []).append(row)
    worst_first = sorted(alike.values(), key=lambda rows: (-STATUSES.index(rows[0]["status"]), rows[0]["host"]))
    return [_change(rows) for rows in worst_first]


def _of_clusters(rows: Rows) -> list[Line]:
    """What stands, and what does not any more, of each cluster as a whole; each cluster has lines of its own."""
    return [
        Line(
            row["status"] if row["change"] in STANDING else "",
            f"cluster {row['cluster'] or '-'}",
            f"{row['check_name']} {row['item']}",
            f"{row['change']}: {row['reason']}",
            (row["playbook"] or "") if row["change"] in STANDING else "",
            f"{row['age_days']:.0f} d" if row["age_days"] >= 1 else "",
            row["source"] or "",
        )
        for row in sorted(rows, key=lambda row: row["change"] not in STANDING)
    ]


def _cleaned(line: Line) -> Line:
    """A host's words without control characters, each on one line."""
    return Line(*("".join(char if char.isprintable() else " " for char in part) for part in line))


def _change(rows: Rows) -> Line:
    first = rows[0]
    hosts = sorted({row["host"] for row in rows})
    machines = len({(row["cluster"], row["host"]) for row in rows})
    items = sorted({row["item"] for row in rows} - {"-"})
    where = fold(hosts) if len(hosts) > 1 else hosts[0]
    what = " ".join([first["check_name"], *([items[0]] if len(items) == 1 else [])])
    text = f"{first['reason']} ({machines} hosts)" if machines > 1 else first["reason"]
    oldest = max(row["age_days"] for row in rows)
    age = f"{oldest:.0f} d" if oldest >= 1 else ""
    if first["change"] == "resolved":
        return Line("", where, what, f"was {first['status']}: {text}", "", age, first["source"] or "")
    return Line(first["status"], where, what, text, first["playbook"] or "", age, first["source"] or "")


def _shared(row: dict[str, Any]) -> Line:
    units = "disks" if row["kind"] == "batch" else "hosts"
    elsewhere = f"elsewhere on {100 * (row['share_outside'] or 0):.1f} %"
    text = f"{row['check_name']} on {row['faults']} of {row['units']} {units}, {elsewhere}"
    return Line("critical", f"{row['kind']} {row['name']}", row["check_name"], text)


def _silent(row: dict[str, Any]) -> Line:
    last = reports.date_of(row["last_day"]) if row["last_day"] is not None else "never in this window"
    reason = f"; {row['reason']}" if row["reason"] else ""
    return Line("critical", row["host"], "silent", f"last report {last}{reason}", "broker-down")


METRICS = {
    "reallocated": ("reallocated sectors", ""),
    "pending": ("pending sectors", ""),
    "uncorrectable": ("uncorrectable sectors", ""),
    "grown_defects": ("grown defects", ""),
    "wear_percent": ("wear", " %"),
}


def _trend(row: dict[str, Any]) -> Line:
    name, unit = METRICS[row["metric"]]
    when = f"reaches {row['limit_value']}{unit} on {reports.date_of(int(row['crossing_day']))}"
    text = f"{name} {row['value']:.0f}{unit}, {row['per_day']:+.2f}{unit} a day: " + (
        when if row["days_left"] else f"beyond the limit of {row['limit_value']}{unit}"
    )
    what = f"{row['item']} slot {row['slot']} {row['model']}" if row["slot"] else f"{row['item']} {row['model']}"
    level = "critical" if row["days_left"] <= 14 else "warning"
    age = f"{row['days_left']:.0f} d left"
    return Line(level, row["host"], what, text, "replace-jbod-disk", age)


def _suspects(rows: Rows) -> list[Line]:
    return [
        Line(
            "warning",
            f"{row['model']} {row['firmware']}",
            "failure rate",
            f"{row['rate_percent']:.0f} % a year (95 %: {row['low_percent']:.0f} to {row['high_percent']:.0f}), "
            f"others {row['others_percent']:.1f} %: {row['failures']} of {row['disks']} disks",
        )
        for row in rows
        if row["suspect"]
    ]


def _slow(rows: Rows) -> list[Line]:
    """One line for each disk, though both its reads and its writes may be slow."""
    disks: dict[tuple[str, str, str], Rows] = {}
    for row in rows:
        disks.setdefault((row["cluster"], row["host"], row["item"]), []).append(row)
    return [
        Line(
            "warning",
            host,
            item,
            " and ".join(
                f"{row['operation']}s take {row['await_ms']:.0f} ms, its peers' {row['median_ms']:.0f} ms"
                for row in sorted(both, key=lambda row: str(row["operation"]))
            )
            + f" in their busiest hour ({both[0]['hour']:02d}h)",
            "replace-jbod-disk",
        )
        for (_cluster, host, item), both in disks.items()
    ]


def _dimm(row: dict[str, Any]) -> Line:
    text = (
        f"{row['week_rise']:.0f} corrected errors in 7 days, {row['week_before_rise']:.0f} in the 7 before; "
        f"rising on {row['rising_days']} days"
    )
    return Line("warning", row["host"], row["item"], text, "replace-dimm")


def _filling(row: dict[str, Any]) -> Line:
    text = (
        f"{row['used_percent']:.0f} % used, {row['points_per_day']:+.1f} points a day: "
        f"full on {reports.date_of(int(row['full_day']))}"
    )
    level = "critical" if row["days_left"] <= 7 else "warning"
    return Line(level, row["host"], row["item"], text, "full-disk", f"{row['days_left']:.0f} d left")


def _uneven(row: dict[str, Any]) -> Line:
    parts = f"its {row['parts']} data disks" if row["level"] == "host" else f"its {row['parts']} brokers"
    text = (
        f"{parts} are {row['least_percent']:.0f} to {row['most_percent']:.0f} % full "
        f"(range {row['range_points']:.0f} points, standard deviation {row['deviation_points']:.1f})"
    )
    return Line("warning", row["host"] or row["cluster"], "balance", text)


def _flapping(row: dict[str, Any]) -> Line:
    text = f"{row['episodes']} times in 30 days, last on {reports.date_of(row['last_day'])}"
    return Line("warning", row["host"], f"{row['check_name']} {row['item']}", text)


def _clock(row: dict[str, Any]) -> Line:
    said = []
    if row["offset_ms"] is not None:
        said.append(f"{row['offset_ms']:+.0f} ms by its own time daemon")
    if row["skew_s"] is not None:
        said.append(f"{row['skew_s']:+.0f} s from the other hosts of the same run")
    return Line("warning", row["host"], "clock", ", ".join(said), "clock")


def _failing(rows: Rows) -> list[Line]:
    return [
        Line(
            "",
            row["check_name"],
            _asked(row),
            ", ".join(f"{row[f'{name}s']} {name}" for name in ("critical", "unknown", "warning") if row[f"{name}s"])
            + f"; {row['item_days']} item-days in 30 days",
        )
        for row in rows[:8]
        if row["hosts"] or row["clusters"]
    ]


def _asked(row: dict[str, Any]) -> str:
    counts = ((row["hosts"], "host"), (row["clusters"], "cluster"))
    return ", ".join(f"{count} {name}{'s' if count > 1 else ''}" for count, name in counts if count)


def _aside(night: Night) -> list[Line]:
    lines = [
        Line("warning", aside.source, f"{aside.lines} lines" if aside.lines else "the whole file", aside.problem)
        for aside in night.aside
    ]
    late = [Line("", day, "late", "reports of that day came late and are counted now") for day in night.late]
    return lines + late


def fold(hosts: Iterable[str]) -> str:
    """kafka-a01, kafka-a02, kafka-a03 -> kafka-a[01-03]"""
    groups: dict[tuple[str, int, str], list[int]] = {}
    plain: list[str] = []
    for host in sorted(set(hosts)):
        match = re.fullmatch(r"(.*?)(\d+)([^\d]*)", host)
        if match and len(match[2]) < 10:
            groups.setdefault((match[1], len(match[2]), match[3]), []).append(int(match[2]))
        else:
            plain.append(host)
    return ", ".join([*(_range(*key, numbers) for key, numbers in groups.items()), *plain])


def _range(prefix: str, width: int, suffix: str, numbers: list[int]) -> str:
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    parts = [f"{low:0{width}d}" if low == high else f"{low:0{width}d}-{high:0{width}d}" for low, high in runs]
    inside = parts[0] if len(numbers) == 1 else f"[{','.join(parts)}]"
    return f"{prefix}{inside}{suffix}"


def text(said: Digest, link: str = "") -> str:
    """The whole digest as plain text that reads well alone, 80 columns wide."""
    blocks = [said.subject, "\n".join(_wrap(said.headline)), _cluster_table(said.clusters)]
    blocks += [_text_section(section, link) for section in said.sections]
    return "\n\n".join(filter(None, [*blocks, FOOT])) + "\n"


def _wrap(words: str, initial_indent: str = "", subsequent_indent: str = "") -> list[str]:
    return textwrap.wrap(
        words, WIDTH, initial_indent=initial_indent, subsequent_indent=subsequent_indent, break_on_hyphens=False
    )


def _cluster_table(clusters: Rows) -> str:
    names = [*HEALTHS, "ok"]
    rows = [
        f"{str(row['cluster'] or '-')[:20]:<20} {row['hosts']:>6} " + " ".join(f"{row[f'{n}_hosts']:>9}" for n in names)
        for row in clusters
    ]
    head = f"{'cluster':<20} {'hosts':>6} " + " ".join(f"{name:>9}" for name in names)
    return "\n".join([head, *rows])


def _text_section(section: Section, link: str) -> str:
    lines = [section.title.upper()]
    for line in section.lines:
        head = "  ".join(filter(None, [f"{line.level.upper():<8}", f"{line.where}  {line.what}", line.age]))
        lines += _wrap(head, subsequent_indent=" " * 10)
        todo = f"{line.text}  >{JOINED}{line.todo}" if line.todo else line.text
        wrapped = _wrap(todo, initial_indent=" " * 10, subsequent_indent=" " * 10)
        lines += [part.replace(JOINED, " ") for part in wrapped]
        if line.source:
            lines.append(" " * 10 + (f"{link.rstrip('/')}/{line.source}" if link else line.source))
    if section.more:
        lines.append(f"          and {section.more} more in the tables")
    return "\n".join(lines)
