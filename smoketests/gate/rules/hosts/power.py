"""Have all other machines power, cooling and a sound chassis?

What shares a dead feed or a hot rack goes next.
"""

from __future__ import annotations

from smoketests.gate import host_findings

VERDICTS = host_findings.VERDICTS
CHECKS = ("power", "cooling", "chassis")

judge = host_findings.rule("power and cooling", CHECKS)
