"""The files that a Kafka or ZooKeeper server writes its log and its error output to, and their new lines."""

from __future__ import annotations

from typing import List, Optional, Sequence, Tuple

from agent.host import CannotTell, Host, Missing, cached_per_run
from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple
from agent.sources.kafka import processes as kafka
from agent.sources.kernel import oom_lines
from agent.sources.system import systemd

# java -Dkafka.logs.dir=/var/log/kafka … and for ZooKeeper -Dzookeeper.log.dir=/var/log/zookeeper
LOG_FOLDER = pattern(r"-D(?:kafka\.logs|zookeeper\.log)\.dir=(/.*)")
NAMES = {
    "broker": ("server.log", "kafka.err", "kafkaServer.out", "kafka.log"),
    "controller": ("server.log", "controller.log", "kafka.err", "kafkaServer.out"),
    "zookeeper": ("zookeeper.log", "zookeeper.out", "zookeeper.err", "server.log"),
}
USUAL_FOLDERS = {"broker": "/var/log/kafka", "controller": "/var/log/kafka", "zookeeper": "/var/log/zookeeper"}

# Kafka's own log4j.properties has two more: what its controller does, and who leads and follows which partition.
STATE_NAMES = ("state-change.log", "controller.log")

# The place in a log that did not exist yet: all that it holds later is new.
ABSENT = [0, 0]
FIRST_BYTES, MOST_BYTES = 1 << 20, 64 << 20
FIRST_S = 86400
FILES_KEPT = 16
JOURNAL_LINES = 1000


class Search(NamedTuple):
    """What was new in one log. text: matching lines, each with the line before it. first: never looked for before.

    skipped: how much of what is new was not searched, in words; empty if all was.
    """

    path: str
    inode: int
    text: str
    first: bool
    skipped: str


class Logs(NamedTuple):
    """files: where a server may write. journal: its systemd unit, if its output goes to the journal."""

    files: List[str]
    journal: str


def logs(host: Host, service: kafka.Service) -> Logs:
    """Its standard output and error, the folder on its command line, the usual folders."""
    matches = (LOG_FOLDER.fullmatch(word) for word in service.process.argv)
    folders = [match.group(1).rstrip("/") for match in matches if match]
    outputs = [_output(host, service.process.pid, number) for number in (1, 2)]
    files = [path for path in outputs if path.startswith("/") and not path.startswith("/dev/")]
    journal = any(path.startswith("socket:") for path in outputs)
    unit = systemd.unit_of(host, service.process.pid) if journal else ""
    return Logs(list(dict.fromkeys([*files, *_named(service.role, folders)])), unit)


def usual(role: str) -> Logs:
    """Where a server that does not run would have written."""
    return Logs(_named(role, []), "")


def _named(role: str, folders: Sequence[str]) -> List[str]:
    return [f"{folder}/{name}" for folder in (*folders, USUAL_FOLDERS[role]) for name in NAMES[role]]


def _output(host: Host, pid: int, number: int) -> str:
    """What standard output or error is: a path, `socket:[7]`, `pipe:[9]`; empty if it cannot be told."""
    try:
        target = str(host.touch("link", f"/proc/{pid}/fd/{number}").facts.get("target", ""))
    except CannotTell:
        return ""
    return "" if target.endswith(" (deleted)") else target


class Reading(NamedTuple):
    """What a run found new in the logs of one server. searched: the logs by name. not_read: what was not, and why."""

    found: Tuple[Search, ...]
    not_read: Tuple[str, ...]

    @property
    def searched(self) -> Tuple[str, ...]:
        return tuple(search.path for search in self.found)


@cached_per_run
def known(host: Host, item: str) -> Logs:
    """Where a server writes now and where it wrote in earlier runs; of one that never ran, the usual places."""
    row = next((row for row in kafka.known_servers(host) if row.item == item), None)
    before = _remembered(host, item) or usual(row.role if row else item)
    if row is None or row.service is None:
        return before
    now = logs(host, row.service)
    both = Logs(list(dict.fromkeys([*now.files, *before.files]))[:FILES_KEPT], now.journal or before.journal)
    host.state.remember(f"kafka_logs/{item}", both)
    return both


def _remembered(host: Host, item: str) -> Optional[Logs]:
    noted = host.state.remembered(f"kafka_logs/{item}")
    if not isinstance(noted, list) or len(noted) != 2 or not isinstance(noted[0], list):
        return None
    return Logs(*noted) if all(isinstance(text, str) for text in [*noted[0], noted[1]]) else None


def read_new(host: Host, subject: str, item: str, needles: str, names: Sequence[str] = ()) -> Reading:
    """The lines with one of the needles (`this|that`) in all logs of a server that no earlier run of `subject` saw.

    names: logs that lie beside its server.log. CannotTell where no log is found.
    """
    logs = known(host, item)
    beside = [f"{path[: -len('server.log')]}{name}" for path in logs.files if path.endswith("/server.log")
              for name in names]  # fmt: skip
    row = next((row for row in kafka.known_servers(host) if row.item == item), None)
    gone = -int(row.user) if row and row.user else 0
    named_by = row.service.process.pid if row and row.service else gone
    found: List[Search] = []
    not_read: List[str] = []
    for path in [*logs.files, *beside, *([f"journal:{logs.journal}"] if logs.journal else [])]:
        try:
            one = _search(host, subject, path, needles, named_by)
        except Missing:
            continue
        except CannotTell as error:
            not_read.append(str(error)[:100])
            continue
        if one.inode and one.inode in [other.inode for other in found]:
            continue  # the same file by another name
        found.append(one)
        if one.skipped:
            not_read.append(f"{one.skipped} of {one.path} (more than one run reads)")
    if not found and not not_read:
        raise CannotTell(f"no log of {item} found; searched {', '.join(logs.files[:3])} and others")
    return Reading(tuple(found), tuple(not_read))


def happened(host: Host, found: Search, dated: Optional[float]) -> Optional[float]:
    """When something new in a log happened, by its date; None if that is old news.

    What is undated happened just now; of a log seen first, only what is dated within a day and this boot is news.
    """
    now = host.now()
    oldest = max(now - FIRST_S, now - host.uptime_s()) if found.first else (host.state.previous_at or 0.0)
    if found.first and (dated is None or dated < oldest):
        return None
    return now if dated is None else min(max(dated, oldest), now)


@cached_per_run
def zone(host: Host) -> str:
    """The machine's own time zone (`+0100`), in which Java writes; UTC where nobody tells."""
    try:
        return host.run("env", "-u", "TZ", "date", "+%z").out.strip()
    except CannotTell:
        return "+0000"


def _search(host: Host, subject: str, path: str, needles: str, named_by: int) -> Search:
    if path.startswith("journal:"):
        return _search_journal(host, subject, path[len("journal:") :], needles)
    return _search_file(host, subject, path, needles, named_by)


def _search_file(host: Host, subject: str, path: str, needles: str, named_by: int) -> Search:
    """What is new in one file; of a file seen first, in its last FIRST_BYTES. Missing and unreadable ones raise."""
    key = f"{subject}/{path}"
    seen = host.state.cursor(key)
    offset, inode = seen or (0, 0)
    touched = host.touch("search", path, offset, inode, MOST_BYTES if seen else FIRST_BYTES, needles,
                         named_by=named_by)  # fmt: skip
    if touched.error in ("ENOENT", "ENOTDIR"):
        host.state.set_cursor(key, seen or ABSENT)
        raise Missing(f"{path} does not exist")
    if touched.error:
        raise CannotTell(f"{path}: {touched.facts.get('error', touched.error)}")
    facts = touched.facts
    host.state.set_cursor(key, [facts["end"], facts["inode"]])
    skipped = f"{facts['skipped_bytes'] >> 20} MB" if seen and facts["skipped_bytes"] else ""
    return Search(path, facts["inode"], str(facts["text"]), not seen, skipped)


def _search_journal(host: Host, subject: str, unit: str, needles: str) -> Search:
    """The same of a unit's lines in systemd's journal, those of this boot; the first time, of the last day."""
    if not host.is_root():
        raise CannotTell(f"needs root: the journal of {unit}")
    key = f"{subject}/journal/{unit}"
    since = host.state.cursor(key) or max(host.now() - FIRST_S, host.now() - host.uptime_s())
    options = ("--no-pager", "--quiet", "--output=short-unix", f"--lines={JOURNAL_LINES}", f"--since=@{int(since)}")
    answer = host.run("journalctl", f"--unit={unit}", f"--grep={needles}", *options)
    if answer.code and answer.err.strip():
        raise CannotTell(f"journalctl: {' '.join(answer.err.split())[:80]}")
    host.state.set_cursor(key, host.now())
    new = [row for row in answer.out.splitlines() if (oom_lines.stamp(row, "") or since) >= since]
    skipped = f"all but the last {JOURNAL_LINES} lines" if len(new) >= JOURNAL_LINES else ""
    return Search(f"the journal of {unit}", 0, "\n".join(new), False, skipped)
