"""Does this machine know what time it is?

Asked of the time daemon that runs (chronyd, ntpd, systemd-timesyncd), or of the kernel where none does.
Warning: the clock is off by 50 ms; two daemons steer it at once; its daemon follows nothing but its own clock, or has
heard no time server for 4 hours; no daemon runs, though the kernel's clock was set lately.
Critical: off by 500 ms, whatever the daemon says of itself ("Leap Normal" with seconds of offset is not well), or not
synchronised; in the first 5 minutes of a daemon that is a warning.
Unknown: the daemon runs but does not answer.
Ok again: as soon as the clock is right; a large offset is taken back slowly unless it is stepped (`chronyc makestep`).
"""

from __future__ import annotations

from typing import Any, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from agent.host import Host
from agent.sources import time_daemons
from agent.status import Verdict, combine, critical, warning

LIMITS = {
    "offset_ms_warning": 50,
    "offset_ms_critical": 500,
    "unheard_hours_warning": 4,
    "unkept_error_ms_warning": 1000,
    "settling_minutes": 5,
}
PLAYBOOK = "clock"
KERNEL = "the kernel"


class Facts(NamedTuple):
    """daemons: those that run. source: who said it. unheard_s: since the last word of a time server, where told."""

    daemons: Tuple[str, ...]
    source: str
    synchronised: bool
    offset_ms: float
    reference: str
    own_clock: bool
    unheard_s: Optional[float]
    daemon_age_s: Optional[float]
    kernel_max_error_ms: float


def find(host: Host) -> Sequence[str]:
    return ["clock"]


def look(host: Host, item: str) -> Facts:
    daemons = time_daemons.running(host)
    first = next(iter(daemons), "")
    said = time_daemons.ask(host, first) if first else None
    kernel = host.kernel_clock()
    now = host.now()
    offset_ms = kernel.offset_ms if said is None or said.offset_ms is None else said.offset_ms
    return Facts(
        daemons=tuple(daemons),
        source=first if said else KERNEL,
        synchronised=said.synchronised if said else kernel.synchronised,
        offset_ms=round(offset_ms, 3),
        reference=said.reference if said else "",
        own_clock=bool(said and said.own_clock),
        unheard_s=round(max(now - said.updated_at, 0.0)) if said and said.updated_at else None,
        daemon_age_s=round(max(now - daemons[first].started_at, 0.0)) if first else None,
        kernel_max_error_ms=round(kernel.max_error_ms, 1),
    )


def judge(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    found = _judge_offset(facts, limits)
    if not facts.synchronised:
        settling = facts.daemon_age_s is not None and facts.daemon_age_s < limits["settling_minutes"] * 60
        how = warning if settling else critical
        found.append(how(_unsynchronised(facts), PLAYBOOK))
    elif not facts.daemons and facts.kernel_max_error_ms >= limits["unkept_error_ms_warning"]:
        error = f"the kernel reckons it may be off by {facts.kernel_max_error_ms:.0f} ms"
        found.append(warning(f"no time daemon runs that keeps the clock: {error}", PLAYBOOK))
    elif facts.own_clock:
        found.append(warning(f"{facts.source} follows only its own clock, no time server", PLAYBOOK))
    elif facts.unheard_s is not None and facts.unheard_s >= limits["unheard_hours_warning"] * 3600:
        hours = facts.unheard_s / 3600
        found.append(warning(f"{facts.source} has heard no time server for {hours:.0f} h", PLAYBOOK))
    if len(facts.daemons) > 1:
        found.append(warning(f"{' and '.join(facts.daemons)} steer the clock at once: stop one", PLAYBOOK))
    follows = f" after {facts.reference}" if facts.reference else ""
    return combine(found, healthy=f"offset {facts.offset_ms:+.3f} ms by {facts.source}{follows}")


def _judge_offset(facts: Facts, limits: Mapping[str, Any]) -> List[Verdict]:
    off, said = abs(facts.offset_ms), f"the clock is off by {abs(facts.offset_ms):.0f} ms by {facts.source}"
    if off >= limits["offset_ms_critical"]:
        return [critical(f"{said}, should be below {limits['offset_ms_warning']} ms", PLAYBOOK)]
    if off >= limits["offset_ms_warning"]:
        return [warning(f"{said}, should be below {limits['offset_ms_warning']} ms", PLAYBOOK)]
    return []


def _unsynchronised(facts: Facts) -> str:
    if not facts.daemons:
        return "no time daemon runs and the kernel's clock is not synchronised"
    return (
        f"the clock is not synchronised: {facts.source} has no time server it trusts ({', '.join(facts.daemons)} runs)"
    )
