"""Is the memory of all other machines healthy?

A machine that is about to crash cannot be relied on.
"""

from __future__ import annotations

from smoketests.gate import host_findings

VERDICTS = host_findings.VERDICTS
CHECKS = ("memory_errors", "out_of_memory")

judge = host_findings.rule("memory", CHECKS)
