"""What the incidents remembered of an item say: how many, since when, how many within an hour."""

from __future__ import annotations

from typing import Dict, List, Optional, Sequence

from agent.host import Host
from agent.named_tuples import NamedTuple
from agent.state import Incident
from agent.status import moment

SPREAD_STEPS = 96


class IncidentSummary(NamedTuple):
    """All that is remembered of one kind on one item. Times are seconds since the epoch."""

    kind: str
    times: int
    first_at: float
    last_at: float
    text: str


def chains(host: Host, subject: str, item: str) -> List[IncidentSummary]:
    """What is remembered of an item, one chain for each kind, the latest first."""
    return chains_of(host.state.incidents(subject, item))


def chains_of(incidents: Sequence[Incident]) -> List[IncidentSummary]:
    """These incidents, oldest first, as one chain for each kind, the latest first."""
    kinds: Dict[str, List[Incident]] = {}
    for seen in incidents:
        kinds.setdefault(seen.kind, []).append(seen)
    found = [
        IncidentSummary(kind, sum(seen.times for seen in all_), all_[0].at, all_[-1].at, all_[-1].text)
        for kind, all_ in kinds.items()
    ]
    return sorted(found, key=lambda chain: chain.last_at, reverse=True)


def clock(at: float, now: Optional[float] = None) -> str:
    """A moment for a sentence: `03:12Z` if it is of the same day as `now`, else `2026-11-18T03:12Z`."""
    said = moment(at)
    same_day = now is not None and said[:10] == moment(now)[:10]
    return said[len("2026-11-18T") :] if same_day else said


def when(chain: IncidentSummary, now: float) -> str:
    """When a chain happened: `at 03:12Z`, or `since 02:58Z, last 03:12Z`."""
    first, last = clock(chain.first_at, now), clock(chain.last_at, now)
    return f"at {last}" if first == last else f"since {first}, last {last}"


def busiest(incidents: Sequence[Incident], window_s: float) -> int:
    """The most that happened within any `window_s` seconds; incidents in the order of time."""
    most, first, inside = 0, 0, 0
    for seen in incidents:
        inside += seen.times
        while seen.at - incidents[first].at >= window_s:
            inside -= incidents[first].times
            first += 1
        most = max(most, inside)
    return most


def busiest_of(incidents: Sequence[Incident], kind: str, window_s: float) -> int:
    return busiest([seen for seen in incidents if seen.kind == kind], window_s)


def spread(kind: str, now: float, seconds: float, times: int, text: str) -> List[Incident]:
    """What a counter says happened in the last `seconds`, spread evenly: a day's events are not those of an hour."""
    steps = max(1, min(times, int(seconds // 600), SPREAD_STEPS))
    shares = [times // steps + (step < times % steps) for step in range(steps)]
    return [Incident(kind, now - seconds * step / steps, share, text) for step, share in enumerate(shares)]
