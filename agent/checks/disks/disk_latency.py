"""Does each physical disk complete its requests, and how long do they take?

Averages between this run and the last one; on the first run of a boot, since the boot.
Kafka's own limits are stricter, but a busy disk is not a failing one: the absolute limits here are high, and the
cluster check slow_disk compares each disk with its peers.
Warning: reads or writes took 200 ms on average (50 ms on a solid-state disk), over at least 100 of them.
Critical: requests were waiting in the last run, are waiting now, and none completed in between: the disk hangs.
Ok again: in the first run in which its requests complete in time.
"""

from __future__ import annotations

from typing import Any, List, Mapping, Optional, Sequence

from agent.host import CannotTell, Host
from agent.named_tuples import NamedTuple
from agent.sources.disks import block_devices
from agent.sources.disks.diskstats import DiskStats, diskstats
from agent.status import Verdict, combine, critical, warning

LIMITS = {
    "rotational_await_ms_warning": 200,
    "solid_state_await_ms_warning": 50,
    "min_ios": 100,
    "hung_after_s": 10,
}
PLAYBOOK = "hung-disk"


class Facts(NamedTuple):
    """Over `seconds`, which began with the last run or with the boot; an average without a request is None.

    answered: requests completed in that time. waited_before: requests in flight at its beginning. model: empty if the
    disk does not say; the cluster check slow_disk compares disks of one model.
    """

    disk: str
    rotational: bool
    since: str
    seconds: float
    reads: int
    writes: int
    answered: int
    r_await_ms: Optional[float]
    w_await_ms: Optional[float]
    utilisation_percent: float
    in_flight: int
    waited_before: int
    model: str = ""


def find(host: Host) -> Sequence[str]:
    disks = block_devices.physical(host)
    if not disks:
        raise CannotTell("the kernel lists no physical disk")
    return disks


def look(host: Host, item: str) -> Facts:
    now = diskstats(host).get(item)
    if now is None:
        raise CannotTell(f"/proc/diskstats does not list {item}")
    key = f"disk_latency/{item}"
    before = _earlier(host.state.cursor(key), now)
    host.state.set_cursor(key, [host.now(), *now])
    disk = block_devices.disks(host)[item]
    described = block_devices.describe(host, item)
    if before is None:
        facts = _facts(described, disk.rotational, "boot", host.uptime_s(), _ZERO, now)
    else:
        seconds = max(host.now() - before.at, 0.0)
        facts = _facts(described, disk.rotational, "the last run", seconds, before.stats, now)
    return facts._replace(model=disk.model)


def judge(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    if facts.waited_before and facts.in_flight and not facts.answered and facts.seconds >= limits["hung_after_s"]:
        return critical(
            f"{facts.disk} hangs: {facts.in_flight} requests in flight, none completed in {facts.seconds:.0f} s",
            PLAYBOOK,
        )
    kind = "rotational" if facts.rotational else "solid_state"
    highest = limits[f"{kind}_await_ms_warning"]
    slow = [
        warning(f"{facts.disk}: {what} took {ms:.0f} ms on average since {facts.since}, limit {highest} ms")
        for what, count, ms in (("reads", facts.reads, facts.r_await_ms), ("writes", facts.writes, facts.w_await_ms))
        if ms is not None and ms >= highest and count >= limits["min_ios"]
    ]
    return combine([verdict._replace(playbook=PLAYBOOK) for verdict in slow], _healthy(facts))


def _healthy(facts: Facts) -> str:
    said: List[str] = [f"{facts.answered} requests since {facts.since}"]
    if facts.r_await_ms is not None:
        said.append(f"reads {facts.r_await_ms:.1f} ms")
    if facts.w_await_ms is not None:
        said.append(f"writes {facts.w_await_ms:.1f} ms")
    first = " (no earlier run to compare with)" if facts.since == "boot" else ""
    return ", ".join([*said, f"{facts.utilisation_percent:.0f} % busy, {facts.in_flight} in flight"]) + first


class _Earlier(NamedTuple):
    at: float
    stats: DiskStats


_ZERO = DiskStats(0, 0, 0, 0, 0, 0)


def _earlier(noted: Any, now: DiskStats) -> Optional[_Earlier]:
    """What the last run of this boot noted, if it can be compared: counters that fell are those of another disk."""
    if not isinstance(noted, list) or len(noted) != 1 + len(now) or not all(isinstance(n, (int, float)) for n in noted):
        return None
    stats = DiskStats(*(int(number) for number in noted[1:]))
    gauges = ("in_flight",)
    fell = any(getattr(now, name) < getattr(stats, name) for name in DiskStats._fields if name not in gauges)
    return None if fell else _Earlier(float(noted[0]), stats)


def _facts(disk: str, rotational: bool, since: str, seconds: float, then: DiskStats, now: DiskStats) -> Facts:
    reads, writes = now.reads - then.reads, now.writes - then.writes
    busy = (now.busy_ms - then.busy_ms) / 10 / seconds if seconds else 0.0
    return Facts(
        disk=disk,
        rotational=rotational,
        since=since,
        seconds=round(seconds, 1),
        reads=reads,
        writes=writes,
        answered=now.completed - then.completed,
        r_await_ms=_average(now.read_ms - then.read_ms, reads),
        w_await_ms=_average(now.write_ms - then.write_ms, writes),
        utilisation_percent=round(min(max(busy, 0.0), 100.0), 1),
        in_flight=now.in_flight,
        waited_before=then.in_flight,
    )


def _average(ms: int, requests: int) -> Optional[float]:
    return round(ms / requests, 2) if requests > 0 else None
