"""kafka: which servers run here, which ran, and what their configuration files say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.expected import Expected
from agent.host import CannotTell, NotApplicable, Process, Touched
from agent.sources.kafka import java_properties
from agent.sources.kafka import processes as kafka
from tests.agent.servers import BROKER_CONFIG, answers, broker, machine, zookeeper
from tests.machine import FakeHost, next_run

REAL_PROPERTIES = """\
# Licensed to the Apache Software Foundation (ASF)
broker.id=3
listeners = PLAINTEXT://:9092,\\
    SSL://kafka-a03:9093
log.dirs: /kafka/d1,/kafka/d2
! an old remark
num.io.threads 8
empty=
"""


def test_properties_are_read_as_java_reads_them() -> None:
    assert java_properties.parse(REAL_PROPERTIES) == {
        "broker.id": "3",
        "listeners": "PLAINTEXT://:9092,SSL://kafka-a03:9093",
        "log.dirs": "/kafka/d1,/kafka/d2",
        "num.io.threads": "8",
        "empty": "",
    }


@given(st.text())
def test_rubbish_gives_properties_of_text_or_none(text: str) -> None:
    for key, value in java_properties.parse(text).items():
        assert key and key == key.strip() and key[0] not in "#!"
        assert value == value.strip()


KEYS = st.from_regex(r"[a-z][a-z.]{0,20}", fullmatch=True)
VALUES = st.from_regex(r"[A-Za-z0-9/:,=._-]{0,30}", fullmatch=True).filter(lambda value: value[:1] not in ("=", ":"))


@given(st.dictionaries(KEYS, VALUES))
def test_what_was_written_is_read_back(properties: dict[str, str]) -> None:
    text = "".join(f"# note\n{key}={value}\n" for key, value in properties.items())

    assert java_properties.parse(text) == properties


def service(role: str, **config: str) -> kafka.Service:
    process = broker() if role == "broker" else zookeeper()
    return kafka.Service(role, process, "", {name.replace("_", "."): value for name, value in config.items()})


@pytest.mark.parametrize(
    ("config", "ports"),
    [
        ({"listeners": "PLAINTEXT://:9092,SASL_SSL://[::]:9093"}, [9092, 9093]),
        ({"listeners": "PLAINTEXT://a:9092, CONTROLLER://b:9094 "}, [9092, 9094]),
        ({"broker_id": "3"}, [9092]),
        ({"port": "9192"}, [9192]),
        ({"listeners": "PLAINTEXT://:0,SSL://:99999,X://nonsense"}, []),
        ({}, []),
    ],
)
def test_the_ports_of_a_broker(config: dict[str, str], ports: list[int]) -> None:
    assert kafka.ports(service("broker", **config)) == ports


@pytest.mark.parametrize(
    ("config", "ports"),
    [
        ({"clientPort": "2181", "secureClientPort": "2281"}, [2181, 2281]),
        ({"clientPort": "2181", "server_1": "zk1:2888:3888"}, [2181]),
        ({"server_1": "zk1:2888:3888:participant;0.0.0.0:2182"}, [2182]),
        ({"server_1": "zk1:2888:3888;2182"}, [2182]),
        ({"dataDir": "/x"}, []),
    ],
)
def test_the_ports_of_a_zookeeper(config: dict[str, str], ports: list[int]) -> None:
    assert kafka.ports(service("zookeeper", **config)) == ports


def test_a_relative_configuration_path_is_below_the_working_directory_of_the_process() -> None:
    host = machine(
        broker(config="../config/server.properties"),
        answers={
            "touch link /proc/4242/cwd": Touched("", {"target": "/opt/kafka/bin"}),
            "touch read /opt/kafka/config/server.properties": Touched("", {"text": "broker.id=7\n"}),
        },
    )

    assert kafka.services(host)[0].config == {"broker.id": "7"}


@pytest.mark.parametrize("cwd", [Touched("EACCES", {"error": "Permission denied"}), CannotTell("stuck")])
def test_an_unreadable_working_directory_leaves_the_configuration_unknown(cwd: object) -> None:
    host = machine(broker(config="server.properties"), answers={"touch link /proc/4242/cwd": cwd})

    (row,) = kafka.known_servers(host)
    assert (row.item, row.ports, row.service and row.service.config) == ("broker", (), {})


def test_overrides_on_the_command_line_win() -> None:
    process = broker()
    process = process._replace(argv=(*process.argv, "--override", "broker.id=9", "--override", "log.dirs=/kafka/d9"))

    config = kafka.services(machine(process))[0].config
    assert (config["broker.id"], kafka.log_dirs(config)) == ("9", ["/kafka/d9"])


def test_a_kraft_controller_is_not_a_broker_and_a_combined_server_is_both() -> None:
    alone, both = (
        kafka.services(machine(broker(), answers={f"touch read {BROKER_CONFIG}": Touched("", {"text": text})}))[0]
        for text in ("process.roles=controller\n", "process.roles=broker,controller\n")
    )

    assert alone.role == "controller" and not kafka.serves(alone, "broker")
    assert both.role == "broker" and kafka.serves(both, "controller") and kafka.serves(both, "broker")


def test_a_launcher_that_waits_in_front_of_the_server_is_not_a_second_one() -> None:
    sudo = Process(4000, "sudo", ("sudo", "-u", "kafka", *broker().argv), "root", 0.0)

    assert [found.process.pid for found in kafka.services(machine(sudo, broker()))] == [4242]


def test_confluents_main_class_is_a_broker() -> None:
    process = broker()._replace(argv=("java", "io.confluent.support.metrics.SupportedKafka", BROKER_CONFIG))

    assert kafka.services(machine(process))[0].role == "broker"


def test_a_server_keeps_its_name_over_restarts() -> None:
    before = machine(broker(pid=1))
    assert list(kafka.running(before)) == ["broker"]

    assert list(kafka.running(next_run(before, answers=answers([broker(pid=2)])))) == ["broker"]


SECOND = "/etc/kafka/second.properties"


def test_two_brokers_are_told_apart_by_their_configuration_even_when_one_is_gone() -> None:
    both = machine(broker(), broker(pid=2, config=SECOND))
    names = [f"broker {SECOND}", f"broker {BROKER_CONFIG}"]
    assert [row.item for row in kafka.known_servers(both)] == names

    one = next_run(both, answers=answers([broker()]))
    assert [(row.item, bool(row.service)) for row in kafka.known_servers(one)] == [(names[1], True), (names[0], False)]
    assert [row.item for row in kafka.known_servers(next_run(one))] == names[::-1]


def test_two_processes_with_one_configuration_are_two_items() -> None:
    rows = kafka.known_servers(machine(broker(), broker(pid=2), broker(pid=3)))

    assert len({row.item for row in rows}) == 3


def test_a_renamed_configuration_file_is_not_a_lost_server() -> None:
    before = machine(broker())
    kafka.known_servers(before)

    after = next_run(before, answers=answers([broker(config=SECOND)]))
    assert [(row.item, row.config_path) for row in kafka.known_servers(after)] == [("broker", SECOND)]


def test_a_server_that_was_removed_is_forgotten_after_a_week() -> None:
    before = machine(broker())
    kafka.known_servers(before)
    gone = next_run(before, answers={"processes": []})
    assert [row.item for row in kafka.known_servers(gone)] == ["broker"]

    assert kafka.known_servers(next_run(gone, after_s=7 * 86400)) == []


def test_a_server_that_the_inventory_does_not_name_is_not_missed() -> None:
    before = machine(broker(), zookeeper(), roles=("broker", "zookeeper"))
    kafka.known_servers(before)

    after = next_run(before, answers=answers([broker()]), expected=Expected(roles=("broker",)))
    assert [row.item for row in kafka.known_servers(after)] == ["broker"]


def test_hidden_processes_cannot_be_told_from_absent_ones() -> None:
    mountinfo = "21 1 0:20 / /proc rw,nosuid shared:1 - proc proc rw,hidepid=invisible\n"
    answers = {"processes": [], "is_root": False}
    hidden = FakeHost(files={"/proc/self/mountinfo": mountinfo}, answers=answers)
    shown = FakeHost(files={"/proc/self/mountinfo": mountinfo.replace("invisible", "0")}, answers=answers)

    with pytest.raises(CannotTell, match="hidepid"):
        kafka.services(hidden)
    assert kafka.services(shown) == []


def test_a_role_is_needed_only_where_a_check_says_so() -> None:
    host = FakeHost(expected=Expected(roles=("zookeeper",)))
    kafka.need_role(host)
    kafka.need_role(host, "broker", "zookeeper")

    with pytest.raises(NotApplicable, match="no broker"):
        kafka.need_role(host, "broker")


RUBBISH = st.none() | st.integers() | st.text() | st.lists(st.integers())


@given(st.lists(st.lists(RUBBISH, min_size=4, max_size=6) | RUBBISH))
def test_a_damaged_memory_does_not_stop_the_run(rubbish: object) -> None:
    before = machine(broker())
    before.state.remember("kafka.known_servers", rubbish)

    assert "broker" in [row.role for row in kafka.known_servers(next_run(before))]
