"""How close is the broker to the kernel's limit of memory mappings?

Kafka maps the indexes of every log segment; at the limit it stops with "OutOfMemoryError: Map failed".
Warning: 70 % of vm.max_map_count in use by a broker; the setting itself below 262144; a file of sysctl.d will set a
lower value at the next boot.
Critical: 85 % in use.
Unknown: only root may count another user's mappings; a file of sysctl.d cannot be read.
Ok again: as soon as the setting is raised (effective at once; in /etc/sysctl.d it survives a reboot).
"""

from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence

from agent.host import Host, NotApplicable
from agent.named_tuples import NamedTuple
from agent.sources.kafka import processes as kafka
from agent.sources.system import sysctl
from agent.status import Verdict, critical, ok, warning

LIMITS = {"used_percent_warning": 70, "used_percent_critical": 85, "max_map_count_warning": 262144}
PLAYBOOK = "tune-os"
SETTING = "vm.max_map_count"


class Facts(NamedTuple):
    """pid is 0, and maps too, for the setting itself. at_boot: what `at_boot_file` sets at the next boot, or None."""

    pid: int
    maps: int
    max_map_count: int
    at_boot: Optional[int] = None
    at_boot_file: str = ""


def find(host: Host) -> Sequence[str]:
    kafka.need_role(host, "broker")
    return [SETTING, *kafka.items(host, "broker")]


def look(host: Host, item: str) -> Facts:
    most = host.read_int("/proc/sys/vm/max_map_count")
    if item == SETTING:
        at_boot = sysctl.at_boot(host, SETTING)
        at_boot_known = at_boot is not None and at_boot.value.isascii() and at_boot.value.isdigit()
        return Facts(0, 0, most, int(at_boot.value), at_boot.path) if at_boot and at_boot_known else Facts(0, 0, most)
    service = kafka.running(host, "broker").get(item)
    if service is None:
        raise NotApplicable(f"{item} is not running (see services)")
    return Facts(service.process.pid, host.process_use(service.process.pid).maps, most)


def judge(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    if not facts.pid:
        wanted = limits["max_map_count_warning"]
        if facts.max_map_count < wanted:
            return warning(f"{SETTING} is {facts.max_map_count}, should be at least {wanted}", PLAYBOOK)
        if facts.at_boot is not None and facts.at_boot < min(facts.max_map_count, wanted):
            sets = f"{facts.at_boot_file} sets {facts.at_boot} at the next boot"
            return warning(f"{SETTING} is {facts.max_map_count} now, {sets}", PLAYBOOK)
        return ok(f"{SETTING} is {facts.max_map_count}")
    percent = 100 * facts.maps / max(facts.max_map_count, 1)
    message = f"process {facts.pid} has {facts.maps} of {facts.max_map_count} memory mappings ({percent:.0f} %)"
    if percent >= limits["used_percent_critical"]:
        return critical(message, PLAYBOOK)
    if percent >= limits["used_percent_warning"]:
        return warning(message, PLAYBOOK)
    return ok(message)
