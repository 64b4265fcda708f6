"""Are the JBOD disks of this machine about equally full?

Kafka never moves partitions between the disks of one broker by itself: the fullest disk fills up first, and then the
broker loses it, however much room the others have.
Warning: 20 points or more between the fullest and the emptiest data mount.
Unknown: a data mount is missing or does not respond (see `mounts`), and the others are balanced.
Ok again: as soon as they are; move partitions between log dirs (kafka-reassign-partitions.sh with log_dirs).
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence, Tuple

from agent.host import CannotTell, Host, NotApplicable
from agent.named_tuples import NamedTuple
from agent.sources.disks import file_system
from agent.status import Verdict, combine, unknown, warning

LIMITS = {"spread_points_warning": 20}
PLAYBOOK = "full-disk"
# All mounts, one after another, where the checks of each alone have not asked already.
DEADLINE_S = 30.0


class Facts(NamedTuple):
    """used_percent: (mount, percent) of each data mount that answered. untold: why each other did not."""

    used_percent: Tuple[Tuple[str, float], ...]
    untold: Tuple[str, ...]


def find(host: Host) -> Sequence[str]:
    if host.expected.layout not in ("", "jbod"):
        raise NotApplicable(f"layout {host.expected.layout}: one file system, nothing to balance")
    if len(set(host.expected.mount_paths)) < 2:
        raise NotApplicable(f"{len(host.expected.mounts)} data mounts expected, nothing to balance")
    return ["data mounts"]


def look(host: Host, item: str) -> Facts:
    reported: Dict[str, float] = {}
    unreported: List[str] = []
    for path in host.expected.mount_paths:
        try:
            seen = file_system.usage(host, path)
            reported[path] = file_system.percent_used(seen.used_bytes, seen.free_bytes)
        except CannotTell as error:
            unreported.append(str(error))
    return Facts(tuple(reported.items()), tuple(unreported))


def judge(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    verdicts = [unknown(reason) for reason in facts.untold]
    message = "no data mount responds"
    if facts.used_percent:
        emptiest, *_, fullest = sorted([*facts.used_percent, *facts.used_percent], key=lambda row: row[1])
        spread = fullest[1] - emptiest[1]
        message = (
            f"{spread:.0f} points between {fullest[0]} ({fullest[1]:.0f} % used) and "
            f"{emptiest[0]} ({emptiest[1]:.0f} %), of {len(facts.used_percent)} data mounts"
        )
        if spread >= limits["spread_points_warning"]:
            verdicts.append(warning(f"{message}, limit {limits['spread_points_warning']} points", PLAYBOOK))
    return combine(verdicts, healthy=message)
