"""Record the stories that real parts of this machine tell: `python -m tests.machines.record [STORY…]`, as root.

A stand-in broker on real loop mounts, a real ZooKeeper, a real BMC, a real chronyd; the agent without tools, and as
user nobody. Of this machine's processes and kernel log only what belongs to the story is kept; the load average, and
where STORY.md says so a setting or /etc/fstab, is another's.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from typing import Callable, Dict, Iterator, List, Mapping, Optional, Sequence

import psutil
import pyudev

from agent import autodetect
from agent.expected import Expected, ExpectedMount
from agent.host import Descriptors, Load, Process
from agent.machine.live import LiveHost
from agent.recording.recorded_host import RecordingHost
from agent.state import State
from tests.machine import STORIES, run_checks
from tests.machines.make import renew
from tests.real.parts import bmc
from tests.real.parts.filesystems import Mounted, command, loop_device, mounted
from tests.real.parts.namespace import wait_for
from tests.real.parts.stand_in_broker import StandInBroker
from tests.real.parts.time_server import chronyd_behind
from tests.real.parts.zookeeper import ZooKeeper

KAFKA = pathlib.Path("/kafka")
# What this machine allows; an inventory may ask for less than our own limit does.
FEWER_FILES = {"open_files": {"limit_warning": 4096}}
TOOL_FOLDERS = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin")
TUNED = {
    "/proc/sys/vm/swappiness": "1\n", "/proc/sys/vm/max_map_count": "262144\n",
    "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
}  # fmt: skip


class Recorded(LiveHost):
    """This machine with given files; of its processes only those given, of its kernel log what names a device."""

    def __init__(
        self,
        expected: Expected,
        pids: Sequence[int] = (),
        files: Optional[Mapping[str, str]] = None,
        devices: Sequence[str] = (),
        since_s: float = 0.0,
    ) -> None:
        super().__init__(expected)
        self._pids = frozenset(pids)
        self._since_s = since_s
        self._files: Dict[str, str] = dict(files or {})
        self._devices = devices
        self.state = State(self.boot_id(), self.now())

    def read(self, path: str, limit: int = 1 << 22) -> str:
        if path in [f"/proc/{pid}/cgroup" for pid in self._pids]:
            return "0::/\n"  # of no service
        return self._files[path][:limit] if path in self._files else super().read(path, limit)

    def processes(self) -> List[Process]:
        return [process for process in super().processes() if process.pid in self._pids]

    def kernel_records(self) -> List[str]:
        rows = [row for row in super().kernel_records() if any(name in row for name in self._devices)]
        return [row for row in rows if int(row.split(",")[2]) >= self._since_s * 1e6]

    def descriptors(self, target: str) -> Descriptors:
        seen, hidden = super().descriptors(target)
        return Descriptors(
            tuple(row for row in seen if row[0] in self._pids), tuple(pid for pid in hidden if pid in self._pids)
        )

    def load(self) -> Load:
        return Load(0.2, 0.2, 0.2, super().load().processors)


def record(folder: pathlib.Path, machine: Recorded, guessing: bool = False) -> None:
    """Let all checks look, and replace the story's machine by what they saw."""
    recorder = RecordingHost(machine)
    if guessing:
        recorder.expected = autodetect.guess(recorder)
    findings = run_checks(recorder, deadline_s=90.0)
    folder.mkdir(exist_ok=True)
    renew(folder, recorder)
    machine.close()
    for finding in findings:
        if finding.status not in ("ok", "skipped"):
            print(f"{folder.name}: {finding.status} {finding.check} {finding.item}: {finding.verdict.reason}")


@contextlib.contextmanager
def broker_on(mounts: int) -> Iterator[tuple[StandInBroker, List[Mounted]]]:
    """A stand-in broker with its log dirs on real ext4 file systems below /kafka."""
    KAFKA.mkdir()
    try:
        with contextlib.ExitStack() as stack:
            images = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
            disks = [_ext4(stack, images, f"d{number}") for number in range(1, mounts + 1)]
            broker = StandInBroker(KAFKA)
            dirs = ",".join(disk.path for disk in disks)
            broker.config.write_text(
                f"broker.id=3\nlisteners=PLAINTEXT://127.0.0.1:{broker.port}\nlog.dirs={dirs}\nprocess.roles=broker\n"
            )
            yield stack.enter_context(broker), disks
    finally:
        shutil.rmtree(KAFKA)


def _ext4(stack: contextlib.ExitStack, images: pathlib.Path, name: str) -> Mounted:
    device = stack.enter_context(loop_device(images, name, 64))
    command("mkfs.ext4", "-q", "-F", device)
    return stack.enter_context(mounted(KAFKA, name, device, "noatime,errors=remount-ro"))


def fstab(disks: Sequence[Mounted]) -> Dict[str, str]:
    """/etc/fstab, had the loop mounts been made from there."""
    rows = [f"/dev/{disk.device} {disk.path} ext4 noatime,errors=remount-ro 0 2\n" for disk in disks]
    return {"/etc/fstab": "".join(rows)}


def break_ext4(disk: Mounted) -> None:
    """The file system meets an error: it turns read-only, and its options go on to say rw."""
    pathlib.Path(f"/sys/fs/ext4/{disk.device}/trigger_fs_error").write_text("1")


def hidden_readonly_ext4(folder: pathlib.Path) -> None:
    with tempfile.TemporaryDirectory() as own, chronyd_behind(pathlib.Path(own), 0.0) as daemon:
        began_s = time.clock_gettime(time.CLOCK_MONOTONIC)
        with broker_on(3) as (broker, disks):
            wait_for("a synchronised chronyd", _synchronised, 30.0)
            break_ext4(disks[1])
            mounts = tuple(ExpectedMount(disk.path) for disk in disks)
            limits = {**FEWER_FILES, "memory": {"broker_total_gb_warning": 8}}
            expected = Expected(roles=("broker",), layout="jbod", mounts=mounts, limits=limits)
            devices = [disk.device for disk in disks]
            record(folder, Recorded(expected, [daemon, broker.pid], {**fstab(disks), **TUNED}, devices, began_s))


def psu_lost(folder: pathlib.Path) -> None:
    os.environ["IPMI_PASSWORD"] = bmc.PASSWORD
    with tempfile.TemporaryDirectory() as own, bmc.real_bmc(pathlib.Path(own)) as real:
        real.set_bit(bmc.PS2, bmc.AC_LOST, True)
        real.only_bit(bmc.REDUNDANCY, 1)
        with chronyd_behind(pathlib.Path(own), 0.0) as daemon:
            wait_for("a synchronised chronyd", _synchronised, 30.0)
            record(folder, Recorded(Expected(psus=2, bmc=real.expected), [daemon]))


def healthy_bmc(folder: pathlib.Path) -> None:
    os.environ["IPMI_PASSWORD"] = bmc.PASSWORD
    with contextlib.ExitStack() as stack:
        own = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        real = stack.enter_context(bmc.real_bmc(own))
        daemon = stack.enter_context(chronyd_behind(own, 0.0))
        wait_for("a synchronised chronyd", _synchronised, 30.0)
        record(folder, Recorded(Expected(psus=2, bmc=real.expected), [daemon]))


def clock_adrift(folder: pathlib.Path) -> None:
    with tempfile.TemporaryDirectory() as own, chronyd_behind(pathlib.Path(own), 3.0) as daemon:
        wait_for("a synchronised chronyd", _synchronised, 30.0)
        record(folder, Recorded(Expected(), [daemon]))


def _synchronised() -> bool:
    return "Normal" in subprocess.run(["chronyc", "tracking"], capture_output=True, text=True, check=False).stdout


def healthy_zookeeper(folder: pathlib.Path) -> None:
    with contextlib.ExitStack() as stack:
        own = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        daemon = stack.enter_context(chronyd_behind(own, 0.0))
        server = stack.enter_context(ZooKeeper(own / "zookeeper"))
        wait_for("a synchronised chronyd", _synchronised, 30.0)
        clients = [stack.enter_context(socket.create_connection(("127.0.0.1", server.port))) for _ in range(2)]
        expected = Expected(roles=("zookeeper",), ports=(server.port,), limits=FEWER_FILES)
        record(folder, Recorded(expected, [daemon, server.process.pid], TUNED))
        assert len(clients) == 2


def no_tools_installed(folder: pathlib.Path) -> None:
    """In a mount namespace of its own, in which the folders of programs hold nothing but the loader's ldconfig."""
    os.environ["IPMI_PASSWORD"] = bmc.PASSWORD
    with contextlib.ExitStack() as stack:
        own = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        real = stack.enter_context(bmc.real_bmc(own))
        daemon = stack.enter_context(chronyd_behind(own, 0.0))
        broker, disks = stack.enter_context(broker_on(1))
        machine = Recorded(
            Expected(psus=2, bmc=real.expected), [daemon, broker.pid], fstab(disks), [disk.device for disk in disks],
            time.clock_gettime(time.CLOCK_MONOTONIC),
        )  # fmt: skip
        ldconfig = pathlib.Path("/usr/sbin/ldconfig").read_bytes()

        def alone() -> None:
            _hide_programs()
            pathlib.Path("/usr/sbin/ldconfig").write_bytes(ldconfig)
            os.chmod("/usr/sbin/ldconfig", 0o755)
            record(folder, machine, guessing=True)

        _in_a_child(alone)


def _hide_programs() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    namespace, private, recursive = 0x20000, 1 << 18, 1 << 14
    assert libc.unshare(namespace) == 0 and libc.mount(b"none", b"/", None, private | recursive, None) == 0
    for place in TOOL_FOLDERS:
        assert libc.mount(b"tmpfs", place.encode(), b"tmpfs", 0, None) == 0, place


def no_root(folder: pathlib.Path) -> None:
    nobody = pwd.getpwnam("nobody")
    with broker_on(1) as (broker, disks), tempfile.TemporaryDirectory() as own:
        os.chmod(own, 0o755)
        written = pathlib.Path(own) / folder.name
        written.mkdir()
        os.chown(written, nobody.pw_uid, nobody.pw_gid)

        def as_nobody() -> None:
            os.setgroups([])
            os.setgid(nobody.pw_gid)
            os.setuid(nobody.pw_uid)
            sys.executable = "/usr/bin/python3"  # of the file-system worker: ours may lie in root's home
            record(written, Recorded(Expected(), [broker.pid], fstab(disks)), guessing=True)

        _in_a_child(as_nobody)
        kept = (
            [path for path in folder.iterdir() if path.name in ("STORY.md", "expected.txt")] if folder.exists() else []
        )
        for path in kept:
            shutil.copy(path, written)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(written, folder)


def _in_a_child(work: Callable[[], None]) -> None:
    """In a process of its own, which may give up what this one needs."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            sys.stdout.flush()
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0, "the recording failed"


RECORDED: Mapping[str, Callable[[pathlib.Path], None]] = {
    made.__name__: made
    for made in (
        hidden_readonly_ext4, psu_lost, healthy_bmc, clock_adrift, healthy_zookeeper, no_tools_installed, no_root
    )
}  # fmt: skip


if __name__ == "__main__":
    assert psutil and pyudev  # loaded before root is given up
    for name in sys.argv[1:] or RECORDED:
        RECORDED[name](STORIES / name)
