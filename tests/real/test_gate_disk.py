"""A disk that fails below a real broker: who sees it, who may go, and when the gate behind its replacement opens."""

from __future__ import annotations

import json
import pathlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from tests.real.parts.filesystems import loop_device, need
from tests.real.parts.gate_site import SERIAL, GateSite, gate_site
from tests.real.parts.kafka_servers import format_logs

pytestmark = [pytest.mark.slow, pytest.mark.root, pytest.mark.timeout(900)]
ALL = (0, 1, 2)
# a loop device has no serial number, so nobody can tell which mount is on the disk that is named
BEFORE = ("--disk", SERIAL, "--accept", "disk_room", "--because", "the other log dir has room")
AFTER = ("--after", "--accept", "new_disk", "--because", "seen: the new one is in")


def fail(site: GateSite, device: str) -> None:
    """As a medium error in its metadata would: ext4 counts an error and is read-only from now on."""
    trigger = pathlib.Path(f"/sys/fs/ext4/{pathlib.Path(device).name}/trigger_fs_error")
    if not trigger.exists():
        pytest.skip("this kernel's ext4 has no trigger_fs_error")
    trigger.write_text("fault injection by a test\n")
    site.kafka.produce("orders", 128, ALL)
    site.kafka.until("the failed log dir", lambda facts: any(row.error for row in facts.log_dirs or ()))


def told_by(site: GateSite, *checks: str) -> dict[str, dict[str, str]]:
    """check -> item -> its sentence, of what is critical."""
    done = site.hosts.smoke(site.inventory, "check", *checks, "--format", "json", "--state", str(site.store) + ".state")
    rows = json.loads(done.stdout)["findings"]
    bad = [row for row in rows if row["status"] == "critical"]
    return {check: {row["item"]: row["reason"] for row in bad if row["check"] == check} for check in checks}


@pytest.mark.parametrize("mode", ["zookeeper", "kraft"])
def test_a_log_dir_that_fails_and_the_disk_that_replaces_it(mode: str, tmp_path: pathlib.Path) -> None:
    need("mkfs.ext4:e2fsprogs", "losetup:mount")
    with ExitStack() as stack:
        old, new = (stack.enter_context(loop_device(tmp_path, name, 128)) for name in ("old", "new"))
        site = stack.enter_context(gate_site(tmp_path, mode, old))
        site.kafka.produce("orders", 512, ALL)
        before = site.gate("kafka-a01")
        assert before.answer == "GO", before

        fail(site, old)
        _is_told_as_one_cause(site)
        _nobody_else_may_go(site)
        _behind_its_replacement(site, new)


def _is_told_as_one_cause(site: GateSite) -> None:
    assert site.disk
    path = str(site.disk.path)
    told = told_by(site, "partitions", "kafka_log", "mounts")

    assert path in str(told["mounts"]), told
    assert path in str(told["kafka_log"]) and "Read-only file system" in str(told["kafka_log"]), told
    said = told["partitions"][f"broker 2 {site.disk.log_dir}"]
    assert f"broker 2 (kafka-a02) took its log dir offline: {site.disk.log_dir} (KAFKA_STORAGE_ERROR)" in said
    assert said.partition("same cause as the host's own findings: ")[2] == f"kafka_log broker, mounts {path}"


def _nobody_else_may_go(site: GateSite) -> None:
    other = site.gate("kafka-a01")
    itself = site.gate("kafka-a02", *BEFORE, purpose="replace-disk")

    assert other.answer == "NO-GO", other
    assert {"availability", "log_dirs", "disks"} <= set(other.of("failed"))
    assert "broker 2 (kafka-a02) (KAFKA_STORAGE_ERROR)" in other.of("failed")["log_dirs"]
    assert itself.answer == "GO", itself


def _behind_its_replacement(site: GateSite, new: str) -> None:
    """Replication is throttled, so that there is a time in which the broker is back and its replicas are not."""
    kafka, machine = site.kafka, site.hosts.machines["kafka-a02"]
    assert site.disk
    kafka.throttle("orders", 1)
    kafka.kill(2)
    site.disk.take(machine)
    site.disk.put(machine, new)
    if site.kraft:
        format_logs([kafka.brokers[2]])  # without it a KRaft broker does not start on an empty disk
    kafka.brokers[2].start()
    kafka.until("all log dirs", lambda facts: len({(row.broker, row.path) for row in facts.log_dirs or ()}) == 4)
    steady = ("--wait", "8", "--readings", "2", "--every", "1")
    with ThreadPoolExecutor() as beside:
        waiting = beside.submit(site.gate, "kafka-a02", *AFTER, *steady, purpose="replace-disk")
        early = site.gate("kafka-a02", *AFTER, purpose="replace-disk")

        assert early.answer == "NO-GO", early
        assert "missing are broker 2 (kafka-a02)" in early.of("failed")["under_replicated"]
        kafka.throttle("orders", None)
        kafka.settle()
        kafka.elect()
        whole = waiting.result(500)
    assert whole.answer == "GO", whole
    assert whole.rules["log_dirs"]["status"] == "passed" and whole.rules["under_replicated"]["status"] == "passed"
