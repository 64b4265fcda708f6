"""raid on a real btrfs: two loop devices that mirror each other, one of them spoilt, and one of them gone."""

from __future__ import annotations

import contextlib
import os
import pathlib
from typing import Dict, Iterator, List

import pytest

from agent.expected import Expected, ExpectedMount
from agent.status import Finding
from tests.machine import by_item, run_checks
from tests.real.parts.filesystems import Here, command, loop_device, need, unmount

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: loop devices and mounts")
SIZE_MB = 128
FILE_MB = 8


@contextlib.contextmanager
def mirror(folder: pathlib.Path) -> Iterator[List[str]]:
    """Two devices with a btrfs of the profile raid1, not mounted."""
    need("mkfs.btrfs:btrfs-progs")
    if "btrfs" not in pathlib.Path("/proc/filesystems").read_text() and not os.path.exists("/sys/fs/btrfs"):
        pytest.skip("this kernel has no btrfs")
    with loop_device(folder, "one", SIZE_MB) as one, loop_device(folder, "two", SIZE_MB) as two:
        command("mkfs.btrfs", "-q", "-f", "-d", "raid1", "-m", "raid1", one, two)
        yield [one, two]


def looked(path: str, state: str = "") -> Dict[str, Finding]:
    here = Here(Expected(roles=("broker",), layout="raid1", mounts=(ExpectedMount(path),)), state=state)
    return by_item(run_checks(here, "raid"))


def test_a_whole_mirror_is_ok_and_one_with_spoilt_blocks_is_a_warning(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "d1"
    path.mkdir()
    with mirror(tmp_path) as devices:
        command("mount", devices[0], str(path))
        try:
            (path / "file").write_bytes(os.urandom(FILE_MB << 20))
            os.sync()
            item = f"btrfs {path}"
            assert (looked(str(path))[item].status, looked(str(path))[item].facts["level"]) == ("ok", "raid1")

            unmount(str(path))
            with open(devices[1], "r+b") as raw:  # everything behind the superblocks, as a disk that lies
                raw.seek(SIZE_MB // 4 << 20)
                raw.write(os.urandom(SIZE_MB // 2 << 20))
                os.fsync(raw.fileno())
            command("mount", devices[0], str(path))
            assert len((path / "file").read_bytes()) == FILE_MB << 20  # read from whichever copy is right
            command("btrfs", "scrub", "start", "-B", str(path))

            finding = looked(str(path))[item]
            assert finding.status == "warning"
            assert "device 2: " in finding.verdict.reason and "checksum errors" in finding.verdict.reason
        finally:
            unmount(str(path))


def test_a_mirror_that_lost_a_device_is_critical_and_names_it(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "d1"
    path.mkdir()
    with mirror(tmp_path) as devices:
        command("wipefs", "-a", devices[0])
        command("btrfs", "device", "scan", "--forget", devices[0])
        command("mount", "-o", "degraded", devices[1], str(path))
        try:
            finding = looked(str(path))[f"btrfs {path}"]

            assert finding.status == "critical"
            assert "raid1 array is degraded (1 of its devices missing): device 1 failed or missing" in (
                finding.verdict.reason
            )
        finally:
            unmount(str(path))
