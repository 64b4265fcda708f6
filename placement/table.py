"""A plan on a terminal, as JSON, or as Kafka's own tool takes it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from agent.formats.text import printable
from placement.plan import ANY, Change, Plan, gigabytes, reassignment
from placement.snapshot import Snapshot
from placement.summary import Side, Summary, summarise

SHOWN_CHANGES = 20
SHOWN_BROKERS = 40


def render(format_name: str, snapshot: Snapshot, plan: Plan, rate_bytes_per_s: int) -> str:
    """format_name: table, json or kafka. Ends with a newline."""
    if format_name == "kafka":
        return reassignment(plan.changes)
    summary = summarise(snapshot, plan, rate_bytes_per_s)
    if format_name == "json":
        return json.dumps({"plan": _plan_row(plan), "summary": _summary_row(summary)}) + "\n"
    return "\n".join([*_lines(snapshot, plan, summary)]) + "\n"


def _plan_row(plan: Plan) -> dict[str, object]:
    return {**plan._asdict(), "changes": [change._asdict() for change in plan.changes]}


def _summary_row(summary: Summary) -> dict[str, object]:
    def side(of: Side) -> dict[str, object]:
        return {**of._asdict(), "brokers": [row._asdict() for row in of.brokers]}

    return {**summary._asdict(), "before": side(summary.before), "after": side(summary.after)}


def _lines(snapshot: Snapshot, plan: Plan, summary: Summary) -> Iterator[str]:
    for change in plan.changes[:SHOWN_CHANGES]:
        yield printable(_change(change))
    if len(plan.changes) > SHOWN_CHANGES:
        yield f"… and {len(plan.changes) - SHOWN_CHANGES} partitions more (--format json, or --out DIR)"
    if plan.changes:
        yield ""
        yield from _brokers(summary)
        yield ""
    yield from _totals(summary)
    for note in summary.notes:
        yield printable(f"note: {note}")
    yield _last(snapshot, plan, summary)


def _change(change: Change) -> str:
    dirs = {path for path in change.log_dirs if path != ANY}
    where = f"  to {', '.join(sorted(dirs))}" if dirs else ""
    return f"{change.name}: {_ids(change.before)} -> {_ids(change.after)}  {gigabytes(change.moved_bytes)}{where}"


def _ids(found: tuple[int, ...]) -> str:
    return ",".join(map(str, found))


def _brokers(summary: Summary) -> Iterator[str]:
    """Those that change, the fullest first."""
    pairs = [pair for pair in zip(summary.before.brokers, summary.after.brokers, strict=True) if pair[0] != pair[1]]
    pairs.sort(key=lambda pair: -max(pair[0].used_percent, pair[1].used_percent))
    width = max([len("broker"), *(len(f"{one.id} {one.host}") for one, _two in pairs)])
    yield f"{'broker':{width}}  {'used %':>13}  {'replicas':>13}  {'leaders':>11}  {'degree':>9}"
    for one, two in pairs[:SHOWN_BROKERS]:
        yield (
            f"{printable(f'{one.id} {one.host}'):{width}}  {one.used_percent:5.1f} -> {two.used_percent:4.1f}"
            f"  {one.replicas:5} -> {two.replicas:4}  {one.leaders:4} -> {two.leaders:3}"
            f"  {one.degree:3} -> {two.degree:2}"
        )
    if len(pairs) > SHOWN_BROKERS:
        yield f"… and {len(pairs) - SHOWN_BROKERS} brokers more"


def _totals(summary: Summary) -> Iterator[str]:
    one, two = summary.before, summary.after
    yield (
        f"used: {one.used_percent_min:.1f} to {one.used_percent_max:.1f} % -> {two.used_percent_min:.1f} to "
        f"{two.used_percent_max:.1f} %   free spread: {_spread(one)} -> {_spread(two)}"
    )
    yield (
        f"leaders a broker: {one.leaders_min} to {one.leaders_max} -> {two.leaders_min} to {two.leaders_max}   "
        f"degree: {one.degree_mean:.1f} -> {two.degree_mean:.1f}   racks a partition: at least {one.fewest_racks} -> "
        f"{two.fewest_racks}"
    )


def _spread(side: Side) -> str:
    return "-" if side.free_spread_percent is None else f"{side.free_spread_percent:.1f} %"


def _last(snapshot: Snapshot, plan: Plan, summary: Summary) -> str:
    """The line where the eye ends."""
    name = printable(snapshot.cluster)
    if not plan.changes:
        return f"{name}: nothing to do"
    if not summary.moved_bytes:
        return f"{name}: {summary.leaders_changed} leaders change, no data moves"
    ratio = f" ({summary.moved_bytes / summary.least_bytes:.2f}x)" if summary.least_bytes else ""
    hours = (
        "never: producers write more than the throttle allows" if summary.hours is None else f"{summary.hours:.1f} h"
    )
    moved = f"{summary.replicas} replicas of {summary.partitions} partitions move {gigabytes(summary.moved_bytes)}"
    return (
        f"{name}: {moved}, "
        f"least possible {gigabytes(summary.least_bytes)}{ratio}; {hours} at {gigabytes(summary.rate_bytes_per_s)}/s"
    )
