"""A week or a month -> what its mail says: new, older and resolved problems, disks, mounts. Pure; no HTML."""

from __future__ import annotations

from typing import Any

from fleet.digest import night_digest, table_lines
from fleet.digest.night_digest import LINES_OF_SECTION, Digest, Section
from fleet.digest.table_lines import Line, Row
from fleet.nights.night import Night, Rows
from fleet.nights.period_facts import STANDING, Facts
from fleet.store import reports

AGES = ((30, "30 d or more"), (7, "7 to 29 d"), (0, "less than 7 d"))
HEALTHS = ("critical", "silent", "unknown", "warning")


def summary(found: Facts) -> Digest:
    """Its date is the period's label."""
    night = found.night
    last = night_digest.digest(night)
    standing = [row for row in _both(night.tables) if row["change"] in STANDING]
    fresh, older = (
        [row for row in standing if (night.day - row["age_days"] >= found.period.first) is new] for new in (True, False)
    )
    resolved = [row for row in found.ended if row["change"] == "resolved"]
    first = [Section("new", "New and still open", _lines(night, fresh)),
             Section("ongoing", "Open before, oldest first", _oldest(night, older))]  # fmt: skip
    gone = Section("resolved", "Resolved", _ended(night, resolved, "resolved"))
    rest = [gone, *_measured(found), *_others(found, night)]
    counts = f"{len(fresh)} new, {len(older)} older, {len(resolved)} resolved"
    return Digest(
        found.period.label, _subject(found, last.totals, counts), _headline(found, last.totals, standing),
        _shortened(first), _shortened(rest), last.clusters, last.totals, last.quiet,
    )  # fmt: skip


def _both(tables: dict[str, Rows]) -> Rows:
    return [*tables["changes"], *({"host": "", **row} for row in tables["cluster_changes"])]


def _shortened(sections: list[Section]) -> list[Section]:
    return [
        section._replace(lines=section.lines[:LINES_OF_SECTION], more=len(section.lines[LINES_OF_SECTION:]))
        for section in sections
        if section.lines
    ]


def _causes(night: Night, rows: Rows, *changes: str) -> list[Rows]:
    apart = {
        "changes": [row for row in rows if row["host"]],
        "cluster_changes": [row for row in rows if not row["host"]],
    }
    return night_digest.causes(night._replace(tables={**night.tables, **apart}), *changes)


def _lines(night: Night, rows: Rows) -> list[Line]:
    return [night_digest.line(cause) for cause in _causes(night, rows, *STANDING)]


def _oldest(night: Night, rows: Rows) -> list[Line]:
    causes = _causes(night, rows, *STANDING)
    return [
        night_digest.line(cause) for cause in sorted(causes, key=lambda rows: -max(row["age_days"] for row in rows))
    ]


def _ended(night: Night, rows: Rows, change: str) -> list[Line]:
    """A host that is gone has no page, and what ended before the last night has none either."""
    known = {(row["cluster"], row["host"]) for row in night.tables["host_health"]}
    lines = [night_digest.line(cause)._replace(page="") for cause in _causes(night, rows, change)]
    return [line if (line.cluster, line.host) in known else line._replace(cluster="", host="") for line in lines]


def _subject(found: Facts, totals: Row, counts: str) -> str:
    hosts = ", ".join(f"{totals[f'{name}_hosts']} {name}" for name in HEALTHS if totals[f"{name}_hosts"])
    part = f" ({len(found.nights)} of {found.period.days} days)" if len(found.nights) < found.period.days else ""
    state = f"{hosts or 'hosts healthy'} of {totals['hosts']} hosts"
    return f"[smoke] {found.period.kind} {found.period.label}{part}: {counts} problems; {state}"


def _headline(found: Facts, totals: Row, standing: Rows) -> str:
    ages = [_age(row) for row in standing]
    open_ = ", ".join(f"{ages.count(name)} for {name}" for _days, name in AGES if ages.count(name))
    parts = [f"{found.period.span}, UTC."]
    parts += [f"Open problems: {open_}." if standing else "No open problem."]
    if found.before:
        moves = [(name, sum(row[f"{name}_hosts"] for row in found.old), totals[f"{name}_hosts"]) for name in HEALTHS]
        words = ", ".join(f"{name} {before} to {after}" for name, before, after in moves if before or after)
        parts.append(f"Hosts from {found.before} to {found.nights[-1]}: {words or 'all healthy'}.")
    else:
        parts.append(f"No results before {reports.date_of(found.period.first)} to compare with.")
    return " ".join([*parts, *_gaps(found)])


def _age(row: Row) -> str:
    return next(name for days, name in AGES if row["age_days"] >= days or not days)


def _gaps(found: Facts) -> list[str]:
    parts = []
    if found.through < found.period.last:
        parts.append(f"The {found.period.kind} is not over; results up to {reports.date_of(found.through)}.")
    if found.missing:
        named = ", ".join(found.missing[:5]) + (f" and {len(found.missing) - 5} more" if len(found.missing) > 5 else "")
        parts.append(f"No nightly results for {named}: problems seen only on those days are missing.")
    return parts


def _measured(found: Facts) -> list[Section]:
    levels = {
        (row["cluster"], row["host"], row["item"]): row["status"]
        for row in found.tables["changes"]
        if row["check_name"] == "disk_usage" and row["change"] in STANDING
    }
    return [
        Section("disks", "Disks failed, replaced or added", _disks(found.disks)),
        Section("disk_trends", "Disk forecasts", _forecasts(found)),
        Section("mounts", "Fullest mounts", [_mount(row, levels) for row in found.mounts]),
        Section("mounts", "Mounts that grew most", [_mount(row, levels) for row in found.grown]),
    ]


def _mount(row: Row, levels: dict[Any, str]) -> Line:
    level = levels.get((row["cluster"], row["host"], row["item"]), "")
    text = f"{row['used_percent']:.0f} % used, {round(row['points'], 1) + 0.0:+.1f} points in {row['days']} days"
    return Line(level, what=row["item"], text=text, **table_lines.place(row))


def _disks(rows: Rows) -> list[Line]:
    """Failed ones first. A disk that came where one went, on the same host and slot, replaced it."""
    came = [row for row in rows if row["came_day"]]
    lines = []
    for row in sorted(rows, key=lambda row: (not row["failed_day"], row["came_day"] is not None)):
        if row["failed_day"] or row["went_day"]:
            after = next((new for new in came if _replaces(new, row)), None)
            if after:
                came.remove(after)
            lines.append(_disk(row, after))
    return lines + [_disk(row, None) for row in came if not (row["failed_day"] or row["went_day"])]


def _replaces(new: Row, old: Row) -> bool:
    at_one_place = [(row["cluster"], row["host"], row["slot"]) for row in (new, old)]
    return bool(old["went_day"]) and at_one_place[0] == at_one_place[1] and new["came_day"] >= old["went_day"] - 1


def _disk(row: Row, after: Row | None) -> Line:
    what = " ".join(filter(None, [row["item"], f"slot {row['slot']}" if row["slot"] else "", row["model"]]))
    parts = [f"failed on {reports.date_of(row['failed_day'])}"] if row["failed_day"] else []
    if after:
        parts.append(f"replaced by {after['item']} on {reports.date_of(after['came_day'])}")
    elif row["went_day"]:
        parts.append(f"not detected since {reports.date_of(row['went_day'])}")
    elif row["came_day"]:
        parts.append(f"added on {reports.date_of(row['came_day'])}")
    level = "critical" if row["failed_day"] and not after else ""
    return Line(level, what=what, text=", ".join(parts), **table_lines.place(row))


def _forecasts(found: Facts) -> list[Line]:
    """How many of the disks that were forecast to reach a limit failed, or were replaced, in the period."""
    ahead = [row for row in found.forecast if row["days_left"] is not None and not row.get("failing")]
    named = {(row["cluster"], row["host"], row["item"]) for row in ahead}
    failed = {(row["cluster"], row["host"], row["item"]) for row in found.disks if row["failed_day"] or row["went_day"]}
    if not named:
        return []
    text = f"{len(named)} disks named on {found.before}: {len(named & failed)} failed or replaced"
    return [Line("", "", "forecast", f"{text}; failed or replaced without a forecast: {len(failed - named)}")]


def _others(found: Facts, night: Night) -> list[Section]:
    unseen = [row for row in found.ended if row["change"] == "unseen"]
    silent = table_lines.silent(found.tables["silent_hosts"])
    return [
        Section("cluster_health", "Clusters that changed", _clusters(found)),
        Section("silent_hosts", "Hosts without a report at the end", silent),
        Section("unseen", "No result at the end", _ended(night, unseen, "unseen")),
    ]


def _clusters(found: Facts) -> list[Line]:
    before = {row["cluster"]: row for row in found.old}
    lines = []
    for row in found.tables["cluster_health"]:
        old = before.get(row["cluster"])
        names = [f"{name}_hosts" for name in HEALTHS]
        moved = [name for name in names if old and old[name] != row[name]]
        text = ", ".join(f"{name.removesuffix('_hosts')} {old[name]} to {row[name]}" for name in moved if old)
        if moved:
            lines.append(Line("", f"cluster {row['cluster'] or '-'}", "hosts", text))
    return lines
