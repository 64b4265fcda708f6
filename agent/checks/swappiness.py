"""Would the kernel rather swap the broker out than drop page cache?

Warning: above 1. Critical: above 30.
Ok again: as soon as the setting is back; it must also stand in /etc/sysctl.d to outlive a reboot.
"""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Sequence

from agent.host import Host
from agent.sources import kafka
from agent.status import Verdict, critical, ok, warning

LIMITS = {"swappiness_warning": 1, "swappiness_critical": 30}
PLAYBOOK = "tune-os"


class Facts(NamedTuple):
    swappiness: int
    swap_total_bytes: int
    swap_used_bytes: int


def find(host: Host) -> Sequence[str]:
    kafka.need_role(host)
    return ["vm.swappiness"]


def look(host: Host, item: str) -> Facts:
    memory = host.memory()
    return Facts(host.read_int("/proc/sys/vm/swappiness"), memory.swap_total_bytes, memory.swap_used_bytes)


def judge(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    highest = limits["swappiness_warning"]
    swap = "no swap" if not facts.swap_total_bytes else f"{facts.swap_used_bytes >> 20} MB of swap in use"
    said = f"vm.swappiness is {facts.swappiness}, should be at most {highest}; {swap}"
    if facts.swappiness > limits["swappiness_critical"]:
        return critical(said, PLAYBOOK)
    if facts.swappiness > highest:
        return warning(said, PLAYBOOK)
    return ok(f"vm.swappiness is {facts.swappiness}; {swap}")
