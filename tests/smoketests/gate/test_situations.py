"""The gate's own table: a sentence, what is not as usual, the answer, and the rule that decides.

Hand-made facts; the servers themselves are real in tests/real/test_gate_kafka.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from inventory.model import Cluster, Host
from smoketests.cluster.view import ClusterView
from smoketests.gate import rules
from smoketests.gate.decision import CANNOT_TELL, FAILED, GO, NO_GO, PASSED, UNTOLD, WARNED
from smoketests.gate.ensembles import holders
from smoketests.gate.playbook_runs import Change, Run
from smoketests.readers.kafka.cluster import Quorum, Voter
from smoketests.readers.kafka.model import Dispute, Doubt
from smoketests.readers.zookeeper.ensemble import NO_ANSWER, REFUSED, Member
from tests.smoketests.cluster.views import said
from tests.smoketests.gate.situations import (
    BROKERS,
    FOUR,
    ORDERS,
    TB,
    array,
    broker,
    card,
    decided,
    ensemble,
    kafka,
    lock,
    log_dir,
    member,
    mount,
    partition,
    quorum,
    rule,
    runs,
    server,
    situation,
    smart,
    supply,
    trouble,
)

A01, A02, A03 = BROKERS
NEVER = -1
OLD_DISK = {
    "hosts": {A01: {"layout": "jbod", "disks": {"OLD1": "critical", "D2": "ok"}}},
    "disk": "OLD1", "disk_facts": {"size_bytes": 8 * TB}, "mounts": ["/kafka/d1"],
}  # fmt: skip
OLD_MIRROR = {**OLD_DISK, "hosts": {A01: {"disks": {"AAA1": "ok", "OLD1": "critical"}}}, "mounts": []}
RAID10 = [broker(1, layout="raid10")]
BAD_DISK = [smart("OLD1", "critical"), smart("D2", path="/dev/sdc"), mount("/kafka/d1", "OLD1", "critical"),
            mount("/kafka/d2", "D2", device="sdc1")]  # fmt: skip
FIVE = {f"kafka-a0{number}": [runs("broker", ids=(number,))] for number in (4, 5)}
NEW_DISK = [smart("NEW9"), smart("D2", path="/dev/sdc"), mount("/kafka/d1", "NEW9"), mount("/kafka/d2", "D2")]
TWO_DIRS = (log_dir(1, "/kafka/d1/data", 2 * TB), log_dir(1, "/kafka/d2", 3 * TB), log_dir(2), log_dir(3))
SPARE: dict[str, Any] = {
    "purpose": "replace-psu",
    "found": {A01: [supply("PS1", ["PS2"], "critical"), supply("PS2", [])]},
}
BEHIND_CARD = array(
    "degraded", "critical", gone=["252:1"], exposed=[["252:1", "252:0", "", "SMART reports no fault"]],
    mirrors=[["252:0", "252:1"]], asked_as=[["252:0", "megaraid,10"], ["252:1", "megaraid,11"]],
)  # fmt: skip
CARD_DISKS = (smart("AAA1", path="/dev/bus/0 megaraid,10"), smart("BBB2", "critical", "/dev/bus/0 megaraid,11"))
R1 = [broker(1, rack="r1"), broker(2, rack="r1"), broker(3, rack="r2")]


def jbod(**more: Any) -> dict[str, Any]:
    return {"purpose": "replace-disk", "disk": "OLD1", "found": {A01: BAD_DISK},
            "kafka_says": kafka(log_dirs=TWO_DIRS), **more}  # fmt: skip


def mirrored(*rows: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The disk BBB2 of a RAID 10 is to be replaced; its partner is AAA1."""
    found = {A01: [*(rows or (array(),)), *more.pop("disks", FOUR)]}
    return {"purpose": "replace-disk", "disk": "BBB2", "hosts": RAID10, "found": found, **more}


def after_disk(*rows: dict[str, Any], **more: Any) -> dict[str, Any]:
    given = {"purpose": "replace-disk", "disk": "OLD1", "after": True, "before": OLD_DISK}
    return {**given, "found": {A01: rows or NEW_DISK}, **more}


class Case(NamedTuple):
    sentence: str
    given: dict[str, Any]
    answer: str
    rule: str
    status: str


def go(sentence: str, rule: str = "answers", status: str = PASSED, leaving: str = A01, **given: Any) -> Case:
    return Case(sentence, {"leaving": leaving, **given}, GO, rule, status)


def no_go(sentence: str, rule: str, leaving: str = A01, **given: Any) -> Case:
    return Case(sentence, {"leaving": leaving, **given}, NO_GO, rule, FAILED)


def untold(sentence: str, rule: str, leaving: str = A01, **given: Any) -> Case:
    return Case(sentence, {"leaving": leaving, **given}, UNTOLD, rule, CANNOT_TELL)


PARTITIONS = [
    go("three replicas, two needed, all in sync", "availability"),
    no_go("one of three is behind already, two needed", "availability",
          kafka_says=kafka(*ORDERS, partition("pay", isr=(1, 2)))),
    no_go("the last in sync leaves, one needed", "availability", kafka_says=kafka(partition(isr=(1,), min_isr=1))),
    go("the broker that leaves is the one that is behind", "availability",
       kafka_says=kafka(partition(leader=2, isr=(2, 3)))),
    no_go("below min.insync.replicas already, and a replica is here", "availability",
          kafka_says=kafka(partition(leader=2, isr=(2,)))),
    no_go("two brokers leave at once, each alone could", "availability", leaving=f"{A01} {A02}"),
    go("two brokers leave at once, one copy is enough", "availability", leaving=f"{A01} {A02}",
       kafka_says=kafka(partition(min_isr=1))),
    no_go("the inventory says no role, but a broker is registered from here", "unreplicated",
          hosts=[broker(1, roles=(), broker_id=None)],
          kafka_says=kafka(*ORDERS, partition("tmp", 0, (1,), min_isr=1))),
    untold("the inventory says no role of anybody, and names no Kafka", "availability", kafka_says=None,
           hosts=[broker(number, roles=(), broker_id=None) for number in (1, 2, 3)]),
    no_go("all brokers leave at once", "availability", leaving=" ".join(BROKERS),
          kafka_says=kafka(partition(min_isr=1))),
    no_go("the only copy of a topic is here", "unreplicated", kafka_says=kafka(*ORDERS, partition("tmp", 0, (1,)))),
    go("the only copy of a topic is elsewhere", "unreplicated",
       kafka_says=kafka(*ORDERS, partition("tmp", 0, (2,), min_isr=1))),
    no_go("a broker that stays has given up a log dir", "log_dirs",
          kafka_says=kafka(log_dirs=(log_dir(1), log_dir(2, error="KAFKA_STORAGE_ERROR"), log_dir(3)))),
    go("only the broker that leaves has given up a log dir", "log_dirs",
       kafka_says=kafka(log_dirs=(log_dir(1, error="KAFKA_STORAGE_ERROR"), log_dir(2), log_dir(3)))),
    no_go("the new disk's log dir has an error", "log_dirs", after=True,
          kafka_says=kafka(log_dirs=(log_dir(1, error="KAFKA_STORAGE_ERROR"), log_dir(2), log_dir(3)))),
    untold("a broker hangs, though its place in the ISR is not lost yet", "log_dirs",
           kafka_says=kafka(log_dirs=(log_dir(1), log_dir(3)), untold=("log dirs of broker 2: no answer",))),
    untold("a broker went from the metadata between two questions, its place in the ISR is not lost yet", "log_dirs",
           kafka_says=kafka(brokers=(1, 3), log_dirs=(log_dir(1), log_dir(3)))),
    untold("a broker went from the metadata after ZooKeeper was asked", "log_dirs",
           kafka_says=kafka(partition(replicas=(1, 2), min_isr=1), brokers=(1, 3), log_dirs=(log_dir(1), log_dir(3)))),
    go("the broker that leaves hangs", "log_dirs",
       kafka_says=kafka(log_dirs=(log_dir(2), log_dir(3)), untold=("log dirs of broker 1: no answer",))),
    untold("no broker tells its log dirs", "log_dirs", kafka_says=kafka(log_dirs=None)),
    no_go("two replicas, two needed", "min_isr", kafka_says=kafka(partition(replicas=(1, 2)))),
    no_go("two replicas, two needed, and only ours is in sync", "availability",
          kafka_says=kafka(partition(replicas=(1, 2), isr=(1,)))),
    go("a partition of another broker has no leader", "offline", WARNED,
          kafka_says=kafka(*ORDERS, partition("x", 0, (2,), leader=-1, isr=()))),
    no_go("a partition here has no leader", "offline",
          kafka_says=kafka(*ORDERS, partition("x", 0, (2, 1), leader=-1, isr=(), min_isr=1))),
    go("a partition elsewhere is under-replicated", "under_replicated", WARNED,
          kafka_says=kafka(*ORDERS, partition("x", 0, (2, 3), isr=(2,), min_isr=1))),
    go("a replica that a reassignment adds is not missing, but", "under_replicated",
       kafka_says=kafka(partition(leader=2, replicas=(2, 3, 1), isr=(2, 3)))),
    no_go("a reassignment runs", "reassignments", kafka_says=kafka(partition(adding=(3,)))),
    go("replicas are being moved between the disks of the broker", "reassignments", WARNED,
       kafka_says=kafka(log_dirs=(log_dir(1, future=2), log_dir(2), log_dir(3)))),
    no_go("a disk is to go while replicas are moved between the broker's disks", "reassignments",
          **jbod(kafka_says=kafka(log_dirs=(TWO_DIRS[0]._replace(future=1), *TWO_DIRS[1:])))),
    go("replicas are being moved between the disks of another broker", "reassignments",
       kafka_says=kafka(log_dirs=(log_dir(1), log_dir(2, future=2), log_dir(3)))),
    go("the broker runs and has not registered yet: it may recover its logs", "log_recovery", WARNED,
       kafka_says=kafka(partition(leader=2, isr=(2, 3)), brokers=(2, 3)), zookeeper_says=ensemble(brokers=(2, 3))),
    no_go("a reassignment takes a replica away", "reassignments", kafka_says=kafka(partition(removing=(3,)))),
    go("a throttle is left over", "throttles", WARNED, kafka_says=kafka(throttled=("topic orders",))),
    no_go("a follower that is behind would lead: messages are lost", "unclean",
          kafka_says=kafka(partition(isr=(1,), min_isr=1, unclean=True))),
    go("unclean elections are allowed, but another is in sync", "unclean",
       kafka_says=kafka(partition(unclean=True, min_isr=1))),
    go("the active controller leaves", "controller", WARNED, leaving=A03),
    no_go("there is no active controller", "controller", kafka_says=kafka(controller=None)),
    untold("the topics' min.insync.replicas is unknown", "availability", kafka_says=kafka(partition(min_isr=None))),
    untold("the inventory has another id than the machine's own files", "identities", hosts=[broker(1, broker_id=7)]),
    untold("one topic could not be read", "availability",
           kafka_says=kafka(untold=("topic pay cannot be read (error 29)",))),
    untold("no partition could be read", "offline", kafka_says=kafka()._replace(partitions=None)),
    untold("reassignments could not be read", "reassignments",
           kafka_says=kafka(untold=("reassignments cannot be read: no reply within 22 s",))),
    untold("a broker with the same partitions has stale metadata", "metadata",
           kafka_says=kafka(doubts=(Doubt(2, "its metadata is stale: 14 s behind the controllers"),))),
    go("a broker without the same partitions does not answer", "metadata", WARNED,
       kafka_says=kafka(partition(replicas=(1, 3), min_isr=1), doubts=(Doubt(2, "no reply"),))),
    go("the broker that leaves is cut off", "metadata", kafka_says=kafka(doubts=(Doubt(1, "no reply"),))),
    untold("brokers do not agree on a partition of ours", "metadata",
           kafka_says=kafka(disputes=(Dispute("orders", 1, "broker 1: leader 1; broker 2: leader 2"),))),
    go("brokers do not agree on a partition elsewhere", "metadata",
       kafka_says=kafka(*ORDERS, partition("x", 0, (2, 3), min_isr=1), disputes=(Dispute("x", 0, "who says what"),))),
    untold("the broker that came back has stale metadata", "metadata", after=True,
           kafka_says=kafka(doubts=(Doubt(1, "its metadata is stale: 14 s behind the controllers"),))),
    untold("this Kafka is too old to tell its reassignments", "reassignments", kafka_says=kafka(tells_moves=False)),
    untold("throttles could not be read", "throttles", kafka_says=kafka(throttled=None)),
    untold("Kafka is out of reach", "availability", kafka_says=None, problems={"kafka": "connection refused"}),
    untold("the inventory gives the broker no id and no address fits", "availability",
           hosts=[broker(1, broker_id=None, address="10.9.9.9")], kafka_says=kafka(brokers=(2, 3)),
           zookeeper_says=ensemble(brokers=(2, 3)), found={A01: [said("server_ids", "-", "skipped")]}),
]  # fmt: skip

QUORUMS = [
    go("one of three ZooKeeper servers leaves", "zookeeper", leaving="zk-a01"),
    go("the ensemble's leader leaves", "zookeeper", WARNED, leaving="zk-a02"),
    no_go("one of three is down already, another leaves", "zookeeper", leaving="zk-a01", zookeeper_says=ensemble(
        member(1), member(2, "leader", synced_followers=1), Member("zk-a03:2181", REFUSED, "nothing listens"))),
    no_go("one that stays is not in step", "zookeeper", leaving="zk-a01",
          zookeeper_says=ensemble(member(1), member(2, "leader", synced_followers=1), member(3, zxid=0x100000001))),
    go("the inventory names two of the three servers", "zookeeper", leaving="zk-a01",
       zookeeper_says=ensemble(member(1), member(2, "leader"))),
    no_go("the inventory names two of the three servers, and the third is down", "zookeeper", leaving="zk-a01",
          zookeeper_says=ensemble(member(1), member(2, "leader", synced_followers=1))),
    go("the server that leaves is the one that is down", "zookeeper", leaving="zk-a03", zookeeper_says=ensemble(
        member(1), member(2, "leader", synced_followers=1), Member("zk-a03:2181", REFUSED, "nothing listens"))),
    no_go("two of three leave", "zookeeper", leaving="zk-a01 zk-a02"),
    no_go("a broker leaves while the ensemble can lose none", "zookeeper", zookeeper_says=ensemble(
        member(1), member(2, "leader", synced_followers=1), Member("zk-a03:2181", REFUSED, "nothing listens"))),
    untold("one that stays gives no answer, and without it there is no majority", "zookeeper", leaving="zk-a01",
           zookeeper_says=ensemble(member(1), member(2, "leader", synced_followers=None),
                                   Member("zk-a03:2181", NO_ANSWER, "no reply within 4 s"))),
    untold("ZooKeeper is out of reach", "zookeeper", leaving="zk-a01", zookeeper_says=None,
           problems={"zookeeper": "the reader failed"}),
    untold("no server of the ensemble has this host's name", "zookeeper", leaving="zk-a04",
           hosts=[server(4, address="10.0.0.4")]),
    no_go("one of three servers is to go for good", "zookeeper", leaving="zk-a01", purpose="decommission"),
    go("one of five servers is to go for good", "zookeeper", WARNED, leaving="zk-a01", purpose="decommission",
       hosts=[server(4), server(5)], zookeeper_says=ensemble(
           *(member(n, "leader" if n == 2 else "follower", synced_followers=4 if n == 2 else None, quorum_size=5)
             for n in range(1, 6)))),
    untold("nobody tells how many servers vote", "zookeeper", leaving="zk-a01", zookeeper_says=ensemble(
        *(member(n, mode, quorum_size=None, synced_followers=None)
          for n, mode in ((1, "follower"), (2, "leader"), (3, "follower"))))),
    untold("two of five voters stand in no inventory, and the leader does not tell of them", "zookeeper",
           leaving="zk-a01", zookeeper_says=ensemble(*(
               member(n, mode, quorum_size=None, synced_followers=None,
                      voters=tuple((str(k), f"zk{k}:2888:3888") for k in range(1, 6)))
               for n, mode in ((1, "follower"), (2, "leader"), (3, "follower"))))),
    no_go("one of three controllers is to go for good", "kraft_quorum", kraft=True, purpose="decommission",
          kafka_says=kafka(partition(replicas=(1, 2), min_isr=1), quorum=quorum(v1=10, v2=300, v3=0))),
    go("one of five controllers is to go for good", "kraft_quorum", WARNED, kraft=True, purpose="decommission",
       kafka_says=kafka(partition(replicas=(1, 2), min_isr=1), quorum=quorum(v1=1, v2=1, v3=0, v4=1, v5=1))),
    go("one of three controllers leaves", "kraft_quorum", leaving=A01, kraft=True,
       kafka_says=kafka(quorum=quorum(v1=10, v2=300, v3=0))),
    no_go("one of three controllers leaves, another is behind", "kraft_quorum", kraft=True,
          kafka_says=kafka(quorum=quorum(v1=10, v2=3000, v3=0))),
    no_go("a quorum of two stops while one is away", "kraft_quorum", kraft=True,
          kafka_says=kafka(quorum=quorum(v1=10, v3=0))),
    no_go("the controllers have no leader", "kraft_quorum", kraft=True,
          kafka_says=kafka(quorum=quorum(-1, v1=10, v2=10, v3=0))),
    untold("it is not told who is caught up", "kraft_quorum", kraft=True,
           kafka_says=kafka(quorum=quorum(v1=None, v2=None, v3=None))),
    go("whichever voter the nameless controller is, enough are left", "kraft_quorum", leaving="ctl-1", kraft=True,
       hosts=[Host("ctl-1", roles=("controller",), cluster="prod-a")],
       kafka_says=kafka(quorum=quorum(101, v101=0, v102=10, v103=10), controller=101)),
    untold("the quorum gives no answer: no controller is known, and none is missed", "controller", kraft=True,
           kafka_says=kafka(controller=None, untold=("quorum cannot be read: no reply within 22 s",))),
    no_go("the controller beside a broker is told by its address", "kraft_quorum", kraft=True, kafka_says=kafka(
        quorum=Quorum(12, (Voter(11, 0, ("kafka-a01:9093",)), Voter(12, 0, ("kafka-a02:9093",)), Voter(13, 9000))))),
    go("the broker that leaves has the id of a controller elsewhere", "kraft_quorum", kraft=True, kafka_says=kafka(
        quorum=Quorum(2, (Voter(1, 0, ("kafka-a02:9093",)), Voter(2, 0, ("kafka-a03:9093",)))))),
    untold("it matters which voter the nameless controller is", "kraft_quorum", leaving="ctl-1", kraft=True,
           hosts=[Host("ctl-1", roles=("controller",), cluster="prod-a")],
           kafka_says=kafka(quorum=quorum(101, v101=0, v102=10, v103=9000))),
]  # fmt: skip

MACHINES = [
    no_go("another broker's disk is dying", "disks", found={A02: [trouble("smart")]}),
    go("the dying disk is the one of the host that leaves", "disks", found={A01: [trouble("smart")]}),
    go("another broker's disk has a warning", "disks", WARNED, found={A02: [trouble("smart", "warning")]}),
    go("a mount would not be there after the restart", "remounts_on_boot", WARNED, found={A01: [
        said("mounts", "/kafka/d1", "warning", fstab_problem="not in /etc/fstab: not mounted after a reboot",
             options_only_now=[])]}),
    no_go("another broker's mount is read-only", "disks", found={A03: [trouble("mounts")]}),
    no_go("another broker's network card is reset", "network", found={A02: [trouble("nic_resets")]}),
    no_go("another broker has lost a power supply", "power", found={A02: [trouble("power")]}),
    no_go("another broker has uncorrected memory errors", "memory", found={A02: [trouble("memory_errors")]}),
    no_go("another broker does not run", "services", found={A02: [trouble("services")]}),
    untold("SMART of another broker could not be read", "disks", found={A02: [trouble("smart", "unknown")]}),
    untold("another machine did not answer", "answers", silent=[A02]),
    go("the machine that leaves did not answer: that is why", "answers", silent=[A01]),
    untold("a report lacks a check", "memory", without=["memory_errors"]),
    go("what the inventory skips is not asked of that host", "power",
       hosts=[broker(2, skip={"power": "no BMC, ticket 4711"})], found={A02: [trouble("power")]}),
    no_go("another machine's clock is wrong", "clock", found={A02: [trouble("clock")]}),
    no_go("two clocks are far apart though each is content", "clock",
          found={A02: [said("clock", synchronised=True, offset_ms=5000.0, source="ntp2")]}),
    no_go("another broker is not registered", "brokers", kafka_says=kafka(brokers=(1, 2)),
          zookeeper_says=ensemble(brokers=(1, 2))),
    go("the broker that leaves is not registered any more", "brokers", kafka_says=kafka(
        partition(leader=2, isr=(2, 3)), brokers=(2, 3)), zookeeper_says=ensemble(brokers=(2, 3))),
    go("a neighbour in the rack is in trouble, all copies are elsewhere", "shared_parts", WARNED, hosts=R1,
       found={A02: [trouble("power", "warning")]},
       kafka_says=kafka(partition(replicas=(1, 3), min_isr=1, leader=3))),
    no_go("a neighbour on the feed is in trouble, and a copy depends on it", "shared_parts",
          hosts=[broker(1, power_feed="A"), broker(2, power_feed="A")], found={A02: [trouble("power", "warning")]},
          kafka_says=kafka(partition(replicas=(1, 2), min_isr=1))),
    untold("a neighbour in the drawer is in trouble, partitions unknown", "shared_parts",
           hosts=[broker(1, drawer="3"), broker(2, drawer="3")], found={A02: [trouble("cooling", "warning")]},
           kafka_says=None, problems={"kafka": "no answer"}),
    no_go("the cards that stay are nearly full", "nic_room",
          found={A02: [card(tx_bytes_per_s=9e8)]}),
    untold("a card's load is not known", "nic_room", found={A02: [card(rx_bytes_per_s=None, tx_bytes_per_s=None)]}),
    go("a bond counts, its members do not", "nic_room",
       found={A02: [card("bond0"), card(is_member=True, rx_bytes_per_s=None)]}),
    go("somebody else got GO for another broker minutes ago", "earlier_answers", WARNED,
       fields={"recent": [{"answer": "GO", "at": "2026-11-20T03:02:00Z", "who": "ann@bastion (pid 7)",
                           "maintenance": {"hosts": [A02], "purpose": "reboot", "cluster": "prod-a"}}]}),
    go("somebody else's maintenance in another cluster", "other_maintenance", locks=[lock(cluster="prod-b")]),
    no_go("somebody has another broker of the cluster", "other_maintenance", locks=[lock(A02)]),
    no_go("somebody has this very broker", "other_maintenance", locks=[lock(A01)]),
    go("the lock is the asker's own", "other_maintenance", locks=[lock(A01)], lock="0badcafe"),
    go("a lock expired and was never released", "other_maintenance", WARNED, locks=[lock(A02, minutes=-1)]),
    untold("the locks cannot be read", "other_maintenance", locks=None, unread={"locks": "Permission denied"}),
]  # fmt: skip

DISKS = [
    go("a JBOD disk fails, its partitions fit on the others", "disk_room", **jbod()),
    no_go("the partitions of the disk do not fit on the others", "disk_room", **jbod(kafka_says=kafka(log_dirs=(
        log_dir(1, "/kafka/d1/data", 3 * TB), log_dir(1, "/kafka/d2", 4 * TB), log_dir(2), log_dir(3))))),
    untold("the log dirs are not told", "disk_room", **jbod(kafka_says=kafka(log_dirs=None))),
    no_go("no such disk is in the machine", "disk", **jbod(disk="WRONG1")),
    go("nothing speaks against the named disk", "disk", WARNED, **jbod(disk="D2")),
    untold("the machine is silent and nobody names the disk", "disk", **jbod(silent=[A01], disk="OLD1")),
    go("the partner of the mirror is well", "mirror_partner", **mirrored()),
    no_go("the partner is dying", "mirror_partner", **mirrored(disks=[smart("AAA1", "critical"), *FOUR[1:]])),
    untold("SMART of the partner is not told", "mirror_partner", **mirrored(disks=FOUR[1:])),
    go("another pair's disk is dying", "mirror_partner", **mirrored(disks=[*FOUR[:2], smart("CCC3", "critical")])),
    no_go("the partner failed: this disk is the last copy", "mirror_partner", **mirrored(array(
        "degraded", "critical", gone=["sda1 (serial AAA1)"],
        exposed=[["sda1 (serial AAA1)", "sdb1 (serial BBB2)", "", "SMART reports no fault"]]))),
    go("the disk itself failed and its partner is well", "mirror_partner", **mirrored(array(
        "degraded", "critical", gone=["sdb1 (serial BBB2)"],
        exposed=[["sdb1 (serial BBB2)", "sda1 (serial AAA1)", "", "SMART reports no fault"]]))),
    no_go("another disk of the array rebuilds", "mirror_partner",
          **mirrored(array("rebuilding", "warning", rebuilding=["sdc1 (serial CCC3)"]))),
    go("behind a controller, the failed disk and its well partner are told by smartctl's numbers", "mirror_partner",
       **mirrored(BEHIND_CARD, disks=CARD_DISKS)),
    no_go("behind a controller, the partner is dying", "mirror_partner",
          **mirrored(BEHIND_CARD, disks=[smart("AAA1", "critical", "/dev/bus/0 megaraid,10"), *CARD_DISKS[1:]])),
    no_go("behind a controller, the partner's disk is named", "mirror_partner",
          **mirrored(BEHIND_CARD, disks=CARD_DISKS, disk="AAA1")),
    untold("behind a controller that tells no numbers, one failed: which?", "mirror_partner", **mirrored(
        array("degraded", "critical", gone=["disk 1I:1:2"], mirrors=[["disk 1I:1:1", "disk 1I:1:2"]]))),
    go("behind a controller that tells no numbers, all are well", "mirror_partner", **mirrored(
        array(mirrors=[["disk 1I:1:1", "disk 1I:1:2"]]))),
    untold("the array is not told", "mirror_partner", **mirrored(said("raid", "-", "unknown"))),
    go("a topic with one copy does not mind a disk of a RAID 10", "mirror_partner",
       **mirrored(kafka_says=kafka(partition(replicas=(1,), min_isr=1)))),
    go("one power supply is out, the other works", "psu_redundancy", **SPARE),
    no_go("the only power supply that works is to be pulled", "psu_redundancy", purpose="replace-psu",
          found={A01: [supply("PS1", [])]}),
    untold("the BMC tells of no power supply", "psu_redundancy", purpose="replace-psu"),
    untold("a broker leaves for good, and nobody tells how large its partitions are", "disk_room",
           purpose="decommission", kafka_says=kafka(partition(replicas=(1, 2), min_isr=1, size_bytes=None))),
    go("a broker leaves for good, the others have room", "disk_room", purpose="decommission",
       kafka_says=kafka(partition(replicas=(1, 2), min_isr=1))),
    no_go("a broker leaves for good, the others have no room", "disk_room", purpose="decommission",
          kafka_says=kafka(partition(replicas=(1, 2), min_isr=1, size_bytes=TB),
                           log_dirs=tuple(log_dir(number, used=6 * TB) for number in (1, 2, 3)))),
    no_go("a broker leaves for good, a topic has three replicas", "replicas_fit", purpose="decommission"),
    no_go("a broker leaves for good, the only one that could take its replica is full and others are empty",
          "disk_room", purpose="decommission", hosts=[broker(4), broker(5)], found=FIVE,
          kafka_says=kafka(partition(replicas=(1, 3, 4), min_isr=1), brokers=(1, 2, 3, 4), log_dirs=(
              log_dir(1), log_dir(2, used=7.7 * TB), log_dir(3, used=0), log_dir(4, used=0))),
          zookeeper_says=ensemble(brokers=(1, 2, 3, 4))),
    no_go("a broker leaves for good, its largest partition fits on no disk though all together have room",
          "disk_room", purpose="decommission", kafka_says=kafka(
              partition(replicas=(1, 2), min_isr=1, size_bytes=3 * TB), log_dirs=(
                  log_dir(1), log_dir(2), log_dir(3, "/kafka/d1", 4 * TB), log_dir(3, "/kafka/d2", 4 * TB)))),
    no_go("a JBOD disk is to go and another disk of the broker is full, a third is empty", "disk_room",
          **jbod(kafka_says=kafka(log_dirs=(
              log_dir(1, "/kafka/d1/data", 2 * TB), log_dir(1, "/kafka/d2", 7.7 * TB), log_dir(1, "/kafka/d3", 0),
              log_dir(2), log_dir(3))))),
]  # fmt: skip

AFTER = [
    go("everything is back", "preferred_leaders", after=True),
    no_go("a replica is not in sync yet", "under_replicated", after=True,
          kafka_says=kafka(partition(leader=2, isr=(2, 3)))),
    no_go("the leaders are not back", "preferred_leaders", after=True, kafka_says=kafka(partition(leader=2))),
    no_go("the broker is not registered", "brokers", after=True, kafka_says=kafka(brokers=(2, 3)),
          zookeeper_says=ensemble(brokers=(2, 3))),
    no_go("its log tells of a failed log dir", "broker_log", after=True, found={A01: [trouble("kafka_log")]}),
    untold("its log could not be read", "broker_log", after=True, found={A01: [trouble("kafka_log", "unknown")]}),
    untold("no reply", "answers", after=True, silent=[A01]),
    no_go("its own disk is dying", "disks", after=True, found={A01: [trouble("smart")]}),
    no_go("a partition has no leader", "offline", after=True, kafka_says=kafka(partition(leader=-1, isr=()))),
    go("our own lock is still held", "other_maintenance", after=True, locks=[lock(A01)]),
    go("a larger disk is in its place", "new_disk", **after_disk()),
    no_go("the new disk is smaller", "new_disk",
          **after_disk(smart("NEW9", size=4 * TB), mount("/kafka/d1", "NEW9"))),
    no_go("the old disk is still mounted", "new_disk",
          **after_disk(smart("OLD1"), smart("NEW9", path="/dev/sdx"), mount("/kafka/d1", "OLD1"))),
    no_go("nothing is mounted where it was", "new_disk",
          **after_disk(smart("NEW9"), mount("/kafka/d1", "", "critical", device=""))),
    no_go("the new disk has a SMART warning", "new_disk",
          **after_disk(smart("NEW9", "warning"), mount("/kafka/d1", "NEW9"))),
    no_go("no new disk is there", "new_disk", **after_disk(smart("D2"), mount("/kafka/d1", "D2"))),
    no_go("the array still rebuilds", "new_disk", **after_disk(
        smart("NEW9"), array("rebuilding", "warning", rebuilding=["sdb1"]), hosts=RAID10, before=OLD_MIRROR)),
    go("the array is whole again", "new_disk", **after_disk(
        smart("NEW9"), smart("AAA1", path="/dev/sda"), array(), hosts=RAID10, before=OLD_MIRROR)),
    untold("SMART tells of no disk", "new_disk", **after_disk(said("smart", "vda", "skipped"), mount("/kafka/d1", ""))),
    go("the inventory skips SMART, and the mount is well", "new_disk", hosts=[broker(1, skip={"smart": "a VM"})],
       **after_disk(said("smart", "vda", "skipped"), mount("/kafka/d1", ""))),
    untold("no data from before the maintenance", "new_disk",
           **after_disk(before={}, unread={"before": "results holds no decision"})),
    go("a broker left for good", "drained", purpose="decommission", after=True, silent=[A01],
       kafka_says=kafka(partition(replicas=(2, 3), min_isr=1), brokers=(2, 3)),
       zookeeper_says=ensemble(brokers=(2, 3))),
    no_go("a broker left for good, and a replica is still on it", "drained", purpose="decommission", after=True),
]  # fmt: skip

ABANDONED = Run(
    "20261120-021200-1a2b", "rolling-restart", A01, "prod-a", "stopped", "ann", "2026-11-20T02:13Z", "4", ("reboot",),
    (Change("replica order", "orders-0", [1, 2, 3], [2, 3, 1], "2026-11-20T02:12:30Z"),
     Change("throttle", "broker 2 leader.replication.throttled.rate", None, "1000000", "2026-11-20T02:12:30Z")),
)  # fmt: skip
REORDERED = kafka(ORDERS[0]._replace(replicas=(2, 3, 1), leader=2), *ORDERS[1:])


def left_behind(run: Run = ABANDONED, **given: Any) -> dict[str, Any]:
    return {"after": True, "kafka_says": REORDERED, "fields": {"runs": [run]}, **given}


PLAYBOOKS = [
    no_go("an abandoned run left the order of replicas rewritten, and no leader is missed", "playbook_changes",
          **left_behind()),
    go("an abandoned run's order of replicas was put back by hand", "playbook_changes",
       **left_behind(kafka_says=kafka())),
    go("the run is under way", "playbook_changes", **left_behind(replace(ABANDONED, state="running"))),
    no_go("an abandoned run left a throttle", "playbook_changes",
          **left_behind(kafka_says=kafka(throttled=("broker 2", "topic orders")))),
    go("another host's run left the order rewritten", "playbook_changes", WARNED,
       **left_behind(replace(ABANDONED, host=A02))),
    go("before the next maintenance an abandoned run's order is told", "playbook_changes", WARNED,
       **left_behind(after=False)),
    untold("an abandoned run disabled the unit", "playbook_changes",
           **left_behind(replace(ABANDONED, changes=(Change("unit disabled", "kafka.service", None, None, ""),)))),
    no_go("an abandoned run stopped the unit and nothing runs", "playbook_changes",
          **left_behind(replace(ABANDONED, changes=(Change("unit stopped", "kafka.service", None, None, ""),)))),
    untold("the journals cannot be read", "playbook_changes",
           **left_behind(fields={"runs": None}, unread={"runs": "results/playbooks: Permission denied"})),
]  # fmt: skip

CASES = [*PLAYBOOKS, *PARTITIONS, *QUORUMS, *MACHINES, *DISKS, *AFTER]


@pytest.mark.parametrize("case", CASES, ids=[case.sentence for case in CASES])
def test_the_gate_answers(case: Case) -> None:
    given = dict(case.given)
    seen = situation(*given.pop("leaving").split(), **given)
    decision = decided(seen)
    results = {result.name: result for result in decision.rules}

    told = {name: (result.status, result.reason) for name, result in results.items()}
    assert results[case.rule].status == case.status, told[case.rule]
    assert decision.answer == case.answer, {name: row for name, row in told.items() if row[0] in (FAILED, CANNOT_TELL)}
    assert all(result.reason for result in decision.rules)


def test_the_table_has_at_least_forty_sentences_each_its_own() -> None:
    assert len({case.sentence for case in CASES}) == len(CASES) >= 40


def test_every_rule_decides_somewhere_and_is_passed_somewhere() -> None:
    assert {case.rule for case in CASES} | {"leaders"} == set(rules.names())
    for name in rules.names():
        if name not in ("leaders", "answers"):
            assert any(case.rule == name and case.status != PASSED for case in CASES), name


def test_the_ensemble_of_other_clusters_on_these_hosts_is_judged_too() -> None:
    seen = situation("zk-a01", zookeeper_says=None)
    alone = replace(seen.view, cluster=replace(seen.view.cluster, zookeeper=()), zookeeper=None)
    two = ensemble(
        member(1), member(2, "leader", synced_followers=1), Member("zk-a03:2181", REFUSED, "nothing listens")
    )
    other = Cluster("prod-b", zookeeper=("zk-a01:2181/b", "zk-a02:2181", "zk-a03:2181"))
    judged = {
        words: rule(replace(seen, view=alone, served=(ClusterView(other, {}, zookeeper=said),)), "zookeeper").status
        for words, said in (("well", ensemble()), ("one down", two))
    }

    assert judged == {"well": PASSED, "one down": FAILED}
    assert rule(replace(seen, view=alone), "zookeeper").status == CANNOT_TELL


def test_a_maintenance_of_the_machines_of_our_zookeeper_is_ours_to_know() -> None:
    seen = situation(locks=[lock("zk-b01", cluster="zk")])

    assert rule(seen, "other_maintenance").status == PASSED
    assert rule(replace(seen, serving=frozenset({"zk"})), "other_maintenance").status == FAILED


def test_several_servers_behind_one_address_are_told_apart_by_their_ports() -> None:
    hosts = [replace(server(number), address="10.0.0.1", ports=(2180 + number,)) for number in (1, 2)]

    assert [host.name for host in holders("10.0.0.1:2182", hosts)] == ["zk-a02"]
    assert [host.name for host in holders("10.0.0.1:9999", hosts)] == ["zk-a01", "zk-a02"]
    assert [host.name for host in holders("ZK-A01.example.com:2181", hosts)] == ["zk-a01"]
    assert holders("10.0.0.11:2181", hosts) == [] == holders("zk-a011:2181", hosts)
