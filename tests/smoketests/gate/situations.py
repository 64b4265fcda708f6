"""Situations for the gate's tests, made by hand: three brokers and three ZooKeeper servers, all well but for what a
test says. Real Kafka and ZooKeeper servers are asked in tests/real/test_gate_kafka.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent import engine
from agent.sources.zookeeper.four_letter import ANSWERED
from agent.status import CRITICAL, OK
from inventory.model import Cluster, Host
from smoketests.cluster.view import ClusterView
from smoketests.gate import rules
from smoketests.gate.context import GateContext
from smoketests.gate.decision import Decision, RuleResult
from smoketests.gate.lock import Lock
from smoketests.gate.maintenance import Maintenance
from smoketests.readers.kafka.cluster import KafkaFacts, LogDir, Partition, Quorum, Voter
from smoketests.readers.zookeeper.ensemble import Member, Registered, ZooKeeperFacts
from tests.smoketests.cluster.views import answered, said, unreached

NOW = 1_795_144_320.0  # 2026-11-20T03:12:00Z
GB = 10**9
TB = 1000 * GB
BROKERS = ("kafka-a01", "kafka-a02", "kafka-a03")
SERVERS = ("zk-a01", "zk-a02", "zk-a03")
WELL: Any = object()


def broker(number: int, **fields: Any) -> Host:
    given: dict[str, Any] = {"roles": ("broker",), "layout": "jbod", "broker_id": number, "cluster": "prod-a", **fields}
    return Host(f"kafka-a0{number}", **given)


def server(number: int, **fields: Any) -> Host:
    return Host(f"zk-a0{number}", **{"roles": ("zookeeper",), "cluster": "prod-a", **fields})


def partition(topic: str = "orders", number: int = 0, replicas: Sequence[int] = (1, 2, 3), **fields: Any) -> Partition:
    """Led by its first replica, all in sync, min.insync.replicas 2."""
    given = {"leader": replicas[0], "isr": tuple(replicas), "min_isr": 2, "unclean": False, "size_bytes": GB, **fields}
    return Partition(topic, number, replicas=tuple(replicas), **given)


ORDERS = (partition(number=0), partition(number=1, replicas=(2, 3, 1)), partition(number=2, replicas=(3, 1, 2)))


def log_dir(number: int, path: str = "/kafka/d1", used: float = 2 * TB, total: float = 8 * TB, **fields: Any) -> LogDir:
    given: dict[str, Any] = {"error": "", "replicas": 10, "replicas_bytes": int(used), **fields}
    return LogDir(number, path, total_bytes=int(total), usable_bytes=int(total - used), **given)


def kafka(*partitions: Partition, brokers: Sequence[int] = (1, 2, 3), **fields: Any) -> KafkaFacts:
    rows = tuple(Registered(number, f"kafka-a0{number}", 9092, "", (f"kafka-a0{number}:9092",)) for number in brokers)
    given = {"controller": 3, "quorum": None, "throttled": (), "log_dirs": tuple(log_dir(n) for n in brokers), **fields}
    return KafkaFacts("c1", brokers=rows, partitions=partitions or ORDERS, **given)


def quorum(leader: int = 3, **behind_ms: int | None) -> Quorum:
    """quorum(v1=0, v2=3000)"""
    return Quorum(leader, tuple(Voter(int(name[1:]), ms) for name, ms in behind_ms.items()))


def member(number: int, mode: str = "follower", **fields: Any) -> Member:
    synced = 2 if mode == "leader" else None
    given: dict[str, Any] = {"zxid": 0x100000004, "synced_followers": synced, "quorum_size": 3, **fields}
    return Member(f"zk-a0{number}:2181", ANSWERED, "", mode, **given)


MEMBERS = (member(1), member(2, "leader"), member(3))


def ensemble(*members: Member, brokers: Sequence[int] = (1, 2, 3)) -> ZooKeeperFacts:
    rows = tuple(Registered(number, f"kafka-a0{number}", 9092, "", (f"kafka-a0{number}:9092",)) for number in brokers)
    return ZooKeeperFacts(members or MEMBERS, rows, 3)


def card(interface: str = "eth0", **facts: Any) -> dict[str, Any]:
    well = {
        "interface": interface, "carrier": True, "is_member": False, "speed_mbps": 10_000, "expected_mbps": 0,
        "rx_bytes_per_s": 1e8, "tx_bytes_per_s": 1e8,
    }  # fmt: skip
    return said("nic_link", interface, **{**well, **facts})


def smart(serial: str, status: str = OK, path: str = "/dev/sdb", size: float = 8 * TB, **facts: Any) -> dict[str, Any]:
    given = {"serial": serial, "wwn": "", "path": path, "size_bytes": int(size), "slot": "4", "model": "ST8000"}
    return said("smart", serial, status, **{**given, **facts})


def mount(path: str, serial: str, status: str = OK, device: str = "sdb1") -> dict[str, Any]:
    where = f"{path} on {device[:3]} (ST8000, serial {serial}, slot 4)"
    return said("mounts", path, status, where=where, mounted=status != CRITICAL, device=device)


def array(state: str = "optimal", status: str = OK, **facts: Any) -> dict[str, Any]:
    """md0 of four disks: A with B, C with D."""
    given = {
        "kind": "array", "level": "raid10", "state": state, "said": state, "gone": [], "rebuilding": [], "exposed": [],
        "mirrors": [["sda1 (serial AAA1)", "sdb1 (serial BBB2)"], ["sdc1 (serial CCC3)", "sdd1 (serial DDD4)"]],
        "asked_as": [],
    }  # fmt: skip
    return said("raid", "md0", status, **{**given, **facts})


FOUR = tuple(smart(serial, path=f"/dev/sd{letter}") for serial, letter in zip(("AAA1", "BBB2", "CCC3", "DDD4"), "abcd"))


def supply(name: str, others: Sequence[str], status: str = OK) -> dict[str, Any]:
    faults = [] if status == OK else ["failed"]
    return said("power", name, status, part=name, present=True, faults=faults, healthy_others=list(others))


def trouble(check: str, status: str = CRITICAL) -> dict[str, Any]:
    return said(check, "it", status)


def runs(*roles: str, ids: Sequence[int] = (), cluster: str = "c1", configured: int | None = None) -> dict[str, Any]:
    """The agent sees a server of these roles, whose meta.properties say so."""
    facts: dict[str, Any] = {
        "roles": list(roles),
        "configured": configured,
        "stored": list(ids),
        "clusters": [cluster] * bool(cluster),
    }
    return said("server_ids", roles[0], **facts)


def _server(host: Host) -> dict[str, Any]:
    """As its name says, whatever a test writes into the inventory."""
    if host.name in BROKERS:
        return runs("broker", ids=(BROKERS.index(host.name) + 1,))
    if host.name in SERVERS:
        return runs("zookeeper", ids=(SERVERS.index(host.name) + 1,), cluster="")
    return said("server_ids")


def _healthy(host: Host) -> list[dict[str, Any]]:
    """One finding of every check, all well."""
    rows = [said(check) for check in engine.names() if check not in ("nic_link", "clock", "server_ids")]
    rows.append(_server(host))
    rows.append(said("clock", synchronised=True, offset_ms=0.1, source="ntp1"))
    return [*rows, card()] if "broker" in host.roles else [*rows, said("nic_link")]


def _rows(host: Host, changed: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The healthy findings, those of the changed checks replaced."""
    checks = {row["check"] for row in changed}
    return [row for row in _healthy(host) if row["check"] not in checks] + list(changed)


def situation(
    *leaving: str, purpose: str = "reboot", found: Mapping[str, Sequence[dict[str, Any]]] = {},
    silent: Sequence[str] = (), hosts: Sequence[Host] = (), kafka_says: Any = WELL, zookeeper_says: Any = WELL,
    problems: Mapping[str, str] = {}, locks: Sequence[Lock] | None = (), unread: Mapping[str, str] = {},
    before: Mapping[str, Any] = {}, kraft: bool = False, limits: Any = None, without: Sequence[str] = (),
    fields: Mapping[str, Any] = {}, **asked: Any,
) -> GateContext:  # fmt: skip
    """The hosts that leave (kafka-a01), and everything that is not well. hosts: replace those of the same name.

    found: host -> findings that replace the healthy ones of the same check. without: checks that nobody reports.
    """
    changed = {host.name: host for host in hosts}
    all_hosts = [broker(number) for number in (1, 2, 3)] + ([] if kraft else [server(number) for number in (1, 2, 3)])
    everyone = tuple(changed.pop(host.name, host) for host in all_hosts) + tuple(changed.values())
    given = Cluster(
        "prod-a",
        everyone,
        () if kraft else tuple(f"{name}:2181" for name in SERVERS),
        ("kafka-a01:9092",),
        limits or {},
    )
    reports = {
        host.name: unreached() if host.name in silent else answered(
            *(row for row in _rows(host, found.get(host.name, ())) if row["check"] not in without))
        for host in everyone
    }  # fmt: skip
    if zookeeper_says is WELL:
        zookeeper_says = None if kraft else ensemble()
    view = ClusterView(given, reports, zookeeper_says, kafka() if kafka_says is WELL else kafka_says, problems)
    names = leaving or ("kafka-a01",)
    chosen = tuple(host for host in everyone if host.name in names)
    maintenance = Maintenance(tuple(host.name for host in chosen), purpose, "prod-a", **asked)
    made = GateContext(maintenance, view, chosen, (), locks, unread, before, NOW, "/srv/gate")
    return replace(made, **fields)


def lock(*hosts: str, minutes: float = 60, owner: str = "ann@bastion (pid 4711)", cluster: str = "prod-a") -> Lock:
    return Lock("0badcafe", cluster, hosts or ("kafka-a02",), "reboot", owner, NOW - 600, NOW + minutes * 60)


def decided(seen: GateContext) -> Decision:
    return Decision(vars(seen.maintenance), "2026-11-20T03:12:00Z", 1.0, rules.judge_all(seen))


def rule(seen: GateContext, name: str) -> RuleResult:
    return rules.judged(seen, name)
