"""Did the broker, or the machine, run out of memory?

Item of each server: java.lang.OutOfMemoryError in its logs (server.log, kafka.err, its standard output and error, its
systemd journal) since the last run. Item kernel: processes that the kernel killed for lack of memory.
Warning: the kernel killed another process, or one that its log does not name.
Critical: an OutOfMemoryError of the broker or ZooKeeper (it must be restarted: what it does from there is undefined),
or the kernel killed it.
Unknown: none of its logs can be read, or more was written since the last run than can be searched.
Ok again: 24 hours after the last one, or after a reboot. Each is reported once; of a log seen first, only what is dated
within those 24 hours and this boot.
"""

from __future__ import annotations

import re
from typing import Any, Dict, Iterable, List, Mapping, Sequence, Tuple

from agent.host import CannotTell, Host
from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple
from agent.sources.kafka import log_files
from agent.sources.kafka import processes as kafka
from agent.sources.kernel import log as kernel_log
from agent.sources.kernel import oom_lines
from agent.state import Incident
from agent.status import Verdict, combine, critical, moment, unknown, warning

LIMITS = {"clear_after_hours": 24}
PLAYBOOK = "out-of-memory"
SUBJECT = "out_of_memory"
KERNEL = "kernel"
NEEDLE = "java.lang.OutOfMemoryError"
PIDS_KEPT = 20

# oom_kill 3
OOM_KILL_COUNTER = pattern(r"^oom_kill (\d{1,19})$", re.MULTILINE | re.ASCII)


class Facts(NamedTuple):
    """What happened: hours ago, when, of a server or of another process, what, how often. searched: the logs read."""

    item: str
    hours_ago: Tuple[float, ...]
    at: Tuple[str, ...]
    of_server: Tuple[bool, ...]
    what: Tuple[str, ...]
    times: Tuple[int, ...]
    searched: Tuple[str, ...]
    not_read: Tuple[str, ...]


def find(host: Host) -> Sequence[str]:
    return [KERNEL] if not host.expected.roles else [KERNEL, *kafka.items(host)]


def look(host: Host, item: str) -> Facts:
    searched: Sequence[str] = ()
    not_read: Sequence[str] = ()
    if item == KERNEL:
        searched = _look_at_kernel(host)
    else:
        reading = log_files.read_new(host, SUBJECT, item, NEEDLE)
        searched, not_read = reading.searched, reading.not_read
        for found in reading.found:
            _note(host, item, found)
    incidents = host.state.incidents(SUBJECT, item)
    return Facts(
        item=item,
        hours_ago=tuple(host.hours_since(incident.at) for incident in incidents),
        at=tuple(moment(incident.at) for incident in incidents),
        of_server=tuple(incident.kind == "server" for incident in incidents),
        what=tuple(incident.text for incident in incidents),
        times=tuple(incident.times for incident in incidents),
        searched=tuple(searched),
        not_read=tuple(not_read),
    )


def _look_at_kernel(host: Host) -> List[str]:
    """Lines name the killed process; the counter also knows of those whose lines are lost."""
    before = _kills(host)
    problem = ""
    try:
        kernel_log.note_new(host, SUBJECT, _classifier(host))
    except CannotTell as error:
        problem = str(error)
    counter = OOM_KILL_COUNTER.search(host.read("/proc/vmstat"))
    if counter is None:
        if problem:
            raise CannotTell(problem)
        return ["the kernel's log"]
    counted = int(counter.group(1))
    grown = host.state.delta(f"{SUBJECT}/oom_kill", counted)
    if problem and counted and grown is None:
        raise CannotTell(f"the kernel killed {counted} processes since boot; which and when is unknown: {problem}")
    unnamed = grown.change - (_kills(host) - before) if grown else 0
    if unnamed > 0:
        host.state.add_incidents(SUBJECT, KERNEL, [Incident("other", host.now(), unnamed, "a process")])
    return ["the oom_kill counter"] if problem else ["the kernel's log", "the oom_kill counter"]


def _kills(host: Host) -> int:
    return sum(incident.times for incident in host.state.incidents(SUBJECT, KERNEL))


def _classifier(host: Host) -> kernel_log.Classifier:
    servers = _server_pids(host)
    kafka_machine = bool(host.expected.roles)

    def classify(record: kernel_log.Record) -> Iterable[Tuple[str, Incident]]:
        killed = oom_lines.killed_process(record.text)
        if killed is None:
            return []
        who = f"{killed.name} (process {killed.pid})"
        kind = "other"
        if str(killed.pid) in servers:
            kind, who = "server", f"{servers[str(killed.pid)]}, {who}"
        elif kafka_machine and killed.name == "java":
            kind, who = "server", f"{who}, possibly the broker"
        return [(KERNEL, Incident(kind, record.at, 1, who))]

    return classify


def _server_pids(host: Host) -> Dict[str, str]:
    """The processes of the servers of this boot, those of earlier runs too, by their id."""
    earlier: Dict[str, str] = host.state.cursor(f"{SUBJECT}/pids") or {}
    now = {str(service.process.pid): item for item, service in kafka.running(host).items()}
    pids = dict([*earlier.items(), *now.items()][-PIDS_KEPT:])
    host.state.set_cursor(f"{SUBJECT}/pids", pids)
    return pids


def _note(host: Host, item: str, found: log_files.Search) -> None:
    """One incident for each kind of error in one log."""
    for error in oom_lines.errors(found.text, log_files.zone(host)) if found.text else ():
        at = log_files.happened(host, found, error.at)
        if at is not None:
            text = f"{error.words} in {found.path}"[:200]
            host.state.add_incidents(SUBJECT, item, [Incident("server", at, error.times, text)])


def judge(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    rows = zip(facts.hours_ago, facts.at, facts.of_server, facts.what, facts.times)
    recent = [row for row in rows if row[0] < limits["clear_after_hours"]]
    servers = [row for row in recent if row[2]]
    others = [row for row in recent if not row[2]]
    found = (
        [unknown(f"logs of {facts.item} not read completely: {', '.join(facts.not_read)}")] if facts.not_read else []
    )
    if servers:
        found.append(critical(_said(facts.item, servers), _playbook(servers[-1][3])))
    if others:
        found.append(warning(_said(facts.item, others), PLAYBOOK))
    return combine(found, healthy=f"none in {', '.join(facts.searched)}")


def _said(item: str, rows: Sequence[Tuple[float, str, bool, str, int]]) -> str:
    times = sum(row[4] for row in rows)
    how_often = f", {times} times, last at {rows[-1][1]}" if times > 1 else f" at {rows[-1][1]}"
    if item == KERNEL:
        return f"the kernel killed {rows[-1][3]} for lack of memory{how_often}"
    return f"{item}: {rows[-1][3]}{how_often}"


def _playbook(what: str) -> str:
    """Java says "Map failed" at the limit of vm.max_map_count."""
    return "tune-os" if "Map failed" in what or "native thread" in what else PLAYBOOK
