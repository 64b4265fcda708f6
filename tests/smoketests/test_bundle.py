"""The bundle: same bytes twice, whole, and made without internet once the wheels are there."""

from __future__ import annotations

import hashlib
import io
import os
import pathlib
import shutil
import time
import zipfile

import pytest
from click.testing import CliRunner

from agent import engine
from smoketests import bundle
from smoketests.bundle import BundleError
from smoketests.bundle_command import bundle as command

SOME_WHEELS = {"x86_64": ("pyudev", "pysmart", "chardet", "humanfriendly", "psutil"), "aarch64": ("psutil",)}


def wheel(path: pathlib.Path, name: str) -> None:
    """A hand-made wheel with one module."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}/__init__.py", "")
        archive.writestr(f"{name}/tests/test_it.py", "")
        archive.writestr(f"{name}-1.0.dist-info/METADATA", "")


@pytest.fixture
def wheels(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A cache of wheels, and no package index to be reached."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:1/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    for machine, names in SOME_WHEELS.items():
        folder = bundle.wheel_folder() / machine
        folder.mkdir(parents=True)
        for name in names:
            wheel(folder / f"{name}-1.0-py3-none-any.whl", name)
    return bundle.wheel_folder()


def names(made: bundle.Bundle) -> list[str]:
    with zipfile.ZipFile(io.BytesIO(made.data)) as archive:
        return archive.namelist()


def test_the_same_sources_give_the_same_bytes(wheels: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = bundle.build()
    for path in wheels.rglob("*.whl"):
        os.utime(path, (time.time() + 1000,) * 2)
    monkeypatch.setattr(time, "time", lambda: 0.0)

    assert bundle.build() == first
    assert hashlib.sha256(first.data).hexdigest() == first.sha256


def test_every_check_and_both_processors_are_in_it(wheels: pathlib.Path) -> None:
    inside = names(bundle.build())

    assert {f"all/agent/checks/{name}.py" for name in engine.names()} <= set(inside)
    assert "all/pyudev/__init__.py" in inside
    assert {"x86_64/psutil/__init__.py", "aarch64/psutil/__init__.py"} <= set(inside)
    assert not [name for name in inside if "/tests/" in name or ".dist-info" in name or ".pyc" in name]


def test_without_wheels_and_without_internet_it_says_what_to_do(wheels: pathlib.Path) -> None:
    shutil.rmtree(wheels / "aarch64")

    with pytest.raises(BundleError, match=r"needs psutil for aarch64.*without internet here.*wheels/aarch64"):
        bundle.build()


def test_a_damaged_wheel_is_named(wheels: pathlib.Path) -> None:
    broken = next((wheels / "x86_64").glob("psutil*"))
    broken.write_bytes(b"PK\x03\x04 half of")

    with pytest.raises(BundleError, match=r"psutil-1\.0.*damaged"):
        bundle.build()


def test_smoke_bundle_writes_it_and_tells_its_hash(wheels: pathlib.Path, tmp_path: pathlib.Path) -> None:
    out = tmp_path / "agent.zip"
    shown = CliRunner().invoke(command, ["--out", str(out)])

    assert shown.exit_code == 0
    assert hashlib.sha256(out.read_bytes()).hexdigest() in shown.output
    assert "x86_64, aarch64" in shown.output


def test_smoke_bundle_that_cannot_be_made_ends_as_unknown(wheels: pathlib.Path, tmp_path: pathlib.Path) -> None:
    shown = CliRunner().invoke(command, ["--out", str(tmp_path / "no" / "such" / "folder")])

    assert shown.exit_code == 3
    assert "No such file" in shown.output
