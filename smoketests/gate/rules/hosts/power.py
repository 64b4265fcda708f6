"""Have all other machines power, cooling and a sound chassis?

Machines on the same failed feed or hot rack fail next.
"""

from __future__ import annotations

from smoketests.gate import host_findings

VERDICTS = host_findings.VERDICTS
CHECKS = ("power", "cooling", "chassis")

judge = host_findings.rule("power and cooling", CHECKS)
