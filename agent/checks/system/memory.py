"""Does the machine have enough memory for the page cache that Kafka depends on?

Warning: a broker with less than 32 GB of RAM; less than 10 % of it available; swap in use on a Kafka or ZooKeeper
machine (what is swapped out makes garbage collections and ZooKeeper sessions time out).
Critical: less than 5 % available; the kernel will soon kill the largest process, which is the broker.
Ok again: as soon as memory is free. Swap stays in use until its pages are asked for: `swapoff -a && swapon -a` empties
it, when there is more memory available than swap in use.
"""

from __future__ import annotations

from typing import Any, List, Mapping, Sequence

from agent.host import CannotTell, Host
from agent.named_tuples import NamedTuple
from agent.status import Verdict, combine, critical, warning

LIMITS = {
    "broker_total_gb_warning": 32,
    "available_percent_warning": 10,
    "available_percent_critical": 5,
    "swap_used_mb_warning": 0,
}
PLAYBOOK = "out-of-memory"
GB = 10**9


class Facts(NamedTuple):
    total_gb: float
    available_gb: float
    available_percent: float
    swap_total_mb: int
    swap_used_mb: int
    broker: bool
    kafka_machine: bool


def find(host: Host) -> Sequence[str]:
    return ["memory"]


def look(host: Host, item: str) -> Facts:
    memory = host.memory()
    if memory.total_bytes <= 0 or memory.available_bytes < 0:
        raise CannotTell(
            f"implausible: the kernel reports {memory.total_bytes} bytes of RAM, {memory.available_bytes} available"
        )
    return Facts(
        round(memory.total_bytes / GB, 1),
        round(memory.available_bytes / GB, 1),
        round(100 * memory.available_bytes / memory.total_bytes, 2),
        memory.swap_total_bytes >> 20,
        memory.swap_used_bytes >> 20,
        "broker" in host.expected.roles,
        bool(host.expected.roles),
    )


def judge(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    found: List[Verdict] = []
    ram = f"{facts.available_gb:.1f} of {facts.total_gb:.1f} GB RAM available ({facts.available_percent:.0f} %)"
    least = limits["available_percent_warning"]
    if facts.available_percent < limits["available_percent_critical"]:
        found.append(critical(f"only {ram}, should be at least {least} %", PLAYBOOK))
    elif facts.available_percent < least:
        found.append(warning(f"only {ram}, should be at least {least} %", PLAYBOOK))
    if facts.broker and facts.total_gb < limits["broker_total_gb_warning"]:
        wanted = limits["broker_total_gb_warning"]
        found.append(warning(f"{facts.total_gb:.1f} GB of RAM, should be at least {wanted} GB for a broker"))
    if facts.kafka_machine and facts.swap_used_mb > limits["swap_used_mb_warning"]:
        found.append(warning(f"{facts.swap_used_mb} MB of {facts.swap_total_mb} MB swap in use", "tune-os"))
    return combine(found, healthy=ram)
