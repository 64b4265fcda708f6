"""The files that a Kafka or ZooKeeper server writes its log and its error output to, and their new lines."""

from __future__ import annotations

from typing import List, NamedTuple, Sequence

from agent.host import CannotTell, Host, Missing
from agent.patterns import pattern
from agent.sources import kafka, oom_lines, systemd

# java -Dkafka.logs.dir=/var/log/kafka … and for ZooKeeper -Dzookeeper.log.dir=/var/log/zookeeper
LOG_FOLDER = pattern(r"-D(?:kafka\.logs|zookeeper\.log)\.dir=(/.*)")
NAMES = {
    "broker": ("server.log", "kafka.err", "kafkaServer.out", "kafka.log"),
    "controller": ("server.log", "controller.log", "kafka.err", "kafkaServer.out"),
    "zookeeper": ("zookeeper.log", "zookeeper.out", "zookeeper.err", "server.log"),
}
USUAL_FOLDERS = {"broker": "/var/log/kafka", "controller": "/var/log/kafka", "zookeeper": "/var/log/zookeeper"}

# The place in a log that did not exist yet: all that it holds later is new.
ABSENT = [0, 0]


class Search(NamedTuple):
    """What was new in one log. text: matching lines, each with the line before it. first: never looked for before."""

    path: str
    inode: int
    text: str
    first: bool
    skipped_bytes: int


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


def search(host: Host, subject: str, path: str, needle: str, first_bytes: int, most_bytes: int) -> Search:
    """The lines with `needle` that no earlier run of this subject saw; of a file seen first, in its last `first_bytes`.

    Missing and unreadable files raise Missing and CannotTell.
    """
    key = f"{subject}/{path}"
    seen = host.state.cursor(key)
    offset, inode = seen or (0, 0)
    touched = host.touch("search", path, offset, inode, most_bytes if seen else first_bytes, needle)
    if touched.error in ("ENOENT", "ENOTDIR"):
        host.state.set_cursor(key, seen or ABSENT)
        raise Missing(f"{path} does not exist")
    if touched.error:
        raise CannotTell(f"{path}: {touched.facts.get('error', touched.error)}")
    facts = touched.facts
    host.state.set_cursor(key, [facts["end"], facts["inode"]])
    return Search(path, facts["inode"], str(facts["text"]), not seen, int(facts["skipped_bytes"]) if seen else 0)


def search_journal(host: Host, subject: str, unit: str, needle: str) -> Search:
    """The same of a unit's lines in systemd's journal, those of this boot; the first time, of the last day."""
    if not host.is_root():
        raise CannotTell(f"needs root: the journal of {unit}")
    key = f"{subject}/journal/{unit}"
    since = host.state.cursor(key) or max(host.now() - 86400, host.now() - host.uptime_s())
    options = ("--no-pager", "--quiet", "--output=short-unix", "--lines=1000", f"--since=@{int(since)}")
    answer = host.run("journalctl", f"--unit={unit}", f"--grep={needle}", *options)
    if answer.code and answer.err.strip():
        raise CannotTell(f"journalctl: {' '.join(answer.err.split())[:80]}")
    host.state.set_cursor(key, host.now())
    new = [row for row in answer.out.splitlines() if (oom_lines.stamp(row, "") or since) >= since]
    return Search(f"the journal of {unit}", 0, "\n".join(new), False, 0)
