"""The record that the job reads, as Spark types: agent/report.py's findings and header lines in one.

A test holds FIELDS equal to agent.report.FIELDS. What is not in a line is null.
"""

from __future__ import annotations

from fleet.ingest import facts

SCHEMA = 1

# One finding. `facts` is kept as the text it came in: one odd fact must not cost the finding.
FIELDS = {
    "schema": "BIGINT",
    "run_id": "STRING",
    "at": "STRING",
    "cluster": "STRING",
    "host": "STRING",
    "role": "STRING",
    "layout": "STRING",
    "rack": "STRING",
    "check": "STRING",
    "item": "STRING",
    "status": "STRING",
    "reason": "STRING",
    "playbook": "STRING",
    "facts": "STRING",
    "duration_ms": "DOUBLE",
    "first_seen": "STRING",
}

# What a header line says besides, as far as a night needs it. Not every header has a drawer and a power feed.
HEADER_FIELDS = {
    "kind": "STRING",
    "agent": "STRING",
    "kernel": "STRING",
    "boot_id": "STRING",
    "clock": "DOUBLE",
    "drawer": "STRING",
    "power_feed": "STRING",
}

UNREADABLE = "unreadable"

# Mildest first, as in agent/status.py: the place in this list is the severity.
STATUSES = ("skipped", "ok", "warning", "unknown", "critical")
PROBLEMS = STATUSES[2:]
NO_ITEM = "-"

# Asked once by the controller, of many hosts: such a finding does not say that the host itself answered.
CONTROLLER_CHECKS = (
    "reach",
    "broker_ids",
    "cluster_disk_balance",
    "zk_quorum",
    "slow_disk",
    "clock_skew",
    "drift",
    "ports",
    "shared_fate",
    "partitions",
    "topology",
)

# Parts that share a rack, a feed or a batch; settings do not fail together, they are made together.
HARDWARE_CHECKS = (
    "smart",
    "raid",
    "mounts",
    "disk_errors",
    "disk_latency",
    "memory_errors",
    "nic_resets",
    "nic_link",
    "power",
    "cooling",
    "chassis",
    "reach",
)


def record_ddl() -> str:
    """A line of the store, with the column that takes the text of a line that is none."""
    return _ddl({**FIELDS, **HEADER_FIELDS, UNREADABLE: "STRING"})


def facts_ddl() -> str:
    """The facts that the tables follow, of all checks together."""
    return _ddl({fact: kind for named in facts.FOLLOWED.values() for fact, (_column, kind) in named.items()})


def _ddl(fields: dict[str, str]) -> str:
    return ", ".join(f"`{name}` {kind}" for name, kind in fields.items())
