"""Hand-made Kafka and ZooKeeper servers, as processes and configuration files of a hand-made machine."""

from __future__ import annotations

from typing import Any, Dict, Optional, Sequence

from agent.expected import Expected
from agent.host import Process, ProcessUse, Touched
from tests.machine import NOW, FakeHost

BROKER_CONFIG = "/etc/kafka/server.properties"
ZOOKEEPER_CONFIG = "/etc/zookeeper/conf/zoo.cfg"
CONFIGS = {
    BROKER_CONFIG: "broker.id=3\nlisteners=PLAINTEXT://:9092\nlog.dirs=/kafka/d1,/kafka/d2\n",
    ZOOKEEPER_CONFIG: "clientPort=2181\ndataDir=/var/lib/zookeeper\n",
}


def broker(pid: int = 4242, config: str = BROKER_CONFIG, started_at: float = NOW - 86400) -> Process:
    argv = ("/usr/bin/java", "-Xmx6g", "-Dkafka.logs.dir=/srv/kafka/logs", "-cp", "/opt/kafka", "kafka.Kafka", config)
    return Process(pid, "java", argv, "kafka", started_at)


def zookeeper(pid: int = 2121, config: str = ZOOKEEPER_CONFIG, started_at: float = NOW - 86400) -> Process:
    main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
    return Process(pid, "java", ("java", "-cp", "/opt/zookeeper", main, config), "zookeeper", started_at)


def tcp_table(*ports: int) -> str:
    """/proc/net/tcp with these ports in LISTEN, and one established connection."""
    rows = ["  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode"]
    rows += [f"   {number}: 00000000:{port:04X} 00000000:0000 0A 0:0 00:0 0 0 0 1" for number, port in enumerate(ports)]
    rows += ["   9: 0100007F:A1B2 0100007F:1F90 01 00000000:00000000 00:00000000 00000000 0 0 12304 1"]
    return "\n".join(rows) + "\n"


def answers(processes: Sequence[Process], configs: Optional[Dict[str, str]] = None) -> Dict[str, Any]:
    """What a machine with these processes answers: the processes, their configuration files, no other file."""
    found: Dict[str, Any] = {"processes": list(processes)}
    for path, text in {**CONFIGS, **(configs or {})}.items():
        found[f"touch read {path}"] = Touched("", {"text": text})
    for process in processes:
        found[f"process_use {process.pid}"] = ProcessUse(2000, 200000, 3000)
    return found


def machine(*processes: Process, roles: Sequence[str] = ("broker",), **given: Any) -> FakeHost:
    """A hand-made machine on which these servers run, each listening on its usual port."""
    files = {f"/proc/{process.pid}/net/tcp": tcp_table(9092, 2181) for process in processes}
    return FakeHost(
        files={**files, **given.pop("files", {})},
        answers={**answers(processes), **given.pop("answers", {})},
        expected=given.pop("expected", Expected(roles=tuple(roles))),
        **given,
    )
