"""The broker and ZooKeeper processes of this machine, and what their configuration files say."""

from __future__ import annotations

import functools
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

from agent.host import CannotTell, Host, Process, cached_per_run, run_concurrently, unless_unsure
from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple
from agent.sources.kafka import java_processes, java_properties, named_files

# java … kafka.Kafka /etc/kafka/server.properties; Confluent and Cloudera start classes of their own
BROKER_CLASSES = ("kafka.Kafka", "io.confluent.support.metrics.SupportedKafka", "com.cloudera.kafka.wrap.Kafka")
# java … org.apache.zookeeper.server.quorum.QuorumPeerMain /etc/zookeeper/conf/zoo.cfg
ZOOKEEPER_CLASSES = (
    "org.apache.zookeeper.server.quorum.QuorumPeerMain",
    "org.apache.zookeeper.server.ZooKeeperServerMain",
)
MAIN_CLASSES = {
    **dict.fromkeys(BROKER_CLASSES, "broker"),
    **dict.fromkeys(ZOOKEEPER_CLASSES, "zookeeper"),
}
# Remembered is what was seen in two runs, or has run for so long: a test by hand is nobody's loss.
OLD_ENOUGH_S = 300
REMEMBER_DAYS = 7
CONFIG_PATIENCE_S = 6.0

# advertised as `listeners=SASL_SSL://kafka-a01:9093`, `clientPort=2181`, `server.1=zk1:2888:3888;0.0.0.0:2181`
PORT = pattern(r":(\d{1,5})\s*$")
# No machine has so many disks; what names more would have each of them followed.
MOST_LOG_DIRS = 64
KAFKA_DEFAULT_LOG_DIR = "/tmp/kafka-logs"  # noqa: S108  Kafka's own default


class Service(NamedTuple):
    """A broker or ZooKeeper server that runs here. role: broker, controller or zookeeper."""

    role: str
    process: Process
    config_path: str
    config: Dict[str, str]


class Known(NamedTuple):
    """A server that runs, or ran in the last days; `service` is None while it does not run.

    item: its name in findings, the same over restarts: the role, with the configuration file where there are several.
    user: the number of its user, empty if not known. settled: it will be missed when it is gone.
    """

    item: str
    role: str
    config_path: str
    ports: Tuple[int, ...]
    seen_at: float
    pid: int
    service: Optional[Service]
    user: str = ""
    settled: bool = True


@cached_per_run
def services(host: Host) -> List[Service]:
    """The Kafka and ZooKeeper servers among the running processes: JVMs that run the main class of one.

    A program that a person runs under their own name does not stand in for the server of the service's own user.
    """
    started = [(process, java_processes.of(host, process, tuple(MAIN_CLASSES))) for process in host.processes()]
    found = {str(process.pid): (process, what) for process, what in started if what.main}
    asks = {pid: functools.partial(_service, host, *both) for pid, both in found.items()}
    read = run_concurrently(asks, dict.fromkeys(asks, CONFIG_PATIENCE_S))
    late = {pid: _named_service(*both, {}) for pid, both in found.items() if not isinstance(read[pid], Service)}
    seen = [late.get(pid) or read[pid] for pid in found]
    if not seen and not host.is_root() and java_processes.hidden(host):
        raise CannotTell("needs root: /proc is mounted with hidepid, processes of other users are hidden")
    return sorted(_of_services(host, seen), key=lambda one: (one.role, one.config_path, one.process.started_at))


def _of_services(host: Host, seen: List[Service]) -> List[Service]:
    """Without those that a person runs by hand where this machine should have none of that role, or where another
    user's server of that role is known.
    """
    people = {service.process.pid: java_processes.person(host, service.process.pid) for service in seen}
    if not any(people.values()):
        return seen
    roles = host.expected.roles
    seen = [
        one for one in seen
        if not (roles and people[one.process.pid]) or any(serves(one, role) for role in roles)
    ]  # fmt: skip
    known = {(row.role, row.user) for row in remembered(host) if row.user}
    known |= {(one.role, java_processes.user(host, one.process.pid)) for one in seen if not people[one.process.pid]}
    return [
        one for one in seen
        if not people[one.process.pid]
        or all(role != one.role or who == people[one.process.pid] for role, who in known)
    ]  # fmt: skip


@cached_per_run
def known_servers(host: Host) -> List[Known]:
    """The servers of this machine: those that run, and those of earlier runs that are missing now.

    A server whose configuration file was renamed is not missing: there are as many of its role as before.
    """
    rows = [_known(host, service) for service in services(host)]
    earlier = remembered(host)
    for role in sorted({row.role for row in [*rows, *earlier]}):
        if host.expected.roles and role not in host.expected.roles:
            continue
        here = [row for row in rows if row.role == role]
        before = [row for row in earlier if row.role == role]
        gone = [row for row in before if row.config_path not in {row.config_path for row in here}]
        rows += gone[: max(len(before) - len(here), 0)]
    host.state.remember("kafka.known_servers", [_row(row, earlier) for row in rows if row.settled])
    host.state.remember("kafka.newcomers", [[row.role, row.config_path] for row in rows if not row.settled] or None)
    return _named(rows)


def items(host: Host, *roles: str) -> List[str]:
    """The items of the servers of these roles or of any; where processes cannot be listed, the expected roles."""
    try:
        return [row.item for row in known_servers(host) if not roles or row.role in roles]
    except CannotTell:
        return [role for role in host.expected.roles if not roles or role in roles]


def running(host: Host, *roles: str) -> Dict[str, Service]:
    """The servers that run now, of these roles or of any, by the name of their item."""
    known = {row.item: row.service for row in known_servers(host) if not roles or row.role in roles}
    return {item: service for item, service in known.items() if service}


def serves(service: Service, role: str) -> bool:
    """Whether this process does the work of a role; a combined KRaft server is broker and controller."""
    also = {word.strip() for word in service.config.get("process.roles", "").split(",")}
    return role in (service.role, *also)


def _known(host: Host, service: Service) -> Known:
    process, path = service.process, service.config_path
    before = [*([row.role, row.config_path] for row in remembered(host)), *_newcomers(host)]
    settled = host.now() - process.started_at >= OLD_ENOUGH_S or [service.role, path] in before
    of = java_processes.user(host, process.pid)
    return Known("", service.role, path, tuple(ports(service)), host.now(), process.pid, service, of, settled)


def _row(row: Known, earlier: Sequence[Known]) -> List[Any]:
    """What is remembered of a server; its ports as they were, where its configuration did not answer this time."""
    before = [old.ports for old in earlier if (old.role, old.config_path) == (row.role, row.config_path)]
    return [row.role, row.config_path, row.ports or (before or [()])[0], row.seen_at, row.pid, row.user]


def _newcomers(host: Host) -> List[Any]:
    """Role and configuration file of each server that the last run saw for the first time, soon after its start."""
    rows = host.state.remembered("kafka.newcomers")
    return rows if isinstance(rows, list) else []


def remembered(host: Host) -> List[Known]:
    """The servers of earlier runs, without a look at the processes."""
    rows = host.state.remembered("kafka.known_servers")
    whole = [row for row in rows if _is_whole(row)] if isinstance(rows, list) else []
    known = [Known("", row[0], row[1], tuple(row[2]), row[3], row[4], None, "".join(row[5:])) for row in whole]
    return [row for row in known if host.now() - row.seen_at < REMEMBER_DAYS * 86400]


def _is_whole(row: Any) -> bool:
    """Whether it is role, configuration path, ports, when it was seen, process id, and since version 2 the user."""
    if not isinstance(row, list) or len(row) not in (5, 6):
        return False
    texts, ports, numbers = [*row[:2], *row[5:]], row[2], row[3:5]
    return (
        all(isinstance(text, str) for text in texts)
        and isinstance(ports, list)
        and all(isinstance(number, (int, float)) for number in [*ports, *numbers])
    )


def _named(rows: Sequence[Known]) -> List[Known]:
    named: List[Known] = []
    for row in rows:
        alone = sum(other.role == row.role for other in rows) == 1
        name = row.role if alone else f"{row.role} {row.config_path}".strip()
        taken = sum(other.item == name or other.item.startswith(f"{name} #") for other in named)
        named.append(row._replace(item=f"{name} #{taken + 1}" if taken else name))
    return named


def need_role(host: Host, *roles: str) -> None:
    """NotApplicable unless this machine has one of the roles; without any named, unless it has a role at all.

    CannotTell where it is not known what this machine is.
    """
    mine = host.expected.roles
    if not (set(roles) & set(mine) if roles else mine):
        raise unless_unsure(host, f"no {' or '.join(roles) or 'Kafka or ZooKeeper'} on this machine")


def _service(host: Host, process: Process, started: java_processes.Started) -> Service:
    path = _config_path(started)
    return _named_service(process, started, read_properties(host, path, process.pid) if path else {})


def _config_path(started: java_processes.Started) -> str:
    return next((word for word in started.arguments if word and not word.startswith("-")), "")


def _named_service(process: Process, started: java_processes.Started, config: Dict[str, str]) -> Service:
    role = MAIN_CLASSES[started.main]
    config.update(_overrides(started.arguments))
    if role == "broker" and config.get("process.roles", "").strip() == "controller":
        role = "controller"
    return Service(role, process, _config_path(started), config)


def _overrides(arguments: Sequence[str]) -> Dict[str, str]:
    """kafka.Kafka server.properties --override broker.id=3 --override log.dirs=/kafka/d1"""
    given = [value for flag, value in zip(arguments, arguments[1:]) if flag == "--override"]
    return {key: value for key, _, value in (word.partition("=") for word in given)}


def read_properties(host: Host, path: str, pid: int) -> Dict[str, str]:
    """A configuration file of a process, below its working directory if relative; empty if unreadable."""
    return java_properties.parse(named_files.text(host, path, pid))


def log_dirs(config: Dict[str, str]) -> List[str]:
    """The directories a broker keeps its partitions in."""
    given = config.get("log.dirs") or config.get("log.dir") or KAFKA_DEFAULT_LOG_DIR
    return [path.strip() for path in given.split(",", MOST_LOG_DIRS)[:MOST_LOG_DIRS] if path.strip()]


def ports(service: Service) -> List[int]:
    """The ports that a server should listen on, by its configuration; none where that cannot be read."""
    config = service.config
    if not config:
        return []
    if service.role == "zookeeper":
        dynamic = [value.partition(";")[2] for key, value in config.items() if key.startswith("server.")]
        return _ports([config.get("clientPort", ""), config.get("secureClientPort", ""), *dynamic])
    return _ports(config.get("listeners", f"PLAINTEXT://:{config.get('port', 9092)}").split(","))


def _ports(addresses: Iterable[str]) -> List[int]:
    matches = (PORT.search(f":{address.strip()}") for address in addresses)
    numbers = (int(match.group(1)) for match in matches if match)
    return list(dict.fromkeys(number for number in numbers if 0 < number < 65536))
