"""Are the disks of all other machines healthy?

A disk that dies while a broker is down takes the next copy of its partitions.
"""

from __future__ import annotations

from smoketests.gate import host_findings

VERDICTS = host_findings.VERDICTS
CHECKS = ("mounts", "smart", "raid", "disk_errors", "disk_latency", "disk_usage")

judge = host_findings.rule("disks", CHECKS)
