"""Who is in sync by ZooKeeper: what brokers report may be a minute old before inter.broker.protocol.version 2.7.

A leader writes a shrunk ISR into ZooKeeper at once; the controller informs the brokers 5 s after the last such
change, at the latest after a minute (ReplicaManager's IsrChangeNotificationConfig).
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

# so long it may take; then only what the brokers say counts
LOOK_S = 8.0
AT_ONCE = 500
InSync = Mapping[tuple[str, int], tuple[int, ...]]


def read(client: Any, chroot: str) -> InSync | None:
    """Partition -> its replicas in sync, by /brokers/topics/…/state; None where that cannot be read in time.

    client: a kazoo client with a session.
    """
    from kazoo.exceptions import KazooException, NoNodeError
    from kazoo.handlers.threading import KazooTimeoutError

    until = time.monotonic() + LOOK_S
    top = f"{chroot}/brokers/topics"
    found: dict[tuple[str, int], tuple[int, ...]] = {}
    try:
        topics = client.get_children(top)
        paths = [(topic, f"{top}/{topic}/partitions") for topic in topics]
        numbers = list(_answers(client.get_children_async, paths, until, NoNodeError))
        parts = [
            ((topic, name), f"{top}/{topic}/partitions/{name}/state") for topic, names in numbers for name in names
        ]
        for (topic, name), (data, _stat) in _answers(client.get_async, parts, until, NoNodeError):
            isr = parse(data)
            if isr is not None and name.isdigit():
                found[topic, int(name)] = isr
    except (KazooException, KazooTimeoutError):
        return None
    return found


def _answers(ask: Any, wanted: Iterable[tuple[Any, str]], until: float, gone: type[Exception]) -> Iterator[Any]:
    """Key and answer of each path, many under way at a time; what is gone meanwhile is left out."""
    rows = list(wanted)
    for start in range(0, len(rows), AT_ONCE):
        waiting = [(key, ask(path)) for key, path in rows[start : start + AT_ONCE]]
        for key, answer in waiting:
            try:
                yield key, answer.get(timeout=max(until - time.monotonic(), 0.001))
            except gone:
                continue


def parse(data: bytes | None) -> tuple[int, ...] | None:
    """The replicas in sync; None if it is no such node.

    {"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1,2,3]}
    """
    try:
        isr = json.loads(data or b"")["isr"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return tuple(isr) if isinstance(isr, list) and all(type(one) is int for one in isr) else None
