"""The controller: checks one machine or many, shows and stores the results."""

from __future__ import annotations

import importlib.util
import os
import sys

NEIGHBOURS = ("agent", "inventory", "placement", "playbooks")
UNUSABLE = 3


def hidden_package() -> str:
    """Why we cannot work beside a folder of the same name as one of our packages; empty if there is none in the way.

    Import nothing of the packages before this was asked: a wrong one that was imported stays.
    """
    ours = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    for name in NEIGHBOURS:
        spec = importlib.util.find_spec(name)
        found = os.path.realpath(spec.origin) if spec and spec.origin else ""
        if not found.startswith(os.path.join(ours, name) + os.sep):
            return (
                f"{found or 'another folder'} hides the package {name} of fleet-smoke: rename it, or keep its folder "
                "out of PYTHONPATH (pytest: --import-mode=importlib)"
            )
    return ""


def main() -> None:
    """The `smoke` command."""
    problem = hidden_package()
    if problem:
        sys.stderr.write(f"smoke: {problem}\n")
        sys.exit(UNUSABLE)
    from smoketests import cli

    cli.main()
