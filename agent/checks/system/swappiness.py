"""Does the kernel prefer dropping page cache to swapping the broker out?

Warning: above 1 on a machine with swap; a file of sysctl.d will set another value at the next boot.
Never critical: 60 is the default of every distribution, and without swap the setting changes nothing.
Ok again: as soon as the setting is back and sysctl.d sets the same (`sysctl --system` applies it).
"""

from __future__ import annotations

from typing import Any, List, Mapping, Sequence

from agent.host import CannotTell, Host
from agent.named_tuples import NamedTuple
from agent.sources.kafka import processes as kafka
from agent.sources.system import sysctl
from agent.status import Verdict, combine, unknown, warning

LIMITS = {"swappiness_warning": 1}
# A limit of earlier versions -> what to set instead
REMOVED_LIMITS = {"swappiness_critical": "swappiness_warning: swappiness is advice and never critical"}
PLAYBOOK = "tune-os"
SETTING = "vm.swappiness"


class Facts(NamedTuple):
    """at_boot: the value that `at_boot_file` sets at the next boot, empty where no file does. untold: why not told."""

    swappiness: int
    swap_total_bytes: int
    swap_used_bytes: int
    at_boot: str = ""
    at_boot_file: str = ""
    at_boot_untold: str = ""


def find(host: Host) -> Sequence[str]:
    kafka.need_role(host)
    return [SETTING]


def look(host: Host, item: str) -> Facts:
    memory = host.memory()
    facts = Facts(host.read_int("/proc/sys/vm/swappiness"), memory.swap_total_bytes, memory.swap_used_bytes)
    try:
        at_boot = sysctl.at_boot(host, SETTING)
    except CannotTell as error:
        return facts._replace(at_boot_untold=str(error))
    return facts._replace(at_boot=at_boot.value, at_boot_file=at_boot.path) if at_boot else facts


def judge(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    found: List[Verdict] = []
    high = facts.swappiness > limits["swappiness_warning"]
    swap = f"{facts.swap_used_bytes >> 20} of {facts.swap_total_bytes >> 20} MB of swap in use"
    if high and facts.swap_total_bytes:
        wanted = f"limit {limits['swappiness_warning']}"
        found.append(warning(f"{SETTING} is {facts.swappiness}, {wanted}; {swap}", PLAYBOOK))
    if facts.at_boot not in ("", str(facts.swappiness)):
        sets = f"{facts.at_boot_file} sets {facts.at_boot[:20]} at the next boot"
        found.append(warning(f"{SETTING} is {facts.swappiness} now, {sets}", PLAYBOOK))
    if facts.at_boot_untold:
        found.append(unknown(f"value after the next boot unknown: {facts.at_boot_untold}"))
    without = "no swap, so the setting has no effect" if high else "no swap"
    return combine(found, healthy=f"{SETTING} is {facts.swappiness}; {swap if facts.swap_total_bytes else without}")
