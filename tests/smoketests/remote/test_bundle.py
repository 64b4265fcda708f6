"""The bundle: same bytes twice, whole, and made without internet once the wheels are there."""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import os
import pathlib
import shutil
import time
import zipfile
import zlib

import pytest
from click.testing import CliRunner
from packaging.requirements import Requirement
from packaging.version import Version

from agent import engine
from smoketests.commands.bundle import bundle as command
from smoketests.remote import bundle
from smoketests.remote.bundle import BundleError, Wheel
from tests.test_architecture import AGENT_MAY_USE

SOME_WHEELS = {"x86_64": ("pyudev", "pysmart", "chardet", "humanfriendly", "psutil"), "aarch64": ("psutil",)}


def wheel(folder: pathlib.Path, name: str, version: str = "1.0") -> Wheel:
    """A hand-made wheel with one module, and its pin."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}/__init__.py", f"# {folder.name} {version}")
        archive.writestr(f"{name}/tests/test_it.py", "")
        archive.writestr(f"{name}-{version}.dist-info/METADATA", "")
    return Wheel(name, version, hashlib.sha256(path.read_bytes()).hexdigest())


@pytest.fixture
def wheels(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A cache of wheels, and no package index to be reached."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:1/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    pins: dict[str, tuple[Wheel, ...]] = {}
    for machine, names in SOME_WHEELS.items():
        folder = bundle.wheel_folder() / machine
        folder.mkdir(parents=True)
        pins[machine] = tuple(wheel(folder, name) for name in names)
    monkeypatch.setattr(bundle, "PLAIN", pins["x86_64"][:-1])
    monkeypatch.setattr(bundle, "COMPILED", {machine: wheels[-1:] for machine, wheels in pins.items()})
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

    checks = {name.rpartition("/")[2] for name in inside if name.startswith("all/agent/checks/")}
    assert {f"{name}.py" for name in engine.names()} <= checks
    assert "all/pyudev/__init__.py" in inside
    assert {"x86_64/psutil/__init__.py", "aarch64/psutil/__init__.py"} <= set(inside)
    assert not [name for name in inside if "/tests/" in name or ".dist-info" in name or ".pyc" in name]


def test_without_wheels_and_without_internet_it_says_what_to_do(wheels: pathlib.Path) -> None:
    shutil.rmtree(wheels / "aarch64")

    with pytest.raises(BundleError, match=r"needs psutil 1\.0 for aarch64.*without Internet access.*wheels/aarch64"):
        bundle.build()


@pytest.mark.parametrize("words", [b"PK\x03\x04 half of", b""])
def test_a_file_that_is_not_the_pinned_one_is_not_packed_but_fetched_anew(wheels: pathlib.Path, words: bytes) -> None:
    next((wheels / "x86_64").glob("psutil*")).write_bytes(words)

    with pytest.raises(BundleError, match=r"needs psutil 1\.0 for x86_64.*pip cannot get it"):
        bundle.build()


def test_a_wheel_that_was_changed_by_a_byte_is_not_packed(wheels: pathlib.Path) -> None:
    path = next((wheels / "x86_64").glob("pyudev*"))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("pyudev/evil.py", "")

    with pytest.raises(BundleError, match=r"needs pyudev 1\.0"):
        bundle.build()


@pytest.mark.parametrize("version", ["1.0.1", "1.10", "0.9", "2.0"])
def test_another_version_beside_the_pinned_one_is_never_taken(wheels: pathlib.Path, version: str) -> None:
    before = bundle.build()
    wheel(wheels / "x86_64", "psutil", version)

    assert bundle.build() == before


def test_an_index_that_gives_another_file_under_the_name_is_told_by_its_hash(
    wheels: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real pip, from a folder in place of an index."""
    pytest.importorskip("pip", reason="pip is missing in this environment")
    index = tmp_path / "index"
    index.mkdir()
    path = next((wheels / "x86_64").glob("pyudev*"))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("pyudev/evil.py", "")
        archive.writestr("pyudev-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
    path.rename(index / path.name)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))

    with pytest.raises(BundleError, match="serves a file whose hash differs"):
        bundle.build()
    assert not list((wheels / "x86_64").glob("pyudev*"))


def test_the_bytes_do_not_depend_on_the_compressor(wheels: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with zlib-ng in place of zlib: other bytes over the wire, the same bundle."""
    first, compress = bundle.build(), zlib.compress
    monkeypatch.setattr(zlib, "compress", lambda data: compress(data, 1))
    second = bundle.build()

    assert first.packed != second.packed
    assert (first.data, first.sha256) == (second.data, second.sha256)
    with zipfile.ZipFile(io.BytesIO(first.data)) as archive:
        assert {one.compress_type for one in archive.infolist()} == {zipfile.ZIP_STORED}


def test_every_wheel_is_pinned_by_hash_for_every_processor() -> None:
    assert set(bundle.COMPILED) == set(bundle.PLATFORMS)
    for wheels in (bundle.PLAIN, *bundle.COMPILED.values()):
        assert all(len(one.sha256) == 64 and Version(one.version) for one in wheels)


def test_the_bundle_ships_what_the_agent_imports_and_what_that_requires_and_nothing_else() -> None:
    shipped = {one.package for wheels in (bundle.PLAIN, *bundle.COMPILED.values()) for one in wheels}
    lines = [Requirement(line) for name in AGENT_MAY_USE for line in importlib.metadata.requires(name) or ()]
    required = {one.name for one in lines if one.marker is None or one.marker.evaluate({"extra": ""})}

    assert shipped == AGENT_MAY_USE | required


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
