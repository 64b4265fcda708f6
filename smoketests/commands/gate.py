"""smoke gate: arguments, printing, exit codes. Before a maintenance: GO or NO-GO; after it: verification."""

from __future__ import annotations

import datetime
import functools
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import click

from agent.formats.text import printable
from smoketests.commands.cli_options import JOBS, SSH
from smoketests.gate.maintenance import PURPOSES

if TYPE_CHECKING:
    from inventory.model import Cluster
    from smoketests.gate import Decision, Maintenance
    from smoketests.gate.lock import Lock

CANNOT = 3
STORE = "results"
MOST_DAYS = 90

store_option = click.option(
    "--store",
    default=STORE,
    show_default=True,
    metavar="DIR",
    envvar="SMOKE_STORE",
    show_envvar=True,
    help="Where decisions and locks are stored, shared by all users.",
)

inventory_option = click.option(
    "--inventory", "-i", "inventories", multiple=True, metavar="FILE",
    help="Also locks that its clusters store in ZooKeeper or Kafka. Repeatable.",
)  # fmt: skip

ASKED = (
    click.option("--inventory", "-i", "inventories", multiple=True, metavar="FILE",
                 help="The clusters, and how hosts are reached. Repeatable."),
    click.option("--host", "-H", "hosts", multiple=True, metavar="HOST[,HOST]",
                 help="The hosts under maintenance: names, kafka-a[01-02]. Several are judged together."),
    click.option("--for", "purpose", type=click.Choice(PURPOSES), help="Purpose of the maintenance."),
    click.option("--cluster", default="", metavar="NAME", help="The hosts' cluster."),
    click.option("--disk", default="", metavar="SERIAL", help="Serial number of the disk that is replaced."),
    click.option("--duration", "minutes", type=click.IntRange(1, 20160), default=60, show_default=True, metavar="MIN",
                 help="Duration of the maintenance; also of the lock of --hold."),
    click.option("--after", is_flag=True, help="Verify after the maintenance."),
    click.option("--accept", "accepted", multiple=True, metavar="RULE#ID",
                 help="Accept this finding, as the decision names it (disks#1a2b3c), or a rule without data at "
                      "all (RULE); each requires a --because, and is stored."),
    click.option("--because", "reasons", multiple=True, metavar="TEXT", help="Reason for the preceding --accept."),
    click.option("--until", type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%MZ"]), metavar="DATE",
                 help="Accept it in later decisions too, until this time (UTC, 90 days at most)."),
    click.option("--wait", type=click.FloatRange(0, min_open=True), metavar="MIN",
                 help="Repeat until it is GO several times in a row, at most this long."),
    click.option("--readings", type=click.IntRange(1, 1000), default=12, show_default=True, metavar="N",
                 help="With --wait: number of GO readings in a row."),
    click.option("--every", type=click.FloatRange(1, 3600), default=10, show_default=True, metavar="SECONDS",
                 help="With --wait: time between readings."),
    click.option("--hold", is_flag=True, help="With GO, take the cluster's maintenance lock for --duration."),
    click.option("--lock", "lock_id", default="", metavar="ID", help="The maintenance lock that you already hold."),
    click.option("--format", "-f", "format_name", type=click.Choice(["table", "json", "junit"]), default="table"),
    store_option,
    click.option("--deadline", type=click.FloatRange(1, 3600), default=60, show_default=True, metavar="SECONDS",
                 help="Deadline for one reading of a host."),
    JOBS,
    *SSH,
    click.option("--no-write-probe", is_flag=True, help="Do not write the one byte that proves a mount writable."),
)  # fmt: skip


def asking_options(command: Any) -> Any:
    for option in reversed(ASKED):
        command = option(command)
    return command


@click.group(invoke_without_command=True, subcommand_metavar="[locks|release|rules]")
@asking_options
@click.pass_context
def gate(context: click.Context, /, **options: Any) -> None:
    """GO or NO-GO before a maintenance, from hardware, ZooKeeper and Kafka together.

    \b
    smoke gate -i prod.yaml --host kafka-a03 --for reboot
    smoke gate -i prod.yaml --host kafka-a03 --for replace-disk --disk ZA1BC2 --hold
    smoke gate -i prod.yaml --host kafka-a03 --for replace-disk --after --wait 60

    Exit codes: 0 GO, 2 NO-GO, 3 CANNOT TELL or wrong usage.
    """
    if context.invoked_subcommand:
        return

    maintenance = _maintenance(options)
    wanted = _wanted(options)
    decision = _decided(maintenance, wanted, options)
    _show(decision, options["format_name"])
    sys.exit(decision.exit_code)


@gate.command()
@store_option
@inventory_option
def locks(store: str, inventories: Sequence[str]) -> None:
    """List the open maintenances of the store, and of the locks of an inventory's clusters."""
    import textwrap

    from smoketests.gate import lock as of

    held = _locks(store, inventories)
    if not held:
        click.echo(f"no maintenance is open, by {os.path.abspath(store)}")
    for lock in held:
        over = "EXPIRED, never released: " if lock.expired(of.clock(store)) else ""
        words = f"{lock.id}  {printable(lock.cluster) or '-'}: {over}{lock.words}"
        click.echo("\n".join(textwrap.wrap(words, 80, subsequent_indent=" " * 10, break_on_hyphens=False)))


@gate.command()
@click.argument("lock_id", metavar="ID")
@store_option
@inventory_option
def release(lock_id: str, store: str, inventories: Sequence[str]) -> None:
    """Release a maintenance lock; `smoke gate locks` lists the ids."""
    from smoketests.gate import shared_lock

    held = {lock.id: lock for lock in _locks(store, inventories)}
    if lock_id not in held:
        _fail(f"no lock {lock_id!r} in {store}; there are {', '.join(held) or 'none'}")
    released = shared_lock.release(held[lock_id], _clusters(inventories).get(held[lock_id].cluster))
    if not released:
        _fail(f"the lock {lock_id} was released by another user meanwhile")
    click.echo(f"released: {held[lock_id].words}")


@gate.command()
@click.argument("name", required=False, metavar="[RULE]")
def rules(name: str | None) -> None:
    """List every rule with its question, or explain one."""
    from smoketests.gate import rules as of

    if not name:
        click.echo(of.listing())
        return
    if name not in of.names():
        _fail(of.unacceptable({name: "-"}))
    click.echo(of.explain(name))


def _maintenance(options: dict[str, Any]) -> Maintenance:
    from smoketests.gate import Maintenance

    if options["hold"] and options["after"]:
        raise click.UsageError("--hold applies before the maintenance only; --after needs no lock")
    for name, option in (("inventories", "-i INVENTORY"), ("hosts", "--host HOST"), ("purpose", "--for PURPOSE")):
        if not options[name]:
            raise click.UsageError(f"say {option}")
    accepted, reasons = options["accepted"], options["reasons"]
    if len(accepted) != len(reasons):
        raise click.UsageError("every --accept RULE needs its own --because TEXT")
    if len(set(accepted)) != len(accepted):
        raise click.UsageError("a finding is named twice in --accept")
    return Maintenance(
        tuple(options["hosts"]), options["purpose"], options["cluster"], options["disk"], options["minutes"],
        options["after"], dict(zip(accepted, reasons)), options["lock_id"],
        _until(options["until"], accepted),
    )  # fmt: skip


def _until(until: datetime.datetime | None, accepted: Sequence[str]) -> float:
    """Seconds since the epoch; 0 for one answer only."""
    if until is None:
        return 0.0
    if not any("#" in token for token in accepted):
        raise click.UsageError("--until is for findings: --accept RULE#ID --because TEXT")
    end, now = until.replace(tzinfo=datetime.timezone.utc).timestamp(), time.time()
    if not now < end <= now + MOST_DAYS * 86400:
        raise click.UsageError(f"--until must be later than now and at most {MOST_DAYS} days away")
    return end


def _wanted(options: dict[str, Any]) -> Any:
    from smoketests.results import run

    password = click.prompt("sudo password on the hosts", hide_input=True, err=True) if options["ask_sudo"] else ""
    return run.RunOptions(
        options["inventories"], jobs=options["jobs"], deadline_s=options["deadline"],
        known_hosts=options["known_hosts"], keys=options["identity"], ssh_config=options["ssh_config"],
        sudo_password=password, write_probe=not options["no_write_probe"], store=options["store"],
    )  # fmt: skip


def _decided(maintenance: Maintenance, wanted: Any, options: dict[str, Any]) -> Decision:
    """Looked at once or until it stands still, held if that is wanted, and kept."""
    from smoketests.gate import acceptance, decision_store, evaluate, hold, waiting

    look: Callable[[], Decision] = functools.partial(evaluate.look, maintenance, wanted, functools.cache(_say))
    if options["wait"] is None:
        decision = look()
    else:
        decision = waiting.until_steady(
            look, waiting.Patience(options["wait"], options["every"], options["readings"]), _say
        )
    if options["hold"]:
        _named, _inventory, cluster, _hosts = evaluate.resolved(maintenance, wanted)
        decision = hold.held(decision, options["store"], _say, cluster)
    for problem in acceptance.keep_all(decision, options["store"]):
        _say(problem)
    return decision_store.kept(decision, options["store"])


def _show(decision: Decision, format_name: str) -> None:
    from smoketests.show import gate as shown

    click.echo(shown.render(format_name, decision))


def _locks(store: str, inventories: Sequence[str]) -> Sequence[Lock]:
    """Those of the store, and those that the clusters of the inventories keep elsewhere."""
    from smoketests.gate import lock, shared_lock

    clusters = _clusters(inventories).values()
    found = {one.id: one for cluster in clusters for one in shared_lock.held(store, cluster)}
    return list({**{one.id: one for one in lock.held(store)}, **found}.values())


def _clusters(inventories: Sequence[str]) -> dict[str, Cluster]:
    from smoketests.results import run

    if not inventories:
        return {}
    inventory, _hosts = run.load(run.RunOptions(inventories))
    return {cluster.name: cluster for cluster in inventory.clusters}


def _say(words: str) -> None:
    click.echo(f"smoke: {printable(words)}", err=True)


def _fail(words: str) -> NoReturn:
    _say(words)
    sys.exit(CANNOT)
