"""A recorded machine answers as the real one did, and gives none of its secrets away."""

from __future__ import annotations

import inspect
import json
import pathlib

import pytest

from agent import autodetect, engine
from agent.host import (
    Answer,
    CannotTell,
    Descriptors,
    Disk,
    Host,
    Memory,
    Missing,
    NoPermission,
    NotApplicable,
    Process,
    Refused,
    Stuck,
    ToolMissing,
    Touched,
)
from agent.machine.live import LiveHost
from agent.recording.recorded_host import RecordingGap, RecordingHost, ReplayHost
from agent.recording.redaction import Redaction
from agent.sources.network import sockets
from agent.state import State
from agent.status import Finding
from tests.machine import FakeHost

DISK = Disk(
    "sda", "physical", "ST8000NM0055", "ZA1SECRET", "0x5000c500a1b2c3d4", 8 << 40, True, "ata", "pci-0:1", "8:0"
)


def the_machine() -> FakeHost:
    processes = [
        Process(
            7,
            "java",
            ("java", "-Dssl.keystore.password=hunter2", "kafka.Kafka", "/etc/server.properties"),
            "kafka",
            5.0,
        ),
        Process(8, "mysql", ("mysql", "-phunter3"), "root", 6.0),
    ]
    return FakeHost(
        files={
            "/proc/a": "text\r\nof a, node 10.1.2.3, mac 3c:fd:fe:aa:bb:cc",
            "/proc/secret": NoPermission("needs root: x"),
        },
        commands={
            "smartctl --json -a /dev/sda": Answer(64, '{"serial_number": "ZA1SECRET"}', "warned\n"),
            "hang": Stuck("hang", 8.0),
        },
        answers={
            "disks": [DISK],
            "memory": Memory(1, 2, 3, 4),
            "processes": processes,
            "touch write /d1": Touched("EROFS", {"error": "Read-only file system"}),
            "link /dev/disk/by-uuid/1": "/dev/sda1",
            "descriptors anon_inode:[fanotify]": Descriptors(((7, 3), (7, 4)), (1,)),
            "exchange 127.0.0.1 2181 srvr": Refused("127.0.0.1:2181: Connection refused"),
        },
    )


QUESTIONS: list[tuple[str, ...]] = [
    ("read", "/proc/a"),
    ("read", "/proc/secret"),
    ("read", "/proc/none"),
    ("run", "smartctl", "--json", "-a", "/dev/sda"),
    ("run", "hang"),
    ("run", "nothing"),
    ("disks",),
    ("memory",),
    ("touch", "write", "/d1"),
    ("now",),
    ("uptime_s",),
    ("is_root",),
    ("boot_id",),
    ("link", "/dev/disk/by-uuid/1"),
    ("link", "/none"),
    ("exists", "/proc/a"),
    ("exists", "/proc/none"),
    ("list_dir", "/none"),
    ("process_use", "7"),
    ("descriptors", "anon_inode:[fanotify]"),
    ("exchange", "127.0.0.1", "2181", "srvr"),
]


def ask(host: Host) -> list[object]:
    """The same questions to the machine and to its recording."""
    answers: list[object] = []
    for method, *arguments in QUESTIONS:
        try:
            answers.append(getattr(host, method)(*arguments))
        except CannotTell as error:
            answers.append((type(error).__name__, str(error)))
    return answers


def test_a_recording_answers_what_the_machine_answered(tmp_path: pathlib.Path) -> None:
    machine = the_machine()
    recorder = RecordingHost(machine)
    real = ask(recorder)
    recorder.processes()
    recorder.write(str(tmp_path / "m"))

    replayed = ask(ReplayHost(str(tmp_path / "m")))

    assert len(replayed) == len(real) == len(QUESTIONS)
    for question, was, now in zip(QUESTIONS, real, replayed):
        secret = "ZA1SECRET" in str(was) or "10.1.2.3" in str(was)
        assert (was != now) if secret else (was == now), question


def test_nothing_that_names_the_machine_is_written(tmp_path: pathlib.Path) -> None:
    recorder = RecordingHost(the_machine())
    ask(recorder)
    recorder.processes()
    recorder.write(str(tmp_path / "m"))

    everything = "".join(path.read_text() + str(path) for path in (tmp_path / "m").rglob("*") if path.is_file())
    for secret in ("ZA1SECRET", "0x5000c500a1b2c3d4", "10.1.2.3", "3c:fd:fe:aa:bb:cc", "hunter2", "hunter3"):
        assert secret not in everything


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("0x5000c500a1b2c3d4", "0x5000c50000000001"),
        ("LU WWN Device Id: 5 000c50 0a1b2c3d4", "LU WWN Device Id: 5 000c50 000000001"),
        ('"naa": 5, "oui": 3152, "id": 2712847316', '"naa": 5, "oui": 3152, "id": 1'),
    ],
)
def test_a_world_wide_name_keeps_its_vendor_and_loses_its_number_in_every_form(written: str, kept: str) -> None:
    assert Redaction({"a": written})(written) == kept


def test_a_serial_of_digits_stays_a_number() -> None:
    assert Redaction({"a": '"serial_number": "50026B7784"'})("50026B7784 ") != "50026B7784 "
    assert Redaction({"a": "Serial Number: 1234567890"})("1234567890") == "1200000000"


def test_one_serial_has_one_stand_in_throughout(tmp_path: pathlib.Path) -> None:
    recorder = RecordingHost(the_machine())
    ask(recorder)
    recorder.write(str(tmp_path / "m"))
    replay = ReplayHost(str(tmp_path / "m"))

    (disk,) = replay.disks()
    told = json.loads(replay.run("smartctl", "--json", "-a", "/dev/sda").out)["serial_number"]

    assert disk.serial == told
    assert disk.serial.startswith("ZA") and len(disk.serial) == len("ZA1SECRET")


def test_a_command_that_was_not_recorded_names_the_file_it_wanted(tmp_path: pathlib.Path) -> None:
    recorder = RecordingHost(the_machine())
    ask(recorder)
    recorder.write(str(tmp_path / "m"))

    with pytest.raises(RecordingGap, match="smartctl --json -a _dev_sdb"):
        ReplayHost(str(tmp_path / "m")).run("smartctl", "--json", "-a", "/dev/sdb")


def test_errors_come_back_as_themselves(tmp_path: pathlib.Path) -> None:
    recorder = RecordingHost(the_machine())
    ask(recorder)
    recorder.write(str(tmp_path / "m"))
    replay = ReplayHost(str(tmp_path / "m"))

    with pytest.raises(Stuck, match="hang timed out after 8 s"):
        replay.run("hang")
    with pytest.raises(ToolMissing):
        replay.run("nothing")
    with pytest.raises(NoPermission):
        replay.read("/proc/secret")
    with pytest.raises(Missing):
        replay.read("/proc/none")


def essence(findings: list[Finding]) -> set[tuple[str, str]]:
    return {(finding.check, finding.status) for finding in findings}


@pytest.mark.slow
def test_this_very_machine_recorded_and_replayed_gives_the_same_findings(tmp_path: pathlib.Path) -> None:
    machine = LiveHost()
    machine.state = State(machine.boot_id(), machine.now())
    recorder = RecordingHost(machine)
    recorder.expected = autodetect.guess(recorder)
    live = list(engine.run(recorder))
    machine.close()
    recorder.write(str(tmp_path / "m"))

    replayed = list(engine.run(ReplayHost(str(tmp_path / "m"))))

    assert essence(replayed) == essence(live)


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("read", ["/proc/never_asked"]),
        ("read", ["/never/asked", 0]),
        ("list_dir", ["/proc/never_asked"]),
        ("link", ["/never/asked"]),
        ("exists", ["/never/asked"]),
        ("run", ["never_asked", "--help"]),
        ("memory", []),
    ],
)
def test_what_was_never_recorded_is_a_gap_and_not_missing(
    tmp_path: pathlib.Path, method: str, arguments: list[object]
) -> None:
    RecordingHost(FakeHost()).write(str(tmp_path / "m"))

    with pytest.raises(RecordingGap, match=str(tmp_path / "m")):
        getattr(ReplayHost(str(tmp_path / "m")), method)(*arguments)


def test_a_check_that_reads_what_no_recording_holds_says_so(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class NewCheck:
        LIMITS: dict[str, object] = {}

        @staticmethod
        def find(host: Host) -> list[str]:
            if not host.exists("/sys/kernel/new"):
                raise NotApplicable("this kernel has nothing new")
            return ["new"]

    RecordingHost(FakeHost()).write(str(tmp_path / "m"))
    monkeypatch.setattr(engine, "load", lambda name: NewCheck)
    (finding,) = engine.run(ReplayHost(str(tmp_path / "m")), ["new"])

    assert finding.status == "unknown" and "RecordingGap" in finding.verdict.reason


def test_what_cannot_be_there_is_missing_though_nobody_asked_for_it(tmp_path: pathlib.Path) -> None:
    recorder = RecordingHost(FakeHost(files={"/sys/class/net/eth0/mtu": "1500"}))
    recorder.list_dir("/sys/class/net")
    for ask in (recorder.list_dir, recorder.read):
        with pytest.raises(Missing):
            ask("/sys/class/raid")
    recorder.write(str(tmp_path / "m"))
    replay = ReplayHost(str(tmp_path / "m"))

    for path in ("/sys/class/net/eth1", "/sys/class/net/eth1/mtu", "/sys/class/raid/a", "/sys/class/raid"):
        with pytest.raises(Missing):
            replay.read(path)
    with pytest.raises(RecordingGap):
        replay.read("/sys/class/net/eth0/speed")


def test_a_recording_of_an_earlier_version_says_missing_of_all_that_it_lacks(tmp_path: pathlib.Path) -> None:
    RecordingHost(FakeHost()).write(str(tmp_path / "m"))
    answers = json.loads((tmp_path / "m" / "machine.json").read_text())
    del answers["absent"]
    (tmp_path / "m" / "machine.json").write_text(json.dumps(answers))
    replay = ReplayHost(str(tmp_path / "m"))

    with pytest.raises(Missing):
        replay.read("/never/asked")
    with pytest.raises(ToolMissing):
        replay.run("never_asked")


def test_every_question_to_a_machine_is_recorded_and_replayed() -> None:
    questions = {name for name, method in vars(Host).items() if "raise NotImplementedError" in source(method)}

    assert {"read", "disks", "kernel_records"} <= questions
    for kind in (RecordingHost, ReplayHost, LiveHost):
        assert not questions - set(vars(kind)), kind


def source(method: object) -> str:
    return inspect.getsource(method) if inspect.isfunction(method) else ""


def test_a_missing_tool_is_replayed_with_its_package(tmp_path: pathlib.Path) -> None:
    missing = ToolMissing("ipmitool is not installed (package ipmitool)")
    recorder = RecordingHost(FakeHost(commands={"ipmitool sel info": missing}))
    with pytest.raises(ToolMissing):
        recorder.run("ipmitool", "sel", "info")
    recorder.write(str(tmp_path / "m"))

    with pytest.raises(ToolMissing, match="package ipmitool"):
        ReplayHost(str(tmp_path / "m")).run("ipmitool", "sel", "info")


def test_a_recording_keeps_when_the_last_run_was(tmp_path: pathlib.Path) -> None:
    first = FakeHost()
    second = FakeHost(state=first.state.dump(), now=first.now() + 600)
    RecordingHost(second).write(str(tmp_path / "m"))

    assert ReplayHost(str(tmp_path / "m")).state.previous_at == first.now()


def test_of_a_socket_table_only_the_listening_ports_are_kept(tmp_path: pathlib.Path) -> None:
    table = (
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
        "   0: 0D00020A:2384 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0  0 1472 1 0000000055c80193\n"
        "   1: 0D00020A:2384 0E00020A:A1B2 01 00000000:00000000 00:00000000 00000000  0  0 1473 1 0000000055c80194\n"
    )
    recorder = RecordingHost(FakeHost(files={"/proc/7/net/tcp": table}))
    sockets.listening_ports(recorder, 7)
    recorder.write(str(tmp_path / "m"))

    replayed = ReplayHost(str(tmp_path / "m"))
    assert sockets.listening_ports(replayed, 7) == {9092}
    assert "00020A" not in replayed.read("/proc/7/net/tcp")
