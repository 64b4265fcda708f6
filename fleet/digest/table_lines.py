"""Rows of the night's tables -> lines to read, one function a table. Pure; no HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from fleet.digest import page_paths
from fleet.nights.night import Night, Rows
from fleet.store import reports

# A mail is cut at some 100 kB, and nobody reads a list of 3,000 hosts.
PLACE_TEXT = 120
Row = dict[str, Any]


class Line(NamedTuple):
    """One thing to know. where: cluster and host or hosts. what: check and item. todo: a playbook.

    cluster, host: whose page tells more; both empty when it is about several. page: the page that names them all, or
    empty. consequence: a title of `consequences.TITLES`, or empty.
    """

    level: str
    where: str
    what: str
    text: str
    todo: str = ""
    age: str = ""
    consequence: str = ""
    cluster: str = ""
    host: str = ""
    page: str = ""


def bounded(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def places(rows: Rows) -> str:
    """`prod-a kafka-a[01-03]; prod-b kafka-b07`; a cluster as a whole by its name alone. Bounded; of what is
    cut, the number of hosts comes first."""
    by_cluster: dict[str, set[str]] = {}
    for row in rows:
        by_cluster.setdefault(row["cluster"] or "-", set()).add(row["host"])
    if not rows[0]["host"]:
        return bounded("cluster " + ", ".join(sorted(by_cluster)), PLACE_TEXT)
    text = "; ".join(f"{name} {fold(hosts)}" for name, hosts in sorted(by_cluster.items()))
    if len(text) > PLACE_TEXT:
        count = f"{sum(map(len, by_cluster.values()))} hosts"
        text = f"{count} in {len(by_cluster)} clusters: {text}" if len(by_cluster) > 1 else f"{count}: {text}"
    return bounded(text, PLACE_TEXT)


def place(row: Row) -> dict[str, str]:
    """The fields of a Line about one host."""
    cluster = row["cluster"] or ""
    return {"where": f"{cluster or '-'} {row['host']}", "cluster": cluster, "host": row["host"]}


def shared(row: Row) -> Line:
    units = "disks" if row["kind"] == "batch" else "hosts"
    text = f"{row['faults']} of {row['units']} {units}, elsewhere {100 * (row['share_outside'] or 0):.1f} %"
    return Line("critical", f"{row['kind']} {row['name']}", row["check_name"], text)


def silent(rows: Rows) -> list[Line]:
    """Hosts that are silent for the same reason are one line."""
    alike: dict[tuple[str, str], Rows] = {}
    for row in rows:
        last = reports.date_of(row["last_day"]) if row["last_day"] is not None else "never in this window"
        alike.setdefault((last, re.sub(r"\d+", "#", row["reason"] or "")), []).append(row)
    return [_silent(last, same) for (last, _shape), same in alike.items()]


def _silent(last: str, rows: Rows) -> Line:
    reason = f"; {rows[0]['reason']}" if rows[0]["reason"] else ""
    count = f" ({len(rows)} hosts)" if len(rows) > 1 else ""
    whose = place(rows[0]) if len(rows) == 1 else {"where": places(rows), "page": page_paths.SILENT}
    return Line("critical", what="silent", text=f"last report {last}{reason}{count}", todo="broker-down", **whose)


def suspects(rows: Rows) -> list[Line]:
    return [
        Line(
            "warning",
            f"{row['model']} {row['firmware']}",
            "failure rate",
            f"{row['rate_percent']:.0f} % a year (95 %: {row['low_percent']:.0f} to {row['high_percent']:.0f}), "
            f"{_beside(row)}: {row['failures']} of {row['disks']} disks; "
            f"expected by chance once in {_once_in(_chance(row))} nights",
        )
        for row in rows
        if row["suspect"]
    ]


def _beside(row: Row) -> str:
    """`others 1.2 %, published 0.9 %`"""
    rates = (("others", row["others_percent"]), ("published", row.get("published_percent")))
    return ", ".join(f"{name} {rate:.1f} %" for name, rate in rates if rate is not None)


def _chance(row: Row) -> float:
    return min(float(chance) for chance in (row["chance"], row.get("published_chance")) if chance is not None)


def _once_in(chance: float) -> str:
    return f"{min(1 / max(chance, 1e-9), 1e6):,.0f}" if chance >= 1e-6 else "over a million"


def slow(rows: Rows) -> list[Line]:
    """One line for each disk, though both its reads and its writes may be slow."""
    disks: dict[tuple[str, str, str], Rows] = {}
    for row in rows:
        disks.setdefault((row["cluster"], row["host"], row["item"]), []).append(row)
    return [
        Line(
            "warning",
            what=both[0]["item"],
            text=" and ".join(
                f"{row['operation']}s take {row['await_ms']:.0f} ms, median of its peers {row['median_ms']:.0f} ms"
                for row in sorted(both, key=lambda row: str(row["operation"]))
            )
            + f" in their busiest hour ({both[0]['hour']:02d}h)",
            todo="replace-jbod-disk",
            **place(both[0]),
        )
        for both in disks.values()
    ]


def dimm(row: Row) -> Line:
    text = (
        f"{row['week_rise']:.0f} corrected errors in 7 days, {row['week_before_rise']:.0f} in the 7 before; "
        f"rising on {row['rising_days']} days"
    )
    return Line("warning", what=row["item"], text=text, todo="replace-dimm", **place(row))


def between(row: Row) -> str:
    """The bounds of a forecast, in brackets; those of an older version have none."""
    if row.get("earliest_day") is None:
        return ""
    earliest = reports.date_of(int(row["earliest_day"]))
    if row["latest_day"] is None:
        return f" ({earliest} at the earliest)"
    return f" (between {earliest} and {reports.date_of(int(row['latest_day']))})"


def filling(row: Row) -> Line:
    text = (
        f"{row['used_percent']:.0f} % used, {row['points_per_day']:+.1f} points a day: "
        f"full on {reports.date_of(int(row['full_day']))}{between(row)}"
    )
    level = "critical" if row["days_left"] <= 7 else "warning"
    age = f"{row['days_left']:.0f} d left"
    return Line(level, what=row["item"], text=text, todo="full-disk", age=age, **place(row))


def uneven(rows: Rows) -> list[Line]:
    return [_uneven(row) for row in rows if row["uneven"]]


def _uneven(row: Row) -> Line:
    parts = f"its {row['parts']} data disks" if row["level"] == "host" else f"its {row['parts']} brokers"
    text = (
        f"{parts} are {row['least_percent']:.0f} to {row['most_percent']:.0f} % full "
        f"(range {row['range_points']:.0f} points, standard deviation {row['deviation_points']:.1f})"
    )
    whose = place(row) if row["host"] else {"where": f"cluster {row['cluster'] or '-'}"}
    return Line("warning", what="balance", text=text, **whose)


def flapping(row: Row) -> Line:
    text = f"{row['episodes']} times in 30 days, last on {reports.date_of(row['last_day'])}"
    return Line("warning", what=f"{row['check_name']} {row['item']}", text=text, **place(row))


def clock(row: Row) -> Line:
    said = []
    if row["offset_ms"] is not None:
        said.append(f"{row['offset_ms']:+.0f} ms offset of its time daemon")
    if row["skew_s"] is not None:
        said.append(f"{row['skew_s']:+.0f} s from the other hosts in the same run")
    return Line("warning", what="clock", text=", ".join(said), todo="clock", **place(row))


def failing(rows: Rows) -> list[Line]:
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


def _asked(row: Row) -> str:
    counts = ((row["hosts"], "host"), (row["clusters"], "cluster"))
    return ", ".join(f"{count} {name}{'s' if count > 1 else ''}" for count, name in counts if count)


def aside(night: Night) -> list[Line]:
    lines = [
        Line("warning", aside.source, f"{aside.lines} lines" if aside.lines else "the whole file", aside.problem)
        for aside in night.aside
    ]
    late = [Line("", day, "late", "late reports of that day, included now") for day in night.late]
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
