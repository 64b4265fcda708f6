"""What earlier runs and the kernel log say of an interface's link."""

from __future__ import annotations

from typing import List, Optional, Sequence, Tuple

from agent.host import Host
from agent.named_tuples import NamedTuple
from agent.sources.kernel import incidents, nic_events
from agent.sources.kernel import log as kernel_log
from agent.sources.kernel.nic_lines import CABLE, LINK_DOWN
from agent.sources.network import interfaces
from agent.state import Incident

SUBJECT = "nic_link"


class History(NamedTuple):
    """was_up: in an earlier run. slower_from: Mbit/s of an earlier run, if it is slower now, since `slower_hours`."""

    was_up: bool
    slower_from: int
    slower_hours: float
    flaps: int
    flap_hours_ago: float
    flap_when: str
    cable_errors: int
    cable_hours_ago: float
    cable_text: str


def news(host: Host) -> kernel_log.News:
    """Note the new kernel lines of lost links and bad cables."""

    def digest(new: Sequence[kernel_log.Record]) -> List[Tuple[str, Incident]]:
        seen = nic_events.sightings(new, nic_events.cards(host))
        return kernel_log.gather(sighting for sighting in seen if sighting.kind in (LINK_DOWN, CABLE))

    return kernel_log.note_where_readable(host, SUBJECT, digest)


def note(host: Host, item: str, port: interfaces.Port) -> History:
    """The interface's history; notes this run for the next. An interface that is set down is forgotten."""
    before = host.state.remembered(f"{SUBJECT}/{item}") or {"up": False, "mbps": 0, "slower_at": 0.0}
    # the speed of a bond is the sum of its members
    best = 0 if interfaces.interfaces(host)[item].kind == "bond" else before["mbps"]
    slower = 0 < port.speed_mbps < best
    since = (before["slower_at"] or host.now()) if slower else 0.0
    now_up = {"up": before["up"] or bool(port.carrier), "mbps": max(best, port.speed_mbps), "slower_at": since}
    host.state.remember(f"{SUBJECT}/{item}", now_up if port.admin_up else None)
    _note_flaps(host, item)
    chains = {chain.kind: chain for chain in incidents.chains(host, SUBJECT, item)}
    flaps, cable = chains.get(LINK_DOWN), chains.get(CABLE)
    return History(
        was_up=bool(before["up"]),
        slower_from=best if slower else 0,
        slower_hours=host.hours_since(since) if slower else 0.0,
        flaps=flaps.times if flaps else 0,
        flap_hours_ago=host.hours_since(flaps.last_at) if flaps else 0.0,
        flap_when=incidents.when(flaps, host.now()) if flaps else "",
        cable_errors=cable.times if cable else 0,
        cable_hours_ago=host.hours_since(cable.last_at) if cable else 0.0,
        cable_text=cable.text if cable else "",
    )


def _note_flaps(host: Host, item: str) -> None:
    """Note the lost links that the kernel counted since the last run and told no line of."""
    count: Optional[int] = interfaces.link_went_down(host, item)
    grown = None if count is None else host.state.delta(f"{SUBJECT}/{item}/downs", count)
    reported = sum(seen.times for seen in news(host).incidents.get(item, []) if seen.kind == LINK_DOWN)
    if grown and grown.change > reported:
        host.state.add_incidents(SUBJECT, item, [Incident(LINK_DOWN, host.now(), grown.change - reported)])
