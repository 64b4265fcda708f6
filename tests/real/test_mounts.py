"""Real faults of real file systems on this machine: each is told by `mounts`, and healthy ones are left in peace."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from typing import Any, Dict, List, NamedTuple, Tuple

import pytest

from agent.checks.disks import mounts
from agent.expected import Expected, ExpectedMount
from agent.host import Process
from agent.machine.live import LiveHost
from agent.recording.recorded_host import RecordingHost, ReplayHost
from agent.status import Finding
from tests.machine import run_checks
from tests.real.parts.filesystems import (
    LOOKING,
    TMPFILE,
    Fuse,
    Here,
    Mounted,
    command,
    frozen,
    loop_device,
    loop_ext4,
    loop_xfs,
    mounted,
    need,
    silent_fuse,
)
from tests.real.parts.stand_in_broker import StandInBroker

pytestmark = pytest.mark.root

ROOT = pathlib.Path(__file__).parent.parent.parent
CHECKS = ("mounts", "disk_usage", "disk_balance")
# A machine under load may be slow; one that hangs for ever is what these tests are about.
GENEROUS_S = 90.0

Found = Dict[Tuple[str, str], Finding]


def fstab(*disks: Mounted, options: str = "defaults") -> Dict[str, str]:
    return {"/etc/fstab": "".join(f"/dev/{disk.device} {disk.path} auto {options} 0 2\n" for disk in disks)}


def broker(*expected: ExpectedMount, write_probe: bool = True) -> Expected:
    return Expected(roles=("broker",), layout="jbod", mounts=expected, write_probe=write_probe)


def plain(*disks: Mounted) -> Expected:
    return broker(*(ExpectedMount(disk.path) for disk in disks))


def look(host: Here, *checks: str) -> Found:
    """The findings by check and item."""
    try:
        return {(row.check, row.item): row for row in run_checks(host, *(checks or CHECKS), deadline_s=GENEROUS_S)}
    finally:
        host.close()


def look_at(disk: Mounted, state: str = "") -> Finding:
    return look(Here(plain(disk), fstab(disk), state=state), "mounts")["mounts", disk.path]


def judged_without(finding: Finding, **hidden: Any) -> Tuple[str, str]:
    """The verdict over the same facts, had the kernel not shown some of them."""
    verdict = mounts.judge(mounts.Facts(**finding.facts)._replace(**hidden), mounts.LIMITS)
    return verdict.status, verdict.reason


# Healthy


def test_healthy_ext4_and_xfs_give_no_alarm(tmp_path: pathlib.Path) -> None:
    with loop_ext4(tmp_path, "d1") as ext4, loop_xfs(tmp_path, "d2") as xfs:
        expected = broker(
            ExpectedMount(ext4.path, device=f"/dev/{ext4.device}", uuid=ext4.uuid, fstype="ext4"),
            ExpectedMount(xfs.path, device=xfs.device, uuid=xfs.uuid, fstype="xfs"),
        )
        links = {f"/dev/disk/by-uuid/{disk.uuid}": f"/dev/{disk.device}" for disk in (ext4, xfs)}
        entries = "".join(f"UUID={disk.uuid} {disk.path} auto defaults 0 2\n" for disk in (ext4, xfs))

        found = look(Here(expected, {"/etc/fstab": entries}, links))

        assert {name: row.status for name, row in found.items() if row.item != "/"} == {
            ("mounts", ext4.path): "ok",
            ("mounts", xfs.path): "ok",
            ("disk_usage", ext4.path): "ok",
            ("disk_usage", xfs.path): "ok",
            ("disk_balance", "data mounts"): "ok",
        }
        assert sorted(os.listdir(ext4.path)) == ["lost+found"]
        assert os.listdir(xfs.path) == []


@pytest.mark.parametrize("make", [loop_ext4, loop_xfs])
def test_options_in_both_file_systems_are_compared_as_the_kernel_shows_them(tmp_path: pathlib.Path, make: Any) -> None:
    options = "noatime,nodev,nosuid"
    with make(tmp_path, options=options) as disk:
        same = look(Here(plain(disk), fstab(disk, options=options)), "mounts")["mounts", disk.path]
        other = look(Here(plain(disk), fstab(disk, options="nodev,noexec")), "mounts")["mounts", disk.path]

    assert same.status == "ok"
    assert (other.facts["options_lost"], other.facts["options_only_now"]) == (("noexec",), ("noatime", "nosuid"))


# Read-only behind rw


def break_ext4(disk: Mounted) -> None:
    trigger = pathlib.Path(f"/sys/fs/ext4/{disk.device}/trigger_fs_error")
    if not trigger.exists():
        pytest.skip("this kernel's ext4 has no trigger_fs_error")
    trigger.write_text("1")


def test_an_ext4_that_stopped_itself_is_critical_whatever_its_options_say(tmp_path: pathlib.Path) -> None:
    with loop_ext4(tmp_path, options="errors=remount-ro") as disk:
        assert look_at(disk).status == "ok"
        break_ext4(disk)

        finding = look_at(disk)

    assert (finding.status, finding.verdict.playbook) == ("critical", "hidden-readonly")
    assert finding.facts["write_error"] == "EROFS"
    assert (finding.facts["ext4_errors"], finding.facts["ext4_last_error_at"] != "") == (1, True)
    # Kernels up to 6.12 show no marker: the write alone must tell.
    status, reason = judged_without(finding, read_only=(), ext4_errors=0)
    assert (status, "create fails with EROFS though mounted rw" in reason) == ("critical", True)
    # And where nothing may be written, the marker or the count must.
    assert judged_without(finding, write_error="", probed="", ext4_errors=0)[0] == finding_status(finding)
    assert judged_without(finding, write_error="", probed="", read_only=())[0] == "warning"


def finding_status(finding: Finding) -> str:
    """Critical where this kernel shows `emergency_ro`, else nothing to see."""
    return "critical" if finding.facts["read_only"] else "ok"


def test_an_ext4_that_goes_on_after_errors_is_a_warning_and_critical_when_they_grow(tmp_path: pathlib.Path) -> None:
    with loop_ext4(tmp_path, options="errors=continue") as disk:
        break_ext4(disk)
        host = Here(plain(disk), fstab(disk))
        first = look(host, "mounts")["mounts", disk.path]
        same = look_at(disk, host.state.dump())
        break_ext4(disk)
        grown = look_at(disk, host.state.dump())

    assert (first.status, same.status, grown.status) == ("warning", "warning", "critical")
    assert "ext4 logged 2 errors" in grown.verdict.reason and "1 of them new" in grown.verdict.reason


@pytest.mark.parametrize("make", [loop_ext4, loop_xfs])
def test_a_plain_remount_read_only_is_critical(tmp_path: pathlib.Path, make: Any) -> None:
    with make(tmp_path) as disk:
        command("mount", "-o", "remount,ro", disk.path)

        finding = look_at(disk)

    assert (finding.status, finding.verdict.playbook) == ("critical", "hidden-readonly")
    assert (finding.facts["read_only"], finding.facts["write_error"]) == (("ro",), "EROFS")


def test_a_shut_down_xfs_is_critical_though_the_table_says_rw(tmp_path: pathlib.Path) -> None:
    need("xfs_io:xfsprogs")
    with loop_xfs(tmp_path) as disk:
        command("xfs_io", "-x", "-c", "shutdown", disk.path)

        finding = look_at(disk)

    assert (finding.status, finding.verdict.playbook) == ("critical", "hidden-readonly")
    assert "fails with EIO" in finding.verdict.reason
    assert judged_without(finding, read_only=())[0] == "critical"


# Full


def fill(disk: Mounted) -> None:
    """Until not one byte more goes in."""
    with open(f"{disk.path}/segment", "wb", buffering=0) as file:
        for size in (1 << 16, 1 << 10, 1):
            with pytest.raises(OSError, match="No space left"):
                while file.write(bytes(size)):
                    pass


def test_a_full_file_system_is_full_and_not_read_only(tmp_path: pathlib.Path) -> None:
    with loop_ext4(tmp_path, size_mb=8, mkfs=["-m", "0"]) as disk:
        fill(disk)

        found = look(Here(plain(disk), fstab(disk)))

    finding = found["mounts", disk.path]
    assert found["disk_usage", disk.path].status == "critical"
    assert (finding.status, finding.verdict.playbook) == ("critical", "full-disk")
    assert "full: create fails with ENOSPC, 0 MB and" in finding.verdict.reason


def test_a_file_system_that_is_full_for_all_but_root_is_full(tmp_path: pathlib.Path) -> None:
    with loop_ext4(tmp_path, size_mb=64, mkfs=["-m", "20"]) as disk:
        fill_up_to = os.statvfs(disk.path)
        with open(f"{disk.path}/segment", "wb") as file:
            os.posix_fallocate(file.fileno(), 0, fill_up_to.f_bavail * fill_up_to.f_frsize)

        found = look(Here(plain(disk), fstab(disk)))

    assert found["disk_usage", disk.path].status == "critical"
    assert found["disk_usage", disk.path].facts["used_percent"] > 99
    assert found["mounts", disk.path].status == "ok"


def test_a_file_system_out_of_inodes_is_full_with_space_left(tmp_path: pathlib.Path) -> None:
    with loop_ext4(tmp_path, mkfs=["-N", "64"]) as disk:
        for number in range(os.statvfs(disk.path).f_ffree):
            pathlib.Path(f"{disk.path}/{number}").touch()

        found = look(Here(plain(disk), fstab(disk)))

    finding = found["mounts", disk.path]
    assert (finding.status, finding.verdict.playbook) == ("critical", "full-disk")
    assert "full: create fails with ENOSPC" in finding.verdict.reason and " 0 inodes free" in finding.verdict.reason
    assert "100.0 % of inodes used" in found["disk_usage", disk.path].verdict.reason


def test_a_disk_much_fuller_than_its_neighbour_is_told(tmp_path: pathlib.Path) -> None:
    with loop_ext4(tmp_path, "d1") as one, loop_ext4(tmp_path, "d2") as other:
        with open(f"{one.path}/segment", "wb") as file:
            os.posix_fallocate(file.fileno(), 0, 10 << 20)

        finding = look(Here(plain(one, other)), "disk_balance")["disk_balance", "data mounts"]

    assert finding.status == "warning"
    assert f"between {one.path} (" in finding.verdict.reason


# Not there, or another


def test_a_data_dir_without_its_mount_is_critical_and_its_size_is_unknown(tmp_path: pathlib.Path) -> None:
    with loop_ext4(tmp_path, "d1") as gone, loop_ext4(tmp_path, "d2") as there:
        command("umount", gone.path)
        found = look(Here(plain(gone, there), fstab(gone, there)))
        command("mount", f"/dev/{gone.device}", gone.path)

    finding = found["mounts", gone.path]
    assert (finding.status, finding.verdict.playbook) == ("critical", "replace-jbod-disk")
    assert f"{gone.path}: not mounted" in finding.verdict.reason
    assert f"{gone.device} is present, not mounted" in finding.verdict.reason
    assert (found["disk_usage", gone.path].status, found["disk_balance", "data mounts"].status) == (
        "unknown",
        "unknown",
    )
    assert found["mounts", there.path].status == "ok"


def test_two_swapped_disks_are_told_by_the_disk_that_should_be_there(tmp_path: pathlib.Path) -> None:
    with loop_ext4(tmp_path, "d1") as one, loop_ext4(tmp_path, "d2") as other:
        links = {f"/dev/disk/by-uuid/{disk.uuid}": f"/dev/{disk.device}" for disk in (one, other)}
        expected = broker(ExpectedMount(one.path, uuid=other.uuid), ExpectedMount(other.path, uuid=one.uuid))
        found = look(Here(expected, fstab(one, other), links), "mounts")

    finding = found["mounts", one.path]
    assert (finding.status, found["mounts", other.path].status) == ("critical", "critical")
    assert f"{one.path} on {one.device}: should be UUID {other.uuid}" in finding.verdict.reason
    assert f"the mounted one belongs to {other.path}" in finding.verdict.reason
    assert f"{other.device} is mounted at {other.path}" in finding.verdict.reason


def test_a_loop_device_tells_no_serial_so_it_is_unknown_whether_it_is_the_right_one(tmp_path: pathlib.Path) -> None:
    with loop_ext4(tmp_path) as disk:
        expected = broker(ExpectedMount(disk.path, serial="ZA1BC2"))
        finding = look(Here(expected, fstab(disk)), "mounts")["mounts", disk.path]

    assert finding.status == "unknown"
    assert "reports no serial number" in finding.verdict.reason


# Hung


class Run(NamedTuple):
    code: int
    found: Dict[Tuple[str, str], Dict[str, Any]]
    seconds: float


class Agent:
    """The real command line, as a process of its own; all that it starts carries a mark in its environment."""

    def __init__(self, folder: pathlib.Path, expected: Expected) -> None:
        self._mark = f"FLEET_SMOKE_TEST={uuid.uuid4()}"
        self._state = folder / "state" / "state.json"
        self._expected = folder / "expected.json"
        rows = [mount._asdict() for mount in expected.mounts]
        self._expected.write_text(json.dumps({"roles": ["broker"], "layout": "jbod", "mounts": rows}))

    def run(self) -> Run:
        name, _, value = self._mark.partition("=")
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "agent", *CHECKS, "--expected", str(self._expected), "--state", str(self._state)],
            cwd=ROOT,
            env={**os.environ, name: value},
            capture_output=True,
            text=True,
            timeout=GENEROUS_S,
            check=False,
        )
        _header, *lines = [json.loads(line) for line in done.stdout.splitlines()]
        assert done.stderr == ""
        found = {(line["check"], line["item"]): line for line in lines}
        return Run(done.returncode, found, time.monotonic() - began)

    def processes(self) -> List[int]:
        """What still runs of all that was started."""
        return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if self._is_ours(pid)]

    def _is_ours(self, pid: int) -> bool:
        try:
            return self._mark.encode() in pathlib.Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            return False

    def left(self, wanted: int, seconds: float = 20.0) -> List[int]:
        """The processes left once there are only as many as wanted, or when the time is over."""
        until = time.monotonic() + seconds
        while len(self.processes()) > wanted and time.monotonic() < until:
            time.sleep(0.1)
        return self.processes()


@pytest.fixture(name="hung")
def a_fuse_mount_that_never_answers(tmp_path: pathlib.Path) -> Iterator[Fuse]:
    with silent_fuse(tmp_path, "hung") as server:
        yield server


@pytest.mark.slow
def test_a_mount_that_never_answers_is_critical_and_holds_up_nobody(tmp_path: pathlib.Path, hung: Fuse) -> None:
    with loop_ext4(tmp_path, "well") as well:
        agent = Agent(tmp_path, broker(ExpectedMount(hung.path), ExpectedMount(well.path)))
        first = agent.run()
        left = agent.left(1)
        second = agent.run()
        left_again = agent.left(1)

    line = first.found["mounts", hung.path]
    assert (first.code, line["status"], line["playbook"]) == (2, "critical", "hung-disk")
    assert "hung: no reply to stat for 4 s" in line["reason"]
    assert first.found["disk_usage", hung.path]["status"] == "unknown"
    assert first.found["disk_usage", well.path]["status"] == "ok"
    assert first.found["disk_balance", "data mounts"]["status"] == "unknown"
    assert first.found["agent", "state"]["status"] == "ok"
    assert first.seconds < GENEROUS_S
    # Three checks and two runs, and one process left behind: what hangs is not touched again.
    assert (len(left), left) == (1, left_again)
    assert second.found["mounts", hung.path]["status"] == "critical"
    assert second.found["mounts", hung.path]["first_seen"] == line["first_seen"]

    hung.die()
    assert agent.left(0) == []
    dead = agent.run()
    assert "stat fails with ENOTCONN though mounted rw" in dead.found["mounts", hung.path]["reason"]
    assert agent.left(0) == []


@pytest.mark.slow
def test_writes_that_hang_behind_a_stat_that_answers_are_critical_until_they_answer(tmp_path: pathlib.Path) -> None:
    """A frozen ext4: the same uninterruptible wait as below a suspended or dead disk."""
    with loop_ext4(tmp_path) as disk:
        agent = Agent(tmp_path, plain(disk))
        with frozen(disk):
            hanging = agent.run()
            left = agent.left(1)
        assert agent.left(0) == []
        again = agent.run()

    line = hanging.found["mounts", disk.path]
    assert (hanging.code, line["status"], line["playbook"], line["facts"]["hung"]) == (
        2,
        "critical",
        "hung-disk",
        "write",
    )
    assert f"on {disk.device}: hung: no reply to write" in line["reason"]
    assert line["facts"]["completed_meanwhile"] == 0
    assert len(left) == 1
    assert again.found["mounts", disk.path]["facts"]["hung"] == ""
    assert again.found["mounts", disk.path]["status"] == "warning"  # this machine's fstab does not name it


@pytest.mark.slow
def test_a_suspended_device_mapper_disk_is_critical(tmp_path: pathlib.Path) -> None:
    need("dmsetup")
    if subprocess.run(["dmsetup", "version"], capture_output=True, check=False).returncode:
        pytest.skip("this kernel has no device mapper")
    name = f"fleet-smoke-{os.getpid()}"
    with loop_device(tmp_path, "d1", 32) as loop:
        sectors = command("blockdev", "--getsz", loop)
        command("dmsetup", "create", name, "--table", f"0 {sectors} linear {loop} 0")
        try:
            command("mkfs.ext4", "-q", "-F", f"/dev/mapper/{name}")
            with mounted(tmp_path, "d1", f"/dev/mapper/{name}") as disk:
                command("dmsetup", "suspend", name)
                try:
                    finding = look_at(disk)
                finally:
                    command("dmsetup", "resume", name)
        finally:
            command("dmsetup", "remove", "--retry", name)

    assert (finding.status, finding.verdict.playbook) == ("critical", "hung-disk")


# File systems that cannot be asked


def test_a_file_system_without_unnamed_files_is_unknown_and_not_read_only(tmp_path: pathlib.Path) -> None:
    with silent_fuse(tmp_path, answered=LOOKING, refused=[TMPFILE]) as server:
        disk = Mounted(server.path, "")
        finding = look(Here(plain(disk), {"/etc/fstab": f"silent {disk.path} fuse defaults 0 0\n"}), "mounts")

    assert finding["mounts", disk.path].status == "unknown"
    assert "O_TMPFILE" in finding["mounts", disk.path].verdict.reason


@pytest.mark.parametrize("fault", ["shut down", "hung"])
def test_a_recorded_fault_replays_to_the_same_verdict(tmp_path: pathlib.Path, fault: str) -> None:
    need("xfs_io:xfsprogs")
    with contextlib.ExitStack() as stack:
        if fault == "hung":
            disk = Mounted(stack.enter_context(silent_fuse(tmp_path)).path, "")
        else:
            disk = stack.enter_context(loop_xfs(tmp_path))
            command("xfs_io", "-x", "-c", "shutdown", disk.path)
        host = Here(plain(disk), fstab(disk))
        recording = RecordingHost(host)
        seen = {(row.check, row.item): row for row in run_checks(recording, *CHECKS, deadline_s=GENEROUS_S)}
        recording.write(str(tmp_path / "story"))
        host.close()

    replayed = {(row.check, row.item): row for row in run_checks(ReplayHost(str(tmp_path / "story")), *CHECKS)}

    assert seen["mounts", disk.path].status == "critical"
    assert {name: row.verdict for name, row in replayed.items()} == {name: row.verdict for name, row in seen.items()}


# Whose the log dir is


class WithBroker(Here):
    """This machine with one of its processes."""

    pid = 0

    def processes(self) -> List[Process]:
        return [process for process in LiveHost.processes(self) if process.pid == self.pid]


def test_a_log_dir_of_root_is_critical_for_a_broker_of_another_user_until_it_is_given_to_it() -> None:
    nobody = 65534
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        with loop_ext4(folder) as disk, StandInBroker(folder, user=nobody) as running:
            host = WithBroker(plain(disk), fstab(disk))
            host.pid = running.pid
            of_root = look(host, "mounts")["mounts", disk.path]
            os.chown(disk.path, nobody, nobody)
            host = WithBroker(plain(disk), fstab(disk))
            host.pid = running.pid
            of_broker = look(host, "mounts")["mounts", disk.path]

    assert (of_root.status, of_root.verdict.playbook) == ("critical", "replace-jbod-disk")
    assert "owned by root (mode 755)" in of_root.verdict.reason
    assert of_broker.status == "ok" and "writable by" in of_broker.verdict.reason


def test_a_tmpfs_over_a_data_mount_is_critical(tmp_path: pathlib.Path) -> None:
    with loop_ext4(tmp_path) as disk:
        command("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk.path)
        try:
            finding = look_at(disk)
        finally:
            command("umount", disk.path)

    assert finding.status == "critical"
    assert f"tmpfs, mounted over /dev/{disk.device}: in memory" in finding.verdict.reason
