"""The hard rules, checked on a finished plan and a snapshot alone: shares no code with what makes plans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from placement.board import MOST_USED_PERCENT
from placement.plan import ANY, Change, Plan
from placement.snapshot import Broker, Partition, Snapshot, Volume


def broken(snapshot: Snapshot, plan: Plan, accepted: Sequence[int] = (), new_factor: int | None = None) -> list[str]:
    """A sentence for each rule that the plan breaks; none for a plan that may be shown.

    accepted: brokers that may receive in spite of their findings. new_factor: where the question changes the number
    of replicas.
    """
    brokers = {broker.id: broker for broker in snapshot.brokers}
    rows = {(row.topic, row.number): row for row in snapshot.partitions}
    found = [*_twins(plan)]
    for change in plan.changes:
        row = rows.get((change.topic, change.number))
        if row is None:
            found.append(f"{change.name} is not in the snapshot")
            continue
        found += _one(row, change, brokers, accepted, new_factor)
    return found + list(_room(plan, brokers))


def _twins(plan: Plan) -> Iterator[str]:
    for name, many in Counter(change.name for change in plan.changes).items():
        if many > 1:
            yield f"{name} is in the plan {many} times"


def _one(
    row: Partition, change: Change, brokers: dict[int, Broker], accepted: Sequence[int], new_factor: int | None
) -> Iterator[str]:
    factor = new_factor if new_factor is not None else len(row.replicas)
    if change.before != row.replicas:
        yield f"{change.name} is on {row.replicas}, the plan was made for {change.before}"
    if len(set(change.after)) != len(change.after):
        yield f"{change.name}: a broker holds it twice: {change.after}"
    if len(change.after) != factor:
        yield f"{change.name}: {len(change.after)} replicas instead of {factor}"
    if row.adding:
        yield f"{change.name} is being reassigned already"
    yield from _copies(row, change, brokers)
    yield from _receivers(row, change, brokers, accepted)
    if set(change.after) - set(row.replicas) and not any(one in brokers and brokers[one].live for one in row.in_sync):
        yield f"{change.name}: no live broker has it in sync, so that no broker can send it"
    if all(one in brokers for one in change.after):
        yield from _racks(row, change, brokers, factor)


def _receivers(row: Partition, change: Change, brokers: dict[int, Broker], accepted: Sequence[int]) -> Iterator[str]:
    for one in set(change.after) - set(row.replicas):
        broker = brokers.get(one)
        if broker is None:
            yield f"{change.name}: broker {one} does not exist"
        elif not broker.live:
            yield f"{change.name}: broker {one} is not live"
        elif broker.trouble or (broker.unknown and one not in accepted):
            yield f"{change.name}: broker {one} has findings: {(*broker.trouble, *broker.unknown)[0]}"


def _copies(row: Partition, change: Change, brokers: dict[int, Broker]) -> Iterator[str]:
    """What is kept and in sync, and what is copied anew, is as much as before, or as the new number of replicas."""
    before = {one for one in row.in_sync if one in brokers and brokers[one].live}
    good = len(before & set(change.after)) + len(set(change.after) - set(row.replicas))
    if good < min(len(change.after), len(before)):
        yield f"{change.name}: {good} live replicas instead of {len(before)}"


def _racks(row: Partition, change: Change, brokers: dict[int, Broker], factor: int) -> Iterator[str]:
    def count(replicas: Sequence[int]) -> int:
        return len({brokers[one].rack or f"broker {one}" for one in replicas})

    possible = len({broker.rack or f"broker {broker.id}" for broker in brokers.values() if broker.live})
    if count(change.after) < min(count(row.replicas), factor, possible):
        yield f"{change.name}: {count(change.after)} racks instead of {count(row.replicas)}"


def _room(plan: Plan, brokers: dict[int, Broker]) -> Iterator[str]:
    """At the peak, before anything is removed: all that comes beside all that is there."""
    comes: Counter[tuple[int, str]] = Counter()
    for change in plan.changes:
        for one, path in zip(change.after, change.log_dirs, strict=True):
            if one not in change.before or path != ANY:
                comes[one, path] += change.size_bytes
    for (one, path), size in sorted(comes.items()):
        broker = brokers.get(one)
        volumes = [row for row in broker.volumes if path in (ANY, *row.paths)] if broker else []
        whole = sum(found for (other, where), found in comes.items() if other == one and _shares(volumes, where))
        if not volumes or any(
            row.capacity_bytes - row.usable_bytes + whole > row.capacity_bytes * MOST_USED_PERCENT / 100 + 1
            for row in volumes
        ):
            yield f"broker {one}: {path} would be above {MOST_USED_PERCENT} % with {size} bytes more"


def _shares(volumes: Sequence[Volume], path: str) -> bool:
    """Whether what comes to this path may come to one of the volumes: Kafka chooses for ANY."""
    return path == ANY or any(path in row.paths for row in volumes)
