"""Do the brokers and ZooKeeper servers of all other machines run?

A broker that restarts by itself again and again cannot be relied on.
"""

from __future__ import annotations

from smoketests.gate import host_findings

VERDICTS = host_findings.VERDICTS
CHECKS = ("services",)

judge = host_findings.rule("services", CHECKS)
