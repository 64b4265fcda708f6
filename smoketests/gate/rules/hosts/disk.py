"""Is the named disk in this machine, and is it the one that has a fault?

Failed: neither the machine nor the inventory has a disk of this serial number there.

Warned: SMART, its mount and its array report no fault: is it the right disk?

Cannot tell: no reply from the machine, and the inventory does not name the disk.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agent.host import CannotTell
from agent.status import FINE, critical, warning
from inventory.names import some
from smoketests.cluster.view import findings
from smoketests.gate import arrays, host_findings, replaced_disk
from smoketests.gate.context import GateContext
from smoketests.gate.decision import RuleResult, ruled
from smoketests.gate.maintenance import REPLACE_DISK

PURPOSES = (REPLACE_DISK,)
WHEN = ("before",)
CHECKS = ("smart", "mounts", "raid", "disk_errors")
WORD = re.compile(r"[^\s,;:()]+")
FINAL = "a wrong serial number is a wrong disk; run again with the right one"


def judge(situation: GateContext, limits: Mapping[str, Any]) -> RuleResult:
    (host,) = situation.leaving
    serial = situation.maintenance.disk
    smart = replaced_disk.smart_of(situation.view, host, serial)
    mounts = replaced_disk.mounts_of(situation.view, host, serial)
    known = replaced_disk.known(situation.view, host)
    named = replaced_disk.plain(serial) in {replaced_disk.plain(word) for word in known}
    evidence = {"serial": serial, "mounts": mounts, "known": known[:100]}
    if not (smart or mounts or named or arrays.with_disk(situation.view, host, serial)):
        if not host_findings.answers(situation, host):
            raise CannotTell(f"no data from {host.name}: {host_findings.why_silent(situation, host)}")
        said = f"{host.name} has no disk {serial}; it has {some(known, 12) or 'none with a serial number'}"
        return ruled([critical(said)], "", **evidence)
    on = f", mounted at {', '.join(mounts)}" if mounts else ""
    where = str(smart.get("reason", ""))[:160] if smart else "not found by the machine, named by the inventory"
    if smart and smart.get("status") in FINE and not _blamed(situation, serial, mounts):
        return ruled([warning(f"no fault found on disk {serial}{on}: is it the right one?")], "", **evidence)
    return ruled([], f"disk {serial}{on}: {where}", **evidence)


def _blamed(situation: GateContext, serial: str, mounts: list[str]) -> bool:
    """Whether a finding that is no good one names this disk or its mount."""
    for check in CHECKS:
        for _host, row in findings(situation.view, check, situation.leaving):
            words = {replaced_disk.plain(word) for word in WORD.findall(str(row.get("reason", "")))}
            named = replaced_disk.plain(serial) in words or row.get("item") in mounts
            if row.get("status") not in FINE and named:
                return True
    return False
