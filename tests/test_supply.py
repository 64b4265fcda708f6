"""What is installed is pinned: the versions of all that setup.cfg names and of what they need, each with its hashes."""

from __future__ import annotations

import ast
import configparser
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = pathlib.Path(__file__).parent.parent
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")
# requirements/NAME.txt -> the groups of setup.cfg that it holds
INSTALLED = {"base": (), "test": ("test",), "docs": ("docs",), "kerberos": ("kerberos",)}


def requirements(text: str) -> list[Requirement]:
    rows = (row.strip() for row in text.splitlines())
    return [Requirement(row) for row in rows if row and not row.startswith("#")]


def wanted(*extras: str) -> list[Requirement]:
    """Of these extras and the base; of all where none is named."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    of_extras = config["options.extras_require"]
    groups = [config["options"]["install_requires"], *(of_extras[name] for name in extras or of_extras if name)]
    return [one for text in groups for one in requirements(text)]


def hashed(name: str) -> list[tuple[Requirement, list[str]]]:
    """The rows of requirements/NAME.txt, each with its hashes."""
    rows = (ROOT / "requirements" / f"{name}.txt").read_text().replace("\\\n", " ").splitlines()
    cut = [row.partition("--hash") for row in rows if row.strip()]
    return [(Requirement(head), (mark + rest).split()) for head, mark, rest in cut]


@pytest.mark.parametrize("python", PYTHONS)
def test_every_package_that_is_asked_for_has_one_fitting_version(python: str) -> None:
    here = {"python_version": python, "python_full_version": f"{python}.5", "extra": ""}
    pins = {
        canonicalize_name(one.name): Version(next(iter(one.specifier)).version)
        for one in requirements((ROOT / "constraints.txt").read_text())
        if one.marker is None or one.marker.evaluate(here)
    }

    for one in wanted():
        if one.marker is not None and not one.marker.evaluate(here):
            continue
        pin = pins.get(canonicalize_name(one.name))
        assert pin is not None, f"{one.name} is not in constraints.txt; its first lines say how to make it anew"
        assert one.specifier.contains(pin), f"constraints.txt has {one.name} {pin}, setup.cfg wants {one.specifier}"


def test_each_version_is_one_and_no_range() -> None:
    for one in requirements((ROOT / "constraints.txt").read_text()):
        assert [specifier.operator for specifier in one.specifier] == ["=="], one


# by hash


@pytest.mark.parametrize("name", [*INSTALLED, "build", "agent"])
def test_what_scripts_venv_installs_has_a_hash_for_every_file(name: str) -> None:
    rows = hashed(name)

    assert rows
    for one, hashes in rows:
        assert [specifier.operator for specifier in one.specifier] == ["=="], one
        assert hashes and all(HASH.fullmatch(word) for word in hashes), one


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("name", INSTALLED)
def test_the_hashed_versions_are_those_of_the_constraints_and_all_that_is_asked_for(name: str, python: str) -> None:
    here = {"python_version": python, "python_full_version": f"{python}.5", "extra": ""}
    pins = {
        canonicalize_name(one.name): str(one.specifier)
        for one in requirements((ROOT / "constraints.txt").read_text())
        if one.marker is None or one.marker.evaluate(here)
    }
    found = [one for one, _hashes in hashed(name) if one.marker is None or one.marker.evaluate(here)]
    names = [canonicalize_name(one.name) for one in found]
    asked = [one for one in wanted(*INSTALLED[name] or ("",)) if one.marker is None or one.marker.evaluate(here)]

    assert len(names) == len(set(names))
    assert {canonicalize_name(one.name) for one in asked} <= set(names)
    for one in found:
        assert pins.get(canonicalize_name(one.name)) == str(one.specifier), f"{one} is another in constraints.txt"


def test_the_small_environment_of_the_agents_tests_has_the_same_files_of_fewer_packages() -> None:
    small, whole = ({str(one): hashes for one, hashes in hashed(name)} for name in ("agent", "test"))
    names = {canonicalize_name(Requirement(one).name) for one in small}

    assert small == {one: whole.get(one) for one in small}
    assert {"psutil", "pyudev", "pysmart", "pytest", "hypothesis"} <= names
    assert names.isdisjoint({"pyspark", "duckdb", "matplotlib", "kafka-python", "kazoo", "fabric", "rich", "click"})


def test_the_agents_tests_import_nothing_that_their_small_environment_lacks() -> None:
    script = (ROOT / "scripts" / "test").read_text()
    (named,) = re.findall(r"set -- (tests/agent .*)", script)
    waiting = [path for name in named.split() for path in ([ROOT / name] if name.endswith(".py") else rows_of(name))]
    seen: set[pathlib.Path] = set()
    imported: dict[str, pathlib.Path] = {}
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        for name in imports(path):
            imported.setdefault(name.split(".")[0], path)
            waiting += [one for one in (of_tests(name), of_tests(name.rpartition(".")[0])) if one]

    ours = {"agent", "tests", "pytest", "hypothesis", "psutil", "pyudev", "pySMART"}
    assert {name: path for name, path in imported.items() if name not in ours | sys.stdlib_module_names} == {}
    assert len(seen) > 50


def rows_of(folder: str) -> list[pathlib.Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def imports(path: pathlib.Path) -> list[str]:
    """What a file imports, within functions too: `tests.machine.story` of `from tests.machine import story`."""
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


def of_tests(module: str) -> pathlib.Path | None:
    path = ROOT / (module.replace(".", "/") + ".py")
    return path if module.startswith("tests.") and path.exists() else None


def test_nothing_is_installed_without_its_hash() -> None:
    script = (ROOT / "scripts" / "venv").read_text()
    calls = [line for line in script.splitlines() if "install --" in line and "requirement" in line]

    assert calls and all(line.count("install --require-hashes") == line.count("! install") for line in calls)
    assert "--no-build-isolation" in script  # pip would fetch what builds a package beside all hashes


# the set-up itself, with a Python that notes what it is asked for

PYTHON = """#!/bin/sh
case "$1 $2" in
"-m venv") mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; cp "$0" "$3/bin/pip"; echo venv >> "$NOTES" ;;
"-m pip") echo begin >> "$NOTES"; sleep 0.2; echo "$*" >> "$NOTES"; echo end >> "$NOTES" ;;
esac
"""


@pytest.fixture
def checkout(tmp_path: pathlib.Path) -> pathlib.Path:
    """A fresh clone, and on its PATH nothing but a Python that only notes."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "venv", tmp_path / "scripts")
    shutil.copy(ROOT / "setup.cfg", tmp_path)
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3.13").write_text(PYTHON)
    (tmp_path / "bin" / "python3.13").chmod(0o755)
    return tmp_path


def begun(checkout: pathlib.Path, extra: str) -> subprocess.Popen[str]:
    environment = {"PATH": f"{checkout}/bin:{os.environ['PATH']}", "NOTES": str(checkout / "notes")}
    return subprocess.Popen(
        [checkout / "scripts" / "venv", extra],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_two_set_ups_at_once_in_one_checkout_do_not_disturb_each_other(checkout: pathlib.Path) -> None:
    if not shutil.which("flock"):
        pytest.skip("needs flock (package util-linux)")
    both = [begun(checkout, extra) for extra in ("", "test", "")]
    ends = [one.communicate(timeout=60) for one in both]
    notes = (checkout / "notes").read_text().splitlines()

    assert [out.strip() for out, _err in ends] == [str(checkout / ".venv")] * 3, ends
    assert notes.count("venv") == 1
    assert notes[1:].count("begin") == 6  # three steps for each of two sets, and nothing for who came second
    assert all(notes[at + 2] == "end" for at, note in enumerate(notes) if note == "begin"), notes


def test_the_agents_tests_have_an_environment_of_their_own(checkout: pathlib.Path) -> None:
    out, err = begun(checkout, "agent").communicate(timeout=60)
    notes = (checkout / "notes").read_text()

    assert out.strip() == str(checkout / ".venv-agent"), err
    assert "requirements/agent.txt" in notes and "requirements/base.txt" not in notes and "--editable" not in notes
    assert not (checkout / ".venv").exists()


def test_a_set_up_that_is_done_is_not_done_again_until_a_version_changes(checkout: pathlib.Path) -> None:
    for change in ("", "", "# another\n"):
        with (checkout / "requirements" / "base.txt").open("a") as file:
            file.write(change)
        assert begun(checkout, "").communicate(timeout=60)[0]

    assert (checkout / "notes").read_text().splitlines().count("begin") == 6
