"""What the kernel logged of memory errors: the new lines, and the uncorrected errors of this boot."""

from __future__ import annotations

from typing import List, Mapping, Sequence, Tuple

from agent.host import Host
from agent.named_tuples import NamedTuple
from agent.sources.kernel import incidents as incident_history
from agent.sources.kernel import log as kernel_log
from agent.sources.kernel import memory_lines
from agent.sources.kernel.cper_lines import UNCORRECTED
from agent.state import Incident

SUBJECT = "memory_errors"


class Told(NamedTuple):
    """What the kernel told. uncorrected: lines of this boot, however long ago: item -> (times, first at, last text)."""

    news: kernel_log.News
    uncorrected: Mapping[str, Tuple[int, str, str]]


def told(host: Host) -> Told:
    return host.once("memory_errors.told", lambda: _note(host))


def _note(host: Host) -> Told:
    def digest(new: Sequence[kernel_log.Record]) -> List[Tuple[str, Incident]]:
        return kernel_log.gather(memory_lines.sightings(new, kernel_log.records(host)))

    news = kernel_log.note_where_readable(host, SUBJECT, digest)
    known = {item: tuple(row) for item, row in (host.state.cursor(f"{SUBJECT}/uncorrected") or {}).items()}
    for item, incidents in news.incidents.items():
        for seen in incidents:
            if seen.kind == UNCORRECTED:
                times, since, _text = known.get(item, (0, incident_history.clock(seen.at), ""))
                known[item] = (times + seen.times, since, seen.text)
    host.state.set_cursor(f"{SUBJECT}/uncorrected", known)
    return Told(news, known)
