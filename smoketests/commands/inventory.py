"""smoke inventory: check it, show one host's settings and their origin, learn it from hosts, accept their host keys."""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from agent.status import CRITICAL, EXIT_CODES, OK, UNKNOWN, WARNING, worst

if TYPE_CHECKING:
    from inventory import Host, Inventory
    from smoketests.commands.collect_keys import Offer
    from smoketests.ssh.connect import Access

LEARN_S = 60.0
KEYS_S = 30.0
SAID = {
    "known": ("known", OK),
    "new": ("new", WARNING),
    "changed": ("CHANGED", CRITICAL),
    "refused": ("REFUSED", CRITICAL),
    "unreached": ("no answer", UNKNOWN),
}

INVENTORY = click.option(
    "--inventory", "-i", "paths", multiple=True, metavar="PATH", envvar="SMOKE_INVENTORY",
    help="A file or a folder; - is standard input. Repeatable.",
)  # fmt: skip
SSH = (
    click.option("--jobs", "-j", type=click.IntRange(1, 1024), default=64, show_default=True),
    click.option("--known-hosts", metavar="FILE", help="Instead of ~/.ssh/known_hosts and the system's."),
    click.option("--ssh-config", metavar="FILE", help="Instead of ~/.ssh/config."),
)


def over_ssh(command: Any) -> Any:
    for option in reversed(SSH):
        command = option(command)
    return command


@click.group("inventory")
def inventory() -> None:
    """Which machines exist and what they should be; docs/inventory.md lists every setting."""


@inventory.command("check")
@INVENTORY
@click.argument("more", nargs=-1, metavar="[PATH...]")
def check(paths: Sequence[str], more: Sequence[str]) -> None:
    """Report every mistake in an inventory, with file, line and column; exit 3 if there is one."""
    loaded = _load([*paths, *more])
    for note in loaded.notes:
        click.echo(f"note: {note}", err=True)
    for cluster in loaded.clusters:
        roles: dict[str, int] = {}
        for host in cluster.hosts:
            for role in host.roles or ("no role",):
                roles[role] = roles.get(role, 0) + 1
        words = ", ".join(f"{count} {role}" for role, count in roles.items())
        click.echo(f"{cluster.name}: {len(cluster.hosts)} hosts ({words})")
    click.echo(f"{len(loaded.clusters)} clusters, {len(loaded.hosts)} hosts: no mistakes")


@inventory.command("show")
@INVENTORY
@click.option("--expected", is_flag=True, help="As the JSON that the host's agent receives.")
@click.argument("host_name", metavar="HOST")
def show(paths: Sequence[str], expected: bool, host_name: str) -> None:
    """Show the settings of one host, and the origin of each value."""
    loaded = _load(paths)
    host = _host(loaded, host_name)
    if expected:
        click.echo(json.dumps(host.expected(), indent=1))
        return
    said = loaded.origin.get(host.name, {})
    click.echo(f"{host.name} in cluster {host.cluster}")
    rows = [(name, _shown(value), said.get(name)) for name, value in settings_of(host)]
    widths = [min(max(len(row[column] or "") for row in rows), 60) for column in (0, 1)]
    for name, value, place in rows:
        click.echo(f"{name:<{widths[0]}}  {value:<{widths[1]}}  {place or 'default'}".rstrip())


def settings_of(host: Host) -> Iterator[tuple[str, Any]]:
    """All that was said of a host, under the names by which its origin is known."""
    yield "name", host.name
    for name in ("address", "port", "user", "sudo", "python", "roles", "layout", "rack", "drawer", "power_feed",
                 "maintenance", "broker_id", "disks", "psus", "ports", "zookeeper", "firewall",
                 "write_probe"):  # fmt: skip
        value = getattr(host, name)
        if value not in ("", (), None) and not (name == "port" and not value):
            yield name, value
    for kind, parts, key in (("mounts", host.mounts, "path"), ("interfaces", host.interfaces, "name")):
        for part in parts:
            told = {name: value for name, value in vars(part).items() if value and name != key}
            yield f"{kind}.{getattr(part, key)}", ""
            yield from ((f"{kind}.{getattr(part, key)}.{name}", value) for name, value in told.items())
    for name, value in vars(host.bmc).items() if host.bmc else ():
        if value:
            yield f"bmc.{name}", value
    yield from _nested("limits", host.limits)
    yield from _nested("skip", host.skip)


def _nested(path: str, values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _nested(f"{path}.{name}", value)
        else:
            yield f"{path}.{name}", value


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


@inventory.command("learn")
@INVENTORY
@click.option("--cluster", metavar="NAME", default="learned", show_default=True, help="The cluster's name to write.")
@click.option("--sudo", type=click.Choice(["auto", "yes", "no"]), default="auto", show_default=True)
@over_ssh
@click.argument("names", nargs=-1, required=True, metavar="HOST...")
def learn(
    paths: Sequence[str], cluster: str, sudo: str, names: Sequence[str],
    jobs: int, known_hosts: str | None, ssh_config: str | None,
) -> None:  # fmt: skip
    """Read the configuration of real hosts, and write it as an inventory to standard output, to review and commit.

    HOST is [USER@]NAME[:PORT], a range such as kafka-a[01-14], or with -i a name or pattern of that inventory.
    """
    from agent import engine
    from smoketests.commands import learn as learning
    from smoketests.remote import fanout
    from smoketests.remote.bundle import build

    hosts = [_without_expectations(host, sudo) for host in _hosts(paths, names)]
    checks = tuple(name for name in learning.CHECKS if name in engine.names())
    try:
        bundle = build()
    except OSError as error:
        raise click.ClickException(str(error)) from error
    options = fanout.Options(jobs=jobs, run_s=LEARN_S, checks=checks)
    asked = fanout.run(hosts, options, bundle, _access(known_hosts, ssh_config), uuid.uuid4().hex)
    reports = []
    for report in asked:
        reports.append(report)
        click.echo(f"{report.host.name}: {report.reach.reason}", err=True)
    click.echo(learning.learned(reports, cluster), nl=False)
    sys.exit(EXIT_CODES[worst([report.reach.status for report in reports])])


def _without_expectations(host: Host, sudo: str) -> Host:
    """The way to a host, and nothing of what it should be."""
    from inventory import Host

    asks = host.sudo if sudo == "auto" else sudo
    return Host(host.name, host.address, host.port, host.user, python=host.python, sudo=asks)


@inventory.command("keys")
@INVENTORY
@click.option("--accept", is_flag=True, help="Write the new keys without a prompt.")
@click.option("--replace", multiple=True, metavar="HOST", help="Also accept this host's changed key.")
@over_ssh
@click.argument("names", nargs=-1, metavar="[HOST...]")
def keys(
    paths: Sequence[str], accept: bool, replace: Sequence[str], names: Sequence[str],
    jobs: int, known_hosts: str | None, ssh_config: str | None,
) -> None:  # fmt: skip
    """Collect the hosts' keys and show their fingerprints; compare them with those on the hosts' consoles.

    New keys are written to known_hosts after a yes, or with --accept. A changed key is never written without
    --replace HOST. Exit 0: all known, 1: new keys not accepted, 2: a changed key, 3: a host without a reply.
    """
    from smoketests.commands import collect_keys

    hosts = _hosts(paths, names)
    _only(replace, hosts)
    offers = []
    for offer in collect_keys.collect(hosts, _access(known_hosts, ssh_config), jobs, KEYS_S):
        offers.append(offer)
        click.echo(_offer_line(offer))
    new = [offer for offer in offers if offer.state == "new"]
    changed = [offer for offer in offers if offer.state == "changed" and offer.host in replace]
    file = known_hosts or "~/.ssh/known_hosts"
    written: list[Offer] = []
    if (new or changed) and (accept or _confirmed(len(new) + len(changed), file)):
        try:
            collect_keys.write(file, new, changed)
        except OSError as error:
            raise click.ClickException(f"{file}: {error.strerror}") from error
        written = new + changed
        click.echo(f"{len(written)} keys written to {file}")
    left = [SAID[offer.state][1] for offer in offers if offer not in written]
    for offer in offers:
        if offer.state == "changed" and offer not in written:
            click.echo(f"{offer.host}: a changed key is written with --accept --replace {offer.host} only", err=True)
    sys.exit(EXIT_CODES[worst(left or [OK])])


def _offer_line(offer: Offer) -> str:
    state = f"{SAID[offer.state][0]:<9}"
    key = f"{offer.kind} {offer.fingerprint}".strip()
    reason = f"  {_plain(offer.reason)}" if offer.state in ("changed", "refused", "unreached") else ""
    return f"{state}  {offer.host}  {key}{reason}".rstrip()


def _plain(words: str) -> str:
    """A host's words, fit for a terminal."""
    return "".join(character if character.isprintable() else "?" for character in words)[:300]


def _confirmed(count: int, file: str) -> bool:
    return sys.stdin.isatty() and click.confirm(
        f"Are these fingerprints right? Write {count} keys to {file}?", err=True
    )


def _only(replace: Sequence[str], hosts: Sequence[Host]) -> None:
    known = {host.name for host in hosts}
    for name in replace:
        if name not in known:
            from inventory.problems import did_you_mean

            raise click.UsageError(f"--replace {name}: not among the named hosts{did_you_mean(name, known)}")


def _load(paths: Sequence[str]) -> Inventory:
    """The inventory, or its mistakes and exit 3."""
    from inventory import InventoryError
    from smoketests.results import inventory_limits

    if not paths:
        raise click.UsageError("name an inventory with -i (or in SMOKE_INVENTORY)")
    try:
        return inventory_limits.load(paths)
    except InventoryError as error:
        for line in str(error).splitlines():
            click.echo(line, err=True)
        count = len(error.problems)
        click.echo(f"{count} mistake{'s' if count > 1 else ''}", err=True)
        sys.exit(EXIT_CODES[UNKNOWN])


def _host(loaded: Inventory, name: str) -> Host:
    from inventory import NoSuchHost

    try:
        return loaded.host(name)
    except NoSuchHost as error:
        raise click.UsageError(str(error)) from error


def _hosts(paths: Sequence[str], names: Sequence[str]) -> Sequence[Host]:
    """The hosts of an inventory, or those that the command line names itself."""
    from inventory import NoSuchHost
    from inventory.ranges import BadRange

    try:
        if paths:
            return _load(paths).select(",".join(names))
        named = [host for name in names for host in _named(name)]
    except (NoSuchHost, BadRange) as error:
        raise click.UsageError(str(error)) from error
    if not named:
        raise click.UsageError("name hosts, or an inventory with -i")
    if len({host.name for host in named}) < len(named):
        raise click.UsageError("a host is named twice")
    return named


def _named(word: str) -> list[Host]:
    """[USER@]NAME[:PORT], the name may be a range."""
    from inventory import Host
    from inventory.ranges import expand

    user, _, rest = word.rpartition("@")
    name, colon, port = rest.rpartition(":")
    if not colon or not port.isdecimal() or ":" in name:
        name, port = rest, "0"
    if not name or name.startswith("-"):
        raise click.UsageError(f"{word!r} is not a host; expected [USER@]NAME[:PORT]")
    return [Host(one, user=user, port=int(port)) for one in expand(name)]


def _access(known_hosts: str | None, ssh_config: str | None) -> Access:
    from smoketests.ssh.connect import Access

    given: dict[str, Any] = {"known_hosts": (known_hosts,)} if known_hosts else {}
    return Access(ssh_config=ssh_config, **given)
