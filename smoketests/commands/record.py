"""`smoke record`: record this machine, and check existing recordings."""

from __future__ import annotations

import os

import click

from agent import engine
from agent.formats.text import printable
from agent.recording import inspection
from agent.status import EXIT_CODES, OK, UNKNOWN, WARNING
from smoketests.remote import local


def make(folder: str) -> int:
    """Record this machine; what was removed is shown. The exit code is that of the recording, not of the machine."""
    findings = len(list(local.lines(["--record", os.path.abspath(folder)], engine.RUN_DEADLINE_S))) - 1
    try:
        with open(os.path.join(folder, "removed.txt"), encoding="utf-8") as file:
            removed = file.read().splitlines()
    except OSError as error:
        raise click.ClickException(f"{folder}: nothing recorded: {error.strerror}") from error
    click.echo(f"{folder}: a recorded machine with {findings} findings; read it before you share it")
    click.echo("Removed:")
    _show(removed)
    return EXIT_CODES[OK]


def look_over(folder: str) -> int:
    """Say what an existing recording should not hold, and who else can read it."""
    try:
        found, opened = inspection.check(folder), inspection.open_to_others(folder)
    except (inspection.NoRecording, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        click.echo(printable(f"{folder}: cannot be checked: {error}"), err=True)
        return EXIT_CODES[UNKNOWN]
    if not found and not opened:
        click.echo(f"{folder}: no content that a recording must not contain")
        return EXIT_CODES[OK]
    if found:
        click.echo(f"{folder}: do not share it. Record the machine again, or remove by hand:")
        _show(found)
    if opened:
        click.echo(f"{folder}: can be read by other users of this machine (chmod -R go= {folder}):")
        _show(opened)
    return EXIT_CODES[WARNING]


def _show(rows: list[str]) -> None:
    for row in rows:
        click.echo(f"  {printable(row)}")
