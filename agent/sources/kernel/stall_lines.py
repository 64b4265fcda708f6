"""Kernel lines of processors that stall or slow down: lockups, stalls, throttling, an unstable clock source.

Above each form stands a real line it was written for.
"""

from __future__ import annotations

from typing import Sequence

from agent.sources.kernel.line_patterns import LinePattern, form

SOFT_LOCKUP = "soft lockup"
HARD_LOCKUP = "hard lockup"
RCU_STALL = "RCU stall"
THROTTLED = "throttled"
UNSTABLE = "unstable clock source"

FORMS: Sequence[LinePattern] = (
    # watchdog: BUG: soft lockup - CPU#3 stuck for 23s! [java:4242]
    # BUG: soft lockup - CPU#3 stuck for 22s! [kworker/3:1:77]
    # NMI watchdog: BUG: soft lockup - CPU#12 stuck for 22s! [java:4242]
    form(SOFT_LOCKUP, "BUG NMI watchdog", r"(?:(?:NMI )?watchdog: )?BUG: soft lockup - CPU#\d+ stuck for \d+s"),
    # NMI watchdog: Watchdog detected hard LOCKUP on cpu 3
    # watchdog: Watchdog detected hard LOCKUP on cpu 3
    # watchdog: CPU3: Watchdog detected hard LOCKUP on cpu 3
    form(HARD_LOCKUP, "NMI watchdog", r"(?:NMI )?watchdog: (?:CPU\d+: )?Watchdog detected hard LOCKUP on cpu \d+"),
    # rcu: INFO: rcu_sched self-detected stall on CPU
    # rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:
    # rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: { 3-... } 21 jiffies s: 1001 root: 0x8/.
    # INFO: rcu_sched self-detected stall on CPU { 3}  (t=5250 jiffies g=12345 c=12344 q=1234)
    form(
        RCU_STALL, "INFO rcu", r"(?:rcu: )?INFO: rcu_\w+ (?:self-detected stall|detected (?:expedited )?stalls) on CPU"
    ),
    # CPU4: Core temperature is above threshold, cpu clock is throttled (total events = 1)
    # CPU4: Package temperature above threshold, cpu clock throttled (total events = 83)
    # mce: CPU4: Package temperature above threshold, cpu clock throttled (total events = 83)
    form(THROTTLED, "CPU mce", r"(?:mce: )?CPU\d+: (?:Core|Package) temperature (?:is )?above threshold, cpu clock"),
    # clocksource: timekeeping watchdog on CPU4: Marking clocksource 'tsc' as unstable because the skew is too large:
    # tsc: Marking TSC unstable due to clocksource watchdog
    form(
        UNSTABLE,
        "clocksource tsc",
        r"(?:clocksource: timekeeping watchdog on CPU\d+: Marking clocksource '\w+' as unstable|tsc: Marking TSC unstable)",
        each=False,
    ),
)
