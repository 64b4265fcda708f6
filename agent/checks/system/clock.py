"""Is this machine's clock synchronised and right?

Read from the time daemon that runs (chronyd, ntpd, systemd-timesyncd) and compared with the kernel's own state
(adjtimex), or from the kernel where none runs.
Warning: the clock is off by 50 ms; two time daemons are running; its daemon has no time server, follows nothing but its
own clock, or has had no NTP reply for 4 hours; it reports synchronised and the kernel does not; no daemon runs, though
the kernel's clock was set lately, or VMware Tools alone set it; it is not synchronised on a machine without Kafka or
ZooKeeper.
Critical: off by 500 ms, whatever the daemon reports ("Leap Normal" with seconds of offset is a fault), or not
synchronised; in the first 5 minutes of a daemon that is a warning.
Unknown: the daemon runs but does not reply.
Ok again: as soon as the clock is right; a large offset is taken back slowly unless it is stepped (`chronyc makestep`).
"""

from __future__ import annotations

from typing import Any, Iterator, List, Mapping, Optional, Sequence, Tuple

from agent.host import Host
from agent.named_tuples import NamedTuple
from agent.sources.system import time_daemons
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
TIMESYNCD = "systemd-timesyncd"


class Facts(NamedTuple):
    """daemons: those that run. source: who said it. unheard_s: since the last word of a time server, where told.

    serves: Kafka or ZooKeeper is here. kernel_synchronised: by adjtimex; None if the daemon does not tell the kernel.
    guest_tools: what of the hypervisor sets the clock where no daemon runs.
    """

    daemons: Tuple[str, ...]
    source: str
    synchronised: bool
    offset_ms: float
    reference: str
    own_clock: bool
    unheard_s: Optional[float]
    daemon_age_s: Optional[float]
    kernel_max_error_ms: float
    kernel_synchronised: Optional[bool] = True
    serves: bool = True
    guest_tools: str = ""


def find(host: Host) -> Sequence[str]:
    return ["clock"]


def look(host: Host, item: str) -> Facts:
    daemons = time_daemons.running(host)
    first = next(iter(daemons), "")
    tracking = time_daemons.ask(host, first) if first else None
    kernel = host.kernel_clock()
    now = host.now()
    if tracking is None:
        # Who cannot be asked (phc2sys) tells the kernel each time that it sets the clock
        updated_at = now - kernel.max_error_ms / time_daemons.ERROR_MS_PER_S if first else 0.0
    else:
        updated_at = tracking.updated_at
    offset_ms = kernel.offset_ms if tracking is None or tracking.offset_ms is None else tracking.offset_ms
    reported = not (first and time_daemons.leaves_kernel_unsynchronised(host, first))
    # timesyncd's own words are those of its last packet, however long ago
    by_kernel = kernel.synchronised or first != TIMESYNCD
    return Facts(
        daemons=tuple(daemons),
        source=first if tracking else KERNEL,
        synchronised=tracking.synchronised and by_kernel if tracking else kernel.synchronised,
        offset_ms=round(offset_ms, 3),
        reference=tracking.reference if tracking else "",
        own_clock=bool(tracking and tracking.own_clock),
        unheard_s=round(max(now - updated_at, 0.0)) if updated_at else None,
        daemon_age_s=round(max(now - daemons[first].started_at, 0.0)) if first else None,
        kernel_max_error_ms=round(kernel.max_error_ms, 1),
        kernel_synchronised=kernel.synchronised if reported else None,
        serves=bool(host.expected.roles),
        guest_tools="" if first else time_daemons.guest_tools(host),
    )


def judge(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    found = [*_judge_offset(facts, limits), *_judge_keeping(facts, limits)]
    if len(facts.daemons) > 1:
        found.append(
            warning(
                f"{len(facts.daemons)} time daemons are running: {', '.join(facts.daemons)}; stop all but one", PLAYBOOK
            )
        )
    follows = f" after {facts.reference}" if facts.reference else ""
    return combine(found, healthy=f"offset {facts.offset_ms:+.3f} ms by {facts.source}{follows}")


def _judge_keeping(facts: Facts, limits: Mapping[str, Any]) -> Iterator[Verdict]:
    """Whether anybody keeps the clock, and by what; the first that is wrong says the others."""
    unheard_s = facts.unheard_s or 0.0
    if not facts.synchronised:
        settling = facts.daemon_age_s is not None and facts.daemon_age_s < limits["settling_minutes"] * 60
        how = warning if settling or not facts.serves or facts.guest_tools else critical
        yield how(_unsynchronised(facts), PLAYBOOK)
    elif not facts.daemons and facts.kernel_max_error_ms >= limits["unkept_error_ms_warning"]:
        error = f"the kernel's maximum error is {facts.kernel_max_error_ms:.0f} ms"
        nobody = "no time daemon is running"
        yield warning(
            f"{f'only {facts.guest_tools} set the clock' if facts.guest_tools else nobody}: {error}", PLAYBOOK
        )
    elif facts.own_clock:
        yield warning(f"{facts.source} follows its local clock, no time server", PLAYBOOK)
    elif unheard_s >= limits["unheard_hours_warning"] * 3600:
        who = next(iter(facts.daemons), facts.source)
        yield warning(f"{who}: no NTP reply for {unheard_s / 3600:.0f} h", PLAYBOOK)
    elif facts.source == TIMESYNCD and not facts.reference:
        yield warning(f"{facts.source} has no time server", PLAYBOOK)
    elif facts.kernel_synchronised is False:
        yield warning(f"{facts.source} reports the clock synchronised, the kernel reports it unsynchronised", PLAYBOOK)


def _judge_offset(facts: Facts, limits: Mapping[str, Any]) -> List[Verdict]:
    off, message = abs(facts.offset_ms), f"clock off by {abs(facts.offset_ms):.0f} ms ({facts.source})"
    if off >= limits["offset_ms_critical"]:
        return [critical(f"{message}, limit {limits['offset_ms_warning']} ms", PLAYBOOK)]
    if off >= limits["offset_ms_warning"]:
        return [warning(f"{message}, limit {limits['offset_ms_warning']} ms", PLAYBOOK)]
    return []


def _unsynchronised(facts: Facts) -> str:
    if facts.guest_tools:
        message = f"only {facts.guest_tools} set the clock, from the hypervisor, and the kernel is not synchronised"
        return f"{message}: offset unknown; run chronyd or ntpd"
    if not facts.daemons:
        return "no time daemon is running and the kernel's clock is not synchronised"
    since = f"; last synchronised {_ago(facts.unheard_s)} ago" if facts.unheard_s else ""
    who = f"{facts.source} has no usable time server ({', '.join(facts.daemons)} is running)"
    return f"clock not synchronised: {who}{since}"


def _ago(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
