"""The agent and all that it needs in one file, for hosts that have no internet, no compiler and no pip."""

from __future__ import annotations

import hashlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import agent

# What every broker gets beside the agent. psutil is compiled, for each kind of processor; the others are plain Python.
PLAIN = ("pyudev", "pySMART", "chardet", "humanfriendly")
COMPILED = ("psutil",)
# uname -m -> what pip calls the builds that run there
PLATFORMS = {
    "x86_64": ("manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux_2_12_x86_64", "manylinux_2_17_x86_64"),
    "aarch64": ("manylinux2014_aarch64", "manylinux_2_17_aarch64"),
}
OLDEST_PYTHON = "3.9"
DOWNLOAD_S = 120
# of the zip format; a fixed time makes the same content the same file
EPOCH = (1980, 1, 1, 0, 0, 0)


class BundleError(Exception):
    """The bundle cannot be made; the message says what is missing."""


@dataclass(frozen=True)
class Bundle:
    """A made bundle: its bytes, their SHA-256, and the agent's version."""

    data: bytes
    sha256: str
    version: str

    def write(self, path: str) -> None:
        """Aside, then renamed."""
        aside = pathlib.Path(f"{path}.{os.getpid()}")
        aside.write_bytes(self.data)
        aside.rename(path)


def wheel_folder() -> pathlib.Path:
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    return cache / "fleet-smoke" / "wheels"


def build() -> Bundle:
    """Pack the agent as it is here with the wheels it needs: from the package index once, then from the cache.

    The same sources give the same bytes. BundleError where a wheel is neither cached nor to be had.
    """
    files = {f"all/{name}": data for name, data in _agent_files().items()}
    for wheel in _wheels(PLAIN, "x86_64"):
        files.update({f"all/{name}": data for name, data in _wheel_files(wheel).items()})
    for machine in PLATFORMS:
        for wheel in _wheels(COMPILED, machine):
            files.update({f"{machine}/{name}": data for name, data in _wheel_files(wheel).items()})
    return pack(files, agent.__version__)


def pack(files: Mapping[str, bytes], version: str) -> Bundle:
    """These files as a bundle: below all/ for every processor, below x86_64/ and the like for one."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as bundle:
        for name in sorted(files):
            bundle.writestr(zipfile.ZipInfo(name, EPOCH), files[name], zipfile.ZIP_DEFLATED)
    data = packed.getvalue()
    return Bundle(data, hashlib.sha256(data).hexdigest(), version)


def _agent_files() -> dict[str, bytes]:
    root = pathlib.Path(agent.__file__).parent
    return {f"agent/{path.relative_to(root)}": path.read_bytes() for path in root.rglob("*.py")}


def _wheels(packages: Sequence[str], machine: str) -> list[pathlib.Path]:
    """The wheel of each package for this kind of processor and any Python that the agent runs on."""
    folder = wheel_folder() / machine
    missing = [name for name in packages if not _found(folder, name)]
    if missing:
        _download(missing, machine, folder)
    return [_found(folder, name)[-1] for name in packages]


def _found(folder: pathlib.Path, package: str) -> list[pathlib.Path]:
    return sorted(folder.glob(f"{package.lower()}-*.whl"))


def _download(packages: Sequence[str], machine: str, folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    platforms = [word for name in PLATFORMS[machine] for word in ("--platform", name)]
    what = f"{', '.join(packages)} for {machine}"
    with tempfile.TemporaryDirectory(dir=folder) as aside:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--only-binary=:all:", "--python-version", OLDEST_PYTHON, *platforms, "--dest", aside, *packages]
        try:
            answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=DOWNLOAD_S)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise BundleError(_cannot(what, folder, str(error))) from error
        if answer.returncode:
            raise BundleError(_cannot(what, folder, (answer.stderr.strip().splitlines() or ["pip failed"])[-1]))
        for wheel in pathlib.Path(aside).glob("*.whl"):
            wheel.rename(folder / wheel.name.lower())


def _cannot(what: str, folder: pathlib.Path, why: str) -> str:
    return (
        f"the bundle needs {what}, and pip cannot get it ({why[:200]}); without internet here, "
        f"run `smoke bundle` where there is some and copy its ~/.cache/fleet-smoke/wheels/{folder.name} to {folder}"
    )


def _wheel_files(wheel: pathlib.Path) -> dict[str, bytes]:
    """What is imported of a wheel: no metadata, no tests."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            return {
                name: archive.read(name)
                for name in archive.namelist()
                if name.endswith((".py", ".so")) and ".dist-info/" not in name and "/tests/" not in name
            }
    except (zipfile.BadZipFile, OSError) as error:
        raise BundleError(f"{wheel} is damaged ({error}): remove it, and it is fetched anew") from error
