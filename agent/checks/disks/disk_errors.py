"""Has the kernel logged errors of this disk, its controller or its file system?

Kafka notices a broken disk when a request fails; the kernel logs it earlier. Each line is counted once, many lines
of one kind are one finding: "41 medium errors since 02:58Z, last 03:12Z". The item is the disk (partitions count as
their disk), the md array, the device-mapper or loop device, the controller, or `blocked tasks`.
Critical: a device taken offline and not back, a file-system error or shutdown, a remount read-only, an aborted journal,
a failed md member, a faulty controller, a controller or array that did not come up, a fatal PCIe error, a hardware
error or predicted failure reported by the drive, or 50 medium or I/O errors.
Warning: any medium or I/O error, command timeout, reset, link error, repaired read, degraded array, hung task or
uncorrected PCIe error, 100 corrected PCIe errors in an hour, and a file system that an operator shut down.
Unknown: the item `kernel log`, when lines were overwritten before they were read; /dev/kmsg cannot be read.
Ok again: 24 hours after the last such line (`clear_after_hours`), after a reboot, or when the disk was replaced.
"""

from __future__ import annotations

from typing import Any, List, Mapping, Sequence, Tuple

from agent.host import CannotTell, Host
from agent.named_tuples import NamedTuple
from agent.sources.disks import block_devices
from agent.sources.kernel import disk_event_kinds as kinds
from agent.sources.kernel import disk_events, incidents, returned_disks
from agent.sources.kernel import log as kernel_log
from agent.sources.kernel import pcie_lines as pcie
from agent.state import Incident
from agent.status import Verdict, combine, critical, ok, unknown, warning

SUBJECT = "disk_errors"
KERNEL_LOG = "kernel log"
DISKS = "disks"
LOST = "lost lines"
HOUR_S = 3600.0

LIMITS = {
    "clear_after_hours": 24,
    "medium_errors_warning": 1,
    "medium_errors_critical": 50,
    "io_errors_warning": 1,
    "io_errors_critical": 50,
    "command_timeouts_warning": 1,
    "command_timeouts_critical": 20,
    "resets_warning": 1,
    "resets_critical": 20,
    "link_errors_warning": 1,
    "corrected_reads_warning": 1,
    "degraded_arrays_warning": 1,
    "controller_events_warning": 1,
    "damaged_file_systems_warning": 1,
    "operator_shutdowns_warning": 1,
    "hung_tasks_warning": 1,
    "hung_tasks_critical": 10,
    "offline_devices_critical": 1,
    "hardware_errors_critical": 1,
    "predicted_failures_critical": 1,
    "failed_members_critical": 1,
    "controller_faults_critical": 1,
    "file_system_errors_critical": 1,
    "file_system_shutdowns_critical": 1,
    "read_only_remounts_critical": 1,
    "journal_aborts_critical": 1,
    "start_failures_critical": 1,
    "array_start_failures_critical": 1,
    "fatal_pcie_errors_critical": 1,
    "pcie_errors_warning": 1,
    "corrected_pcie_errors_in_an_hour_warning": 100,
    "lost_lines_unknown": 1,
}
PLAYBOOK = "replace-jbod-disk"
RAID_PLAYBOOK = "replace-raid10-disk"


class Rule(NamedTuple):
    """How one kind is told and mended. name: of its limits, and in words. playbook: empty for that of a disk."""

    name: str
    playbook: str = ""

    @property
    def words(self) -> str:
        return (
            self.name.replace("_", " ")
            .replace("io err", "I/O err")
            .replace("read only", "read-only")
            .replace("pcie", "PCIe")
        )


RULES: Mapping[str, Rule] = {
    kinds.MEDIUM: Rule("medium_errors"),
    kinds.IO: Rule("io_errors"),
    kinds.TIMEOUT: Rule("command_timeouts"),
    kinds.RESET: Rule("resets"),
    kinds.LINK: Rule("link_errors"),
    kinds.CORRECTED: Rule("corrected_reads", RAID_PLAYBOOK),
    kinds.DEGRADED: Rule("degraded_arrays", RAID_PLAYBOOK),
    kinds.CONTROLLER_EVENT: Rule("controller_events", "failed-motherboard"),
    kinds.FS_MARKED: Rule("damaged_file_systems", "hidden-readonly"),
    kinds.FS_STOPPED: Rule("operator_shutdowns", "hidden-readonly"),
    kinds.HUNG_TASK: Rule("hung_tasks", "hung-disk"),
    kinds.OFFLINE: Rule("offline_devices"),
    kinds.HARDWARE: Rule("hardware_errors"),
    kinds.PREDICTED: Rule("predicted_failures"),
    kinds.MEMBER_FAILED: Rule("failed_members", RAID_PLAYBOOK),
    kinds.CONTROLLER: Rule("controller_faults", "failed-motherboard"),
    kinds.FS_ERROR: Rule("file_system_errors", "hidden-readonly"),
    kinds.FS_SHUTDOWN: Rule("file_system_shutdowns", "hidden-readonly"),
    kinds.READ_ONLY: Rule("read_only_remounts", "hidden-readonly"),
    kinds.JOURNAL: Rule("journal_aborts", "hidden-readonly"),
    kinds.NOT_STARTED: Rule("start_failures", "failed-motherboard"),
    kinds.ARRAY_NOT_STARTED: Rule("array_start_failures", RAID_PLAYBOOK),
    pcie.PCIE_FATAL: Rule("fatal_pcie_errors", "failed-motherboard"),
    pcie.PCIE_ERROR: Rule("pcie_errors", "failed-motherboard"),
    pcie.PCIE_CORRECTED: Rule("corrected_pcie_errors_in_an_hour", "failed-motherboard"),
    LOST: Rule("lost_lines", "tune-os"),
}


class Facts(NamedTuple):
    """One column for each kind of line, the latest first. Times are UTC; hours_ago: since the last of the kind.

    Of what was offline before a device came back, and of a disk before it was swapped, nothing is told.
    """

    device: str
    layout: str
    kinds: Tuple[str, ...]
    counts: Tuple[int, ...]
    first_at: Tuple[str, ...]
    last_at: Tuple[str, ...]
    hours_ago: Tuple[float, ...]
    last_text: Tuple[str, ...]
    lost_lines: int
    log_since: str
    most_in_an_hour: Tuple[int, ...] = ()


def find(host: Host) -> Sequence[str]:
    _news(host)
    try:
        disks = block_devices.disks(host)
    except CannotTell:
        return [DISKS, *host.state.incident_items(SUBJECT), KERNEL_LOG]
    items = [name for name, disk in disks.items() if disk.kind in ("physical", "md")]
    return [
        *items,
        *returned_disks.missing(host, list(disks.values())),
        *host.state.incident_items(SUBJECT),
        KERNEL_LOG,
    ]


def look(host: Host, item: str) -> Facts:
    news = _news(host)
    remembered = returned_disks.still_true(host, SUBJECT, item)
    chains = incidents.chains_of(remembered)
    if item == DISKS:
        block_devices.disks(host)  # raises why there are none
    known = _known(host)
    if item in host.expected.disks and item not in known and not chains:
        raise CannotTell(f"the inventory expects disk {item}, but the kernel lists no such disk")
    now = host.now()
    oldest = min((record.at for record in kernel_log.records(host)), default=now - host.uptime_s())
    return Facts(
        known[item] if known.get(item, item) != item else "",
        host.expected.layout,
        tuple(chain.kind for chain in chains),
        tuple(chain.times for chain in chains),
        tuple(incidents.clock(chain.first_at, now) for chain in chains),
        tuple(incidents.clock(chain.last_at, now) for chain in chains),
        tuple(host.hours_since(chain.last_at) for chain in chains),
        tuple(chain.text for chain in chains),
        news.lost,
        incidents.clock(oldest, now),
        tuple(incidents.busiest_of(remembered, chain.kind, HOUR_S) for chain in chains),
    )


def _news(host: Host) -> kernel_log.News:
    return host.once("disk_errors.news", lambda: _note(host))


def _note(host: Host) -> kernel_log.News:
    """Note what the kernel said since the last run, and what nobody can read any more."""

    def digest(new: Sequence[kernel_log.Record]) -> List[Tuple[str, Incident]]:
        devices = disk_events.devices(host)
        troubled = host.state.incident_items(SUBJECT)
        return kernel_log.gather(disk_events.sightings(new, kernel_log.records(host), devices, troubled))

    returned_disks.swaps(host)
    news = kernel_log.note_together(host, SUBJECT, digest)
    if news.lost and not news.first:
        text = "overwritten in the kernel's ring buffer before they were read; run more often or increase log_buf_len"
        host.state.add_incidents(SUBJECT, KERNEL_LOG, [Incident(LOST, host.now(), news.lost, text)])
    return news


def _known(host: Host) -> Mapping[str, str]:
    """Each disk as a person finds it in the rack, those that vanished since the boot included."""
    known = dict(host.state.cursor("disk_errors/known") or {})
    known.update({name: block_devices.describe(host, name) for name in disk_events.devices(host).disks})
    host.state.set_cursor("disk_errors/known", known)
    return known


def judge(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    found = [
        (verdict, facts.last_text[number])
        for number, kind in enumerate(facts.kinds)
        if facts.hours_ago[number] < limits["clear_after_hours"]
        for verdict in _judge_kind(facts, number, RULES[kind], limits)
    ]
    if not found:
        return ok(_quiet(facts))
    combined = combine([verdict for verdict, _text in found], healthy="")
    text = next(text for verdict, text in found if verdict.status == combined.status)
    device = f"{facts.device}: " if facts.device else ""
    return combined._replace(reason=f"{device}{combined.reason}: {kernel_log.quoted(text)}")


def _judge_kind(facts: Facts, number: int, rule: Rule, limits: Mapping[str, Any]) -> List[Verdict]:
    disk_playbook = RAID_PLAYBOOK if facts.layout == "raid10" else PLAYBOOK
    for level, verdict in (("critical", critical), ("warning", warning), ("unknown", unknown)):
        counts = facts.most_in_an_hour if rule.name.endswith("_in_an_hour") else facts.counts
        count = counts[number]
        if count >= limits.get(f"{rule.name}_{level}", float("inf")):
            return [verdict(_said(facts, number), rule.playbook or disk_playbook)]
    return []


def _quiet(facts: Facts) -> str:
    missing = f" ({facts.lost_lines} lines lost)" if facts.lost_lines else ""
    if facts.kinds:
        return f"no new errors for {min(facts.hours_ago):.0f} h; {_said(facts, 0)}{missing}"
    return f"no errors in the kernel log since {facts.log_since}{missing}"


def _said(facts: Facts, number: int) -> str:
    """41 medium errors since 02:58Z, last 03:12Z"""
    words = RULES[facts.kinds[number]].words
    first, last = facts.first_at[number], facts.last_at[number]
    when = f"at {last}" if first == last else f"since {first}, last {last}"
    count = facts.counts[number]
    return f"{count} {words[:-1] if count == 1 else words} {when}"
