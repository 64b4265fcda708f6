"""Does a DIMM have errors?

Counted by the memory controller (EDAC) for each DIMM, and logged by the kernel (EDAC, machine check and APEI lines),
which also name CPUs and DIMMs that no driver counts, and by the BMC (item `event log`). The item is the
DIMM by its label.
Critical: an uncorrected error since boot; 100 corrected ones within 15 minutes.
Warning: 10 corrected errors within 15 minutes; or more of them in each of two runs in a row; the BIOS stopped logging
corrected errors as too many, or mapped a DIMM out; the firmware kept an error record of a crash.
Unknown: no EDAC driver is loaded, so errors are not counted. (A virtual machine has no DIMMs: skipped.)
Ok again: uncorrected errors after a reboot, which a DIMM's replacement brings; corrected ones 24 hours after the
last burst (`clear_after_hours`), or as soon as a run sees no new one.
"""

from __future__ import annotations

from typing import Any, List, Mapping, Optional, Sequence

from agent.host import CannotTell, Host, NotApplicable
from agent.named_tuples import NamedTuple
from agent.sources.bmc import event_log, ipmitool
from agent.sources.kernel import edac, incidents, memory_events
from agent.sources.kernel import log as kernel_log
from agent.sources.kernel.cper_lines import CORRECTED
from agent.sources.kernel.memory_lines import CRASH
from agent.state import Incident
from agent.status import Verdict, combine, critical, unknown, warning

SUBJECT = memory_events.SUBJECT
DRIVER = "EDAC"
EVENT_LOG = "event log"
WINDOW_S = 900.0

LIMITS = {
    "clear_after_hours": 24,
    "corrected_in_15_min_warning": 10,
    "corrected_in_15_min_critical": 100,
    "growing_runs_warning": 2,
    "uncorrected_critical": 1,
    "crash_records_warning": 1,
    "logging_stopped_warning": 1,
    "disabled_warning": 1,
}
PLAYBOOK = "replace-dimm"
PROCESSOR_PLAYBOOK = "failed-motherboard"
DEADLINE_S = ipmitool.CHECK_DEADLINE_S  # of the event log; the DIMMs answer at once


class Facts(NamedTuple):
    """One DIMM (or a processor's bank). Counts are since boot, None where no driver counts.

    growth: corrected errors since the last run; growing_runs: in how many runs in a row there were new ones.
    busiest: the most corrected errors within 15 minutes of those remembered. `*_since` and `*_text`: of kernel lines.
    """

    location: str
    corrected: Optional[int]
    uncorrected: Optional[int]
    growth: int
    growing_runs: int
    busiest: int
    corrected_hours_ago: Optional[float]
    corrected_text: str
    uncorrected_lines: int
    uncorrected_since: str
    uncorrected_text: str
    crash_records: int
    crash_hours_ago: Optional[float]
    playbook: str
    lost_lines: int
    log_not_read: str = ""
    logging_stopped: int = 0
    stopped_hours_ago: float = 0.0
    stopped_text: str = ""
    disabled: int = 0
    disabled_hours_ago: float = 0.0
    disabled_text: str = ""


def find(host: Host) -> Sequence[str]:
    reported = memory_events.told(host)
    try:
        counted = [dimm.item for dimm in edac.dimms(host)]
    except (CannotTell, NotApplicable):
        counted = [DRIVER]  # looking at it tells why
    bmc = [EVENT_LOG] if ipmitool.is_lan(host.expected.bmc) or host.exists(ipmitool.DEVICE) else []
    return [*counted, *bmc, *host.state.incident_items(SUBJECT), *reported.uncorrected]


def look(host: Host, item: str) -> Facts:
    if item == EVENT_LOG:
        return _look_at_event_log(host)
    reported = memory_events.told(host)
    if item == DRIVER:
        edac.dimms(host)
    dimm = _dimm(host, item)
    growth = _note_growth(host, item, dimm, reported.news)
    runs = (host.state.cursor(f"{SUBJECT}/growing/{item}") or 0) + 1 if growth else 0
    host.state.set_cursor(f"{SUBJECT}/growing/{item}", runs)
    remembered = host.state.incidents(SUBJECT, item)
    corrected = [seen for seen in remembered if seen.kind == CORRECTED]
    crashes = [seen for seen in remembered if seen.kind == CRASH]
    times, since, text = reported.uncorrected.get(item, (0, "", ""))
    return Facts(
        location=dimm.location,
        corrected=dimm.corrected,
        uncorrected=dimm.uncorrected,
        growth=growth,
        growing_runs=runs,
        busiest=incidents.busiest(corrected, WINDOW_S),
        corrected_hours_ago=_hours_ago(host, corrected),
        corrected_text=corrected[-1].text if corrected else "",
        uncorrected_lines=times,
        uncorrected_since=since,
        uncorrected_text=text,
        crash_records=len(crashes),
        crash_hours_ago=_hours_ago(host, crashes),
        playbook=PROCESSOR_PLAYBOOK if item.startswith("processor") else PLAYBOOK,
        lost_lines=reported.news.lost,
        log_not_read=reported.news.not_read,
    )


def _look_at_event_log(host: Host) -> Facts:
    """What the BMC logged of DIMMs; that it does not answer is the finding of the chassis check."""
    try:
        events = event_log.memory_incidents(host)
    except CannotTell as error:
        raise NotApplicable(f"not read, see the chassis check: {error}") from error
    named = [seen._replace(text=f"{dimm}: {seen.text}") for dimm, seen in events]
    named.sort(key=lambda seen: seen.at)
    kinds = ("uncorrectable", "correctable", "correctable_limit", "disabled")
    bad, corrected, stopped, disabled = ([seen for seen in named if seen.kind == kind] for kind in kinds)
    return Facts(
        location="",
        corrected=len(corrected),
        uncorrected=len(bad),
        growth=0,
        growing_runs=0,
        busiest=incidents.busiest(corrected, WINDOW_S),
        corrected_hours_ago=_hours_ago(host, corrected),
        corrected_text=corrected[-1].text if corrected else "",
        uncorrected_lines=len(bad),
        uncorrected_since=incidents.clock(bad[0].at) if bad else "",
        uncorrected_text=bad[-1].text if bad else "",
        crash_records=0,
        crash_hours_ago=None,
        playbook=PLAYBOOK,
        lost_lines=0,
        logging_stopped=len(stopped),
        stopped_hours_ago=_hours_ago(host, stopped) or 0.0,
        stopped_text=stopped[-1].text if stopped else "",
        disabled=len(disabled),
        disabled_hours_ago=_hours_ago(host, disabled) or 0.0,
        disabled_text=disabled[-1].text if disabled else "",
    )


def _dimm(host: Host, item: str) -> edac.Dimm:
    """The DIMM of this label; one that no driver counts has no counts."""
    try:
        found = [dimm for dimm in edac.dimms(host) if dimm.item == item]
    except (CannotTell, NotApplicable):
        found = []
    return found[0] if found else edac.Dimm(item, "", None, None)


def _note_growth(host: Host, item: str, dimm: edac.Dimm, news: kernel_log.News) -> int:
    """New corrected errors since the last run, 0 on the first; those that no line told of are noted too."""
    reported = sum(seen.times for seen in news.incidents.get(item, []) if seen.kind == CORRECTED)
    grown = None if dimm.corrected is None else host.state.delta(f"{SUBJECT}/{item}", dimm.corrected)
    if grown is None:
        return 0 if news.first else reported
    if grown.change > reported:
        text = f"corrected errors grew by {grown.change} to {dimm.corrected}"
        unreported = incidents.spread(CORRECTED, host.now(), grown.seconds, grown.change - reported, text)
        host.state.add_incidents(SUBJECT, item, unreported)
    return grown.change


def _hours_ago(host: Host, seen: Sequence[Incident]) -> Optional[float]:
    return host.hours_since(seen[-1].at) if seen else None


def judge(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    verdicts = [*_judge_uncorrected(facts, limits), *_judge_corrected(facts, limits), *_judge_firmware(facts, limits)]
    silent = facts.corrected_hours_ago is None and facts.crash_hours_ago is None
    if not verdicts and facts.corrected is None and facts.uncorrected is None and silent:
        return unknown("the EDAC driver lists this DIMM but does not count its errors")
    healthy = f"{facts.corrected} corrected errors since boot, {facts.growth} new" if facts.corrected else "no errors"
    healthy += f"; kernel log not read: {facts.log_not_read}" if facts.log_not_read else ""
    return combine(verdicts, healthy)


def _judge_firmware(facts: Facts, limits: Mapping[str, Any]) -> List[Verdict]:
    verdicts = []
    clear, crash = limits["clear_after_hours"], facts.crash_hours_ago
    if crash is not None and crash < clear and facts.crash_records >= limits["crash_records_warning"]:
        message = "the firmware kept an error record of a crash: the previous boot ended in a hardware error"
        verdicts.append(warning(message, PROCESSOR_PLAYBOOK))
    if facts.stopped_hours_ago < clear and facts.logging_stopped >= limits["logging_stopped_warning"]:
        verdicts.append(
            warning(
                f"too many corrected errors, no longer logged: {kernel_log.quoted(facts.stopped_text)}",
                PLAYBOOK,
            )
        )
    if facts.disabled_hours_ago < clear and facts.disabled >= limits["disabled_warning"]:
        verdicts.append(warning(f"the firmware mapped out memory: {kernel_log.quoted(facts.disabled_text)}", PLAYBOOK))
    return verdicts


def _judge_uncorrected(facts: Facts, limits: Mapping[str, Any]) -> List[Verdict]:
    count = max(facts.uncorrected or 0, facts.uncorrected_lines)
    if count < limits["uncorrected_critical"]:
        return []
    where = f" at {facts.location}" if facts.location else ""
    line = (
        f" since {facts.uncorrected_since}: {kernel_log.quoted(facts.uncorrected_text)}"
        if facts.uncorrected_lines
        else " since boot"
    )
    return [critical(f"{count} uncorrected error{'s' if count > 1 else ''}{where}{line}", facts.playbook)]


def _judge_corrected(facts: Facts, limits: Mapping[str, Any]) -> List[Verdict]:
    where = f" at {facts.location}" if facts.location else ""
    recent = facts.corrected_hours_ago is not None and facts.corrected_hours_ago < limits["clear_after_hours"]
    burst = f"{facts.busiest} corrected errors within 15 min{where}: {kernel_log.quoted(facts.corrected_text)}"
    if recent and facts.busiest >= limits["corrected_in_15_min_critical"]:
        return [critical(burst, facts.playbook)]
    if recent and facts.busiest >= limits["corrected_in_15_min_warning"]:
        return [warning(burst, facts.playbook)]
    if facts.growing_runs >= limits["growing_runs_warning"]:
        message = f"new corrected errors in {facts.growing_runs} runs in a row{where}, {facts.growth} in the last"
        return [warning(message, facts.playbook)]
    return []
