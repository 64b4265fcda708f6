"""How close are the broker, ZooKeeper and the whole system to their limits of open files?

Warning: 70 % of the limit in use; a Kafka or ZooKeeper process whose own limit is below 100000.
Critical: 85 % of the limit in use. A broker that runs out closes its log dirs and stops.
Unknown: only root may count another user's open files.
Ok again: below the limit; a raised limit counts from the restart of the process (LimitNOFILE= in its systemd unit).
"""

from __future__ import annotations

from typing import Any, List, Mapping, Sequence

from agent.host import CannotTell, Host, NotApplicable
from agent.named_tuples import NamedTuple
from agent.sources.kafka import processes as kafka
from agent.status import Verdict, combine, critical, warning

LIMITS = {"used_percent_warning": 70, "used_percent_critical": 85, "limit_warning": 100000}
PLAYBOOK = "tune-os"
SYSTEM = "system"
# fs.file-max of a kernel that sets none
NO_LIMIT = 1 << 62


class Facts(NamedTuple):
    """open_files_limit is -1 where there is none; pid is 0 for the whole system."""

    pid: int
    open_files: int
    open_files_limit: int


def find(host: Host) -> Sequence[str]:
    return [SYSTEM] if not host.expected.roles else [SYSTEM, *kafka.items(host)]


def look(host: Host, item: str) -> Facts:
    if item == SYSTEM:
        return parse_file_nr(host.read("/proc/sys/fs/file-nr"))
    service = kafka.running(host).get(item)
    if service is None:
        raise NotApplicable(f"{item} is not running (see services)")
    use = host.process_use(service.process.pid)
    return Facts(service.process.pid, use.open_files, use.open_files_limit)


def parse_file_nr(text: str) -> Facts:
    """`746\\t0\\t2466177`: allocated, unused, the most there may be."""
    words = text.split()
    if len(words) != 3 or not all(word.isascii() and word.isdigit() for word in words):
        raise CannotTell(f"/proc/sys/fs/file-nr contains {text[:40]!r}, not three numbers")
    most = int(words[2])
    return Facts(0, int(words[0]), -1 if most >= NO_LIMIT else most)


def judge(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    whose = f"process {facts.pid}" if facts.pid else "the whole system"
    if facts.open_files_limit < 0:
        return combine([], healthy=f"{facts.open_files} open files of {whose}, no limit")
    found: List[Verdict] = []
    percent = 100 * facts.open_files / max(facts.open_files_limit, 1)
    message = f"{facts.open_files} of {facts.open_files_limit} open files ({percent:.0f} %) of {whose}"
    if percent >= limits["used_percent_critical"]:
        found.append(critical(message, PLAYBOOK))
    elif percent >= limits["used_percent_warning"]:
        found.append(warning(message, PLAYBOOK))
    if facts.pid and facts.open_files_limit < limits["limit_warning"]:
        may = f"{'it' if found else whose} may open {facts.open_files_limit} files"
        found.append(warning(f"{may}, should be at least {limits['limit_warning']}", PLAYBOOK))
    return combine(found, healthy=message)
