"""The frozen picture of a cluster that every plan is made from: brokers with their log dirs, partitions with sizes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from placement.errors import PlacementError
from placement.strict import integer, mapping, optional_integer, rows, text

SCHEMA = 1


class LogDir(NamedTuple):
    """A log dir and its file system. error: Kafka's name for what is wrong with it, empty if nothing is.

    file_system: its mount point, empty where unknown.
    """

    path: str
    capacity_bytes: int
    usable_bytes: int
    error: str = ""
    file_system: str = ""


class Volume(NamedTuple):
    """A file system with the log dirs on it that work."""

    capacity_bytes: int
    usable_bytes: int
    paths: tuple[str, ...]


class Broker(NamedTuple):
    """rack: empty where none is set. live: registered, not fenced, answering.

    trouble: critical hardware findings, a sentence each; such a broker receives nothing. unknown: what is not known of
    its hardware; such a broker receives only if it is accepted. network_bytes_per_s: of its NIC, None where unknown.
    """

    id: int
    host: str
    rack: str
    log_dirs: tuple[LogDir, ...]
    live: bool = True
    trouble: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    network_bytes_per_s: int | None = None

    @property
    def volumes(self) -> tuple[Volume, ...]:
        """Kafka reports the file system's bytes for each log dir on it: where mount points are not known, log dirs
        whose bytes are all the same count as one.
        """
        found: dict[object, Volume] = {}
        for row in self.log_dirs:
            if not row.error:
                key = row.file_system or (row.capacity_bytes, row.usable_bytes)
                paths = (*found[key].paths, row.path) if key in found else (row.path,)
                found[key] = Volume(row.capacity_bytes, row.usable_bytes, paths)
        return tuple(found.values())

    @property
    def capacity_bytes(self) -> int:
        return sum(volume.capacity_bytes for volume in self.volumes)

    @property
    def used_bytes(self) -> int:
        """Of its file systems, by Kafka and by others."""
        return sum(volume.capacity_bytes - volume.usable_bytes for volume in self.volumes)


class Partition(NamedTuple):
    """replicas: the first is the preferred leader. sizes_bytes, log_dirs: of each replica, in the same order.

    A size is None where no broker reported one. adding: what a reassignment under way brings or takes: left alone.
    in_bytes_per_s: what producers write, None where unknown.
    """

    topic: str
    number: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    leader: int
    sizes_bytes: tuple[int | None, ...]
    log_dirs: tuple[str, ...]
    adding: tuple[int, ...] = ()
    in_bytes_per_s: int | None = None

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.number}"

    @property
    def size_bytes(self) -> int | None:
        """The largest replica's: what a new replica has to copy."""
        return max((size for size in self.sizes_bytes if size is not None), default=None)


class Snapshot(NamedTuple):
    """at: when it was taken, UTC, ISO 8601. notes: what could not be read, a sentence each."""

    cluster: str
    cluster_id: str
    at: str
    brokers: tuple[Broker, ...]
    partitions: tuple[Partition, ...]
    notes: tuple[str, ...] = ()

    def broker(self, broker_id: int) -> Broker:
        """PlacementError where no broker has this id."""
        for row in self.brokers:
            if row.id == broker_id:
                return row
        known = ", ".join(str(row.id) for row in self.brokers[:20])
        raise PlacementError(f"broker {broker_id} is not in the snapshot (brokers: {known})")


def dumps(snapshot: Snapshot) -> str:
    """JSON, one broker or partition a line, the same bytes for the same snapshot."""
    head = {"schema": SCHEMA, "cluster": snapshot.cluster, "cluster_id": snapshot.cluster_id, "at": snapshot.at}
    head["notes"] = list(snapshot.notes)
    brokers = ",\n".join(json.dumps(_broker_row(row)) for row in snapshot.brokers)
    partitions = ",\n".join(json.dumps(_partition_row(row)) for row in snapshot.partitions)
    return f'{json.dumps(head)[:-1]}, "brokers": [\n{brokers}\n], "partitions": [\n{partitions}\n]}}\n'


def _broker_row(row: Broker) -> dict[str, Any]:
    return {**row._asdict(), "log_dirs": [one._asdict() for one in row.log_dirs]}


def _partition_row(row: Partition) -> dict[str, Any]:
    return row._asdict()


def loads(written: str, name: str = "snapshot") -> Snapshot:
    """A snapshot from `dumps`. PlacementError names the file, the row and the field that is wrong."""
    found = mapping(written, name)
    if found.get("schema") != SCHEMA:
        raise PlacementError(
            f"{name}: schema {found.get('schema')!r} is not {SCHEMA}: made by another version of smoke"
        )
    brokers = tuple(_broker(row, f"{name}: broker {at}") for at, row in enumerate(rows(found, "brokers", name), 1))
    partitions = tuple(
        _partition(row, f"{name}: partition {at}") for at, row in enumerate(rows(found, "partitions", name), 1)
    )
    snapshot = Snapshot(
        text(found, "cluster", name), text(found, "cluster_id", name), text(found, "at", name), brokers, partitions,
        tuple(str(note) for note in found.get("notes") or ()),
    )  # fmt: skip
    check(snapshot, name)
    return snapshot


def check(snapshot: Snapshot, name: str = "snapshot") -> None:
    """PlacementError where two rows contradict each other or one names what is not there."""
    _once((row.id for row in snapshot.brokers), f"{name}: broker")
    _once((row.name for row in snapshot.partitions), f"{name}: partition")
    known = {row.id for row in snapshot.brokers}
    for row in snapshot.partitions:
        _once(row.replicas, f"{name}: {row.name}: replica on broker")
        if not row.replicas or len(row.replicas) != len(row.sizes_bytes) or len(row.replicas) != len(row.log_dirs):
            raise PlacementError(
                f"{name}: {row.name}: replicas, sizes_bytes and log_dirs must be as long as each other"
            )
        if stranger := next((one for one in (*row.replicas, *row.adding) if one not in known), None):
            raise PlacementError(f"{name}: {row.name} has a replica on broker {stranger}, which is not in the snapshot")


def _once(found: Iterable[object], what: str) -> None:
    seen = set()
    for one in found:
        if one in seen:
            raise PlacementError(f"{what} {one} is listed twice")
        seen.add(one)


def _broker(row: Mapping[str, Any], where: str) -> Broker:
    log_dirs = tuple(
        LogDir(
            text(one, "path", where), integer(one, "capacity_bytes", where), integer(one, "usable_bytes", where),
            text(one, "error", where, ""), text(one, "file_system", where, ""),
        )
        for one in rows(row, "log_dirs", where)
    )  # fmt: skip
    return Broker(
        integer(row, "id", where), text(row, "host", where), text(row, "rack", where, ""), log_dirs,
        bool(row.get("live", True)), _sentences(row, "trouble", where), _sentences(row, "unknown", where),
        optional_integer(row, "network_bytes_per_s", where),
    )  # fmt: skip


def _partition(row: Mapping[str, Any], where: str) -> Partition:
    replicas = _ids(row, "replicas", where)
    sizes = row.get("sizes_bytes")
    if not isinstance(sizes, list):
        raise PlacementError(f"{where}: sizes_bytes: a list is needed")
    return Partition(
        text(row, "topic", where), integer(row, "number", where), replicas, _ids(row, "in_sync", where),
        integer(row, "leader", where, least=-1),
        tuple(None if one is None else integer({"size": one}, "size", f"{where}: sizes_bytes") for one in sizes),
        tuple(str(one) for one in row.get("log_dirs") or [""] * len(replicas)),
        _ids(row, "adding", where), optional_integer(row, "in_bytes_per_s", where),
    )  # fmt: skip


def _sentences(row: Mapping[str, Any], field: str, where: str) -> tuple[str, ...]:
    found = row.get(field) or []
    if not isinstance(found, list):
        raise PlacementError(f"{where}: {field}: a list of sentences is needed")
    return tuple(str(one) for one in found)


def _ids(row: Mapping[str, Any], field: str, where: str) -> tuple[int, ...]:
    found = row.get(field) or []
    if not isinstance(found, list):
        raise PlacementError(f"{where}: {field}: a list of broker ids is needed")
    return tuple(integer({field: one}, field, where) for one in found)
