"""How far the counters of a disk grew over the last week and the last month, by what earlier runs saw of it."""

from __future__ import annotations

from typing import Any, Dict, Optional

from agent.host import Host
from agent.sources.smart.report import Facts

WEEK_DAYS, MONTH_DAYS = 7.0, 30.0
DAY_S = 86400.0

# Counters whose growth is judged: the field, that of its growth in 7 days, and whether there is one of 30 days.
GROWING = (
    ("reallocated_sectors", "reallocated_growth", True),
    ("pending_sectors", "pending_growth", True),
    ("offline_uncorrectable", "offline_uncorrectable_growth", True),
    ("reported_uncorrectable", "reported_uncorrectable_growth", True),
    ("slow_commands", "slow_commands_growth", True),
    ("crc_errors", "crc_growth", False),
    ("grown_defects", "grown_defects_growth", False),
    ("media_errors", "media_errors_growth", False),
    ("error_log_entries", "error_log_growth", False),
)


def with_growth(host: Host, facts: Facts) -> Facts:
    """The facts with growth, of a disk that is known by its serial, else by its worldwide name or its path."""
    disk = f"smart/{facts.serial or facts.wwn or facts.path}"
    grown: Dict[str, Any] = {}
    known = []
    for field, growth, monthly in GROWING:
        count = getattr(facts, field)
        if count is None:
            continue
        key = f"{disk}/{field}"
        known += [host.state.known_days(key)] if monthly else []
        week, month = host.state.growths(key, count, WEEK_DAYS, MONTH_DAYS)
        grown.update({growth: week, f"{growth}_30_days": month})
    counts = [facts.uncorrected_reads, facts.uncorrected_writes, facts.uncorrected_verifies]
    if any(count is not None for count in counts):
        total = sum(count or 0 for count in counts)
        grown["uncorrected_growth"] = host.state.growth(f"{disk}/uncorrected", total, WEEK_DAYS)
    grown = {name: value for name, value in grown.items() if name in Facts._fields}
    days = round(min(known), 1) if known else None
    return facts._replace(**grown, history_days=days, days_since_too_hot=_days_since_too_hot(host, disk, facts))


def _days_since_too_hot(host: Host, disk: str, facts: Facts) -> Optional[float]:
    """A drive never forgets that it was too hot once; that is news for some days after it was first noticed."""
    key = f"{disk}/too_hot"
    if not facts.was_too_hot:
        host.state.remember(key, None)
        return None
    noted = host.state.remembered(key)
    since = float(noted) if isinstance(noted, (int, float)) else host.now()
    host.state.remember(key, since)
    return max(host.now() - since, 0.0) / DAY_S
