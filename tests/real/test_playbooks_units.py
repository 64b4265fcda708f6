"""Our playbooks to their end: real brokers and ZooKeeper servers; stand-ins for systemd and for a reboot."""

from __future__ import annotations

import json
import pathlib
import signal
import subprocess
from collections.abc import Iterator

import pytest

from tests.playbooks.prompt_fake import Desk, kill
from tests.real.parts.gate_site import BROKERS, QUORUM
from tests.real.parts.namespace import wait_for
from tests.real.parts.unit_site import HOME, UnitSite, left_behind, unit_site

pytestmark = [pytest.mark.slow, pytest.mark.root, pytest.mark.timeout(900)]
ALL = "kafka-a[01-03]"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UnitSite]:
    with unit_site(tmp_path_factory.mktemp("site")) as running:
        yield running


def roll_id(desk: Desk) -> str:
    return next((desk.store / "playbooks").glob("*.roll.jsonl")).name.removesuffix(".roll.jsonl")


def restarts(desk: Desk) -> int:
    """How many restarts were begun, by the journals."""
    paths = [path for path in (desk.store / "playbooks").glob("*.jsonl") if ".roll." not in path.name]
    rows = [json.loads(row) for path in paths for row in path.read_text().splitlines() if row.endswith("}")]
    return sum(row["event"] == "started" and "restart" in row.get("argv", ()) for row in rows)


def whole_again(cluster: UnitSite) -> bool:
    cluster.site.kafka.settle()
    return bool(cluster.site.kafka.until("the order of before", lambda _facts: cluster.order() == HOME))


@pytest.mark.kafka
def test_a_cluster_is_restarted_to_its_end_though_the_controller_was_killed_in_the_middle(
    cluster: UnitSite, tmp_path: pathlib.Path
) -> None:
    """Two good looks in a row instead of twelve, for time's sake."""
    desk = cluster.desk(tmp_path, ALL, "rolling-restart", ("readings: 12", "readings: 2"))
    before = cluster.starts()
    process = desk.begin("run", "rolling-restart", "--yes")
    wait_for("the second restart", lambda: restarts(desk) == 2 or process.poll() is not None, 300)
    kill(process)

    resumed = desk.smoke("resume", roll_id(desk), "--yes")

    assert resumed.returncode == 0, desk.printed + resumed.stdout + resumed.stderr
    assert [now - then for now, then in zip(cluster.starts(), before)] == [1, 1, 1], "each once, none twice"
    assert "rolling-restart: done on 3 machines" in resumed.stdout
    assert whole_again(cluster) and left_behind(desk) == []
    assert f"{roll_id(desk)}  rolling-restart  3 machines  finished" in desk.smoke("log").stdout


def in_the_middle(desk: Desk, *words: str) -> subprocess.Popen[str]:
    """A roll that stands still while the leaders of the second machine are moved."""
    process = desk.begin("run", "rolling-restart", "--yes", *words)
    second = "== kafka-a02 (2 of 3)"
    wait_for(
        "the second machine",
        lambda: "Move its leaders" in desk.printed.partition(second)[2] or process.poll() is not None, 300,
    )  # fmt: skip
    process.send_signal(signal.SIGSTOP)
    return process


def test_a_roll_stops_when_another_broker_dies_and_leaves_nothing_held_nor_moved(
    cluster: UnitSite, tmp_path: pathlib.Path
) -> None:
    desk = cluster.desk(tmp_path, ALL, "rolling-restart", ("readings: 12", "readings: 2"))
    before = cluster.starts()
    process = in_the_middle(desk, "--max-go-age", "0")
    cluster.kill(3)
    try:
        process.send_signal(signal.SIGCONT)
        code, out = desk.end(process)
        held, after = left_behind(desk), cluster.starts()
    finally:
        cluster.revive(3)

    assert code in (2, 3), out
    assert "stopped at kafka-a02" in out and "1 of 3 done, left: kafka-a02, kafka-a03" in out
    assert "the gate's answer is now NO-GO" in out or "Kafka" in out
    assert [now - then for now, then in zip(after, before)] == [1, 0, 0], "the second was not restarted"
    assert held == [], out
    assert whole_again(cluster)
    resumed = desk.smoke("resume", roll_id(desk), "--yes")
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert [now - then for now, then in zip(cluster.starts(), before)] == [1, 1, 2], "the third once by hand"
    assert whole_again(cluster) and left_behind(desk) == []


@pytest.mark.kafka
def test_with_twelve_good_looks_a_cluster_is_restarted_as_written(cluster: UnitSite, tmp_path: pathlib.Path) -> None:
    desk = cluster.desk(tmp_path, ALL, "rolling-restart")
    before = cluster.starts()

    answer = desk.smoke("run", "rolling-restart", "--yes")

    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert answer.stdout.count("12 of 12: GO") == 3
    assert [now - then for now, then in zip(cluster.starts(), before)] == [1, 1, 1]
    assert whole_again(cluster) and left_behind(desk) == []


@pytest.mark.kafka
def test_the_controllers_of_a_quorum_are_restarted_too_their_leader_last(
    cluster: UnitSite, tmp_path: pathlib.Path
) -> None:
    desk = cluster.desk(tmp_path, "zk-a[01-03]", "rolling-restart", ("readings: 12", "readings: 2"))
    before = cluster.starts(*QUORUM)
    leader = cluster.site.kafka.until("a leader", lambda facts: facts.quorum and facts.quorum.leader)

    answer = desk.smoke("run", "rolling-restart", "--yes")

    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert [now - then for now, then in zip(cluster.starts(*QUORUM), before)] == [1, 1, 1]
    last = QUORUM[list(cluster.site.kafka.controllers).index(leader)]
    assert f"== {last} (3 of 3)" in answer.stdout and left_behind(desk) == []


def systemctl(cluster: UnitSite, host: str, *words: str) -> str:
    machine = cluster.site.hosts.machines[host]
    return machine.run(str(machine.sshd.folder / "bin/systemctl"), *words)


@pytest.mark.kafka
def test_an_enabled_broker_waits_for_its_mounts_after_a_reboot(cluster: UnitSite, tmp_path: pathlib.Path) -> None:
    desk = cluster.desk(tmp_path, BROKERS[0], "reboot-broker")
    before = cluster.starts(BROKERS[0])

    answer = desk.smoke("run", "reboot-broker", answers="y " * 30)

    booted = (cluster.site.hosts.machines[BROKERS[0]].sshd.folder / "booted").read_text()
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert booted == "started\n", "nothing starts by itself"
    assert cluster.starts(BROKERS[0])[0] - before[0] == 1 and cluster.enabled(BROKERS[0])
    assert whole_again(cluster) and left_behind(desk) == []


@pytest.mark.kafka
def test_an_abandoned_reboot_is_found_by_the_gate_behind_it(cluster: UnitSite, tmp_path: pathlib.Path) -> None:
    desk = cluster.desk(tmp_path, BROKERS[0], "reboot-broker")
    words = ("--after", "--store", str(desk.store))
    try:
        stopped = desk.smoke("run", "reboot-broker", answers="yyyq")
        abandoned = cluster.site.gate(BROKERS[0], *words)
    finally:
        undone = desk.smoke("undo", desk.run_id, answers="y" * 9)
        cluster.site.kafka.settle()
    after = cluster.site.gate(BROKERS[0], *words)

    assert stopped.returncode == 1, stopped.stdout + stopped.stderr
    assert "playbook_changes" in abandoned.bad and "order of replicas of orders-0" in abandoned.bad["playbook_changes"]
    assert undone.returncode == 0, undone.stdout + undone.stderr
    assert "playbook_changes" not in after.bad and cluster.enabled(BROKERS[0])
    assert whole_again(cluster) and left_behind(desk) == []


@pytest.mark.kafka
def test_a_broker_leaves_its_cluster_for_good_as_the_playbook_says(cluster: UnitSite, tmp_path: pathlib.Path) -> None:
    # the disk below the test is the machine's own, however full that is
    room = cluster.site.write("room.yaml", limits={"gate_disk_room": {"used_percent": 99}})
    desk = cluster.desk(tmp_path, BROKERS[2], "decommission-broker")
    desk.access[1] = str(room)
    cluster.site.kafka.create("small", (1, 3), (3, 2), (2, 1))
    cluster.site.kafka.produce("small", 1024, (0, 1, 2))
    cluster.site.kafka.delete("orders")
    try:
        answer = desk.smoke("run", "decommission-broker", answers="y" * 9)
        replicas = [set(one) for one in cluster.order("small")]
        throttled = cluster.site.kafka.until("the throttles", lambda facts: [facts.throttled])
        state = systemctl(cluster, BROKERS[2], "show", "-p", "ActiveState", "--", "kafka.service")
        enabled = cluster.enabled(BROKERS[2])
        behind = cluster.site.gate(
            BROKERS[2], "--after", "--store", str(desk.store), purpose="decommission", inventory=room
        )
    finally:
        systemctl(cluster, BROKERS[2], "enable", "kafka.service")
        cluster.revive(3)
        cluster.site.kafka.delete("small")
        cluster.site.kafka.create("orders", *HOME, min_insync_replicas=2)
        cluster.site.kafka.settle()

    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert replicas == [{1, 2}] * 3 and "throttled to 50 MB/s" in answer.stdout
    assert throttled == [()] and "throttle removed" in answer.stdout
    assert "ActiveState=inactive" in state and not enabled
    assert behind.answer == "GO", behind
    assert left_behind(desk) == []


@pytest.mark.kafka
def test_zookeeper_gets_room_for_connections_and_keeps_what_it_has(tmp_path: pathlib.Path) -> None:
    with unit_site(tmp_path, "zookeeper") as found:
        host = found.site.hosts.machines["zk-a01"]
        (tmp_path / "desk").mkdir()
        desk = found.desk(tmp_path / "desk", "zk-a01", "zookeeper-connections")
        assert found.site.kafka.ensemble
        config = found.site.kafka.ensemble.members[0].folder / "zoo.cfg"
        config.write_text(config.read_text() + "maxClientCnxns=1000\n")

        raised = desk.smoke("run", "zookeeper-connections", answers="y" * 9)
        lines = config.read_text().splitlines()
        config.write_text(config.read_text().replace("maxClientCnxns=2000", "maxClientCnxns=0"))
        unlimited = desk.smoke("run", "zookeeper-connections", answers="y" * 9)

    assert raised.returncode == 0, raised.stdout + raised.stderr
    assert "maxClientCnxns=2000" in lines and "maxClientCnxns=1000" not in lines
    assert unlimited.returncode == 0 and "maxClientCnxns=0" in config.read_text(), unlimited.stdout + unlimited.stderr
    assert json.loads((host.sshd.folder / "units/zookeeper.service.json").read_text())["starts"] == 1
