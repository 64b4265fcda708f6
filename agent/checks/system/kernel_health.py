"""Do the CPUs run normally, or do they lock up, stall, wait for a disk or throttle?

Each of these stops a broker or ZooKeeper server for seconds, which other machines see as a lost session.
Items: `processor stalls` (soft and hard lockups, RCU stalls), `blocked servers` (tasks of the broker or of ZooKeeper
that waited for more than two minutes), `thermal throttling`, `clock source`.
Warning: a soft lockup or RCU stall; throttled 60 times an hour since the last run, or 3 lines of it; the kernel reads
its clock from a slow source (hpet, acpi_pm) though a fast one was there.
Critical: a hard lockup, or 3 lockups and stalls within an hour; a blocked task of the broker or of ZooKeeper.
Unknown: /dev/kmsg cannot be read.
Ok again: 24 hours after the last line (`clear_after_hours`), or after a reboot; the clock source as soon as it is fast.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from agent.host import CannotTell, Host, Missing, NotApplicable
from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple
from agent.sources.kafka import processes as kafka
from agent.sources.kernel import incidents
from agent.sources.kernel import log as kernel_log
from agent.sources.kernel import stall_lines as lines
from agent.sources.kernel.line_patterns import LineTable
from agent.state import Incident
from agent.status import Verdict, combine, count_of, critical, ok, warning

SUBJECT = "kernel_health"
HOUR_S = 3600.0
LEAST_S = 600.0
LIMITS = {
    "clear_after_hours": 24,
    "stalls_warning": 1,
    "stalls_in_an_hour_critical": 3,
    "hard_lockups_critical": 1,
    "blocked_tasks_critical": 1,
    "throttled_per_hour_warning": 60,
    "throttle_lines_warning": 3,
}
PLAYBOOK = "kernel-stalls"
HEAT_PLAYBOOK = "overheating"
STALLS, BLOCKED, THROTTLING, CLOCK_SOURCE = "processor stalls", "blocked servers", "thermal throttling", "clock source"
ITEMS = (STALLS, BLOCKED, THROTTLING, CLOCK_SOURCE)
BLOCKED_TASK = "blocked task"
CPUS = "/sys/devices/system/cpu"
SOURCES = "/sys/devices/system/clocksource/clocksource0"
# What each read costs: microseconds, and a system call where the fast ones need none.
SLOW_SOURCES = ("hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies")
# INFO: task java:1234 blocked for more than 120 seconds.
# INFO: task jbd2/sdd1-8:611 blocked in I/O wait for more than 122 seconds.
WAITING = pattern(r"INFO: task (.{1,32}):(\d{1,10}) blocked (?:for more than|in I/O wait)")
TABLE = LineTable(lines.FORMS)


class Facts(NamedTuple):
    """One column for each kind of line, the latest first. throttled_per_hour: None on the first look.

    source, sources: where the kernel reads its clock, and where it could; unstable: whether it said so of one.
    """

    item: str
    kinds: Tuple[str, ...] = ()
    counts: Tuple[int, ...] = ()
    most_in_an_hour: Tuple[int, ...] = ()
    hours_ago: Tuple[float, ...] = ()
    last_text: Tuple[str, ...] = ()
    throttled_per_hour: Optional[float] = None
    throttled: int = 0
    source: str = ""
    sources: Tuple[str, ...] = ()
    unstable: bool = False


def find(host: Host) -> Sequence[str]:
    return ITEMS


def look(host: Host, item: str) -> Facts:
    if item == CLOCK_SOURCE:
        return _look_at_clock_source(host)
    if item == THROTTLING:
        return _look_at_throttling(host)
    _note(host)
    return _told(host, item)


def _note(host: Host) -> None:
    def digest(new: Sequence[kernel_log.Record]) -> List[Tuple[str, Incident]]:
        seen: List[kernel_log.Sighting] = []
        for record in new:
            form, match = TABLE.find(record.text)
            if form and match:
                item = {lines.THROTTLED: THROTTLING, lines.UNSTABLE: CLOCK_SOURCE}.get(form.kind, STALLS)
                seen.append(kernel_log.Sighting(item, form.kind, record, form.expression, form.each))
            elif record.text.startswith("INFO: task ") and _is_of_a_server(host, record.text):
                seen.append(kernel_log.Sighting(BLOCKED, BLOCKED_TASK, record, WAITING))
        return kernel_log.gather(seen)

    kernel_log.note_together(host, SUBJECT, digest)


def _is_of_a_server(host: Host, text: str) -> bool:
    """Whether the blocked task is a thread of a broker or ZooKeeper server; a JVM names its threads itself."""
    match = WAITING.match(text)
    if match is None:
        return False
    name, number = match.groups()
    try:
        pids = [service.process.pid for service in kafka.services(host)]
    except CannotTell:
        pids = []
    ours = any(int(number) == pid or host.exists(f"/proc/{pid}/task/{number}") for pid in pids)
    gone = not host.exists(f"/proc/{number}")  # of a thread that lives it is known whose it is
    return ours or (name == "java" and gone and bool(pids or host.expected.roles))


def _told(host: Host, item: str) -> Facts:
    remembered = host.state.incidents(SUBJECT, item)
    chains = incidents.chains_of(remembered)
    return Facts(
        item,
        tuple(chain.kind for chain in chains),
        tuple(chain.times for chain in chains),
        tuple(incidents.busiest_of(remembered, chain.kind, HOUR_S) for chain in chains),
        tuple(host.hours_since(chain.last_at) for chain in chains),
        tuple(chain.text for chain in chains),
    )


def _look_at_throttling(host: Host) -> Facts:
    """The processors count for themselves; without counters the lines tell."""
    counts = _throttle_counts(host)
    if not counts:
        _note(host)
        facts = _told(host, THROTTLING)
        if facts.kinds:
            return facts
        raise NotApplicable("these CPUs have no throttling counters, and the kernel logged no throttling")
    grown = [host.state.delta(f"{SUBJECT}/{name}", value) for name, value in counts.items()]
    # two looks soon after one another: one event is no rate
    most = max((delta.change / max(delta.seconds, LEAST_S) for delta in grown if delta), default=None)
    per_hour = None if most is None else round(most * HOUR_S, 1)
    return Facts(THROTTLING, throttled_per_hour=per_hour, throttled=max(counts.values()))


def _throttle_counts(host: Host) -> Dict[str, int]:
    """cpu3/core_throttle_count -> how often since boot; empty where there are no such counters (AMD, virtual ones)."""
    found = {}
    try:
        names = [name for name in host.list_dir(CPUS) if name.startswith("cpu") and name[3:].isdigit()]
    except CannotTell:
        return {}
    for name in names:
        for kind in ("core_throttle_count", "package_throttle_count"):
            try:
                found[f"{name}/{kind}"] = host.read_int(f"{CPUS}/{name}/thermal_throttle/{kind}")
            except Missing:
                break
    return found


def _look_at_clock_source(host: Host) -> Facts:
    try:
        now, there = (host.read(f"{SOURCES}/{name}_clocksource").split() for name in ("current", "available"))
    except Missing:
        raise NotApplicable("this kernel reports no clock source") from None
    try:
        _note(host)
        unstable = bool(host.state.incidents(SUBJECT, CLOCK_SOURCE))
    except CannotTell:
        unstable = False  # what it is now can be told all the same
    return Facts(CLOCK_SOURCE, source=" ".join(now)[:40], sources=tuple(there[:12]), unstable=unstable)


def judge(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    if facts.item == CLOCK_SOURCE:
        return _judge_clock_source(facts)
    if facts.throttled_per_hour is not None or facts.throttled:
        return _judge_counters(facts, limits)
    found = [verdict for row in zip(*facts[1:6]) for verdict in _judge_kind(facts.item, row, limits)]
    last = f"no new event for {min(facts.hours_ago):.0f} h" if facts.hours_ago else "no such event in the kernel log"
    return combine(found, healthy=last)


def _judge_kind(item: str, row: Sequence[Any], limits: Mapping[str, Any]) -> List[Verdict]:
    kind, count, in_an_hour, hours_ago, text = row
    if hours_ago >= limits["clear_after_hours"]:
        return []
    message = f"{count_of(count, kind)}, last {hours_ago:.0f} h ago: {kernel_log.quoted(text)}"
    if item == BLOCKED:
        return [critical(message, "hung-disk")] if count >= limits["blocked_tasks_critical"] else []
    if item == THROTTLING:
        return [warning(message, HEAT_PLAYBOOK)] if count >= limits["throttle_lines_warning"] else []
    if kind == lines.HARD_LOCKUP and count >= limits["hard_lockups_critical"]:
        return [critical(message, PLAYBOOK)]
    if in_an_hour >= limits["stalls_in_an_hour_critical"]:
        return [critical(f"{message}; {in_an_hour} in an hour", PLAYBOOK)]
    return [warning(message, PLAYBOOK)] if count >= limits["stalls_warning"] else []


def _judge_counters(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    per_hour = facts.throttled_per_hour
    message = f"{facts.throttled} thermal throttling events of one CPU since boot"
    if per_hour is not None and per_hour >= limits["throttled_per_hour_warning"]:
        return warning(f"{message}, {per_hour:.0f}/h since the last run", HEAT_PLAYBOOK)
    return ok(message if facts.throttled else "no thermal throttling since boot")


def _judge_clock_source(facts: Facts) -> Verdict:
    fast = [name for name in facts.sources if name not in SLOW_SOURCES]
    if facts.source in SLOW_SOURCES and (fast or facts.unstable):
        why = "; the kernel marked its fast one unstable" if facts.unstable else ""
        return warning(f"clock source {facts.source} is slow{why}; it is read for each message", PLAYBOOK)
    return ok(f"clock source {facts.source or 'unnamed'}")
