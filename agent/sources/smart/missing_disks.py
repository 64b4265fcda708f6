"""Disks that should be here and are not: those that the inventory names, or that an earlier run saw."""

from __future__ import annotations

from typing import Dict, Iterator, List, Optional, Tuple

from agent.host import Host, cached_per_run
from agent.named_tuples import NamedTuple
from agent.sources.smart import disks as smart_disks
from agent.sources.smart import history as smart_history
from agent.sources.smart import smartctl
from agent.status import moment


class Lost(NamedTuple):
    """A disk that should be here. certain: it is gone; else only `why` it could not be seen is known."""

    certain: bool
    why: str


@cached_per_run
def lost(host: Host, forget_days: float) -> Dict[str, Lost]:
    """The disks that the inventory names, or where it names none those of earlier runs, that are not to be seen.

    A disk of an earlier run is let go when a new one of its slot or at least its size came in: it was replaced.
    forget_days: the default of this limit of the check smart.
    """
    present = {key: member for key, member in smart_disks.found(host).items() if not member.skip}
    memory = _memory(host)
    gone = {key: seen for key, seen in memory.items() if key not in present}
    if host.expected.disks:
        names = [
            name
            for name in host.expected.disks
            if not any(_is_here(name, key, member) for key, member in present.items())
        ]
        missing = {name: gone.get(name) for name in names}
    else:
        fresh = [member for key, member in present.items() if key not in memory and (member.serial or member.wwn)]
        days = {key: float(host.limits("smart", {"forget_days": forget_days}, key)["forget_days"]) for key in gone}
        young = {key: seen for key, seen in gone.items() if host.now() - seen.at < days[key] * smart_history.DAY_S}
        missing = dict(_not_replaced(young, fresh))
    unnamed = [key for key, member in present.items() if not (member.serial or member.wwn) and key not in memory]
    said = {key: _lost(host, key, seen, unnamed) for key, seen in missing.items()}
    kept = {key: seen for key, seen in missing.items() if seen}
    here = {
        key: Seen(host.now(), m.label, m.model, m.slot, m.size_bytes)
        for key, m in present.items()
        if key not in unnamed
    }
    host.state.remember("smart/disks", {key: list(seen) for key, seen in {**kept, **here}.items()})
    return said


def _is_here(name: str, key: str, member: smart_disks.Member) -> bool:
    """By what it says, or by the name that it had when it last said so: one that is late to answer is not gone."""
    return smart_disks.is_named(name, member) or smartctl.same_disk(name, key, "")


class Seen(NamedTuple):
    """A disk as an earlier run saw it."""

    at: float
    label: str
    model: str
    slot: str
    size_bytes: int


def _memory(host: Host) -> Dict[str, Seen]:
    noted = host.state.remembered("smart/disks")
    rows = noted.items() if isinstance(noted, dict) else ()
    return {key: Seen(*row) for key, row in rows if isinstance(row, list) and len(row) == len(Seen._fields)}


def _not_replaced(gone: Dict[str, Seen], fresh: List[smart_disks.Member]) -> Iterator[Tuple[str, Optional[Seen]]]:
    """The disks that no new one stands in for; one new disk replaces one old."""
    left = list(fresh)
    for key, seen in gone.items():
        same_slot = [new for new in left if new.slot and new.slot == seen.slot]
        as_large = [new for new in left if new.size_bytes >= seen.size_bytes]
        stand_in = next(iter(same_slot + as_large), None)
        if stand_in is None:
            yield key, seen
        else:
            left.remove(stand_in)


def _lost(host: Host, name: str, seen: Optional[Seen], unnamed: List[str]) -> Lost:
    what = (
        f"{seen.label} {seen.model} (serial {name}" + (f", slot {seen.slot})" if seen.slot else ")") if seen else name
    )
    problem = smart_disks.scan_problem(host)
    if problem and (seen is None or " " in seen.label):
        return Lost(False, f"{what} is not listed, and the disks behind RAID cards cannot be read: {problem}")
    if unnamed and seen is None:
        return Lost(False, f"{what} is not listed, unless it is one that does not respond: {', '.join(unnamed)}")
    since = f"last seen {stamp(seen.at)}" if seen else "named in the inventory, seen by no run"
    return Lost(True, f"{what} vanished, {since}")


def stamp(at: float) -> str:
    """Seconds since the epoch as 2026-11-18T03:12Z."""
    return moment(at)
