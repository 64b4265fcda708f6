"""Holes in our playbooks that an attack found: locks that lapse, servers that nobody waits for, clocks left alone."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from inventory.model import Host
from playbooks.executors import check, command, gate
from playbooks.fact_schema import Fact
from playbooks.facts import Choice
from playbooks.machine import Here
from playbooks.model import Step
from playbooks.plan.template import Action, Filling, always
from playbooks.run.prompt import Interrupts
from playbooks.run.session import Failed, Session
from smoketests.gate.decision import PASSED
from tests.playbooks.books.test_books_facts import WITH_ZOOKEEPER, jbod
from tests.playbooks.executors.test_waits import look
from tests.playbooks.fake_machine import Told, found
from tests.playbooks.playbook_fixtures import book, names
from tests.playbooks.prompt_fake import Desk, until

TAKES = "- {name: Take it, run: [touch, FOLDER/taken]}\n"
WAITS = f"{TAKES}- {{wait: It is there, run: [test, -e, FOLDER/there], every: 1s, deadline: 10m}}"


@pytest.fixture
def desk(tmp_path: pathlib.Path) -> Desk:
    return Desk(tmp_path)


def begun(desk: Desk, steps: str) -> subprocess.Popen[str]:
    """A run of these steps whose first change is agreed to."""
    desk.write(steps)
    process = desk.begin("run", "book")
    desk.type_in(process, "y")
    return process


def lock_of(desk: Desk) -> pathlib.Path | None:
    return next(iter((desk.store / "gate/locks").glob("*.json")), None)


def change(desk: Desk, **fields: Any) -> None:
    """Write the lock anew, as whoever has it would."""
    path = until("the lock", lambda: lock_of(desk))
    aside = desk.folder / "aside"
    aside.write_text(json.dumps({**json.loads(path.read_text()), **fields}))
    os.replace(aside, path)


# the lock


def session_with_a_lock(store: pathlib.Path, minutes: float) -> Session:
    """A session with a real lock that ends soon, of a run that has no more of a plan than that needs."""
    playbook = book("reboot-broker")
    plan: Any = SimpleNamespace(cluster="prod-a", host="kafka-a01", id="r1", playbook=playbook, facts={})
    plan.filling = lambda facts: Filling(playbook, facts)
    events: list[dict[str, Any]] = []
    journal: Any = SimpleNamespace(events=events, write=lambda event, **rest: events.append({"event": event, **rest}))
    target: Any = SimpleNamespace(store=str(store), cluster=None, machine=Here(Host("here", cluster="c"), "root"))
    person: Any = None
    session = Session(plan, journal, target, person, print, print, Interrupts(print))
    session.hold(minutes=minutes)
    return session


def left_s(store: pathlib.Path) -> float:
    (path,) = (store / "gate/locks").glob("*.json")
    return float(json.loads(path.read_text())["until"]) - time.time()


def test_each_look_of_a_wait_makes_a_lock_longer_that_would_soon_end(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = session_with_a_lock(tmp_path, 1)
    seen: list[float] = []

    def unfinished(*_: object) -> str:
        seen.append(left_s(tmp_path))
        if len(seen) == 1:  # as if most of an hour had passed
            session.progress.lock = {**(session.progress.lock or {}), "until": time.time() + 60}
        return "" if len(seen) == 3 else "not yet"

    monkeypatch.setattr(check, "_unfinished", unfinished)
    check.wait(session, Action("1", Step("wait", "It is there", run=("true",), every=0, deadline=600)))

    assert len(seen) == 3 and min(seen) > 3000


def test_a_long_command_begins_with_a_lock_that_lasts_longer_than_it_may(tmp_path: pathlib.Path) -> None:
    session = session_with_a_lock(tmp_path, 60)
    step = Step("run", "Look for hours", run=("true",), changes=False, seconds=14400)

    command.run(session, Action("1", step), ["true"], "")

    assert left_s(tmp_path) > 14400


def test_a_wait_whose_lock_somebody_else_has_by_now_ends(desk: Desk) -> None:
    process = begun(desk, WAITS)
    until("it waits", lambda: "not yet" in desk.printed)
    change(desk, id="0badcafe", owner="bob@bastion (pid 7)", until=time.time() + 3600)
    code, out = desk.end(process)

    assert code == 2 and "another maintenance is in progress" in out and "bob@bastion" in out


def test_a_person_who_thinks_for_longer_than_the_lock_lasts_does_not_go_on_without_it(desk: Desk) -> None:
    desk.write(TAKES)
    process = desk.begin("run", "book")
    until("it asks", lambda: "Run it?" in desk.printed)
    change(desk, id="0badcafe", owner="bob@bastion (pid 7)", until=time.time() + 3600)
    code, out = desk.end(process, "y")

    assert code == 2 and "another maintenance is in progress" in out
    assert not (desk.folder / "taken").exists()


class Keeping:
    """Stands in for a session, of which a wait for the gate needs the lock, the store and the screen."""

    def __init__(self, store: pathlib.Path) -> None:
        self.target = self
        self.store, self.kept = str(store), 0

    def keep(self) -> None:
        self.kept += 1
        if self.kept > 3:
            raise Failed("another maintenance is in progress")

    def show(self, words: str) -> None:
        assert words


def test_every_look_of_a_wait_for_the_gate_keeps_the_lock(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session: Any = Keeping(tmp_path)
    monkeypatch.setattr(gate, "_decide", lambda *_: look(session.kept))
    step = Step("wait", "It is well", purpose="reboot", after=True, every=0, deadline=600)

    with pytest.raises(Failed, match="another maintenance"):
        gate._steady(session, Action("1", step))
    assert session.kept == 4


def test_a_wait_for_the_gate_ends_well(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session: Any = Keeping(tmp_path)
    monkeypatch.setattr(gate, "_decide", lambda *_: look(session.kept, PASSED))
    step = Step("wait", "It is well", purpose="reboot", after=True, every=0, deadline=600, readings=2)

    assert gate._steady(session, Action("1", step)).answer == "GO" and session.kept == 2


# ZooKeeper


def steps_for(name: str, **facts: Fact) -> list[Step]:
    """The steps of a playbook that this machine's facts leave; what is not told is not there."""
    playbook = book(name)
    nothing = {need: Fact(one.kind, {}) for need, one in playbook.needs.items()}
    known = {**nothing, **facts, **always("kafka-a01", "10.0.0.1", "prod-a", "r1")}
    filling = Filling(playbook, known)
    return [step for step in playbook.steps if filling.holds(step.when)]


ZOOKEEPER = Fact("zookeeper", {"unit": "zookeeper.service", "at_boot": "yes", "managed": "systemd", "pid": "70"})
BROKER = Fact("broker", {"unit": "kafka.service", "at_boot": "yes", "managed": "systemd", "pid": "71"})


def does(step: Step, verb: str, need: str) -> bool:
    return step.run == ("systemctl", verb, f"{{{need}.unit}}")


def test_a_roll_takes_the_broker_only_when_its_zookeeper_is_back_in_a_whole_ensemble() -> None:
    steps = steps_for("rolling-restart", broker=BROKER, zookeeper=ZOOKEEPER)
    first = next(at for at, step in enumerate(steps) if does(step, "restart", "zookeeper"))
    second = next(at for at, step in enumerate(steps) if does(step, "restart", "broker"))
    between = steps[first + 1 : second]

    assert [(step.kind, step.check or step.purpose) for step in between] == [("wait", "services"), ("wait", "upgrade")]
    assert between[1].after


def test_a_roll_of_brokers_alone_waits_for_no_zookeeper() -> None:
    steps = steps_for("rolling-restart", broker=BROKER)

    assert [step.name for step in steps if "ZooKeeper" in step.name or "ensemble" in step.name] == []


def starts(name: str) -> Iterator[int]:
    """Where a playbook starts the ZooKeeper server of a machine that has no broker."""
    for at, step in enumerate(steps_for(name, zookeeper=ZOOKEEPER)):
        if does(step, "start", "zookeeper"):
            yield at


@pytest.mark.parametrize("name", [name for name in names() if any(starts(name))])
def test_zookeeper_is_started_on_a_machine_of_its_own_only_after_a_look_at_its_mounts(name: str) -> None:
    steps = steps_for(name, zookeeper=ZOOKEEPER)
    looks = [at for at, step in enumerate(steps) if step.check == "mounts" and step.kind == "check"]

    assert looks and all(min(looks) < at for at in starts(name))


def test_the_playbooks_that_start_zookeeper_are_the_ones_one_thinks_of() -> None:
    assert {name for name in names() if any(starts(name))} >= {
        "broker-down", "failed-motherboard", "power-off-broker", "reboot-broker", "replace-dimm",
    }  # fmt: skip


# a disk that ZooKeeper uses


def with_zookeeper(folder: str) -> Told:
    """A machine whose second disk holds this folder of a ZooKeeper server that does not run."""
    machine = jbod(WITH_ZOOKEEPER, "kafka")
    machine.commands["systemctl list-unit-files"] = "zookeeper.service enabled enabled\n"
    machine.commands["systemctl show"] = "ExecStart={ argv[]=/opt/x /etc/zookeeper/zoo.cfg ; }\nUser=zookeeper\n"
    machine.files["/etc/zookeeper/zoo.cfg"] = folder
    return machine


@pytest.mark.parametrize(
    ("config", "uses"),
    [
        ("dataDir=/kafka/d2/zookeeper\n", "yes"),
        ("dataDir=/var/lib/zookeeper\ndataLogDir=/kafka/d2\n", "yes"),
        ("dataDir=/kafka/d1/zookeeper\n", ""),
        ("dataDir=/kafka/d22\n", ""),
        ("clientPort=2181\n", ""),
    ],
)
def test_a_mount_knows_whether_zookeeper_keeps_its_data_there(config: str, uses: str) -> None:
    assert found("mount", with_zookeeper(config), Choice(item="/kafka/d2")).words("zookeeper") == uses


def mount(**fields: str) -> Fact:
    return Fact("mount", {"path": "/kafka/d2", "device": "/dev/sdd", "fstype": "xfs", **fields})


def stopped_for_repair(**facts: Fact) -> tuple[list[str], list[str]]:
    """The servers that are stopped before the file system is taken away, and those started once it is back."""
    steps = steps_for("hidden-readonly", **facts)
    rows = [step.run or ((step.kind, *step.words.split()[:2]) if step.kind == "confirm" else ()) for step in steps]
    away = next(at for at, words in enumerate(rows) if words[:1] == ("umount",))
    back = max(at for at, words in enumerate(rows) if words[:1] == ("mount",))
    before = [words[-1] for words in rows[:away] if words[:2] == ("systemctl", "stop") or words[:1] == ("confirm",)]
    after = [words[-1] for words in rows[back:] if words[:2] == ("systemctl", "start") or words[:1] == ("confirm",)]
    return before, after


def test_zookeeper_lets_go_of_its_disk_for_the_repair_and_comes_back_before_the_broker() -> None:
    assert stopped_for_repair(mount=mount(zookeeper="yes"), broker=BROKER, zookeeper=ZOOKEEPER) == (
        ["{broker.unit}", "{zookeeper.unit}"], ["{zookeeper.unit}", "{broker.unit}"],
    )  # fmt: skip


def test_zookeeper_runs_on_while_a_disk_of_the_broker_alone_is_repaired() -> None:
    assert stopped_for_repair(mount=mount(), broker=BROKER, zookeeper=ZOOKEEPER) == (
        ["{broker.unit}"], ["{broker.unit}"],
    )  # fmt: skip


def test_servers_without_a_unit_are_stopped_by_a_person_before_their_disk_is_taken_away() -> None:
    other = {"managed": "otherwise", "pid": "7"}
    facts = {"broker": Fact("broker", other), "zookeeper": Fact("zookeeper", other)}

    assert stopped_for_repair(mount=mount(zookeeper="yes"), **facts) == (
        ["broker", "ZooKeeper"],
        ["ZooKeeper", "broker"],
    )


# the clock

# NOT systemd and ntpd, which this machine cannot have: they write down what they were told, and ntpd fails
TOLD = '#!/bin/sh\necho "$(basename "$0") $*" >> "$TOLD"\n'


def test_an_ntpd_that_cannot_step_the_clock_is_started_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = desk.folder / "tools"
    tools.mkdir()
    for name, end in (("systemctl", "exit 0"), ("ntpd", "exit 1")):
        (tools / name).write_text(TOLD + end + "\n")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    monkeypatch.setenv("TOLD", str(desk.folder / "told"))
    daemon = Fact("time-daemon", {"daemon": "ntpd", "unit": "ntpd.service"})
    rows = [step for step in steps_for("clock", time=daemon) if "ntpd" in step.name and step.changes]
    fields = [{"name": step.name, "run": [word.replace("{time.unit}", "ntpd.service") for word in step.run],
               "may_fail": step.may_fail, "no_undo": "a test"} for step in rows]  # fmt: skip
    desk.write("\n".join(f"- {json.dumps(one)}" for one in fields))

    done = desk.smoke("run", "book", answers="yyy")

    assert done.returncode == 0, done.stdout + done.stderr
    assert desk.file("told").splitlines() == [
        "systemctl stop ntpd.service",
        "ntpd -g -q",
        "systemctl start ntpd.service",
    ]


def test_a_clock_that_stayed_wrong_is_told_and_not_given_to_the_hardware_clock() -> None:
    daemon = Fact("time-daemon", {"daemon": "ntpd", "unit": "ntpd.service"})
    steps = steps_for("clock", time=daemon)
    at = next(at for at, step in enumerate(steps) if step.kind == "wait" and step.check == "clock")

    assert steps[at].status == "ok"
    assert [at < other for other, step in enumerate(steps) if step.run[:1] == ("hwclock",)] == [True]
