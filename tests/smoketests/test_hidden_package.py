"""A repository with a package named as one of ours is answered with one sentence, and a plain folder is no matter."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

import smoketests

ROOT = pathlib.Path(smoketests.__file__).parent.parent
SMOKE = "from smoketests import main; main()"


def run(folder: pathlib.Path, *words: str) -> subprocess.CompletedProcess[str]:
    """This Python in that folder, which comes first in its search path, as `python -m pytest` has it."""
    path = os.pathsep.join([str(folder), str(ROOT)])
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True,
        check=False, timeout=120,
    )  # fmt: skip


@pytest.fixture(params=["inventory", "agent"])
def clash(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> pathlib.Path:
    name: str = request.param
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("")
    return tmp_path / name


def test_smoke_names_the_folder_that_hides_ours(clash: pathlib.Path) -> None:
    done = run(clash.parent, "-c", SMOKE)

    assert done.returncode == 3
    assert done.stderr.startswith(
        f"smoke: {clash}/__init__.py hides the package {clash.name} of fleet-smoke: rename it"
    )
    assert len(done.stderr.splitlines()) == 1


def test_pytest_names_the_folder_that_hides_ours(clash: pathlib.Path) -> None:
    (clash.parent / "test_site.py").write_text("def test_site(): pass\n")
    plugin = ["-p", "smoketests.plugin"]
    loaded = run(clash.parent, "-c", "import importlib.metadata as m; print(*m.entry_points(group='pytest11'))")
    done = run(clash.parent, "-m", "pytest", *([] if "smoketests.plugin" in loaded.stdout else plugin),
               "--smoke-inventory", "hosts.yaml")  # fmt: skip

    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert f"{clash}/__init__.py hides the package {clash.name} of fleet-smoke" in done.stderr
    assert "Traceback" not in done.stdout + done.stderr

    without = run(clash.parent, "-m", "pytest", "-q")
    assert without.returncode == 0, without.stdout


def test_a_plain_folder_of_that_name_does_no_harm(tmp_path: pathlib.Path) -> None:
    (tmp_path / "inventory").mkdir()
    (tmp_path / "inventory" / "hosts.yaml").write_text("clusters: {c: {hosts: {h: {}}}}")

    done = run(tmp_path, "-c", SMOKE, "--version")

    assert done.returncode == 0, done.stderr


def test_nothing_is_hidden_here() -> None:
    assert smoketests.hidden_package() == ""
