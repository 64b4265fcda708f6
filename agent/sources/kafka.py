"""The broker and ZooKeeper processes of this machine, and what their configuration files say."""

from __future__ import annotations

import os
import re
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from agent.host import CannotTell, Host, NotApplicable, Process, shared
from agent.patterns import pattern
from agent.sources import mount_table

# java … kafka.Kafka /etc/kafka/server.properties; Confluent's packages start a class of their own
BROKER_CLASSES = ("kafka.Kafka", "io.confluent.support.metrics.SupportedKafka")
# java … org.apache.zookeeper.server.quorum.QuorumPeerMain /etc/zookeeper/conf/zoo.cfg
ZOOKEEPER_CLASSES = (
    "org.apache.zookeeper.server.quorum.QuorumPeerMain",
    "org.apache.zookeeper.server.ZooKeeperServerMain",
)

MAIN_CLASSES = {
    **dict.fromkeys(BROKER_CLASSES, "broker"),
    **dict.fromkeys(ZOOKEEPER_CLASSES, "zookeeper"),
}
# Programs that start a server and stay in front of it, with its whole command line in their own.
LAUNCHERS = ("sudo", "su", "runuser", "timeout", "strace", "nohup", "setsid", "tini", "dumb-init", "bash", "sh")

REMEMBER_DAYS = 7

# advertised as `listeners=SASL_SSL://kafka-a01:9093`, `clientPort=2181`, `server.1=zk1:2888:3888;0.0.0.0:2181`
PORT = pattern(r":(\d{1,5})\s*$")
# log.dirs=/kafka/d1   log.dirs : /kafka/d1   log.dirs /kafka/d1
PROPERTY = pattern(r"([^\s=:#!][^\s=:]*)(?:\s*[=:]\s*|\s+|$)(.*)")
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
    """

    item: str
    role: str
    config_path: str
    ports: Tuple[int, ...]
    seen_at: float
    pid: int
    service: Optional[Service]


@shared
def services(host: Host) -> List[Service]:
    """The Kafka and ZooKeeper servers among the running processes; a JVM's command line names its main class."""
    found = []
    for process in host.processes():
        main = next((word for word in process.argv if word in MAIN_CLASSES), "")
        if main and process.name not in LAUNCHERS:
            arguments = process.argv[process.argv.index(main) + 1 :]
            found.append(_service(host, process, MAIN_CLASSES[main], arguments))
    if not found and not host.is_root() and _hides_processes(host):
        raise CannotTell("needs root: /proc is mounted with hidepid, so other users' processes cannot be seen")
    return sorted(found, key=lambda service: (service.role, service.config_path, service.process.started_at))


@shared
def roster(host: Host) -> List[Known]:
    """The servers of this machine: those that run, and those of earlier runs that are missing now.

    A server whose configuration file was renamed is not missing: there are as many of its role as before.
    """
    running = services(host)
    rows = [_known(host, service) for service in running]
    for role in sorted({row.role for row in rows} | {row.role for row in _remembered(host)}):
        if host.expected.roles and role not in host.expected.roles:
            continue
        here = [row for row in rows if row.role == role]
        before = [row for row in _remembered(host) if row.role == role]
        gone = [row for row in before if row.config_path not in {row.config_path for row in here}]
        rows += gone[: max(len(before) - len(here), 0)]
    host.state.remember("kafka.roster", [[*row[1:-1]] for row in rows])
    return _named(rows)


def items(host: Host, *roles: str) -> List[str]:
    """The items of the servers of these roles or of any; where processes cannot be listed, the expected roles."""
    try:
        return [row.item for row in roster(host) if not roles or row.role in roles]
    except CannotTell:
        return [role for role in host.expected.roles if not roles or role in roles]


def running(host: Host, *roles: str) -> Dict[str, Service]:
    """The servers that run now, of these roles or of any, by the name of their item."""
    known = {row.item: row.service for row in roster(host) if not roles or row.role in roles}
    return {item: service for item, service in known.items() if service}


def serves(service: Service, role: str) -> bool:
    """Whether this process does the work of a role; a combined KRaft server is broker and controller."""
    also = {word.strip() for word in service.config.get("process.roles", "").split(",")}
    return role in (service.role, *also)


def _known(host: Host, service: Service) -> Known:
    return Known("", service.role, service.config_path, tuple(ports(service)), host.now(), service.process.pid, service)


def _remembered(host: Host) -> List[Known]:
    rows = host.state.remembered("kafka.roster") or []
    known = [Known("", row[0], row[1], tuple(row[2]), row[3], row[4], None) for row in rows if _is_whole(row)]
    return [row for row in known if host.now() - row.seen_at < REMEMBER_DAYS * 86400]


def _is_whole(row: Any) -> bool:
    """Whether it is role, configuration path, ports, when it was seen, process id."""
    if not isinstance(row, list) or len(row) != 5:
        return False
    texts, ports, numbers = row[:2], row[2], row[3:]
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


def _hides_processes(host: Host) -> bool:
    try:
        mount = mount_table.mount_at(host, "/proc")
    except CannotTell:
        return False
    return bool(mount and any(option.startswith("hidepid=") and option != "hidepid=0" for option in mount.options))


def need_role(host: Host, *roles: str) -> None:
    """NotApplicable unless this machine has one of the roles; without any named, unless it has a role at all."""
    mine = host.expected.roles
    if not (set(roles) & set(mine) if roles else mine):
        raise NotApplicable(f"no {' or '.join(roles) or 'Kafka or ZooKeeper'} on this machine")


def _service(host: Host, process: Process, role: str, arguments: Tuple[str, ...]) -> Service:
    path = next((word for word in arguments if not word.startswith("-")), "")
    config = read_properties(host, path, process.pid) if path else {}
    config.update(_overrides(arguments))
    if role == "broker" and config.get("process.roles", "").strip() == "controller":
        role = "controller"
    return Service(role, process, path, config)


def _overrides(arguments: Sequence[str]) -> Dict[str, str]:
    """kafka.Kafka server.properties --override broker.id=3 --override log.dirs=/kafka/d1"""
    given = [value for flag, value in zip(arguments, arguments[1:]) if flag == "--override"]
    return {key: value for key, _, value in (word.partition("=") for word in given)}


def read_properties(host: Host, path: str, pid: int) -> Dict[str, str]:
    """A configuration file of a process, below its working directory if relative; empty if unreadable."""
    try:
        if not os.path.isabs(path):
            folder = str(host.touch("link", f"/proc/{pid}/cwd").facts.get("target", ""))
            path = os.path.join(folder, path) if folder else ""
        touched = host.touch("read", os.path.normpath(path)) if path else None
    except CannotTell:
        return {}
    return parse_properties(str(touched.facts.get("text", ""))) if touched else {}


def parse_properties(text: str) -> Dict[str, str]:
    """Java properties as Kafka and ZooKeeper use them: `key=value`, comments, lines continued with a backslash.

    >>> parse_properties("log.dirs=/kafka/d1,/kafka/d2\\n# note\\nbroker.id = 3")
    {'log.dirs': '/kafka/d1,/kafka/d2', 'broker.id': '3'}
    """
    matches = (PROPERTY.match(row.strip()) for row in re.sub(r"\\\r?\n\s*", "", text).splitlines())
    return {match.group(1): match.group(2).strip() for match in matches if match}


def log_dirs(config: Dict[str, str]) -> List[str]:
    """The directories a broker keeps its partitions in."""
    given = config.get("log.dirs") or config.get("log.dir") or KAFKA_DEFAULT_LOG_DIR
    return [path.strip() for path in given.split(",") if path.strip()]


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
