"""What is installed is pinned: the versions of every package that setup.cfg names, and those that they need."""

from __future__ import annotations

import configparser
import pathlib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = pathlib.Path(__file__).parent.parent
PYTHONS = ("3.10", "3.11", "3.12", "3.13")


def requirements(text: str) -> list[Requirement]:
    rows = (row.strip() for row in text.splitlines())
    return [Requirement(row) for row in rows if row and not row.startswith("#")]


def wanted() -> list[Requirement]:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    groups = [config["options"]["install_requires"], *config["options.extras_require"].values()]
    return [one for text in groups for one in requirements(text)]


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
