"""What a memory file may hold: a row of another shape is left out, and the run goes on with the rest."""

from __future__ import annotations

import json
import math
from typing import Any, Callable, Dict

# Times are seconds since the epoch; those beyond this have no date.
LATEST = 1e11
DEEPEST = 10


def parsed(text: str) -> Any:
    """The text as JSON; ValueError where it is none, or is nested without end."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("a state nested too deeply") from None


def sound(given: Dict[str, Any]) -> Dict[str, Any]:
    """The same without rows that no run of ours wrote. All sections are there."""
    kept = dict(given)
    kept["at"] = given["at"] if is_time(given["at"]) else 0.0
    for name, is_sound in SECTIONS.items():
        kept[name] = {key: row for key, row in given[name].items() if is_sound(row)}
    return kept


def is_time(value: Any) -> bool:
    return _is_number(value) and 0 <= value < LATEST


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 2**63


def _is_counter(row: Any) -> bool:
    whole = isinstance(row, list) and len(row) in (2, 3) and is_time(row[0])
    return whole and all(_is_number(value) for value in row[1:])


def _is_finding(row: Any) -> bool:
    return isinstance(row, list) and len(row) == 2 and isinstance(row[0], bool) and is_time(row[1])


def _is_subject(items: Any) -> bool:
    return isinstance(items, dict) and all(
        isinstance(rows, list) and all(_is_incident(row) for row in rows) for rows in items.values()
    )


def _is_incident(row: Any) -> bool:
    if not isinstance(row, list) or not 2 <= len(row) <= 4:
        return False
    whole = isinstance(row[0], str) and is_time(row[1]) and all(_is_number(times) for times in row[2:3])
    return whole and all(isinstance(text, str) for text in row[3:])


def _is_plain(value: Any, left: int = DEEPEST) -> bool:
    """Whether it nests no deeper than anything that we note, and every number in it is one."""
    if isinstance(value, (list, dict)):
        parts = value.values() if isinstance(value, dict) else value
        return left > 0 and all(_is_plain(part, left - 1) for part in parts)
    return not isinstance(value, float) or math.isfinite(value)


SECTIONS: Dict[str, Callable[[Any], bool]] = {
    "counters": _is_counter,
    "history": _is_plain,
    "cursors": _is_plain,
    "notes": _is_plain,
    "incidents": _is_subject,
    "findings": _is_finding,
    "stuck": is_time,
}
