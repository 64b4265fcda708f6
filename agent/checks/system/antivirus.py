"""Does a virus scanner slow down or block Kafka's access to its disks?

A scanner that sees every access to a data directory slows each produce and fetch, may hold files open or move them
away, and can stop a broker. Known products are found by package, unit and process; any other program by the kernel's
list of fanotify watches, which needs no list of products.

Warning: a product is installed or scheduled; or it runs, and says that the data directories are excluded (ClamAV,
Microsoft Defender), or the limit `accepted` names it; or an unknown program listens to accesses elsewhere.
Critical: a product runs, or any program watches or scans a data directory.
Unknown: not root, or processes that not even root can inspect.
Ok again: as soon as it is stopped, excluded or removed.
"""

from __future__ import annotations

from typing import Any, List, Mapping, Sequence, Tuple

from agent.host import Host
from agent.named_tuples import NamedTuple
from agent.sources.disks import mount_table
from agent.sources.kafka import processes as kafka
from agent.sources.kafka import server_folders
from agent.sources.system import antivirus_products, fanotify
from agent.status import Verdict, combine, critical, unknown, warning

# accepted: names of products, separated by commas, that the site must run.
LIMITS = {"accepted": ""}
PLAYBOOK = "antivirus"
NONE_FOUND = "antivirus"


class Facts(NamedTuple):
    """running: "clamd (311)". watched: data mounts of which the kernel tells it each access. scanning: data paths."""

    product: str
    known: bool
    packages: Tuple[str, ...]
    units: Tuple[str, ...]
    scheduled: Tuple[str, ...]
    running: Tuple[str, ...]
    watched: Tuple[str, ...]
    watches_elsewhere: bool
    holds_up: bool
    scanning: Tuple[str, ...]
    excluded: bool
    hidden: Tuple[str, ...]
    as_root: bool


def find(host: Host) -> Sequence[str]:
    kafka.need_role(host)
    known = antivirus_products.traces(host)
    ours = {process.pid for traces in known.values() for process in traces.processes + traces.scanners}
    names = {process.pid: process.name for process in host.processes()}
    listening = fanotify.listeners(host)
    others = {names.get(listener.pid, "?") for listener in listening.seen if listener.pid not in ours}
    found = [name for name, traces in known.items() if _counts(host, traces)] + sorted(others)
    return found + [NONE_FOUND] if listening.hidden or not host.is_root() or not found else found


def _counts(host: Host, traces: antivirus_products.Traces) -> bool:
    """A scanner that was started by hand counts only while it scans a data directory."""
    return any(traces._replace(scanners=())) or bool(_scanned(host, traces))


def look(host: Host, item: str) -> Facts:
    traces = antivirus_products.traces(host).get(item, antivirus_products.Traces((), (), (), (), ()))
    listeners, hidden = fanotify.listeners(host)
    processes = traces.processes + traces.scanners
    if not any(traces):
        processes = tuple(p for p in host.processes() if p.name == item and p.pid in {seen.pid for seen in listeners})
    pids = {process.pid for process in processes}
    marks = [mark for listener in listeners if listener.pid in pids for mark in listener.marks]
    watched = _watched(host, marks)
    excluded = antivirus_products.excluded_paths(host, item, [process.name for process in processes])
    paths = _data_paths(host)
    return Facts(
        product=item,
        known=any(traces),
        packages=traces.packages,
        units=traces.units,
        scheduled=traces.scheduled,
        running=tuple(f"{process.name} ({process.pid})" for process in processes if process not in traces.scanners),
        watched=watched,
        watches_elsewhere=bool(marks) and not watched,
        holds_up=any(mark.holds_up for mark in marks),
        scanning=_scanned(host, traces),
        excluded=bool(paths) and all(any(_below(path, outer) for outer in excluded) for path in paths),
        hidden=_names(host, hidden) if item == NONE_FOUND else (),
        as_root=host.is_root() or item != NONE_FOUND,
    )


def _names(host: Host, pids: Sequence[int]) -> Tuple[str, ...]:
    """`dockerd (211)`, or the number alone of a process that ended since."""
    names = {process.pid: process.name for process in host.processes()}
    return tuple(f"{names[pid]} ({pid})" if pid in names else f"process {pid}" for pid in pids)


def _few(words: Sequence[str]) -> str:
    return ", ".join(words[:3])


def _data_paths(host: Host) -> List[str]:
    """What the inventory says, or else what the configuration of the running servers says."""
    paths = list(host.expected.mount_paths)
    for service in kafka.services(host):
        paths += [folder.path for folder in server_folders.of(host, service) if folder.path]
    return list(dict.fromkeys(paths))


def _watched(host: Host, marks: Sequence[fanotify.Mark]) -> Tuple[str, ...]:
    """The data mounts that the marks see. A mark on one directory of the root file system says nothing of ours."""
    found = []
    for mount in filter(None, (mount_table.mount_of(host, path) for path in _data_paths(host))):
        if any(mark.dev == mount.dev and (mark.kind != "inode" or mount.path != "/") for mark in marks):
            found.append(mount.path)
    return tuple(dict.fromkeys(found))


def _scanned(host: Host, traces: antivirus_products.Traces) -> Tuple[str, ...]:
    """The data paths that a scanner's arguments name, or lie above or below."""
    named = [word for process in traces.scanners for word in process.argv[1:] if word.startswith("/")]
    return tuple(path for path in _data_paths(host) if any(_below(path, word) or _below(word, path) for word in named))


def _below(path: str, outer: str) -> bool:
    return (path.rstrip("/") + "/").startswith(outer.rstrip("/") + "/")


def judge(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    rules = _rules(facts, [name.strip() for name in str(limits["accepted"]).split(",")])
    if not facts.as_root:
        rules.append(unknown("needs root: which processes watch file accesses (fanotify)"))
    elif facts.hidden:
        more = f" and {len(facts.hidden) - 3} more" if len(facts.hidden) > 3 else ""
        rules.append(unknown(f"fanotify watches unknown, not readable even as root: {_few(facts.hidden)}{more}"))
    return combine(rules, "no antivirus product installed or running, no program watches file accesses")


def _rules(facts: Facts, accepted: Sequence[str]) -> List[Verdict]:
    who = _few(facts.running) or facts.product
    if facts.product not in who:
        who = f"{facts.product}: {who}"
    serious = warning if facts.excluded else critical
    but = ", but its configuration excludes the data directories" if facts.excluded else ""
    if facts.watched:
        how = "blocks" if facts.holds_up else "watches"
        where = ", ".join(facts.watched[:4])
        return [
            serious(f"{who} {how} every file access on {where}{but or ': exclude it or stop the program'}", PLAYBOOK)
        ]
    if facts.scanning:
        return [serious(f"{facts.product} is scanning {', '.join(facts.scanning[:4])} now{but}", PLAYBOOK)]
    if facts.running and not facts.known:
        return [warning(f"{who} has fanotify watches, none on a data mount", PLAYBOOK)]
    if facts.running:
        serious = warning if facts.product in accepted else serious
        return [serious(f"{who} is running{but or ': exclude the data directories or stop it'}", PLAYBOOK)]
    if facts.scheduled:
        return [warning(f"{facts.product} is scheduled by {_few(facts.scheduled)}", PLAYBOOK)]
    if facts.packages or facts.units:
        by = ", ".join((facts.packages + facts.units)[:3])
        return [warning(f"{facts.product} is installed ({by}), not running", PLAYBOOK)]
    return []
