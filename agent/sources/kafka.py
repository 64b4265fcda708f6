"""The broker and ZooKeeper processes of this machine, and what their configuration files say."""

from __future__ import annotations

import os
from typing import Dict, List, NamedTuple, Tuple

from agent.host import CannotTell, Host, NotApplicable, Process, shared

# java … kafka.Kafka /etc/kafka/server.properties
BROKER_CLASS = "kafka.Kafka"
# java … org.apache.zookeeper.server.quorum.QuorumPeerMain /etc/zookeeper/conf/zoo.cfg
ZOOKEEPER_CLASSES = (
    "org.apache.zookeeper.server.quorum.QuorumPeerMain",
    "org.apache.zookeeper.server.ZooKeeperServerMain",
)

KAFKA_DEFAULT_LOG_DIR = "/tmp/kafka-logs"  # noqa: S108  Kafka's own default


class Service(NamedTuple):
    """A broker or ZooKeeper server that runs here. role: broker, controller or zookeeper."""

    role: str
    process: Process
    config_path: str
    config: Dict[str, str]


@shared
def services(host: Host) -> List[Service]:
    """The Kafka and ZooKeeper servers among the running processes; a JVM's command line names its main class."""
    found = []
    for process in host.processes():
        if BROKER_CLASS in process.argv:
            found.append(_service(host, process, "broker", process.argv[process.argv.index(BROKER_CLASS) + 1 :]))
        for name in ZOOKEEPER_CLASSES:
            if name in process.argv:
                found.append(_service(host, process, "zookeeper", process.argv[process.argv.index(name) + 1 :]))
    return found


def need_role(host: Host, *roles: str) -> None:
    """NotApplicable unless this machine has one of the roles; without any named, unless it has a role at all."""
    mine = host.expected.roles
    if not (set(roles) & set(mine) if roles else mine):
        raise NotApplicable(f"no {' or '.join(roles) or 'Kafka or ZooKeeper'} on this machine")


def _service(host: Host, process: Process, role: str, arguments: Tuple[str, ...]) -> Service:
    path = next((word for word in arguments if not word.startswith("-")), "")
    config = read_properties(host, path, process.pid) if path else {}
    if role == "broker" and config.get("process.roles", "").strip() == "controller":
        role = "controller"
    return Service(role, process, path, config)


def read_properties(host: Host, path: str, pid: int) -> Dict[str, str]:
    """A configuration file of a process, below its working directory if relative; empty if unreadable."""
    try:
        if not os.path.isabs(path):
            path = os.path.join(host.link(f"/proc/{pid}/cwd"), path)
        touched = host.touch("read", path)
    except CannotTell:
        return {}
    return parse_properties(str(touched.facts.get("text", "")))


def parse_properties(text: str) -> Dict[str, str]:
    """Java properties as Kafka and ZooKeeper use them: `key=value`, comments, lines continued with a backslash.

    >>> parse_properties("log.dirs=/kafka/d1,/kafka/d2\\n# note\\nbroker.id = 3")
    {'log.dirs': '/kafka/d1,/kafka/d2', 'broker.id': '3'}
    """
    values = {}
    for row in text.replace("\\\n", "").splitlines():
        key, separator, value = row.strip().partition("=")
        if separator and not key.startswith(("#", "!")):
            values[key.strip()] = value.strip()
    return values


def log_dirs(config: Dict[str, str]) -> List[str]:
    """The directories a broker keeps its partitions in."""
    given = config.get("log.dirs") or config.get("log.dir") or KAFKA_DEFAULT_LOG_DIR
    return [path.strip() for path in given.split(",") if path.strip()]
