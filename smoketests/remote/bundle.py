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
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import agent
from agent import atomic_file
from inventory.errors import SmokeError


class Wheel(NamedTuple):
    """One file of the package index, and no other of that name: it runs as root on every broker."""

    package: str
    version: str
    sha256: str


# What every broker gets beside the agent; taking a later one in is a change here, after a look at what changed there.
# Only what the agent imports, and what that needs: psutil and pyudev stay on the controller.
# Plain Python, for every kind of processor.
PLAIN = (
    Wheel("pySMART", "1.4.3", "4a3e0bcdf45ae49b7a120300e20434e2fd2e5bb0fa68e0179acb3ab5fbcaae5e"),
    Wheel("chardet", "5.2.0", "e1cf59446890a00105fe7b7912492ea04b6e6f06d4b742b2c788469e34c82970"),
    Wheel("humanfriendly", "10.0", "1697e1a8a8f550fd43c2865cd84542fc175a61dcb779b6fee18cf6b6ccba1477"),
)
# For each kind of processor a build of its own: none at present.
COMPILED: Mapping[str, Sequence[Wheel]] = {"x86_64": (), "aarch64": ()}
# uname -m -> what pip calls the builds that run there
PLATFORMS = {
    "x86_64": ("manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux_2_12_x86_64", "manylinux_2_17_x86_64"),
    "aarch64": ("manylinux2014_aarch64", "manylinux_2_17_aarch64"),
}
OLDEST_PYTHON = "3.9"
DOWNLOAD_S = 120
# of the zip format; a fixed time makes the same content the same file
EPOCH = (1980, 1, 1, 0, 0, 0)


class BundleError(SmokeError):
    """The bundle cannot be made; the message says what is missing."""


@dataclass(frozen=True)
class Bundle:
    """A made bundle: its bytes, their SHA-256, and the agent's version.

    packed: as it goes over the wire. What is hashed is what comes out of it: compressors differ in their bytes.
    """

    data: bytes
    sha256: str
    version: str
    packed: bytes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "packed", zlib.compress(self.data))

    def write(self, path: str) -> None:
        """Aside, then renamed."""
        atomic_file.replace(path, self.data, 0o644)


def wheel_folder() -> pathlib.Path:
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    return cache / "fleet-smoke" / "wheels"


def build() -> Bundle:
    """Pack the agent as it is here with the wheels it needs: from the package index once, then from the cache.

    The same sources give the same bytes, wherever it is made: each wheel is the very file that is named above.
    BundleError where one is neither cached nor to be had.
    """
    files = {f"all/{name}": data for name, data in _agent_files().items()}
    for wheel in _wheels(PLAIN, "x86_64"):
        files.update({f"all/{name}": data for name, data in _wheel_files(wheel).items()})
    for machine in PLATFORMS:
        for wheel in _wheels(COMPILED[machine], machine):
            files.update({f"{machine}/{name}": data for name, data in _wheel_files(wheel).items()})
    return pack(files, agent.__version__)


def pack(files: Mapping[str, bytes], version: str) -> Bundle:
    """These files as a bundle: below all/ for every processor, below x86_64/ and the like for one."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as bundle:
        for name in sorted(files):
            bundle.writestr(zipfile.ZipInfo(name, EPOCH), files[name], zipfile.ZIP_STORED)
    data = packed.getvalue()
    return Bundle(data, hashlib.sha256(data).hexdigest(), version)


def _agent_files() -> dict[str, bytes]:
    root = pathlib.Path(agent.__file__).parent
    return {f"agent/{path.relative_to(root)}": path.read_bytes() for path in root.rglob("*.py")}


def _wheels(wanted: Sequence[Wheel], machine: str) -> list[pathlib.Path]:
    """Each of these wheels, for this kind of processor and any Python that the agent runs on."""
    folder = wheel_folder() / machine
    missing = [wheel for wheel in wanted if _found(folder, wheel) is None]
    if missing:
        _download(missing, machine, folder)
    found = [(wheel, _found(folder, wheel)) for wheel in wanted]
    for wheel, path in found:
        if path is None:
            raise BundleError(f"{wheel.package} {wheel.version} for {machine} not downloaded")
    return [path for _wheel, path in found if path]


def _found(folder: pathlib.Path, wheel: Wheel) -> pathlib.Path | None:
    """The very file, by its hash; one of another hash is as good as none, and is fetched anew."""
    paths = folder.glob(f"{wheel.package.lower()}-{wheel.version}-*.whl")
    return next((path for path in sorted(paths) if _sha256(path) == wheel.sha256), None)


def _sha256(path: pathlib.Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise BundleError(f"{path} cannot be read: {error.strerror}") from error


def _download(wheels: Sequence[Wheel], machine: str, folder: pathlib.Path) -> None:
    """pip takes no file of another hash, whatever the package index gives."""
    folder.mkdir(parents=True, exist_ok=True)
    platforms = [word for name in PLATFORMS[machine] for word in ("--platform", name)]
    what = f"{', '.join(f'{wheel.package} {wheel.version}' for wheel in wheels)} for {machine}"
    with tempfile.TemporaryDirectory(dir=folder) as aside:
        pins = pathlib.Path(aside) / "pins.txt"
        pins.write_text("".join(f"{one.package}=={one.version} --hash=sha256:{one.sha256}\n" for one in wheels))
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--only-binary=:all:", "--python-version", OLDEST_PYTHON, *platforms, "--dest", aside]
        command += ["--require-hashes", "--requirement", str(pins)]
        try:
            answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=DOWNLOAD_S)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise BundleError(_cannot(what, folder, str(error))) from error
        if answer.returncode:
            raise BundleError(_cannot(what, folder, _complaint(answer.stderr)))
        for wheel in pathlib.Path(aside).glob("*.whl"):
            wheel.rename(folder / wheel.name.lower())


def _complaint(said: str) -> str:
    """pip tells a wrong hash in several lines, a missing network in the last."""
    if "DO NOT MATCH THE HASHES" in said:
        return "the package index serves a file whose hash differs from that in smoketests/remote/bundle.py"
    return (said.strip().splitlines() or ["pip failed"])[-1]


def _cannot(what: str, folder: pathlib.Path, why: str) -> str:
    return (
        f"the bundle needs {what}, and pip cannot get it ({why[:200]}); without Internet access, "
        f"run `smoke bundle` on a connected machine and copy its ~/.cache/fleet-smoke/wheels/{folder.name} to {folder}"
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
        raise BundleError(f"{wheel} is damaged ({error}): remove it, and run again to download it") from error
