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


@pytest.mark.slow
def test_the_lane_runs_and_counts_and_a_finding_fails_it(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("atheris", reason="atheris is missing: no build for this Python")
    for folder in ("corpus", "findings"):
        (tmp_path / folder).mkdir()

    def fuzz(family: str, code: str = "") -> subprocess.CompletedProcess[str]:
        program = f"{code}\nimport runpy, sys; sys.argv = ['fuzz', {family!r}, '2', 'corpus', 'findings']\n"
        program += f"sys.path.insert(0, {str(ROOT)!r}); runpy.run_module('tests.fuzz', run_name='__main__')"
        command = [sys.executable, "-c", program]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=100)

    well = fuzz("records")
    assert well.returncode == 0 and "stat::number_of_executed_units" in well.stderr, well.stderr[-2000:]
    assert list((tmp_path / "corpus").iterdir()) and not list((tmp_path / "findings").iterdir())

    broken = "import json; json.loads = lambda text, **_: [][1]"
    assert fuzz("memory", broken).returncode != 0
    assert list((tmp_path / "findings").iterdir())
