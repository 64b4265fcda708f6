"""kafka_config: each setting by itself, silent on a broker as it should be."""

from __future__ import annotations

from typing import Any, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.expected import Expected, ExpectedMount
from agent.host import CannotTell, Touched
from agent.sources.kafka import settings as kafka_settings
from agent.status import Finding
from tests.agent.servers import BROKER_CONFIG, ZOOKEEPER_CONFIG, broker, machine, zookeeper
from tests.machine import FakeHost, by_item, run_checks

MOUNTS = ("/kafka/d1", "/kafka/d2")


def mountinfo(*paths: str, fstype: str = "xfs") -> str:
    rows = [f"3{number} 20 8:{number}7 / {path} rw - {fstype} /dev/sd{number}1 rw" for number, path in enumerate(paths)]
    return "\n".join(["20 1 8:1 / / rw - ext4 /dev/sda1 rw", *rows]) + "\n"


def said(**settings: object) -> str:
    """server.properties of a broker with two log dirs and these settings; `_` stands for a dot."""
    given_ = {"broker_id": 3, "listeners": "PLAINTEXT://:9092", "log_dirs": ",".join(MOUNTS), **settings}
    return "".join(f"{name.replace('_', '.')}={value}\n" for name, value in given_.items() if value is not None)


def kafka_machine(config: Any, mounted: str = mountinfo(*MOUNTS), **expected: Any) -> FakeHost:
    fields = {"roles": ("broker",), "layout": "jbod", "mounts": tuple(map(ExpectedMount, MOUNTS)), **expected}
    text = config if isinstance(config, Exception) else Touched("", {"text": config})
    return machine(broker(), files={"/proc/self/mountinfo": mounted}, answers={f"touch read {BROKER_CONFIG}": text},
                   expected=Expected(**fields))  # fmt: skip


def look_at(host: FakeHost) -> dict[str, Finding]:
    found = by_item(run_checks(host, "kafka_config"))
    assert not [one for one in found.values() if "check failed" in one.verdict.reason], found
    return found


def test_a_broker_with_kafkas_defaults_on_its_own_mounts_is_left_in_peace() -> None:
    found = look_at(kafka_machine(said()))

    assert sorted(found) == sorted(kafka_settings.DEFAULTS)
    assert {one.status for one in found.values()} == {"ok"}
    assert found["log.dirs"].verdict.reason == "2 log dirs on 2 mounts"
    assert found["num.io.threads"].verdict.reason == "num.io.threads 8"


EDGES: list[tuple[dict[str, object], str, str, str]] = [
    ({"num_io_threads": 2}, "num.io.threads", "ok", ""),
    ({"num_io_threads": 1}, "num.io.threads", "warning", "should be at least 2 for 2 data disks"),
    ({"unclean_leader_election_enable": "false"}, "unclean.leader.election.enable", "ok", ""),
    ({"unclean_leader_election_enable": "TRUE"}, "unclean.leader.election.enable", "warning", "they are lost"),
    ({"offsets_retention_minutes": 4320}, "offsets.retention.minutes", "ok", ""),
    ({"offsets_retention_minutes": 4319}, "offsets.retention.minutes", "warning", "stops for 72 h loses its offsets"),
    ({"message_max_bytes": 2097151}, "message.max.bytes", "ok", ""),
    ({"message_max_bytes": 2097152}, "message.max.bytes", "warning", "replica.fetch.max.bytes only 1048576"),
    ({"message_max_bytes": 9000000, "replica_fetch_max_bytes": 9000000}, "message.max.bytes", "ok", ""),
    (
        {"message_max_bytes": 104857601, "replica_fetch_max_bytes": 104857601},
        "message.max.bytes",
        "warning",
        "socket.request.max.bytes only 104857600",
    ),
    ({"compression_type": "producer"}, "compression.type", "ok", ""),
    ({"compression_type": "lz4"}, "compression.type", "warning", "compression.type is lz4"),
    ({"min_insync_replicas": 2, "default_replication_factor": 2}, "min.insync.replicas", "ok", ""),
    ({"min_insync_replicas": 2}, "min.insync.replicas", "warning", "cannot be written with acks=all"),
    ({"min_insync_replicas": 2, "auto_create_topics_enable": "false"}, "min.insync.replicas", "ok", ""),
    (
        {"min_insync_replicas": 4, "default_replication_factor": 5},
        "min.insync.replicas",
        "warning",
        "consumers cannot commit",
    ),
]


@pytest.mark.parametrize(("settings", "item", "status", "words"), EDGES)
def test_the_edges_of_each_setting_and_no_other_setting_is_named(
    settings: Mapping[str, object], item: str, status: str, words: str
) -> None:
    found = look_at(kafka_machine(said(**settings)))

    assert {name: one.status for name, one in found.items() if one.status != "ok"} == (
        {} if status == "ok" else {item: status}
    )
    assert words in found[item].verdict.reason
    assert found[item].verdict.playbook == ("" if status == "ok" else "rolling-restart")


PLACES: list[tuple[str, str, str, str]] = [
    ("/kafka/d1,/kafka/d2", mountinfo(*MOUNTS), "ok", ""),
    ("/kafka/d1/a,/kafka/d1/b,/kafka/d2", mountinfo(*MOUNTS), "warning", "/kafka/d1/a and /kafka/d1/b share mount"),
    ("/kafka/d1", mountinfo(*MOUNTS), "warning", "no log dir on /kafka/d2"),
    (
        "/kafka/d1,/kafka/d2,/opt/kafka",
        mountinfo(*MOUNTS),
        "warning",
        "on the root disk, which Kafka can fill: /opt/kafka",
    ),
    ("/kafka/d1,/kafka/d2", mountinfo("/kafka/d1"), "ok", ""),  # a lost mount is what `mounts` tells
    ("/kafka/d1,/kafka/d2", mountinfo(*MOUNTS, fstype="tmpfs"), "critical", "is in memory (tmpfs)"),
    ("", mountinfo(*MOUNTS), "critical", "log.dirs is not set"),
]


@pytest.mark.parametrize(("log_dirs", "mounts", "status", "words"), PLACES)
def test_where_the_log_dirs_lie(log_dirs: str, mounts: str, status: str, words: str) -> None:
    finding = look_at(kafka_machine(said(log_dirs=log_dirs or None), mounts))["log.dirs"]

    assert finding.status == status and words in finding.verdict.reason


def test_a_mount_that_another_server_uses_is_not_idle() -> None:
    """KRaft's metadata, ZooKeeper's data, and the other broker's log dirs may have mounts of their own."""
    mounts = ("/kafka/d1", "/kafka/d2", "/kafka/meta", "/zk/data", "/zk/log")
    other = "/etc/kafka/2.properties"
    texts = {
        BROKER_CONFIG: said(log_dirs="/kafka/d1", metadata_log_dir="/kafka/meta"),
        other: said(log_dirs="/kafka/d2"),
        ZOOKEEPER_CONFIG: "clientPort=2181\ndataDir=/zk/data/zookeeper\ndataLogDir=/zk/log\n",
    }
    host = machine(
        broker(), broker(pid=4343, config=other), zookeeper(), files={"/proc/self/mountinfo": mountinfo(*mounts)},
        answers={f"touch read {path}": Touched("", {"text": text}) for path, text in texts.items()},
        expected=Expected(roles=("broker", "zookeeper"), layout="jbod", mounts=tuple(map(ExpectedMount, mounts))),
    )  # fmt: skip

    assert {one.status for one in look_at(host).values()} == {"ok"}


def test_a_log_dir_behind_a_symbolic_link_lies_where_the_link_leads() -> None:
    no_link = Touched("EINVAL", {"error": "Invalid argument"})
    links = {"touch link /var": no_link, "touch link /var/lib": no_link,
             "touch link /var/lib/kafka": Touched("", {"target": "../../kafka/d1"})}  # fmt: skip
    host = kafka_machine(said(log_dirs="/var/lib/kafka/logs,/kafka/d2"))
    host.answers.update(links)

    assert look_at(host)["log.dirs"].verdict.reason == "2 log dirs on 2 mounts"


def test_on_raid10_two_log_dirs_may_share_the_volume() -> None:
    host = kafka_machine(said(log_dirs="/data/a,/data/b"), mountinfo("/data"), layout="raid10", mounts=())

    assert look_at(host)["log.dirs"].status == "ok"


def test_a_mount_that_was_guessed_from_an_earlier_run_is_not_called_idle() -> None:
    guessed = ("data mounts: /kafka/d1, /kafka/d2 (from the running process and its configuration)",)

    assert look_at(kafka_machine(said(log_dirs="/kafka/d1"), guessed=guessed))["log.dirs"].status == "ok"


def test_what_is_no_number_is_unknown_and_other_settings_are_judged() -> None:
    found = look_at(kafka_machine(said(num_io_threads="${file:/etc/secret:threads}")))

    assert {name for name, one in found.items() if one.status != "ok"} == {"num.io.threads"}
    assert found["num.io.threads"].status == "unknown"


def test_a_configuration_that_cannot_be_read_is_one_unknown() -> None:
    found = look_at(kafka_machine(CannotTell("no")))

    assert [(item, one.status) for item, one in found.items()] == [("broker", "unknown")]
    assert f"{BROKER_CONFIG} cannot be read" in found["broker"].verdict.reason


def test_a_machine_without_a_running_broker_is_skipped() -> None:
    for roles in (("broker",), ("zookeeper",)):
        (finding,) = run_checks(machine(roles=roles), "kafka_config")
        assert finding.status == "skipped"


def test_several_brokers_are_told_apart() -> None:
    other = "/etc/kafka/2.properties"
    answers = {f"touch read {other}": Touched("", {"text": said(compression_type="gzip")}),
               f"touch read {BROKER_CONFIG}": Touched("", {"text": said()})}  # fmt: skip
    host = machine(broker(), broker(pid=4343, config=other), files={"/proc/self/mountinfo": mountinfo(*MOUNTS)},
                   answers=answers)  # fmt: skip
    found = look_at(host)

    assert len(found) == 2 * len(kafka_settings.DEFAULTS)
    assert {name for name, one in found.items() if one.status != "ok"} == {f"compression.type of broker {other}"}


VALUES = st.one_of(st.text(), st.integers().map(str), st.sampled_from(["true", "", "-1", "1e9", "8 "]))


@given(
    st.dictionaries(
        st.sampled_from(["log.dirs", *(k for row in kafka_settings.DEFAULTS.values() for k in row)]), VALUES
    )
)
def test_odd_settings_never_break_the_check(settings: Mapping[str, str]) -> None:
    text = "".join(f"{name}={value}\n" for name, value in settings.items())
    found = look_at(kafka_machine(text))

    assert found and {one.status for one in found.values()} <= {"ok", "warning", "critical", "unknown"}
