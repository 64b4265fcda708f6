"""Recordings hold known parts of known files and tools, and no secret: neither by its name, nor by its shape."""

from __future__ import annotations

import json
import os
import pathlib
import stat
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.host import Answer, CannotTell, Process, Touched
from agent.recording import inspection
from agent.recording.allowed import REMOVED, Keeper
from agent.recording.recorded_host import RecordingHost, ReplayHost
from agent.sources.kafka import processes as kafka
from tests.agent.servers import BROKER_CONFIG, answers, broker
from tests.machine import STORIES, FakeHost

ROOT = pathlib.Path(__file__).parents[3]

PROPERTIES = """\
broker.id=3
listeners=SASL_SSL://:9093
log.dirs=/kafka/d1,/kafka/d2
log.retention.hours=168
ssl.keystore.password=hunter2
ssl.key.password = 31337
ssl.truststore.location=/etc/kafka/trust.jks
zookeeper.connect=zk1:2181,zk2:2181/kafka
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=org.apache.kafka.security.scram.ScramLoginModule required \\
    username="admin" password="hunter3";
confluent.license=eyJhbGciOiJub25lIn0.eyJpc3MiOiJDb25mbHVlbnQi.c2ln
my.unit.num=4711
company.db.url=jdbc:postgresql://kafka:hunter4@db:5432/kafka
"""
LOG = """\
[2026-11-18 10:00:00,000] INFO login with password hunter5 (org.example.Login)
[2026-11-18 10:00:01,000] ERROR java.lang.OutOfMemoryError: Java heap space
"""
KERNEL = ["6,1,100,-;sd 0:0:0:0: [sda] Attached SCSI disk\n", "14,2,200,-;backup[7]: begin --password hunter6\n"]
SHADOW = "root:$6$rounds=5000$salt$abcdefgh/ijklmnop:19000:0:99999:7:::\nkafka:!:19000::::::\n"


def secretive() -> FakeHost:
    """A machine on which passwords stand wherever people put them."""
    server = broker()._replace(
        argv=(
            "/usr/bin/java", "-Xmx6g", "-Dkafka.logs.dir=/var/log/kafka", "-Dzookeeper.auth=digest:super:hunter7",
            "-Djavax.net.ssl.keyStorePassword=hunter8", "-javaagent:/opt/agent.jar=key=hunter9", "-cp", "/opt/kafka/*",
            "kafka.Kafka", BROKER_CONFIG, "--override", "broker.id=3", "--override", "ssl.key.password=hunter10",
            "--password", "hunter11",
        )
    )  # fmt: skip
    others = [
        Process(8, "mysqldump", ("mysqldump", "--password", "hunter12", "kafka"), "root", 6.0),
        Process(9, "curl", ("curl", "https://ann:hunter13@example.org/kafka"), "root", 6.0),
        Process(10, "perl", ("perl", "-e", "sleep 600", "kafka.Kafka", "/etc/shadow"), "eve", 6.0),
        Process(11, "postgres", ("postgres: password=hunter14 idle",), "root", 6.0),
    ]
    said = answers([server, *others], {BROKER_CONFIG: PROPERTIES, "/etc/shadow": SHADOW})
    return FakeHost(
        files={
            "/etc/fstab": "//nas/x /mnt cifs username=ann,password=hunter15 0 0\nUUID=1 /kafka/d1 xfs noatime 0 2\n",
            "/etc/sysctl.d/90.conf": "# hunter16\nvm.swappiness = 1\n",
            "/etc/clamd.conf": "ExcludePath ^/kafka/\nVirusEvent /bin/tell --token hunter17\n",
            "/etc/secrets": "hunter18\n",
            "/proc/7/environ": "AWS_SECRET_ACCESS_KEY=hunter19\0",
            "/proc/cmdline": "root=/dev/sda1 password=hunter20\n",
        },
        commands={
            "systemctl show kafka": Answer(0, "Environment=KAFKA_OPTS=-Dpassword=hunter21\nActiveState=active\n", ""),
            "hdparm -i": Answer(0, "hunter22\n", "hunter23\n"),
            "storcli show": Answer(0, "-----BEGIN RSA PRIVATE KEY-----\nhunter24\n-----END RSA PRIVATE KEY-----\n", ""),
        },
        answers={
            **said,
            "kernel_records": KERNEL,
            "touch search /var/log/kafka/server.log": Touched("", {"text": LOG, "end": 99}),
            "touch read /root/.ssh/id_rsa": Touched("", {"text": "-----BEGIN OPENSSH PRIVATE KEY-----\nhunter25\n"}),
            "exchange 127.0.0.1 2181 conf": "clientPort=2181\nssl.quorum.keyStore.password=hunter26\n",
            "exchange 127.0.0.1 2181 envi": "java.library.path=hunter27\n",
        },
    )  # fmt: skip


def recorded(folder: pathlib.Path) -> pathlib.Path:
    recorder = RecordingHost(secretive())
    recorder.processes()
    kafka.services(recorder)
    for path in ("/etc/fstab", "/etc/sysctl.d/90.conf", "/etc/clamd.conf", "/etc/secrets", "/proc/7/environ",
                 "/proc/cmdline"):  # fmt: skip
        recorder.read(path)
    for command in ("systemctl show kafka", "hdparm -i", "storcli show"):
        recorder.run(*command.split(" "))
    recorder.kernel_records()
    recorder.touch("search", "/var/log/kafka/server.log", 0, 0, 100, "java.lang.OutOfMemoryError")
    for path in ("/root/.ssh/id_rsa", "/etc/shadow"):
        recorder.touch("read", path)
    for word in ("conf", "envi"):
        recorder.exchange("127.0.0.1", 2181, word)
    recorder.write(str(folder))
    return folder


def everything(folder: pathlib.Path) -> str:
    return "".join(path.read_text() + str(path) for path in folder.rglob("*") if path.is_file())


def test_no_secret_is_written_wherever_it_stood(tmp_path: pathlib.Path) -> None:
    text = everything(recorded(tmp_path / "m"))

    assert [secret for number in range(30) if (secret := f"hunter{number}") in text] == []
    for secret in ("31337", "eyJhbGci", "$6$", "kafka:!", "super:", "org.example.Login", "ScramLoginModule"):
        assert secret not in text


def test_what_checks_read_is_kept(tmp_path: pathlib.Path) -> None:
    replay = ReplayHost(str(recorded(tmp_path / "m")))
    (service,) = kafka.services(replay)

    assert (service.role, service.config_path, service.config["log.dirs"], kafka.ports(service)) == (
        "broker", BROKER_CONFIG, "/kafka/d1,/kafka/d2", [9093],
    )  # fmt: skip
    assert service.config["log.retention.hours"] == "168" and service.config["ssl.keystore.password"] == REMOVED
    assert "-Dkafka.logs.dir=/var/log/kafka" in service.process.argv
    assert replay.read("/etc/sysctl.d/90.conf") == "vm.swappiness = 1\n"
    assert "UUID=1 /kafka/d1 xfs noatime 0 2" in replay.read("/etc/fstab")
    assert replay.read("/etc/clamd.conf") == "ExcludePath ^/kafka/\n"
    assert "ActiveState=active" in replay.run("systemctl", "show", "kafka").out
    found = replay.touch("search", "/var/log/kafka/server.log", 0, 0, 100, "java.lang.OutOfMemoryError").facts["text"]
    assert found.splitlines() == ["[2026-11-18 10:00:00,000", LOG.splitlines()[1]]
    assert replay.kernel_records() == [KERNEL[0], f"14,2,200,-;{REMOVED}\n"]


def test_a_recording_is_for_its_owner_alone_and_says_what_was_removed(tmp_path: pathlib.Path) -> None:
    old = os.umask(0)
    try:
        folder = recorded(tmp_path / "m")
    finally:
        os.umask(old)

    for path in [folder, *folder.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
    removed = (folder / "removed.txt").read_text()
    for words in (
        f"{BROKER_CONFIG}: value of ssl.keystore.password",
        "hdparm -i: output of a tool",
        "process java: option",
    ):
        assert words in removed
    assert inspection.check(str(folder)) == [] == inspection.open_to_others(str(folder))


def test_a_file_that_is_there_is_neither_followed_nor_written_over(tmp_path: pathlib.Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "machine.json").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(OSError):
        RecordingHost(FakeHost()).write(str(tmp_path / "m"))
    assert not (tmp_path / "elsewhere").exists()


def smoke(*words: str) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("click", reason="the command `smoke record` is the controller's; scripts/test --fast runs this")
    command = [sys.executable, "-m", "smoketests.cli", "record", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


def test_a_recording_of_an_older_version_is_looked_over_without_telling_the_secrets(tmp_path: pathlib.Path) -> None:
    argv = ["java", "kafka.Kafka", "/etc/server.properties", "--password", "hunter2"]
    machine = {
        "processes": {"value": [{"pid": 7, "name": "java", "argv": argv, "user": "kafka", "started_at": 0.0}]},
        "touch read /etc/server.properties": {"value": {"error": "", "facts": {"text": PROPERTIES}}},
    }
    (tmp_path / "root/etc").mkdir(parents=True)
    (tmp_path / "machine.json").write_text(json.dumps(machine))
    (tmp_path / "root/etc/shadow").write_text(SHADOW)
    (tmp_path / "STORY.md").write_text("db password: hunter2\n")
    (tmp_path / "machine.json").chmod(0o644)

    answer = smoke("--check", str(tmp_path))
    assert answer.returncode == 1
    for words in ("ssl.keystore.password", "/etc/shadow", "STORY.md: named as a secret", "mode 0644"):
        assert words in answer.stdout
    assert "hunter" not in answer.stdout and "$6$" not in answer.stdout
    assert smoke("--check", str(tmp_path / "root")).returncode == 3
    (tmp_path / "machine.json").write_text("{")
    assert (damaged := smoke("--check", str(tmp_path))).returncode == 3 and "Traceback" not in damaged.stderr


@pytest.mark.slow
def test_this_machine_recorded_says_what_was_removed_and_stands_its_own_check(tmp_path: pathlib.Path) -> None:
    made = smoke(str(tmp_path / "m"))

    assert made.returncode == 0 and "Removed:" in made.stdout
    assert smoke("--check", str(tmp_path / "m")).returncode == 0


@pytest.mark.parametrize("name", sorted(path.parent.name for path in STORIES.glob("*/machine.json")))
def test_no_recorded_machine_of_ours_holds_what_a_recording_may_not(name: str) -> None:
    assert inspection.check(str(STORIES / name)) == []
    texts = [path.read_text() for path in (STORIES / name).rglob("*") if path.is_file()]
    for path in ("/work/", "/tmp/", "/home/", "/root/"):
        assert not [text for text in texts if path in text], "a path of the machine where it was made"


SECRETS = st.from_regex(r"[A-Za-z0-9+/]{12,40}", fullmatch=True).map(lambda word: f"Zq7{word}")
PLACES = st.sampled_from((
    "ssl.key.password={}", "password: {}", "PASSWORD='{}'", '"client_secret": "{}"', "sasl.jaas.config=a b='{}';",
    "https://ann:{}@host/x", "--password {}", "-storepass {}", "api_key={}", "Authorization: Bearer {}", "token={},x=1",
))  # fmt: skip


@given(SECRETS, PLACES, st.text(max_size=30), st.text(max_size=30))
def test_a_secret_in_any_text_is_removed(secret: str, place: str, before: str, after: str) -> None:
    keep = Keeper()

    assert secret not in keep.text("x", f"{before}\n{place.format(secret)}\n{after}")
    assert sum(keep.removed.values()) >= 1


@given(st.text(max_size=200), st.lists(st.text(max_size=20), max_size=6))
def test_rubbish_is_kept_or_removed_and_never_stops_a_recording(text: str, words: list[str]) -> None:
    keep = Keeper()
    process = Process(1, "java", ("java", *words, "kafka.Kafka", *words), "", 0.0)

    keep.file("/etc/fstab", text)
    keep.log("x", text, "a|b")
    keep.json("x", text)
    keep.answer("kernel_records", (), [text])
    assert kafka.MAIN_CLASSES.keys() & set(keep.process(process).argv) or len(keep.process(process).argv) == 1
    assert keep.text("x", once := keep.text("x", text)) == once


def test_what_could_not_be_told_is_kept_without_its_secret(tmp_path: pathlib.Path) -> None:
    failed = CannotTell("ipmitool: -P password=hunter2 refused")
    recorder = RecordingHost(FakeHost(commands={"ipmitool sel info": failed}))
    with pytest.raises(CannotTell):
        recorder.run("ipmitool", "sel", "info")
    recorder.write(str(tmp_path / "m"))

    assert "hunter2" not in everything(tmp_path / "m")
