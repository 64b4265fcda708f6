"""A plan: the question, the map before and after, and what Kafka's own tool takes. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from placement.errors import PlacementError
from placement.snapshot import Partition, Snapshot
from placement.strict import integer, mapping, rows, text

SCHEMA = 1
ANY = "any"


class Change(NamedTuple):
    """Replicas of one partition, the first leads. log_dirs: of the new ones' places a path, of the others ANY.

    log_dirs_before: where the replicas of `before` lie, empty where Kafka does not say.
    """

    topic: str
    number: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    log_dirs: tuple[str, ...]
    size_bytes: int
    log_dirs_before: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.number}"

    @property
    def adding(self) -> tuple[int, ...]:
        return tuple(one for one in self.after if one not in self.before)

    @property
    def moved_bytes(self) -> int:
        """A replica that changes its log dir within its broker is copied too."""
        within = sum(path != ANY for one, path in zip(self.after, self.log_dirs, strict=True) if one in self.before)
        return self.size_bytes * (len(self.adding) + within)


class Plan(NamedTuple):
    """question: the command with its arguments, as typed. least_bytes: what no plan can undercut, 0 where not known."""

    question: str
    cluster: str
    cluster_id: str
    snapshot_at: str
    changes: tuple[Change, ...]
    least_bytes: int = 0
    notes: tuple[str, ...] = ()

    @property
    def moved_bytes(self) -> int:
        return sum(change.moved_bytes for change in self.changes)


def dumps(plan: Plan) -> str:
    """JSON, one change a line."""
    head = {"schema": SCHEMA, **{key: value for key, value in plan._asdict().items() if key != "changes"}}
    changes = ",\n".join(json.dumps(change._asdict()) for change in plan.changes)
    return f'{json.dumps(head)[:-1]}, "changes": [\n{changes}\n]}}\n'


def loads(written: str, name: str = "plan") -> Plan:
    """A plan from `dumps`. PlacementError names the row and field that is wrong."""
    found = mapping(written, name)
    if found.get("schema") != SCHEMA:
        raise PlacementError(
            f"{name}: schema {found.get('schema')!r} is not {SCHEMA}: made by another version of smoke"
        )
    changes = tuple(_change(row, f"{name}: change {at}") for at, row in enumerate(rows(found, "changes", name), 1))
    return Plan(
        text(found, "question", name), text(found, "cluster", name), text(found, "cluster_id", name),
        text(found, "snapshot_at", name), changes, integer(found, "least_bytes", name),
        tuple(str(one) for one in found.get("notes") or ()),
    )  # fmt: skip


def _change(row: Mapping[str, Any], where: str) -> Change:
    def ids(field: str) -> tuple[int, ...]:
        found = row.get(field)
        if not isinstance(found, list) or not found or len(set(map(str, found))) != len(found):
            raise PlacementError(f"{where}: {field}: a list of different broker ids is needed")
        return tuple(integer({field: one}, field, where) for one in found)

    after, log_dirs = ids("after"), tuple(str(one) for one in row.get("log_dirs") or ())
    if len(log_dirs) != len(after):
        raise PlacementError(f"{where}: log_dirs must be as long as after")
    return Change(
        text(row, "topic", where), integer(row, "number", where), ids("before"), after, log_dirs,
        integer(row, "size_bytes", where), tuple(str(one) for one in row.get("log_dirs_before") or ()),
    )  # fmt: skip


def reassignment(changes: Sequence[Change]) -> str:
    """What kafka-reassign-partitions.sh --reassignment-json-file takes, version 1."""
    found = [
        {"topic": one.topic, "partition": one.number, "replicas": list(one.after), "log_dirs": list(one.log_dirs)}
        for one in changes
    ]
    return json.dumps({"version": 1, "partitions": found}, separators=(",", ":")) + "\n"


def batches(changes: Iterable[Change], most_bytes: int) -> list[list[Change]]:
    """In this order, none above `most_bytes` but for one change that is larger by itself."""
    found: list[list[Change]] = []
    left = 0
    for change in changes:
        if not found or change.moved_bytes > left:
            found.append([])
            left = most_bytes
        found[-1].append(change)
        left -= change.moved_bytes
    return found


def undo(plan: Plan, snapshot: Snapshot) -> Plan:
    """The way back, for partitions that lie as the plan put them. PlacementError where one lies otherwise."""
    now = {row.name: row for row in snapshot.partitions}
    changes, elsewhere = [], []
    for change in plan.changes:
        row = now.get(change.name)
        if row is None or row.adding or row.replicas not in (change.after, change.before):
            elsewhere.append(change.name)
        elif row.replicas == change.after and (row.replicas != change.before or lies_elsewhere(change, row)):
            changes.append(back(change, row))
    if elsewhere:
        names = ", ".join(elsewhere[:5])
        raise PlacementError(
            f"{len(elsewhere)} partitions are not where the plan placed them: {names}; make a new plan"
        )
    return plan._replace(question=f"undo of: {plan.question}", changes=tuple(changes), least_bytes=0)


def lies_elsewhere(change: Change, row: Partition) -> bool:
    """Whether a replica that changed its log dir within its broker lies where the plan put it."""
    pairs = zip(change.log_dirs, row.log_dirs, strict=True)
    return any(path not in (ANY, "") and path == now for path, now in pairs)


def back(change: Change, row: Partition) -> Change:
    """To the log dirs of before; where those are not known, to the one that Kafka chooses."""
    known = dict(zip(change.before, change.log_dirs_before, strict=False))
    now = dict(zip(row.replicas, row.log_dirs, strict=True))
    paths = tuple(
        known[one] if known.get(one) and (one not in now or now[one] != known[one]) else ANY for one in change.before
    )
    size = row.size_bytes or change.size_bytes
    return Change(change.topic, change.number, change.after, change.before, paths, size, row.log_dirs)


def gigabytes(size: float) -> str:
    """1.5 TB, 20.3 GB, 512 kB: decimal units, as disks and NICs are sold."""
    for unit, one in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(size) >= one:
            return f"{size / one:.1f} {unit}"
    return f"{size:.0f} B"
