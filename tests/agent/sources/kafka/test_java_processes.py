"""java_processes: a broker is a JVM that runs the broker's class as its main class, and whose process it is."""

from __future__ import annotations

from typing import Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.expected import Expected
from agent.host import Process, Touched
from agent.sources.kafka import processes as kafka
from agent.sources.kafka.java_processes import NOTHING, Started, of_java
from tests.agent.servers import BROKER_CONFIG, answers, broker, machine, zookeeper
from tests.machine import NOW, FakeHost, next_run, run_checks

QUORUM = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
JAVA = ("/usr/bin/java", "-Xmx6g", "-cp", "/opt/kafka/libs/*", "kafka.Kafka", "/etc/kafka/server.properties")
LATER = Touched("ENOENT", {})


def roles(name: str, *argv: str, exe: str = "") -> list[str]:
    """The roles of the servers on a machine that runs this one process."""
    link = {"touch link /proc/7/exe": Touched("", {"target": exe}) if exe else LATER}
    host = FakeHost(answers={"processes": [Process(7, name, argv, "", NOW - 86400)], **link})
    return [found.role for found in kafka.services(host)]


@pytest.mark.parametrize(
    ("name", "argv"),
    [
        ("grep", ("grep", "kafka.Kafka", "/var/log/messages")),
        ("tail", ("tail", "-F", "kafka.Kafka")),
        ("vim", ("vim", "kafka.Kafka")),
        ("perl", ("perl", "-e", "sleep 600", "kafka.Kafka", "/etc/shadow")),
        ("flock", ("flock", "-n", "/run/kafka.lock", *JAVA)),
        ("nsenter", ("nsenter", "-t", "1", "-m", *JAVA)),
        ("sudo", ("sudo", "-u", "kafka", *JAVA)),
        ("su", ("su", "kafka", "-c", " ".join(JAVA))),
        ("ssh", ("ssh", "kafka-a03", *JAVA)),
        ("watch", ("watch", "pgrep", "-f", QUORUM)),
        ("python3", ("java", *JAVA[1:])),  # by `exec -a java`
        ("java", ("java", "-cp", "/opt/kafka/libs/*", "kafka.admin.ConfigCommand", "--describe", "kafka.Kafka")),
        ("java", ("java", "-jar", "/opt/search.jar", "kafka.Kafka", "/etc/shadow")),
        ("java", ("java", "-cp", "kafka.Kafka", "org.example.Main")),
        ("java", ("java", "-Dname=kafka.Kafka", "org.example.Main")),
        ("java", ("java", "-m", "org.example/org.example.Main", "kafka.Kafka")),
        ("sleep", ("kafka.Kafka", "start", "--config", "/etc/shadow")),
        ("java", (*JAVA[:-1], "--version")),
        ("java", (*JAVA, "--version")),
        ("java", (*JAVA[:-1], "--help")),
    ],
)
def test_a_program_that_only_names_the_class_is_no_broker(name: str, argv: tuple[str, ...]) -> None:
    assert roles(name, *argv, exe=f"/usr/bin/{name}") == []


@pytest.mark.parametrize(
    ("name", "argv", "exe", "role"),
    [
        ("java", JAVA, "", "broker"),
        ("java", ("java", "-server", "-javaagent:/opt/jmx.jar=7071:/etc/jmx.yml", *JAVA[1:]), "", "broker"),
        ("java", ("java", "@/etc/kafka/jvm.options", "-classpath", "/a:/b", *JAVA[4:]), "", "broker"),
        ("java", ("java", "--add-opens", "java.base/java.lang=ALL-UNNAMED", *JAVA[2:]), "", "broker"),
        ("java", ("java", "-p", "/opt/mods", "-m", "kafka/kafka.Kafka", "/etc/server.properties"), "", "broker"),
        ("java", ("java", "io.confluent.support.metrics.SupportedKafka", "/etc/server.properties"), "", "broker"),
        ("java", ("java", "-cp", "/x", "org.tanukisoftware.wrapper.WrapperSimpleApp", *JAVA[4:]), "", "broker"),
        ("java", ("java", "-cp", "/opt/zookeeper", QUORUM, "/etc/zoo.cfg"), "", "zookeeper"),
        ("java", ("java", "org.apache.zookeeper.server.ZooKeeperServerMain", "2181", "/data"), "", "zookeeper"),
        ("jsvc.exec", ("jsvc.exec", "-user", "kafka", "-pidfile", "/run/k.pid", *JAVA[2:]), "", "broker"),
        ("kafka-a03", JAVA, "/usr/lib/jvm/java-17-openjdk-amd64/bin/java", "broker"),
        ("kafka-a03", JAVA, "/usr/lib/jvm/java-17-openjdk-amd64/bin/java (deleted)", "broker"),
        ("kafka.Kafka", ("/opt/kafka/kafka.Kafka", "start", "--config", "/opt/kafka/server.properties"), "", "broker"),
    ],
)  # fmt: skip
def test_a_server_is_found_in_whatever_way_it_was_started(
    name: str, argv: tuple[str, ...], exe: str, role: str
) -> None:
    assert roles(name, *argv, exe=exe) == [role]


IN_FILES = [
    ("-Xmx6g\n-cp '/opt/my kafka/*' # jars\nkafka.Kafka\n/etc/kafka/server.properties\n", ("@all.args",), ["broker"]),
    ('-cp "/opt/my kafka/*" kafka.Kafka', ("-server", "@all.args", "/etc/kafka/server.properties"), ["broker"]),
    ("# only options\n-Xmx6g", ("@all.args", *JAVA[2:]), ["broker"]),
    ("-cp /x kafka.Kafka --version", ("@all.args",), []),
    ("# kafka.Kafka /etc/kafka/server.properties\n-jar /opt/search.jar", ("@all.args", "kafka.Kafka"), []),
    ("kafka.Kafka /etc/kafka/server.properties", ("org.example.Main", "@all.args"), []),
    ("kafka.Kafka /etc/kafka/server.properties", ("--disable-@files", "@all.args"), []),
    ("kafka.Kafka /etc/kafka/server.properties", ("@@all.args",), []),
    ("", ("@all.args",), []),
]


@pytest.mark.parametrize(("text", "words", "found"), IN_FILES)
def test_a_server_whose_command_line_stands_in_a_file_is_found(
    text: str, words: tuple[str, ...], found: list[str]
) -> None:
    process = Process(7, "java", ("java", *words), "", NOW - 86400)
    links = {"touch link /proc/7/exe": LATER, "touch link /proc/7/cwd": Touched("", {"target": "/opt/kafka"})}
    host = FakeHost(
        answers={"processes": [process], "touch read /opt/kafka/all.args": Touched("", {"text": text}), **links}
    )

    assert [one.role for one in kafka.services(host)] == found
    if found:
        assert kafka.services(host)[0].config_path == "/etc/kafka/server.properties"


def test_the_configuration_is_the_first_argument_of_the_class() -> None:
    argv = ("kafka.Kafka", "start", "--config", "/opt/kafka/server.properties", "-Dlog4j=/x")
    native = Process(7, "kafka.Kafka", argv, "", 0.0)
    host = FakeHost(answers={"processes": [native]})

    assert kafka.services(host)[0].config_path == "/opt/kafka/server.properties"


@given(st.lists(st.sampled_from([*JAVA, "-jar", "-m", "--module", "", "@x", "-d", "/"]) | st.text(max_size=5)))
def test_any_words_give_a_class_and_what_follows_it_or_nothing(words: list[str]) -> None:
    found = of_java(words)

    assert isinstance(found, Started)
    assert found.arguments == tuple(words[len(words) - len(found.arguments) :])
    assert found != NOTHING or not found.arguments


# Whose process it is


def of_user(process: Process, user: str, cgroup: str = "/system.slice/kafka.service") -> dict[str, Optional[str]]:
    return {
        f"/proc/{process.pid}/status": f"Name:\tjava\nUmask:\t0022\nUid:\t{user}\t{user}\t{user}\t{user}\n",
        f"/proc/{process.pid}/cgroup": f"0::{cgroup}\n",
    }


REAL = broker()
FAKE = broker(pid=666, config="/home/eve/server.properties")
SESSIONS = ["/user.slice/user-1001.slice/session-3.scope", "/system.slice/cron.service", "/system.slice/ssh.service"]


@pytest.mark.parametrize("session", SESSIONS)
def test_what_a_person_runs_is_no_second_broker_beside_that_of_the_services_user(session: str) -> None:
    files = {**of_user(REAL, "990"), **of_user(FAKE, "1001", session)}

    assert [found.process.pid for found in kafka.services(machine(REAL, FAKE, files=files))] == [REAL.pid]


@pytest.mark.parametrize("session", SESSIONS)
def test_what_a_person_runs_does_not_hide_that_the_broker_is_gone(session: str) -> None:
    before = machine(REAL, expected=Expected(), files=of_user(REAL, "990"))
    kafka.known_servers(before)
    fake = next_run(
        before, answers=answers([FAKE]), files=of_user(FAKE, "1001", session), expected=Expected(roles=("broker",))
    )

    (finding,) = run_checks(fake, "services")
    assert finding.status == "critical" and BROKER_CONFIG in finding.verdict.reason


@pytest.mark.parametrize("session", SESSIONS)
def test_what_a_person_runs_is_no_server_of_a_role_that_this_machine_should_not_have(session: str) -> None:
    """A ZooKeeper of the user's own, on a broker: root would ask it, and its silence would be an alarm."""
    fake = zookeeper(666, "/home/eve/zoo.cfg")
    files = {**of_user(REAL, "990"), **of_user(fake, "1001", session)}
    both = {"files": files, "answers": {"touch read /home/eve/zoo.cfg": Touched("", {"text": "clientPort=22"})}}

    assert [found.role for found in kafka.services(machine(REAL, fake, roles=["broker"], **both))] == ["broker"]
    expected = machine(REAL, fake, roles=["broker", "zookeeper"], **both)
    assert [found.role for found in kafka.services(expected)] == ["broker", "zookeeper"]
    of_service = {**both, "files": {**files, **of_user(fake, "991")}}
    assert len(kafka.services(machine(REAL, fake, roles=["broker"], **of_service))) == 2


def test_a_broker_that_its_own_user_started_by_hand_is_a_broker_and_is_missed_when_it_is_gone() -> None:
    files = of_user(REAL, "1001", SESSIONS[0])
    before = machine(REAL, expected=Expected(), files=files)
    assert [row.item for row in kafka.known_servers(before)] == ["broker"]
    again = next_run(before)
    assert [row.item for row in kafka.known_servers(again)] == ["broker"]

    assert [bool(row.service) for row in kafka.known_servers(next_run(again, answers={"processes": []}))] == [False]


# What is remembered


def young(process: Process, seconds: float = 20.0) -> Process:
    return process._replace(started_at=NOW - seconds)


def test_a_server_that_ran_for_a_moment_is_nobodys_loss() -> None:
    before = machine(young(REAL), expected=Expected())
    assert [row.item for row in kafka.known_servers(before)] == ["broker"]

    assert kafka.known_servers(next_run(before, answers={"processes": []})) == []


def test_a_server_that_two_runs_saw_is_missed_however_young_it_is() -> None:
    first = machine(young(REAL, 2.0), expected=Expected())
    kafka.known_servers(first)
    second = next_run(first, after_s=30)
    kafka.known_servers(second)

    assert [row.item for row in kafka.known_servers(next_run(second, after_s=30, answers={"processes": []}))] == [
        "broker"
    ]


def test_a_known_server_that_was_just_restarted_stays_known() -> None:
    before = machine(REAL, expected=Expected())
    kafka.known_servers(before)
    restarted = next_run(before, answers=answers([REAL._replace(pid=5, started_at=NOW + 590)]))
    kafka.known_servers(restarted)

    assert [row.item for row in kafka.known_servers(next_run(restarted, answers={"processes": []}))] == ["broker"]


def test_the_ports_of_a_server_are_kept_while_its_configuration_does_not_answer() -> None:
    before = machine(zookeeper(), expected=Expected())
    kafka.known_servers(before)
    stuck = next_run(before, answers={"touch read /etc/zookeeper/conf/zoo.cfg": Touched("EIO", {"error": "I/O"})})
    assert [row.ports for row in kafka.known_servers(stuck)] == [()]

    assert [row.ports for row in kafka.known_servers(next_run(stuck, answers={"processes": []}))] == [(2181,)]
