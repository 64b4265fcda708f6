"""Options of every command that reaches hosts over ssh."""

from __future__ import annotations

import click

SSH = (
    click.option("--known-hosts", multiple=True, metavar="FILE", help="Instead of ~/.ssh/known_hosts and ssh's own."),
    click.option("--identity", multiple=True, metavar="FILE", help="Private key, instead of those in ~/.ssh."),
    click.option("--ssh-config", default="", metavar="FILE", help="Instead of ~/.ssh/config."),
    click.option("--ask-sudo", is_flag=True, help="Prompt for the sudo password of the hosts."),
)
JOBS = click.option(
    "--jobs", "-j", type=click.IntRange(1, 1000), default=64, show_default=True, metavar="N",
    help="Number of hosts at once.",
)  # fmt: skip
