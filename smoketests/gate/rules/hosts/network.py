"""Is the network of all other machines healthy?

The others carry this host's load meanwhile, and its replication afterwards.
"""

from __future__ import annotations

from smoketests.gate import host_findings

VERDICTS = host_findings.VERDICTS
CHECKS = ("nic_link", "nic_resets")

judge = host_findings.rule("network", CHECKS)
