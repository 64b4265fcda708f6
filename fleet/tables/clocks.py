"""Whose clock disagrees? offset_ms: what the host's own time daemon says. skew_s: its clock in the report's header
against the median of all hosts of the same run; a run takes a while, so only minutes mean something there."""

from __future__ import annotations

from fleet.tables import Frames, Given, Row, Rows, hosts, in_order, picked, rounded

LIMITS = {"offset_ms_least": 500, "skew_s_least": 120}
COLUMNS = ("cluster", "host", "offset_ms", "skew_s")


def rows(frames: Frames, _given: Given) -> Rows:
    """The largest difference on top."""
    found = [row for row in hosts(frames) if row["answered"] and _disagrees(row)]
    largest = sorted(in_order(found, "cluster", "host"), key=lambda row: -_seconds(row))
    return [
        picked({**row, "offset_ms": rounded(row["offset_ms"], 1), "skew_s": rounded(row["skew_s"], 0)}, COLUMNS)
        for row in largest
    ]


def _disagrees(row: Row) -> bool:
    offset, skew = (abs(row[name] or 0) for name in ("offset_ms", "skew_s"))
    return bool(offset >= LIMITS["offset_ms_least"] or skew >= LIMITS["skew_s_least"])


def _seconds(row: Row) -> float:
    return float(max(abs(row["skew_s"] or 0), abs(row["offset_ms"] or 0) / 1000))
