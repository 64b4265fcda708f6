"""The `fleet` extra, which smoke nightly and smoke report need: downloaded on first use."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib import metadata
from typing import NoReturn

import click

DONE, CANNOT = 0, 3
NEEDED = ("pyspark", "matplotlib", "jinja2", "duckdb")
FETCH_S = 900


def say(words: str) -> None:
    click.echo(f"smoke: {words}", err=True)


def fail(words: str) -> NoReturn:
    say(words)
    sys.exit(CANNOT)


def _missing(needed: Sequence[str]) -> list[str]:
    return [name for name in needed if importlib.util.find_spec(name) is None]


def need(needed: Sequence[str] = NEEDED) -> None:
    """Fetch what is needed of the `fleet` extra into this environment when it is not there yet."""
    if not _missing(needed):
        return
    wanted = [name for name in extra_requirements() if name.startswith(tuple(needed))]
    say(f"downloading {', '.join(wanted)} (once{', some 500 MB' if 'pyspark' in needed else ''})")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted]
    try:
        code = subprocess.run(command, timeout=FETCH_S, stdin=subprocess.DEVNULL, check=False).returncode
    except subprocess.TimeoutExpired:
        code = -1
    importlib.invalidate_caches()
    if code or _missing(needed):
        by_hand = " ".join([os.path.join(os.path.dirname(sys.executable), "pip"), "install", *map(repr, wanted)])
        fail(f"{', '.join(_missing(needed))} could not be downloaded; is a package index reachable? By hand: {by_hand}")


def extra_requirements() -> list[str]:
    """What the `fleet` extra of this distribution names."""
    try:
        named = metadata.requires("fleet-smoke") or []
    except metadata.PackageNotFoundError:
        named = []
    split = (name.partition(";") for name in named)
    return [what.strip() for what, _sign, when in split if "extra" in when and "fleet" in when] or list(NEEDED)
