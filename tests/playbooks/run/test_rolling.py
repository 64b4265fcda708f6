"""Rolls: what is kept of them, what --yes may answer, which machine is next. On real servers: tests/real."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.model import Cluster, Host
from playbooks.fact_schema import Fact
from playbooks.facts import Choice
from playbooks.plan.plan import NoPlan, Plan
from playbooks.run import rolling
from smoketests.cluster import services
from smoketests.cluster.view import ClusterView
from smoketests.readers.kafka.model import KafkaFacts
from smoketests.readers.zookeeper.ensemble import Member, ZooKeeperFacts
from tests.playbooks.playbook_fixtures import book
from tests.playbooks.prompt_fake import Desk

ID = "20261121-210733-3f2a"
HOSTS = tuple(Host(f"kafka-a0{number}", broker_id=number) for number in (1, 2, 3))
NOWHERE = 'when: "{host.name} == nobody"'
ROLLING = f"""
- {{gate: upgrade, {NOWHERE}}}
- {{confirm: The file is in place., unattended: true}}
- {{name: Write it, run: [touch, FOLDER/one]}}
- {{confirm: The lamp is lit., {NOWHERE}}}
- {{name: Write the other, run: [touch, FOLDER/two]}}
- {{gate: upgrade, after: true, {NOWHERE}}}
"""


def test_yes_confirms_only_what_may_be_confirmed_unattended(tmp_path: pathlib.Path) -> None:
    desk = Desk(tmp_path)
    desk.write(ROLLING, head="rolling: true\n")
    done = desk.smoke("run", "book", "--yes")
    (tmp_path / "two").unlink()
    desk.write(ROLLING.replace(f"lit., {NOWHERE}", "lit."), head="rolling: true\n", name="other")
    stopped = desk.smoke("run", "other", "--yes")

    assert done.returncode == 0 and "confirmed by --yes" in done.stdout, done.stdout + done.stderr
    assert stopped.returncode == 3 and "this must be confirmed by a person" in stopped.stderr
    assert not (tmp_path / "two").exists()


def test_a_playbook_is_rolling_only_between_two_questions_to_the_gate(tmp_path: pathlib.Path) -> None:
    desk = Desk(tmp_path)
    desk.write("- {name: Write it, run: [touch, FOLDER/one]}", head="rolling: true\n")

    answer = desk.smoke("run", "book", "--yes")

    assert answer.returncode == 3 and "a rolling playbook requires a step with `gate`" in answer.stderr


def test_several_hosts_are_for_rolling_playbooks_only(tmp_path: pathlib.Path) -> None:
    inventory = tmp_path / "site.yaml"
    inventory.write_text("clusters: {prod-a: {hosts: {kafka-a01: {}, kafka-a02: {}}}}\n")
    desk = Desk(tmp_path, ["-i", str(inventory)], "kafka-a[01-02]")
    desk.write("- {name: Write it, run: [touch, FOLDER/one]}")

    answer = desk.smoke("run", "book")

    assert answer.returncode == 3 and "matches 2 hosts; this playbook runs on one host at a time" in answer.stderr


def test_a_disk_is_not_named_for_several_hosts(tmp_path: pathlib.Path) -> None:
    inventory = tmp_path / "site.yaml"
    inventory.write_text("clusters: {prod-a: {hosts: {kafka-a01: {}, kafka-a02: {}}}}\n")
    desk = Desk(tmp_path, ["-i", str(inventory)], "kafka-a[01-02]")

    answer = desk.smoke("run", "rolling-restart", "--disk", "ZA1")

    assert answer.returncode == 3 and "--disk applies to one host" in answer.stderr


def roll(tmp_path: pathlib.Path) -> rolling.Roll:
    return rolling.begin(str(tmp_path), book("rolling-restart"), ["kafka-a01", "kafka-a02"], ["prod.yaml"], "ann")


def test_a_roll_is_read_back_as_it_stands(tmp_path: pathlib.Path) -> None:
    first = roll(tmp_path)
    first.write("host", host="kafka-a01", run="r1")
    first.write("done", host="kafka-a01")
    first.write("host", host="kafka-a02", run="r2")
    with pytest.raises(rolling.InUse, match="in use by ann"):
        rolling.reopen(str(tmp_path), first.id, "bob")
    first.close()
    with open(first.path, "a") as file:
        file.write('{"event":"do')

    again = rolling.reopen(str(tmp_path), first.id, "bob")
    again.write("done", host="kafka-a02")
    again.close()

    assert (again.left, again.run_of) == ([], {"kafka-a01": "r1", "kafka-a02": "r2"})
    assert rolling.read(str(tmp_path), first.id).left == [] and rolling.ids(str(tmp_path)) == [first.id]


@pytest.mark.parametrize("text", ["", "x", "[]", '{"event":"planned"}', '{"event":"planned","roll":{"hosts":3}}'])
def test_what_is_no_roll_is_told(tmp_path: pathlib.Path, text: str) -> None:
    (tmp_path / "playbooks").mkdir()
    (tmp_path / f"playbooks/{ID}.roll.jsonl").write_text(text)

    with pytest.raises(NoPlan, match="does not start with the machines"):
        rolling.read(str(tmp_path), ID)


@given(st.lists(st.dictionaries(st.sampled_from(["event", "host", "run"]), st.text(max_size=5) | st.integers())))
def test_any_line_may_stand_in_it(rows: list[dict[str, Any]]) -> None:
    one = rolling.Roll(ID, "", "", "", "book", ("kafka-a01", "kafka-a02"), ())
    for row in rows:
        one.take({"event": "", **row})
    assert set(one.left) | set(one.done) == {"kafka-a01", "kafka-a02"}
    json.dumps(one.words)


@pytest.mark.parametrize(
    ("values", "goes", "person"),
    [
        ({"unit": "kafka.service", "managed": "systemd"}, True, ""),
        ({"managed": "otherwise"}, True, "The broker of kafka-a01 runs without a systemd unit"),
        ({}, False, ""),
    ],
)
def test_a_machine_that_only_a_person_can_restart_is_told_before_anything_is_begun(
    values: dict[str, str], goes: bool, person: str
) -> None:
    facts = {"broker": Fact("broker", values), "zookeeper": Fact("zookeeper", {})}
    made = Plan(ID, book("rolling-restart"), "", "kafka-a01", "", "prod-a", "", facts, (), Choice())

    assert rolling.takes_away(made) == goes
    assert rolling.wants_person(made).startswith(person) and bool(rolling.wants_person(made)) == bool(person)


@pytest.mark.parametrize(
    ("controller", "leader", "left", "following"),
    [
        (1, "", ("kafka-a01", "kafka-a02", "kafka-a03"), "kafka-a02"),
        (1, "kafka-a02:2181", ("kafka-a01", "kafka-a02", "kafka-a03"), "kafka-a03"),
        (1, "kafka-a02:2181", ("kafka-a01", "kafka-a02"), "kafka-a01"),
        (-1, "", ("kafka-a01", "kafka-a02"), "kafka-a01"),
        (2, "", ("kafka-a02",), "kafka-a02"),
    ],
)
def test_the_controller_and_zookeepers_leader_come_last(
    controller: int, leader: str, left: tuple[str, ...], following: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster("prod-a", HOSTS)
    kafka = KafkaFacts(*([None] * len(KafkaFacts._fields)))._replace(controller=controller)  # type: ignore[arg-type]
    zookeeper = ZooKeeperFacts((Member(leader, "answered", mode="leader"),)) if leader else None
    view = ClusterView(cluster, {}, kafka=kafka, zookeeper=zookeeper)
    monkeypatch.setattr(services, "look", lambda *_asked: view)

    assert rolling.following(cluster, left) == following
