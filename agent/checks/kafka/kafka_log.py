"""Do the broker's logs report a failed log dir, lost data, replicas that fall behind or lost sessions?

Item of each broker and KRaft controller: what is new in server.log, controller.log, state-change.log, its standard
output and error and its systemd journal since the last run. Of a log seen first, only what is dated within a day.
Critical: a log dir failed (KafkaStorageException) and the broker continues without it; an unclean leader election,
which drops the records that only the lost leader had.
Warning: its ZooKeeper session expired, and its leaders moved to other brokers; as KRaft controller it fenced a broker
without heartbeats; within an hour one broker fell out of the ISR of 10 partitions that this one leads, or
this broker truncated 50 partitions, whose end only other replicas or none had; it found corrupt records.
What its version does not log (Kafka 1.1 to 3.1 with ZooKeeper: unclean elections) is only noted.
Unknown: none of its logs can be read, or more was written since the last run than can be searched.
Ok again: 24 hours after the last one, or after a reboot; a failed log dir only after a restart of the broker
in which it did not fail again. ISR expands and moved leaders are only counted in facts: planned restarts cause both.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, List, Mapping, Sequence, Set, Tuple

from agent.host import Host
from agent.named_tuples import NamedTuple
from agent.sources.kafka import log_events as lines
from agent.sources.kafka import log_files
from agent.sources.kafka import processes as kafka
from agent.sources.kafka import version as kafka_version
from agent.sources.kernel import incidents
from agent.state import Incident
from agent.status import Verdict, combine, count_of, critical, moment, unknown, warning

LIMITS = {
    "clear_after_hours": 24,
    "log_dir_failures_critical": 1,
    "unclean_elections_critical": 1,
    "session_expiries_warning": 1,
    "fenced_brokers_warning": 1,
    "isr_shrinks_per_hour_warning": 10,
    "truncations_per_hour_warning": 50,
    "corrupt_records_warning": 1,
}
PLAYBOOK = "replace-jbod-disk"
# what the file system said -> what mends it
PLAYBOOKS = {
    "No space left": "full-disk",
    "Read-only": "hidden-readonly",
    "Structure needs": "hidden-readonly",
    **dict.fromkeys(("Too many open files", "Map failed", "Cannot allocate memory"), "tune-os"),  # no fault of the disk
}
SUBJECT = "kafka_log"
ROLES = ("broker", "controller")
Level = Callable[[str, str], Verdict]
# kind -> its limit, its level, its words
RULES: Mapping[str, Tuple[str, Level, str]] = {
    lines.LOG_DIR: (
        "log_dir_failures_critical", critical,
        "log dir {about} failed at {last_at}, the broker continues without it: {last}",
    ),
    lines.UNCLEAN: (
        "unclean_elections_critical", critical,
        "unclean leader election {often}, last of {last} at {last_at}: records that only the lost leader had are lost",
    ),
    lines.EXPIRED: (
        "session_expiries_warning", warning,
        "its ZooKeeper session expired {often}, last at {last_at}: its leaders moved to other brokers",
    ),
    lines.FENCED: (
        "fenced_brokers_warning", warning,
        "it fenced {about} {often}, last at {last_at}: no heartbeat within broker.session.timeout.ms",
    ),
    lines.SHRINK: (
        "isr_shrinks_per_hour_warning", warning,
        "{about} fell out of the ISR {often}, {most_in_an_hour} in an hour, last of {last} at {last_at}",
    ),
    lines.TRUNCATED: (
        "truncations_per_hour_warning", warning,
        "truncated a partition {often}, {most_in_an_hour} in an hour, last of {last} at {last_at}",
    ),
    lines.CORRUPT: (
        "corrupt_records_warning", warning,
        "found corrupt records {often}, last at {last_at}: {last}",
    ),
}  # fmt: skip
NEVER = ("", warning, "")
# A process is known to have started some second; a broker takes longer than this to look at its log dirs.
START_S = 1.0
BUCKET_S = 600
HOUR_S, DAY_S = 3600, 86400
MOST_ROWS = 40
SEPARATOR = "\t"


class Facts(NamedTuple):
    """One column for each kind of event and what it was about: failed log dirs, then the others, the latest first.

    about: a log dir, or a broker's id. times: within the last day; most_in_an_hour of them. last: words of the last
    one, such as a partition. log_dirs: of the broker's configuration, empty where that is not known. never_logged:
    what its version has no words for.
    """

    item: str
    searched: Tuple[str, ...]
    not_read: Tuple[str, ...] = ()
    log_dirs: Tuple[str, ...] = ()
    version: str = ""
    never_logged: Tuple[str, ...] = ()
    kinds: Tuple[str, ...] = ()
    about: Tuple[str, ...] = ()
    times: Tuple[int, ...] = ()
    most_in_an_hour: Tuple[int, ...] = ()
    hours_ago: Tuple[float, ...] = ()
    last_at: Tuple[str, ...] = ()
    last: Tuple[str, ...] = ()


COLUMNS = ("kinds", "about", "times", "most_in_an_hour", "hours_ago", "last_at", "last")


def find(host: Host) -> Sequence[str]:
    kafka.need_role(host, *ROLES)
    return kafka.items(host, *ROLES) or [role for role in host.expected.roles if role in ROLES]


def look(host: Host, item: str) -> Facts:
    service = kafka.running(host, *ROLES).get(item)
    log_dirs = kafka.log_dirs(service.config) if service and service.config else []
    reading = log_files.read_new(host, SUBJECT, item, lines.NEEDLES, log_files.STATE_NAMES)
    new = _incidents(host, reading, log_dirs)
    host.state.add_incidents(SUBJECT, item, [seen for seen in new if seen.kind != lines.LOG_DIR])
    failed = [seen for seen in new if seen.kind == lines.LOG_DIR]
    rows = [*_failed_dirs(host, item, failed, service.process.started_at if service else 0.0), *_rows(host, item)]
    version = kafka_version.of(service.process.argv) if service else None
    never = kafka_version.never_logged(version, service.config) if version and service else ()
    words = ".".join(map(str, version)) if version else ""
    facts = Facts(item, reading.searched, reading.not_read, tuple(log_dirs), words, never)
    columns: Dict[str, Any] = dict(zip(COLUMNS, zip(*rows)))
    return facts._replace(**columns)


def _incidents(host: Host, reading: log_files.Reading, log_dirs: Sequence[str]) -> List[Incident]:
    """Events of ten minutes that are alike are one incident; what several lines tell of one thing counts once."""
    found: Dict[Tuple[str, str, int], Incident] = {}
    reported: Set[Tuple[Any, ...]] = set()
    for log, event in _events(host, reading):
        about = _log_dir(event.about, log_dirs) if event.kind == lines.LOG_DIR else event.about
        once = (event.kind, about, *{lines.LOG_DIR: (), lines.UNCLEAN: event[4:]}.get(event.kind, event[2:]))
        at = log_files.happened(host, log, event.at)
        if at is None or once in reported:
            continue
        reported.add(once)
        key = (event.kind, about, int(at // BUCKET_S))
        times = event.times + (found[key].times if key in found else 0)
        found[key] = Incident(event.kind, at, times, f"{about}{SEPARATOR}{event.text}"[:300])
    return list(found.values())


def _events(host: Host, reading: log_files.Reading) -> Iterator[Tuple[log_files.Search, lines.Event]]:
    for log in reading.found:
        for event in lines.events(log.text, log_files.zone(host)) if log.text else ():
            yield log, event


def _log_dir(path: str, log_dirs: Sequence[str]) -> str:
    """The log dir that a path lies on; the path itself where no log dir is known that holds it."""
    holding = [folder for folder in log_dirs if f"{path}/".startswith(f"{folder.rstrip('/')}/")]
    return max(holding, key=len, default=path)


def _failed_dirs(host: Host, item: str, new: Sequence[Incident], started_at: float) -> List[Tuple[Any, ...]]:
    """A log dir that failed stays out until the broker is restarted, however long ago that was."""
    key = f"{SUBJECT}/{item}/failed"
    before = host.state.remembered(key) or []
    first: Dict[str, Incident] = {}
    for seen in (*(Incident(*row) for row in before), *new):
        if seen.at >= started_at + START_S:
            first.setdefault(seen.text.partition(SEPARATOR)[0], seen)
    host.state.remember(key, [list(seen) for seen in first.values()] or None)
    return [_row(lines.LOG_DIR, about, [seen], host.now()) for about, seen in first.items()]


def _rows(host: Host, item: str) -> List[Tuple[Any, ...]]:
    """What else the columns of the facts hold, of the last day."""
    now = host.now()
    groups: Dict[Tuple[str, str], List[Incident]] = {}
    for seen in host.state.incidents(SUBJECT, item):
        if seen.at >= now - DAY_S:
            groups.setdefault((seen.kind, seen.text.partition(SEPARATOR)[0]), []).append(seen)
    latest = sorted(groups.items(), key=lambda group: group[1][-1].at, reverse=True)[:MOST_ROWS]
    return [_row(kind, about, seen, now) for (kind, about), seen in latest]


def _row(kind: str, about: str, seen: Sequence[Incident], now: float) -> Tuple[Any, ...]:
    last = seen[-1]
    ago = round((now - last.at) / HOUR_S, 2)
    times, busiest = sum(one.times for one in seen), incidents.busiest(seen, HOUR_S)
    return kind, about, times, busiest, ago, moment(last.at), last.text.partition(SEPARATOR)[2]


def judge(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    found = (
        [unknown(f"logs of {facts.item} not read completely: {', '.join(facts.not_read)}")] if facts.not_read else []
    )
    for row in zip(*(getattr(facts, column) for column in COLUMNS)):
        kind, _about, times, in_an_hour, hours_ago, _at, last = row
        limit, verdict, words = RULES.get(kind, NEVER)
        counted = in_an_hour if "_per_hour_" in limit else times
        news = kind == lines.LOG_DIR or hours_ago < limits["clear_after_hours"]
        if news and counted >= limits.get(limit, float("inf")):
            often = "once" if times == 1 else f"{times} times"
            message = words.format(often=often, **dict(zip(COLUMNS, row)))
            found.append(verdict(message, _playbook(kind, last)))
    return combine(found, healthy=_quiet(facts))


def _playbook(kind: str, last: str) -> str:
    if kind != lines.LOG_DIR:
        return "broker-down" if kind == lines.UNCLEAN else ""
    return next((playbook for words, playbook in PLAYBOOKS.items() if words in last), PLAYBOOK)


def _quiet(facts: Facts) -> str:
    times = {kind: sum(count for one, count in zip(facts.kinds, facts.times) if one == kind) for kind in facts.kinds}
    counts_text = ", ".join(count_of(count, kind) for kind, count in times.items())
    never = f"; Kafka {facts.version} does not log {' and '.join(facts.never_logged)}" if facts.never_logged else ""
    return (f"in the last day {counts_text}" if counts_text else f"nothing in {', '.join(facts.searched)}") + never
