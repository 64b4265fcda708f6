"""The nights that a store keeps: which there are, and the rows of their tables."""

from __future__ import annotations

import json

from fleet.archive.manifests import HOME
from fleet.nights import catalog
from fleet.nights.night import Rows
from fleet.store import reports
from fleet.store.files import Files

NIGHTS = f"{HOME}/night"


def dates(files: Files) -> list[str]:
    """The nights that were computed, oldest first."""
    names = (entry.name.removesuffix(".json") for entry in files.list(NIGHTS) if entry.name.endswith(".json"))
    return sorted(name for name in names if reports.is_date(name) and folder(files, name))


def folder(files: Files, date: str) -> str:
    """The folder with the tables of a night that was computed; empty when it was not."""
    try:
        return str(json.loads(files.read(f"{NIGHTS}/{date}.json"))["tables"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return ""


def path(files: Files, date: str, table: str) -> str:
    """The JSON lines of one table, relative to the store; empty where that night's version did not know the table."""
    names = {entry.name for entry in files.list(folder(files, date))} if folder(files, date) else set()
    return f"{folder(files, date)}/{table}.jsonl" if f"{table}.jsonl" in names else ""


def tables(files: Files, date: str) -> dict[str, Rows]:
    """All tables of a night; one that its version did not know is empty."""
    return {name: rows(files, date, name) for name in catalog.NIGHTLY}


def rows(files: Files, date: str, table: str) -> Rows:
    found = path(files, date, table)
    return [json.loads(line) for line in files.read(found).splitlines()] if found else []
