"""One Nagios answer for many hosts: counts on the first line, then the folded problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from agent.formats.nagios import clean
from agent.status import BY_SEVERITY
from inventory.names import ranges
from smoketests.show.fold import fold

if TYPE_CHECKING:
    from smoketests.results.run_results import Survey


def many(seen: Survey, only_problems: bool = False) -> Iterator[str]:
    rows = fold(seen.problems, seen.previous_at)
    statuses: Counter[str] = Counter()
    for tally in seen.tallies.values():
        statuses.update(tally.statuses)
    graph = " ".join(f"{status}={statuses[status]}" for status in reversed(BY_SEVERITY))
    first = f"{ranges(rows[0].hosts)}: {rows[0].sentence}" if rows else "no problem found"
    hosts = f"{len(seen.problems)} problems on {len(seen.asked)} hosts"
    yield f"SMOKE {seen.status.upper()} - {hosts}: {clean(first)} | {graph}"
    for row in rows:
        yield f"{row.status.upper()} {clean(ranges(row.hosts))} {clean(row.check)}: {clean(row.sentence)}"
