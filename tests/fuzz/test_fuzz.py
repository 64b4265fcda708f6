"""Every reader of hostile words takes what the lane starts from, damaged too; and the lane tells what it finds."""

from __future__ import annotations

import pathlib
import random
import subprocess
import sys

import pytest

from tests.fuzz.targets import FAMILIES

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DAMAGED = 150


@pytest.mark.parametrize("name", FAMILIES)
def test_whatever_a_family_reads_is_read_or_refused(name: str) -> None:
    chance, family = random.Random(12), FAMILIES[name]
    inputs = family.seed_inputs()
    assert len(inputs) > 10 * len(family.readers)
    for seed in chance.sample(inputs, min(len(inputs), 4 * DAMAGED)):
        family.read(seed)
    for seed in chance.choices(inputs, k=DAMAGED):
        start, end = sorted(chance.randrange(len(seed) + 1) for _ in range(2))
        family.read(seed[:start] + chance.choice((b"", b"\xff\x00", seed[start:end] * 2, b"9" * 30)) + seed[end:])


# what the lane found, cut down to what matters
TWO_KINDS = """smartctl 6.6 2017-11-05 r4594 [x86_64-linux-4.19.0-21-amd64] (local build)

=== START OF READ SMART DATA SECTION ===
SMART overall-health setructure Revision number: 10
Vendor Specific SMART Attributes with Thresholds:
SMART/Health Information (NVMe Log 0x02, NSID 0xffffffffStatus Version:                  3

"""
NO_STATUS = """
Smart Array P410i in Slot 0 (Embedded)    (sn: 5001438)
   array A (SAS, Unused Space: 0  MB)
      physicaldrive 1I:1:1 (port 1I:box 1:bay 1, SAS, 146 GB, )
"""
NO_FLAGS = "XFS (sdd1): Log I/O Error (0xp6) detected at xfs_fs_goingdown+0x5a/0xf0 (a.c:1).  Shutting down filesystem."
NO_ADDRESS = (
    "I/O error, dev sdb, sector 2048 op 0x1:(WRITE) flags 0x800 phydc] tag#8: Power-on or device reset occurred"
)
FOUND = {
    "a text of an ATA and an NVMe drive": ("smart", "report", TWO_KINDS),
    "a drive without a status": ("raid", "ssacli", NO_STATUS),
    "a reset of a disk without an address": ("kernel", "lines", NO_ADDRESS),
    "flags that are no number": ("kernel", "lines", NO_FLAGS),
}


@pytest.mark.parametrize(("name", "reader", "text"), FOUND.values(), ids=FOUND)
def test_what_was_found_is_read_or_refused(name: str, reader: str, text: str) -> None:
    family = FAMILIES[name]
    family.read(bytes([list(family.readers).index(reader)]) + text.encode())


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_the_lane_runs_and_counts_and_a_finding_fails_it(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("atheris", reason="atheris is missing: no build for this Python")
    for folder in ("corpus", "findings"):
        (tmp_path / folder).mkdir()

    def fuzz(family: str, code: str = "") -> subprocess.CompletedProcess[str]:
        program = f"{code}\nimport runpy, sys; sys.argv = ['fuzz', {family!r}, '2', 'corpus', 'findings']\n"
        program += f"sys.path.insert(0, {str(ROOT)!r}); runpy.run_module('tests.fuzz', run_name='__main__')"
        command = [sys.executable, "-c", program]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=180)

    well = fuzz("records")
    assert well.returncode == 0 and "stat::number_of_executed_units" in well.stderr, well.stderr[-2000:]
    assert list((tmp_path / "corpus").iterdir()) and not list((tmp_path / "findings").iterdir())

    broken = "import json; json.loads = lambda text, **_: [][1]"
    assert fuzz("memory", broken).returncode != 0
    assert list((tmp_path / "findings").iterdir())
