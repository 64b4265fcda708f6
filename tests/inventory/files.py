"""Inventories in a temporary folder, and what is wrong with them."""

from __future__ import annotations

import pathlib
import textwrap

import inventory
from inventory import Host, Inventory, InventoryError


def write(folder: pathlib.Path, text: str, name: str = "inv.yaml") -> str:
    path = folder / name
    path.write_text(textwrap.dedent(text))
    return str(path)


def load(folder: pathlib.Path, *texts: str) -> Inventory:
    """One file for each text."""
    return inventory.load([write(folder, text, f"inv{number or ''}.yaml") for number, text in enumerate(texts)])


def problems(folder: pathlib.Path, *texts: str) -> list[str]:
    """All that is wrong, as `line:column: words`; for the second file `inv1.yaml:line:column: words`."""
    try:
        load(folder, *texts)
    except InventoryError as error:
        return [str(problem).replace(f"{folder}/", "").removeprefix("inv.yaml:") for problem in error.problems]
    return []


def one(folder: pathlib.Path, settings: str) -> Host:
    """The host of an inventory that has only one."""
    (host,) = load(folder, f"clusters: {{c: {{hosts: {{h1: {{{settings}}}}}}}}}").hosts
    return host
