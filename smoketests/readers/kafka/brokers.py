"""What only each broker itself reports: its log dirs, its replication throttle, its defaults for topics."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from smoketests.readers import CannotRead
from smoketests.readers.kafka.model import LogDir
from smoketests.readers.kafka.topics import MINIMUM, UNCLEAN, Defaults, as_count, as_flag

RATES = (
    "leader.replication.throttled.rate",
    "follower.replication.throttled.rate",
    "replica.alter.log.dirs.io.max.bytes.per.second",
)
ALWAYS_THERE = "log.retention.hours"
LONGEST_PATH = 4096


class Told(NamedTuple):
    """sizes: (topic, partition) -> bytes, of all that the broker keeps. defaults: of topics that say nothing else.

    replicas: (topic, partition) -> (log dir, bytes) of what the broker serves, without copies that are being made.
    """

    log_dirs: tuple[LogDir, ...]
    sizes: Mapping[tuple[str, int], int]
    throttled: bool
    defaults: Defaults
    replicas: Mapping[tuple[str, int], tuple[str, int]] = types.MappingProxyType({})


def ask(client: Any, broker: int) -> Told:
    """Its log dirs with all their replicas, its throttles and defaults. CannotRead if it tells only a part."""
    rows = client.log_dirs(broker)
    if not rows:
        raise CannotRead("no log dirs reported; the client needs DESCRIBE on the cluster")
    sizes: dict[tuple[str, int], int] = {}
    said = client.own_settings(broker, (*RATES, MINIMUM, UNCLEAN, ALWAYS_THERE))
    if ALWAYS_THERE not in said:
        raise CannotRead("no settings reported; the client needs DESCRIBE_CONFIGS on the cluster")
    values = {name: setting.value for name, setting in said.items()}
    return Told(
        tuple(log_dir(broker, row, sizes) for row in rows), sizes,
        any(_is_limited(values.get(rate, "")) for rate in RATES),
        Defaults(as_count(values.get(MINIMUM, "")), as_flag(values.get(UNCLEAN, ""))),
        {
            (topic, number): (str(row["log_dir"])[:LONGEST_PATH], size)
            for row in rows for topic, number, size, future in _replicas(row) if not future
        },
    )  # fmt: skip


def log_dir(broker: int, row: Mapping[str, Any], sizes: dict[tuple[str, int], int]) -> LogDir:
    """One row of the answer; the sizes of its replicas are added to `sizes`, the larger one where two dirs have it."""
    said = list(_replicas(row))
    for topic, number, size, _future in said:
        sizes[topic, number] = max(size, sizes.get((topic, number), 0))
    path = str(row["log_dir"])[:LONGEST_PATH]
    total, usable = _bytes(row.get("total_bytes")), _bytes(row.get("usable_bytes"))
    held, future = sum(size for _topic, _number, size, _future in said), sum(coming for *_of, coming in said)
    return LogDir(broker, path, _error(row["error_code"]), total, usable, held, len(said), future)


def _replicas(row: Mapping[str, Any]) -> Iterator[tuple[str, int, int, bool]]:
    for topic in row["topics"]:
        for part in topic["partitions"]:
            yield (
                str(topic["name"]),
                int(part["partition_index"]),
                max(int(part["partition_size"]), 0),
                bool(part.get("is_future_key")),
            )


def _error(code: int) -> str:
    from kafka.errors import for_code

    return str(getattr(for_code(code), "message", "") or f"error {code}") if code else ""


def _bytes(value: Any) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None


def _is_limited(value: str) -> bool:
    """Kafka's default is the largest number there is, and means no limit."""
    return value.isdigit() and int(value) < 2**63 - 1
