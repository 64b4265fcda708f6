"""Is the machine short of CPU time, and for how long?

Item load: the load average of 15 minutes per CPU. Item cpu: where the time between runs went.
Warning: load above 1 per CPU; or, held for 10 minutes: user time above 80 %, system 20 %, waiting for
disks 20 %, network interrupts (softirq) 5 %. A moment's load never alarms: shares of time are those between runs.
Ok again: in the first run that sees the share or the load below its limit.
"""

from __future__ import annotations

from typing import Any, List, Mapping, Sequence, Tuple, Union

from agent.host import CannotTell, Host, NotApplicable
from agent.named_tuples import NamedTuple
from agent.status import Verdict, combine, count_of, ok, warning

LIMITS = {
    "load_per_cpu_warning": 1,
    "user_percent_warning": 80,
    "system_percent_warning": 20,
    "iowait_percent_warning": 20,
    "softirq_percent_warning": 5,
    "held_minutes": 10,
}
PLAYBOOK = "tune-os"
KEPT_S = 3600
SAMPLE_EVERY_S = 30
# What takes the time -> in words, and what to do about it.
SHARES = {
    "user": ("user time", ""),
    "system": ("system time", ""),
    "iowait": ("I/O wait", "hung-disk"),
    "softirq": ("network interrupts (softirq)", PLAYBOOK),
}


class LoadFacts(NamedTuple):
    load_15_minutes: float
    processors: int


class Facts(NamedTuple):
    """Shares of processor time between earlier runs, newest first, each with the length of its interval."""

    interval_s: Tuple[float, ...]
    user_percent: Tuple[float, ...]
    system_percent: Tuple[float, ...]
    iowait_percent: Tuple[float, ...]
    softirq_percent: Tuple[float, ...]


def find(host: Host) -> Sequence[str]:
    return ["load", "cpu"]


def look(host: Host, item: str) -> Union[LoadFacts, Facts]:
    if item == "load":
        load = host.load()
        return LoadFacts(round(load.fifteen, 2), max(load.processors, 1))
    times = host.cpu_times()
    now = [host.now(), times.user, times.system, times.iowait, times.softirq, times.total]
    before: List[List[float]] = host.state.cursor("cpu") or []
    before = [sample for sample in before if sample[0] < now[0] and sample[5] < now[5]]
    if not before or now[0] - before[-1][0] >= SAMPLE_EVERY_S:
        host.state.set_cursor("cpu", _needed([*before, now]))
    elif len(before) > 1:
        before = before[:-1]  # an interval of seconds would say too little
    if not before:
        raise NotApplicable("CPU usage needs an earlier run since boot")
    return intervals([*before, now])


def _needed(samples: List[List[float]]) -> List[List[float]]:
    """The samples of the last hour, and always the newest two."""
    return [sample for sample in samples[:-2] if samples[-1][0] - sample[0] <= KEPT_S] + samples[-2:]


def intervals(samples: Sequence[Sequence[float]]) -> Facts:
    """Shares between neighbouring samples of (time, user, system, iowait, softirq, total), newest first."""
    pairs = list(zip(samples, samples[1:]))[::-1]
    if any(len(sample) != 6 for sample in samples):
        raise CannotTell("the saved state has no CPU times")
    shares = [
        tuple(round(max(100 * (new[i] - old[i]) / (new[5] - old[5]), 0.0), 1) for old, new in pairs)
        for i in range(1, 5)
    ]
    return Facts(tuple(round(new[0] - old[0], 1) for old, new in pairs), *shares)


def judge(facts: Union[LoadFacts, Facts], limits: Mapping[str, Any]) -> Verdict:
    if isinstance(facts, LoadFacts):
        return _judge_load(facts, limits)
    found = [warning(message, SHARES[name][1]) for name in SHARES for message in _held(facts, name, limits)]
    shares = ", ".join(f"{name} {getattr(facts, f'{name}_percent')[0]:.0f} %" for name in SHARES)
    return combine(found, healthy=f"{shares} in the last {_minutes(facts.interval_s[0])}")


def _judge_load(facts: LoadFacts, limits: Mapping[str, Any]) -> Verdict:
    each = facts.load_15_minutes / facts.processors
    highest = limits["load_per_cpu_warning"]
    processors = count_of(facts.processors, "CPU")
    message = f"15-min load average {facts.load_15_minutes:.1f} on {processors} ({each:.2f}/CPU)"
    return warning(f"{message}, limit {highest}/CPU") if each > highest else ok(message)


def _held(facts: Facts, name: str, limits: Mapping[str, Any]) -> List[str]:
    """One sentence if a share was above its limit in every interval back to `held_minutes` ago."""
    highest = limits[f"{name}_percent_warning"]
    seconds = spent = 0.0
    for length, percent in zip(facts.interval_s, getattr(facts, f"{name}_percent")):
        if percent <= highest:
            break
        seconds += length
        spent += length * percent
    if seconds < limits["held_minutes"] * 60:
        return []
    return [f"{SHARES[name][0]} {spent / seconds:.0f} % for {_minutes(seconds)}, limit {highest} %"]


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
