"""The pages of all findings: one list of what stands, by cause, and the hosts of each cause that several share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from fleet.digest import night_digest, page_paths
from fleet.digest.table_lines import Line, Row
from fleet.nights.night import Night, Rows
from fleet.store import reports

# What a row of a list of 200 says: a page stays below 300 kB also when hosts are verbose.
ROW_TEXT = 200


class List(NamedTuple):
    """One long list, to be cut into pages. first: the address of its first page."""

    template: str
    first: str
    title: str
    rows: Rows


def lists(night: Night, short: Callable[[str, int], str]) -> Iterator[List]:
    standing = night_digest.causes(night, *night_digest.STANDING)
    rows: Rows = [{"line": Line(*(short(part, ROW_TEXT) for part in night_digest.line(cause)))} for cause in standing]
    yield List("site_findings.html", page_paths.FINDINGS, "Findings", rows)
    silent = [{**row, "item": "", "reason": _last_report(row)} for row in night.tables["silent_hosts"]]
    yield List("site_cause.html", page_paths.SILENT, "Hosts without a report", silent)
    gone = [cause for change in ("resolved", "unseen") for cause in night_digest.causes(night, change)]
    for cause in [*standing, *gone]:
        if len({_place(row) for row in cause}) > 1:
            yield List("site_cause.html", night_digest.page_of(cause), _title(cause[0]), cause)


def _place(row: Row) -> tuple[Any, Any]:
    return row["cluster"], row["host"]


def _title(row: Row) -> str:
    change = f", {row['change']}" if row["change"] not in night_digest.STANDING else ""
    return f"{row['check_name']}: {row['status']}{change}"


def _last_report(row: Row) -> str:
    last = reports.date_of(row["last_day"]) if row["last_day"] is not None else "never in this window"
    return f"last report {last}" + (f"; {row['reason']}" if row["reason"] else "")
