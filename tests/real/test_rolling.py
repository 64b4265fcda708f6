"""A whole cluster restarted machine by machine, unattended: real brokers, on hosts with a stand-in for systemd."""

from __future__ import annotations

import json
import pathlib
import signal
import subprocess
from collections.abc import Iterator

import pytest

from tests.playbooks.desk import Desk, kill
from tests.real.namespace import wait_for
from tests.real.unit_site import HOME, UnitSite, left_behind, unit_site

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
        lambda: "Give its leaders" in desk.printed.partition(second)[2] or process.poll() is not None, 300,
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
    assert "stopped at kafka-a02" in out and "1 of 3 are done, left: kafka-a02, kafka-a03" in out
    assert "the gate says NO-GO now" in out or "Kafka" in out
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
