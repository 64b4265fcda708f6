"""What a finding means for the data: the order in which a reader has to act. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleet.ingest.schema import STATUSES

DATA, REDUNDANCY, FAILING, SERVICE, SETTING = range(5)
TITLES = ("data at risk", "redundancy lost", "hardware about to fail", "service affected", "setting")

# A critical finding of the check. What is not listed is `SERVICE`.
OF_CHECK = {
    "mounts": DATA,
    "partitions": DATA,
    "kafka_log": DATA,
    "disk_errors": DATA,
    "zk_quorum": DATA,
    "raid": REDUNDANCY,
    "power": REDUNDANCY,
    "silent": REDUNDANCY,
    "services": REDUNDANCY,
    "reach": REDUNDANCY,
    "broker_ids": REDUNDANCY,
    "smart": FAILING,
    "memory_errors": FAILING,
    "disk_latency": FAILING,
    "slow_disk": FAILING,
    "cooling": FAILING,
    "chassis": FAILING,
    "nic_resets": FAILING,
    "shared_fate": FAILING,
    "swappiness": SETTING,
    "transparent_hugepages": SETTING,
    "disk_scheduler": SETTING,
    "kafka_config": SETTING,
    "drift": SETTING,
    "disk_balance": SETTING,
    "cluster_disk_balance": SETTING,
    "topology": SETTING,
}


def of(check: str, status: str) -> int:
    """A place in `TITLES`. A warning of a mount or a disk is a sign of what may come, so it counts as `FAILING`."""
    consequence = OF_CHECK.get(check, SERVICE)
    return FAILING if consequence == DATA and status != "critical" else consequence


def urgency(row: Mapping[str, Any]) -> tuple[int, int, bool]:
    """A sort key of a row of `changes` or `cluster_changes`, most urgent first."""
    return of(row["check_name"], row["status"]), -STATUSES.index(row["status"]), row["change"] == "ongoing"
