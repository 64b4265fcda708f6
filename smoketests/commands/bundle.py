"""smoke bundle: build the agent's bundle for the hosts, and print its content."""

from __future__ import annotations

import sys

import click

from agent.status import EXIT_CODES, UNKNOWN


@click.command("bundle")
@click.option("--out", metavar="FILE", help="Also write it to this file.")
def bundle(out: str | None) -> None:
    """Build the bundle that `smoke all` sends to hosts: the agent and all it needs, for x86-64 and aarch64.

    The same sources give the same bytes. Wheels come from the package index once, then from ~/.cache/fleet-smoke.
    """
    from smoketests.remote.bundle import PLATFORMS, BundleError, build

    try:
        made = build()
        if out:
            made.write(out)
    except (BundleError, OSError) as error:
        click.echo(f"smoke bundle: {error}", err=True)
        sys.exit(EXIT_CODES[UNKNOWN])
    where = f" in {out}" if out else ""
    click.echo(f"agent {made.version} for {', '.join(PLATFORMS)}: {len(made.data) / 1e6:.1f} MB{where}")
    click.echo(f"sha256 {made.sha256}")
