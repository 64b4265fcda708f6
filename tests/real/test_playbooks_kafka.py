"""Playbooks that act through Kafka and ask the gate: real brokers on real hosts."""

from __future__ import annotations

import json
import pathlib
import shutil
from collections.abc import Iterator

import pytest

from smoketests.gate import lock
from tests.playbooks.prompt_fake import Desk, until
from tests.real.parts.gate_site import BROKERS, GateSite, gate_site

pytestmark = [pytest.mark.slow, pytest.mark.root, pytest.mark.timeout(600)]
HOME = [(1, 2, 3), (2, 3, 1), (3, 1, 2)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GateSite]:
    with gate_site(tmp_path_factory.mktemp("site"), "kraft") as running:
        yield running


@pytest.fixture
def desk(site: GateSite, tmp_path: pathlib.Path) -> Desk:
    """At the broker with the id 1."""
    key = site.hosts.machines[BROKERS[0]].sshd.key
    access = ["-i", str(site.inventory), "--known-hosts", str(site.hosts.folder / "known_hosts"),
              "--identity", str(key), "--ssh-config", "/dev/null"]  # fmt: skip
    return Desk(tmp_path, access, BROKERS[0], patience_s=300)


def order(site: GateSite, topic: str = "orders") -> list[tuple[int, ...]]:
    return [one.replicas for one in sorted(site.kafka.partitions(topic))]


def led_by(site: GateSite, broker: int, topic: str = "orders") -> int:
    return sum(one.leader == broker for one in site.kafka.partitions(topic))


def test_leaders_go_away_and_come_home_in_their_own_order(site: GateSite, desk: Desk) -> None:
    desk.write("""
    - {name: Away, kafka: move-leaders-away}
    - confirm: The broker was restarted.
    - {name: Home, kafka: elect-preferred}
    """)

    away = desk.smoke("run", "book", answers="yq")
    assert away.returncode == 1, away.stdout + away.stderr
    assert "leaders of broker 1 to other brokers; no data moves" in away.stdout
    site.kafka.until("no leader", lambda _facts: led_by(site, 1) == 0 and len(order(site)) == 3)
    assert all(replicas[-1] == 1 for replicas in order(site) if 1 in replicas[:1]) and order(site) != HOME
    home = desk.smoke("resume", desk.run_id, answers="yy")

    assert home.returncode == 0, home.stdout + home.stderr
    site.kafka.until("all at home", lambda _facts: order(site) == HOME and led_by(site, 1) == 1)


def test_leaders_that_went_away_are_taken_back_by_undo(site: GateSite, desk: Desk) -> None:
    desk.write("- {name: Away, kafka: move-leaders-away}")
    assert desk.smoke("run", "book", answers="y").returncode == 0
    site.kafka.until("no leader", lambda _facts: led_by(site, 1) == 0 and len(order(site)) == 3)

    undone = desk.smoke("undo", desk.run_id, answers="y")

    assert undone.returncode == 0, undone.stdout + undone.stderr
    site.kafka.until("all at home", lambda _facts: order(site) == HOME and led_by(site, 1) == 1)


def test_nothing_to_do_is_done(site: GateSite, desk: Desk) -> None:
    desk.write("- {name: Home, kafka: elect-preferred}")

    assert desk.smoke("run", "book").returncode == 0
    assert desk.told("already") == ["already 1"]


def test_a_broker_is_drained_when_there_are_enough_others(site: GateSite, desk: Desk) -> None:
    desk.write("- {name: Off it, kafka: drain-broker, seconds: 300}")
    site.kafka.create("small", (1, 2), (2, 1))
    try:
        refused = desk.smoke("run", "book", answers="y")
        assert refused.returncode == 2, refused.stdout + refused.stderr
        assert "3 replicas and only 2 other brokers are live" in refused.stderr
        assert order(site, "small") == [(1, 2), (2, 1)], "nothing was started"
        site.kafka.delete("orders")

        drained = desk.smoke("resume", desk.run_id, answers="y")

        assert drained.returncode == 0, drained.stdout + drained.stderr
        assert "copies 2 replicas of broker 1 to other brokers" in drained.stdout
        site.kafka.until("copied", lambda _facts: order(site, "small") == [(3, 2), (2, 3)])
        site.kafka.settle()
    finally:
        site.kafka.delete("small")
        site.kafka.create("orders", *HOME, min_insync_replicas=2)
        site.kafka.settle()


def test_reassignments_are_called_off(site: GateSite, desk: Desk) -> None:
    desk.write("- {name: Off, kafka: cancel-reassignments}")
    site.kafka.create("moving", (2, 3))
    site.kafka.produce("moving", 1024)
    site.kafka.move("moving", (1, 3))
    try:
        answer = desk.smoke("run", "book", answers="y")

        assert answer.returncode == 0, answer.stdout + answer.stderr
        assert "cancels 1 reassignments" in answer.stdout and "moving-0" in answer.stdout
        site.kafka.until("called off", lambda _facts: sorted(order(site, "moving")[0]) == [2, 3])
    finally:
        site.kafka.throttle("moving", None)
        site.kafka.delete("moving")


def test_a_cluster_that_is_not_there_is_told(site: GateSite, desk: Desk) -> None:
    inventory = site.write("gone.yaml", kafka=["127.0.0.1:1"])
    desk.access[1] = str(inventory)
    desk.write("- {name: Away, kafka: move-leaders-away}")

    answer = desk.smoke("run", "book", answers="y")

    assert answer.returncode == 3 and "Kafka: 127.0.0.1:1" in answer.stderr


def test_with_go_the_cluster_is_held_until_the_run_is_over(site: GateSite, desk: Desk) -> None:
    desk.write("""
    - gate: reboot
    - {name: Write it, run: [touch, FOLDER/end]}
    - {gate: reboot, after: true}
    """)

    stopped = desk.smoke("run", "book", answers="q")
    assert stopped.returncode == 1, stopped.stdout + stopped.stderr
    (held,) = lock.held(str(desk.store))
    assert (held.cluster, held.hosts, held.purpose) == ("prod-a", (BROKERS[0],), "reboot")
    other = desk.smoke("run", "book", answers="y")
    assert other.returncode == 2 and held.id in other.stdout + other.stderr, "somebody else's run is refused"
    resumed = desk.smoke(
        "resume", sorted(path.stem for path in (desk.store / "playbooks").glob("*.jsonl"))[0], answers="y"
    )

    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert "gate: GO" in resumed.stdout and lock.held(str(desk.store)) == []
    assert list((desk.store / "gate").glob("date=*/*.json")), "the decisions are kept"


def test_with_no_go_nothing_is_done(site: GateSite, desk: Desk) -> None:
    desk.write("""
    - gate: reboot
    - {name: Write it, run: [touch, FOLDER/end]}
    """)
    site.kafka.brokers[2].stop()
    try:
        site.kafka.until("a broker less", lambda facts: len([one for one in facts.brokers if not one.fenced]) == 2)
        answer = desk.smoke("run", "book", answers="yy")
        kept = [json.loads(path.read_text())["answer"] for path in (desk.store / "gate").glob("date=*/*.json")]
    finally:
        site.kafka.brokers[2].start()
        site.kafka.brokers[2].wait()
        site.kafka.settle()

    assert answer.returncode == 2, answer.stdout + answer.stderr
    assert "the gate's answer is NO-GO" in answer.stderr
    assert not (desk.folder / "end").exists() and kept == ["NO-GO"]
    assert lock.held(str(desk.store)) == []


def test_a_go_from_before_another_broker_died_is_asked_again_and_refused(site: GateSite, desk: Desk) -> None:
    """Also by resume, which is run the next day, say."""
    desk.write("""
    - gate: reboot
    - name: Take it away
      run: [touch, FOLDER/away]
      takes_away: true
    """)
    process = desk.begin("run", "book", "--max-go-age", "0")
    until("the question", lambda: "Run it?" in desk.printed or process.poll() is not None)
    site.kafka.kill(3)
    try:
        code, out = desk.end(process, "y")
        again = desk.smoke("resume", desk.run_id, answers="y")
    finally:
        site.kafka.brokers[3].start()
        site.kafka.brokers[3].wait()
        site.kafka.settle()

    assert code == 2 and "refused: the gate's answer is now NO-GO" in out, out
    assert again.returncode == 2, again.stdout + again.stderr
    assert "running the gate again" in again.stdout
    assert not (desk.folder / "away").exists()
    assert desk.smoke("resume", desk.run_id, "--max-go-age", "0", answers="y").returncode == 0
    assert (desk.folder / "away").exists() and desk.told("gate repeated") == ["gate repeated 2"]


def test_a_plan_of_ours_for_a_real_broker_names_its_facts(site: GateSite, desk: Desk) -> None:
    shutil.copy(pathlib.Path(__file__).parents[2] / "playbooks/books/reboot-broker.yaml", desk.books)

    answer = desk.smoke("plan", "reboot-broker")

    said = " ".join(answer.stdout.replace("\n# ", " ").split())
    assert "broker: " in said and " id 1, " in said and "/broker1/" in said
    assert f"--host {BROKERS[0]} " in said and "--for reboot" in said
