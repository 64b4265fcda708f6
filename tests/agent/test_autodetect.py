"""guess: what a machine without an inventory seems to be, and that the loss of what it was is seen."""

from __future__ import annotations

import pytest

from agent.autodetect import guess, recall
from agent.expected import Expected, ExpectedMount
from agent.host import CannotTell, Stuck, Touched
from tests.agent.servers import BROKER_CONFIG, answers, broker, machine, zookeeper
from tests.machine import NOW, FakeHost, next_run, run_checks

ROOT = "21 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw\n"
DISKS = "36 21 8:17 / /kafka/d1 rw - xfs /dev/sdb1 rw\n37 21 8:33 / /kafka/d2 rw - xfs /dev/sdc1 rw\n"
MOUNTED = {"/proc/self/mountinfo": ROOT + DISKS}
NOTHING = Expected()


def paths(expected: Expected) -> tuple[str, ...]:
    return expected.mount_paths


def test_a_running_broker_tells_role_mounts_and_ports() -> None:
    seen = guess(machine(broker(), expected=NOTHING, files=MOUNTED))

    assert (seen.roles, paths(seen), seen.ports) == (("broker",), ("/kafka/d1", "/kafka/d2"), (9092,))
    assert all("from the running process" in why for why in seen.guessed) and len(seen.guessed) == 3


def test_a_broker_that_ran_earlier_and_not_now_is_still_expected() -> None:
    before = machine(broker(), expected=NOTHING, files=MOUNTED)
    guess(before)
    after = next_run(before, after_s=3 * 3600, answers={"processes": []})

    seen = guess(after)
    assert (seen.roles, paths(seen), seen.ports) == (("broker",), ("/kafka/d1", "/kafka/d2"), (9092,))
    assert "broker last seen 2026-11-18T11:06Z, not running now" in seen.guessed[0]

    after.expected = seen
    (finding,) = run_checks(after, "services")
    assert (finding.item, finding.status, finding.verdict.playbook) == ("broker", "critical", "broker-down")


def test_a_lost_broker_is_expected_beside_a_zookeeper_that_still_runs() -> None:
    before = machine(broker(), zookeeper(), expected=NOTHING, files=MOUNTED)
    guess(before)

    seen = guess(next_run(before, answers=answers([zookeeper()])))
    assert (seen.roles, seen.ports) == (("broker", "zookeeper"), (2181, 9092))


def test_what_ran_is_forgotten_after_a_week() -> None:
    before = machine(broker(), expected=NOTHING, files=MOUNTED)
    guess(before)

    seen = guess(next_run(before, after_s=7 * 86400 + 1, answers={"processes": []}))
    assert (seen.roles, seen.ports) == ((), ())
    assert "no Kafka or ZooKeeper process" in seen.guessed[0]


def test_a_mount_lost_under_a_running_broker_is_still_expected() -> None:
    before = machine(broker(), expected=NOTHING, files=MOUNTED)
    guess(before)

    lost = next_run(before, files={"/proc/self/mountinfo": ROOT + DISKS.splitlines()[0] + "\n"})
    assert paths(guess(lost)) == ("/kafka/d1", "/kafka/d2")
    assert paths(guess(next_run(lost))) == ("/kafka/d1", "/kafka/d2")


def test_a_data_disk_that_fstab_names_and_nobody_mounted_is_expected_on_the_very_first_run() -> None:
    lost = {"/proc/self/mountinfo": ROOT + DISKS.splitlines()[0], "/etc/fstab": "UUID=2 /kafka/d2 xfs noatime 0 2\n"}
    host = machine(broker(), expected=NOTHING, files=lost)
    host.expected = guess(host)

    assert paths(host.expected) == ("/kafka/d1", "/kafka/d2")
    (finding,) = [finding for finding in run_checks(host, "mounts") if finding.item == "/kafka/d2"]
    assert finding.status == "critical"


def test_log_dirs_that_were_always_on_the_root_disk_are_there() -> None:
    assert paths(guess(machine(broker(), expected=NOTHING, files={"/proc/self/mountinfo": ROOT}))) == ("/",)


def test_log_dirs_that_were_moved_are_not_missed() -> None:
    before = machine(broker(), expected=NOTHING, files=MOUNTED)
    guess(before)

    moved = {f"touch read {BROKER_CONFIG}": Touched("", {"text": "log.dirs=/kafka/d1/data\n"})}
    assert paths(guess(next_run(before, answers=moved))) == ("/kafka/d1",)


def test_an_unreadable_configuration_is_not_taken_for_kafkas_defaults() -> None:
    unreadable = {f"touch read {BROKER_CONFIG}": Touched("EACCES", {"error": "Permission denied"})}
    seen = guess(machine(broker(), expected=NOTHING, files=MOUNTED, answers=unreadable))

    assert (seen.roles, paths(seen), seen.ports) == (("broker",), (), ())


def test_what_the_inventory_says_stands() -> None:
    said = Expected(roles=("zookeeper",), mounts=(ExpectedMount("/data"),), ports=(2181,))
    seen = guess(machine(broker(), expected=said, files=MOUNTED))

    assert (seen.roles, paths(seen), seen.ports, seen.guessed) == (("zookeeper",), ("/data",), (2181,), ())


def test_without_a_broker_the_disks_mounted_under_a_name_of_kafka_are_its_data() -> None:
    seen = guess(FakeHost(files=MOUNTED, answers={"processes": []}))

    assert (seen.roles, paths(seen)) == ((), ("/kafka/d1", "/kafka/d2"))


@pytest.mark.parametrize("processes", [CannotTell("/proc is not mounted")])
def test_a_machine_that_shows_no_processes_is_guessed_nothing_with_the_reason(processes: CannotTell) -> None:
    seen = guess(FakeHost(files=MOUNTED, answers={"processes": processes}))

    assert seen.roles == () and "/proc is not mounted" in seen.guessed[0]


def test_what_is_known_is_not_forgotten_because_the_list_of_processes_hangs() -> None:
    before = machine(broker(), expected=NOTHING, files=MOUNTED)
    guess(before)
    stuck = next_run(before, answers={"processes": Stuck("guess", 10.0)})

    for seen in (guess(stuck), recall(stuck, "no answer in 10 s")):
        assert (seen.roles, paths(seen), seen.ports) == (("broker",), ("/kafka/d1", "/kafka/d2"), (9092,))
        assert seen.guessed[0].startswith("role: broker (from an earlier run: ") and not seen.unsure


def test_where_nothing_is_known_and_the_guess_hangs_nothing_is_skipped_for_want_of_it() -> None:
    host = FakeHost(files=MOUNTED, answers={"processes": Stuck("guess", 10.0)})
    host.expected = recall(host, "the process list timed out after 10 s")

    for check in ("mounts", "services", "swappiness", "kafka_config", "kafka_log", "memory_maps", "zookeeper"):
        for finding in run_checks(host, check):
            assert finding.status == "unknown" and "timed out after" in finding.verdict.reason, finding


def test_a_broker_that_ran_for_a_moment_leaves_no_mounts_behind() -> None:
    before = machine(broker(started_at=NOW - 5), expected=NOTHING, files=MOUNTED)
    assert paths(guess(before)) == ("/kafka/d1", "/kafka/d2")

    assert guess(next_run(before, answers={"processes": []}, files={"/proc/self/mountinfo": ROOT})).mounts == ()


@pytest.mark.parametrize("rubbish", [[1], 7, "x", {"a": 1}, {"a": ["/b"]}, {"a": [1, 2]}, {"a": ["/b", None]}])
def test_a_damaged_memory_of_mounts_is_no_memory(rubbish: object) -> None:
    host = machine(broker(), expected=NOTHING, files=MOUNTED)
    host.state.remember("guess.mounts", rubbish)

    assert paths(guess(next_run(host))) == ("/kafka/d1", "/kafka/d2")
