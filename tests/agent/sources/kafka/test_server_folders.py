"""Where a server's folders lie: links, containers, units with mounts of their own; what cannot be judged is unknown."""

from __future__ import annotations

from typing import Any, Callable, Dict, List

import pytest

from agent import autodetect
from agent.expected import Expected, ExpectedMount
from agent.host import NoPermission, Touched
from agent.sources.disks import mount_table
from agent.sources.kafka import server_folders
from agent.status import Finding
from tests.agent.servers import BROKER_CONFIG, broker, machine
from tests.machine import FakeHost, by_item, next_run, run_checks

# mountinfo of a Debian 12 host with two data disks, of a container on it (docker run -v /kafka/d1:/var/lib/kafka/data),
# and of a unit with PrivateTmp=yes on it
ROOT = "27 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw"
DISKS = "40 27 8:17 / /kafka/d1 rw,noatime shared:9 - xfs /dev/sdb1 rw\n41 27 8:33 / /kafka/d2 rw - xfs /dev/sdc1 rw\n"
HOST = f"{ROOT}\n{DISKS}"
CONTAINER = """\
900 800 0:95 / / rw,relatime master:300 - overlay overlay rw,lowerdir=/a,upperdir=/b,workdir=/c
901 900 0:97 / /proc rw,nosuid - proc proc rw
910 900 8:17 /data /var/lib/kafka/data rw,noatime master:9 - xfs /dev/sdb1 rw
911 900 8:1 /etc/kafka /etc/kafka ro,relatime master:1 - ext4 /dev/sda1 rw
912 900 0:99 / /scratch rw - tmpfs tmpfs rw
913 900 8:49 / /unseen rw - ext4 /dev/sdd1 rw
"""
PRIVATE = """\
527 500 8:1 / / rw,relatime shared:701 master:1 - ext4 /dev/sda1 rw
540 527 8:17 / /kafka/d1 rw,noatime shared:709 master:9 - xfs /dev/sdb1 rw
541 527 8:33 / /kafka/d2 rw - xfs /dev/sdc1 rw
542 527 8:1 /tmp/systemd-private-1/tmp /tmp rw - ext4 /dev/sda1 rw
"""
WRITTEN = Touched("", {"written": True})


def host(theirs: str, dirs: str, own: str = HOST, links: Dict[str, str] | None = None, **given: Any) -> FakeHost:
    answers = {
        f"touch read {BROKER_CONFIG}": Touched("", {"text": f"log.dirs={dirs}\nlisteners=PLAINTEXT://:9092\n"}),
        **{
            f"touch link {path}": Touched("EINVAL", {})
            for path in ("/var", "/proc/4242/root/var", "/proc/4242/root/tmp")
        },
        **{f"touch link {path}": Touched("", {"target": target}) for path, target in (links or {}).items()},
    }
    disks = {"/etc/fstab": "/dev/sdb1 /kafka/d1 xfs noatime 0 2\n/dev/sdc1 /kafka/d2 xfs defaults 0 2\n"}
    files = {"/proc/self/mountinfo": own, **({"/proc/4242/mountinfo": theirs} if theirs else {}), **disks}
    return machine(broker(), files={**files, **given.pop("files", {})}, answers={**answers, **given.pop("answers", {})},
                   **given)  # fmt: skip


@pytest.mark.parametrize(
    ("theirs", "given", "path", "inside"),
    [
        (HOST, "/kafka/d1/data", "/kafka/d1/data", "/kafka/d1/data"),
        ("", "/kafka/d1/data", "/kafka/d1/data", "/kafka/d1/data"),
        (PRIVATE, "/kafka/d1/data", "/kafka/d1/data", "/kafka/d1/data"),
        (PRIVATE, "/tmp/kafka-logs", "/tmp/systemd-private-1/tmp/kafka-logs", "/tmp/kafka-logs"),
        (CONTAINER, "/var/lib/kafka/data/p1", "/kafka/d1/data/p1", "/var/lib/kafka/data/p1"),
        (CONTAINER, "/etc/kafka/x", "/etc/kafka/x", "/etc/kafka/x"),
        (CONTAINER, "/kafka/d2", "", "/kafka/d2"),  # its own layer: no disk of this machine, though named like one
        (CONTAINER, "/scratch", "", "/scratch"),
        (CONTAINER, "/unseen/d", "", "/unseen/d"),
    ],
)
def test_a_folder_of_another_tree_is_found_by_its_file_system(theirs: str, given: str, path: str, inside: str) -> None:
    found = server_folders.located(host(theirs, given), 4242, given)

    assert (found.path, found.inside) == (path, inside)
    assert bool(found.why) == (not path)


def test_a_place_that_another_mount_hides_is_not_taken_for_it() -> None:
    covered = HOST + "60 40 8:49 / /kafka/d1/data rw - ext4 /dev/sdd1 rw\n"

    assert server_folders.located(host(CONTAINER, "x", covered), 4242, "/var/lib/kafka/data/p").path == ""


def test_a_container_s_own_layer_is_no_place_of_this_machine_though_docker_mounts_it_here() -> None:
    layer = "95 27 0:95 / /var/lib/docker/overlay2/0a1b/merged rw - overlay overlay rw,lowerdir=/a,upperdir=/b\n"

    assert server_folders.located(host(CONTAINER, "x", HOST + layer), 4242, "/opt/data").path == ""


@pytest.mark.parametrize(
    ("links", "given", "path"),
    [
        ({"/var/kafka": "/kafka/d1"}, "/var/kafka/data", "/kafka/d1/data"),
        ({"/var/kafka": "../kafka"}, "/var/kafka/d2/x", "/kafka/d2/x"),
        ({"/a": "/b", "/b": "/kafka/d2"}, "/a", "/kafka/d2"),
        ({"/a": "/a"}, "/a/x", "/a/x"),
    ],
)
def test_symbolic_links_are_followed_to_the_mount(links: Dict[str, str], given: str, path: str) -> None:
    assert server_folders.located(host(HOST, given, links=links), 4242, given).path == path


def test_log_dirs_behind_links_make_their_disks_the_data_mounts() -> None:
    linked = host(
        HOST, "/var/one,/var/two", expected=Expected(), links={"/var/one": "/kafka/d1/data", "/var/two": "/kafka/d2"}
    )

    assert autodetect.guess(linked).mount_paths == ("/kafka/d1", "/kafka/d2")


def test_a_container_s_links_are_read_in_its_own_tree() -> None:
    links = {"/proc/4242/root/logs": "/var/lib/kafka/data", "/logs": "/kafka/d2"}
    found = server_folders.located(host(CONTAINER, "x", links=links), 4242, "/logs")

    assert (found.inside, found.path) == ("/var/lib/kafka/data", "/kafka/d1/data")


def of(one: FakeHost, check: str, item: str) -> Finding:
    return by_item(run_checks(one, check))[item]


def test_the_log_dir_of_a_container_is_tried_in_its_tree_and_is_no_critical() -> None:
    expected = Expected(roles=("broker",), layout="jbod", mounts=(ExpectedMount("/kafka/d1"),), ports=(9092,))
    one = host(CONTAINER, "/var/lib/kafka/data", expected=expected, answers={
        "touch stat /kafka/d1": Touched("", {}), "touch write /var/lib/kafka/data": WRITTEN})  # fmt: skip

    finding = of(one, "mounts", "/kafka/d1")
    assert (finding.status, finding.facts["probed"]) == ("ok", "/var/lib/kafka/data"), finding.verdict
    assert of(one, "kafka_config", "log.dirs").status == "ok"


def test_a_tree_that_may_not_be_entered_leaves_the_write_unproven() -> None:
    expected = Expected(roles=("broker",), mounts=(ExpectedMount("/kafka/d1"),), ports=(9092,))
    why = NoPermission("write of /var/lib/kafka/data: cannot enter the file tree of process 4242 (container or unit)")
    one = host(CONTAINER, "/var/lib/kafka/data", expected=expected, answers={
        "touch stat /kafka/d1": Touched("", {}), "touch write /var/lib/kafka/data": why})  # fmt: skip

    finding = of(one, "mounts", "/kafka/d1")
    assert finding.status == "unknown" and "cannot test writes" in finding.verdict.reason


def test_the_log_dir_in_a_container_s_own_layer_is_no_critical() -> None:
    one = host(CONTAINER, "/opt/data", expected=Expected(roles=("broker",)))
    one.expected = autodetect.guess(one)

    found = run_checks(one, "mounts", "kafka_config", "disk_usage")
    assert "critical" not in {finding.status for finding in found}, found
    assert {finding.status for finding in found if finding.check == "mounts"} == {"unknown"}


def test_a_log_dir_in_the_memory_of_a_container_is_critical() -> None:
    finding = of(host(CONTAINER, "/scratch/logs"), "kafka_config", "log.dirs")

    assert finding.status == "critical" and "tmpfs" in finding.verdict.reason


def test_without_root_a_container_is_known_by_its_cgroup() -> None:
    refused = {
        "/proc/4242/mountinfo": NoPermission("needs root"),
        "/proc/4242/cgroup": "0::/system.slice/docker-0a.scope\n",
    }
    found = server_folders.located(host("", "/kafka/d1", files=refused), 4242, "/kafka/d1")

    assert (found.path, "container" in found.why) == ("", True)


# What an earlier run noted


def writes(dirs: str, write: Touched = WRITTEN, **more: Touched) -> FakeHost:
    answers = {"touch stat /kafka/d1": Touched("", {}), "touch write /kafka/d1/data": write, **more}
    expected = Expected(roles=("broker",), mounts=(ExpectedMount("/kafka/d1"),), ports=(9092,))
    return host("", dirs, expected=expected, answers=answers)


def test_a_log_dir_that_was_taken_out_of_the_configuration_is_not_tried_any_more() -> None:
    before = writes("/kafka/d1/data,/kafka/d2")
    assert of(before, "mounts", "/kafka/d1").facts["probed"] == "/kafka/d1/data"

    gone = Touched("ENOENT", {})
    config = {f"touch read {BROKER_CONFIG}": Touched("", {"text": "log.dirs=/kafka/d2\n"})}
    after = next_run(before, answers={**config, "touch write /kafka/d1/data": gone, "touch write /kafka/d1": WRITTEN})
    assert of(after, "mounts", "/kafka/d1").status == "ok"

    down = next_run(after, answers={"processes": []})
    assert of(down, "mounts", "/kafka/d1").status == "ok"


def test_the_log_dir_of_a_broker_that_is_down_is_still_tried() -> None:
    before = writes("/kafka/d1/data")
    of(before, "mounts", "/kafka/d1")

    down = next_run(before, answers={"processes": [], "touch write /kafka/d1/data": Touched("ENOENT", {})})
    assert of(down, "mounts", "/kafka/d1").status == "critical"


# A unit of systemd that makes folders read-only for the agent alone

# ProtectHome=read-only and ProtectSystem=full of systemd 252
HARDENED = """\
627 600 8:1 / / rw,relatime shared:801 - ext4 /dev/sda1 rw
650 627 8:1 /home /home ro,relatime shared:802 - ext4 /dev/sda1 rw
651 627 8:1 /usr /usr ro,relatime shared:803 - ext4 /dev/sda1 rw
640 627 8:17 / /kafka/d1 rw,noatime shared:9 - xfs /dev/sdb1 rw
641 627 8:33 / /home/kafka/d2 ro shared:9 - xfs /dev/sdc1 rw
"""
INIT = HOST.replace("/kafka/d2", "/home/kafka/d2")


def test_what_only_our_unit_mounts_read_only_is_seen_as_the_first_process_sees_it() -> None:
    one = FakeHost(files={"/proc/self/mountinfo": HARDENED, "/proc/1/mountinfo": INIT})

    assert [(mount.path, mount.options[0]) for mount in mount_table.mounts(one)] == [
        ("/", "rw"), ("/kafka/d1", "rw"), ("/home/kafka/d2", "rw")]  # fmt: skip


def test_what_is_read_only_for_all_stays_so() -> None:
    dead = INIT.replace("rw - xfs /dev/sdc1 rw", "ro - xfs /dev/sdc1 ro")
    one = FakeHost(files={"/proc/self/mountinfo": HARDENED, "/proc/1/mountinfo": dead})

    assert mount_table.mounts(one)[-1].options[0] == "ro"


def noting(asked: List[Any], touch: Callable[..., Touched]) -> Callable[..., Touched]:
    def noted(kind: str, path: str, *more: Any, **how: Any) -> Touched:
        asked.append((kind, path, *more))
        return touch(kind, path, *more, **how)

    return noted


@pytest.mark.parametrize("runs", [True, False])
def test_a_log_dir_below_home_is_tried_past_our_unit(runs: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """ProtectHome= of a site's own unit: the tree of the broker, or of the first process, is entered."""
    expected = Expected(roles=("broker",), mounts=(ExpectedMount("/home/kafka/d2"),), ports=(9092,))
    folder = "/home/kafka/d2/logs" if runs else "/home/kafka/d2"
    one = host(INIT, "/home/kafka/d2/logs", HARDENED, expected=expected, files={
        "/proc/1/mountinfo": INIT, "/etc/fstab": "/dev/sdc1 /home/kafka/d2 xfs defaults 0 0\n"}, answers={
        "touch stat /home/kafka/d2": Touched("", {}), f"touch write {folder}": WRITTEN})  # fmt: skip
    asked: List[Any] = []
    monkeypatch.setattr(one, "touch", noting(asked, one.touch))
    if not runs:
        one.answers["processes"] = []

    assert of(one, "mounts", "/home/kafka/d2").status == "ok"
    assert ("write", folder, 0, 0, (), 4242 if runs else 1) in asked
