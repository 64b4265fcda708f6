"""Does the I/O scheduler of the data disks leave the order of requests to the disk?

Warning: anything but none, noop, deadline or mq-deadline (bfq, kyber and cfq cost a broker throughput).
Ok again: as soon as the setting is back; set it in a udev rule or a tuned profile too, so that it survives a reboot.
"""

from __future__ import annotations

from typing import Any, Mapping, Sequence, Tuple

from agent.host import CannotTell, Host
from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple
from agent.sources.disks import block_devices
from agent.status import Verdict, ok, warning

LIMITS = {"good_schedulers": "none noop deadline mq-deadline"}
PLAYBOOK = "tune-os"

# none [mq-deadline] kyber bfq
CHOSEN = pattern(r"\[([\w-]{1,40})\]")


class Facts(NamedTuple):
    disk: str
    mounts: Tuple[str, ...]
    scheduler: str
    offered: Tuple[str, ...]


def find(host: Host) -> Sequence[str]:
    found = sorted(block_devices.carrying_data(host))
    if not found:
        raise CannotTell("the kernel lists no physical disk")
    return found


def look(host: Host, item: str) -> Facts:
    path = f"/sys/block/{item}/queue/scheduler"
    chosen, offered = parse(host.read(path, 4096), path)
    mounts = block_devices.carrying_data(host).get(item, [])
    return Facts(block_devices.describe(host, item), tuple(mounts), chosen, offered)


def parse(text: str, path: str) -> Tuple[str, Tuple[str, ...]]:
    """The scheduler in brackets, and all that are offered; a device that has only one names it without brackets."""
    words = text.split()
    match = CHOSEN.search(text)
    if match:
        return match.group(1), tuple(word.strip("[]")[:40] for word in words[:20])
    if words == ["none"]:
        return "none", ("none",)
    raise CannotTell(f"{path} contains {text[:40]!r}, no scheduler")


def judge(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    good = str(limits["good_schedulers"]).split()
    where = f" below {', '.join(facts.mounts)}" if facts.mounts else ""
    if facts.scheduler in good:
        return ok(f"{facts.disk}{where}: scheduler {facts.scheduler}")
    better = next((name for name in good if name in facts.offered), good[0])
    return warning(f"{facts.disk}{where}: scheduler {facts.scheduler}, should be {better}", PLAYBOOK)
