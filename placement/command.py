"""smoke place: arguments, printing, exit codes. Replica placement; nothing here changes a cluster."""

from __future__ import annotations

import difflib
import functools
import pathlib
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from agent.formats.text import printable
from placement.errors import PlacementError
from smoketests.commands.cli_options import JOBS, SSH

if TYPE_CHECKING:
    from placement.plan import Plan
    from placement.questions import Options
    from placement.snapshot import Snapshot

PLANNED, NOTHING_TO_DO = 0, 1
OLD_S = 15 * 60

SOURCE = (
    click.option("--inventory", "-i", "inventories", multiple=True, metavar="FILE",
                 help="The cluster's machines, and how they are reached. Repeatable."),
    click.option("--cluster", default="", metavar="NAME", help="Which cluster of the inventory."),
    click.option("--snapshot", "snapshot_file", default="", metavar="FILE",
                 help="Plan from this file (smoke place snapshot) instead of reading the cluster."),
    JOBS,
    *SSH,
)  # fmt: skip
ASKED = (
    *SOURCE,
    click.option("--topics", default="", metavar="REGEX", help="Only topics whose whole name matches."),
    click.option("--not-topics", default="", metavar="REGEX", help="No topics whose whole name matches."),
    click.option("--avoid", multiple=True, metavar="BROKER", help="Broker id or host that takes no part."),
    click.option("--accept", multiple=True, metavar="BROKER",
                 help="Broker id or host that may receive replicas although hardware data is missing."),
    click.option("--same-rack", is_flag=True, help="Replicas stay in their rack."),
    click.option("--guess", is_flag=True, help="Use the topic's median for missing sizes (at most 1 %)."),
    click.option("--rate", default=50.0, show_default=True, metavar="MB/S",
                 type=click.FloatRange(0, min_open=True), help="Throttle of each broker, for the estimated hours."),
    click.option("--format", "-f", "format_name", type=click.Choice(["table", "json", "kafka"]), default="table",
                 help="kafka: the file that kafka-reassign-partitions.sh takes."),
    click.option("--out", default="", metavar="DIR", help="Write plan.json and reassignment.json to this folder."),
    click.option("--batch", default=0.0, metavar="GB", type=click.FloatRange(0),
                 help="With --out, also reassignment-001.json and so on, each of at most so many GB."),
)  # fmt: skip


def _options(found: Sequence[Any]) -> Callable[[Any], Any]:
    def add(command: Any) -> Any:
        for option in reversed(found):
            command = option(command)
        return command

    return add


@click.group()
def place() -> None:
    """Plan replica placement. Nothing is changed: a plan is printed, or written with --out.

    \b
    smoke place level -i prod.yaml --out plan/
    smoke place drain -i prod.yaml --broker kafka-a05
    smoke place snapshot -i prod.yaml > prod.json; smoke place level --snapshot prod.json

    Exit codes: 0 a plan, 1 nothing to do, 2 impossible (with the reason), 3 cannot tell or wrong usage.
    """


def _ends(work: Callable[..., int]) -> Callable[..., None]:
    """The exit code of what was done."""

    @functools.wraps(work)
    def run(*args: Any, **options: Any) -> None:
        sys.exit(work(*args, **options))

    return run


@place.command("snapshot")
@_options(SOURCE)
@_ends
def snapshot_command(**options: Any) -> int:
    """Print what plans are made from, as JSON: brokers, log dirs, partitions, sizes, hardware findings."""
    from placement import snapshot

    click.echo(snapshot.dumps(_snapshot(options)), nl=False)
    return PLANNED


@place.command()
@click.option("--broker", required=True, metavar="BROKER", help="The broker that leaves: a broker id or a host.")
@click.option("--by", "successor", required=True, metavar="BROKER", help="The broker that takes its place.")
@_options(ASKED)
@_ends
def replace(broker: str, successor: str, **options: Any) -> int:
    """Replace one broker by another: the same slots in the same order."""
    from placement import questions

    found = _snapshot(options)
    leaver, comer = _id(found, broker), _id(found, successor)
    return _answer(found, questions.replace(found, leaver, comer, _question(), _wanted(found, options)), options)


@place.command()
@click.option("--broker", "brokers", required=True, multiple=True, metavar="BROKER",
              help="The broker to empty: a broker id or a host. Repeatable.")  # fmt: skip
@_options(ASKED)
@_ends
def drain(brokers: Sequence[str], **options: Any) -> int:
    """Move all replicas of these brokers to the others: before a decommission, or after one failed."""
    from placement import questions

    found = _snapshot(options)
    leavers = [_id(found, one) for one in brokers]
    return _answer(found, questions.drain(found, leavers, _question(), _wanted(found, options, leavers)), options)


@place.command()
@click.option("--broker", required=True, metavar="BROKER", help="A broker id or a host.")
@click.option("--log-dir", required=True, metavar="PATH", help="The log dir to empty.")
@_options(ASKED)
@_ends
def disk(broker: str, log_dir: str, **options: Any) -> int:
    """Empty one log dir of a JBOD broker: to its other log dirs where it fits, else to other brokers."""
    from placement import questions

    found = _snapshot(options)
    owner = _id(found, broker)
    return _answer(found, questions.disk(found, owner, log_dir, _question(), _wanted(found, options, [owner])), options)


@place.command()
@click.option("--band", default=1.0, show_default=True, metavar="PERCENT", type=click.FloatRange(0.1, 50),
              help="How far a broker may be from its share.")  # fmt: skip
@click.option("--most-bytes", default=None, metavar="TB", type=click.FloatRange(0, min_open=True),
              help="Move at most so much, the worst brokers first.")  # fmt: skip
@_options(ASKED)
@_ends
def level(band: float, most_bytes: float | None, **options: Any) -> int:
    """Move every broker to its share of the bytes, with the fewest bytes moved. Fills new brokers too."""
    from placement import questions

    found = _snapshot(options)
    wanted = _wanted(found, options)._replace(
        band_percent=band, most_bytes=None if most_bytes is None else round(most_bytes * 1e12)
    )
    return _answer(found, questions.level(found, _question(), wanted), options)


@place.command()
@click.option("--to", "factor", required=True, type=click.IntRange(1, 100), metavar="N", help="The new number.")
@_options(ASKED)
@_ends
def replicas(factor: int, **options: Any) -> int:
    """The replication factor of the topics that --topics names, up or down."""
    from placement import questions

    if not options["topics"]:
        raise click.UsageError("--topics REGEX is required: which topics (internal ones too, if it matches them)")
    found = _snapshot(options)
    plan = questions.replicas(found, factor, _question(), _wanted(found, options))
    return _answer(found, plan, options, factor)


@place.command()
@_options(ASKED)
@_ends
def leaders(**options: Any) -> int:
    """Even counts of leaders with the fewest changes. No data moves."""
    from placement import questions

    found = _snapshot(options)
    return _answer(found, questions.leaders(found, _question(), _wanted(found, options)), options)


@place.command()
@click.argument("plan_file", metavar="PLAN", type=click.Path(exists=True, dir_okay=False))
@_options(ASKED)
@_ends
def undo(plan_file: str, **options: Any) -> int:
    """Undo a plan (plan.json), for all partitions that are still as it placed them."""
    from placement import plan

    found = _snapshot(options)
    return _answer(found, plan.undo(plan.loads(_text(plan_file), plan_file), found), options)


def _snapshot(options: dict[str, Any]) -> Snapshot:
    if bool(options["snapshot_file"]) == bool(options["inventories"]):
        raise click.UsageError("use either -i INVENTORY or --snapshot FILE")
    if options["snapshot_file"]:
        from placement import snapshot

        found = snapshot.loads(_text(options["snapshot_file"]), options["snapshot_file"])
        _tell_age(found.at)
        return found
    from placement import reading
    from smoketests.results import run as asking

    password = click.prompt("sudo password on the hosts", hide_input=True, err=True) if options["ask_sudo"] else ""
    return reading.read(asking.RunOptions(
        options["inventories"], cluster=options["cluster"], jobs=options["jobs"], known_hosts=options["known_hosts"],
        keys=options["identity"], ssh_config=options["ssh_config"], sudo_password=password,
    ))  # fmt: skip


def _tell_age(at: str) -> None:
    import time

    from agent import report

    if at < report.timestamp(time.time() - OLD_S):
        click.echo(f"smoke: the snapshot is of {printable(at)}, more than {OLD_S // 60} minutes old", err=True)


def _text(name: str) -> str:
    try:
        return pathlib.Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PlacementError(f"{name}: {getattr(error, 'strerror', None) or 'not UTF-8 text'}") from None


def _id(snapshot: Snapshot, name: str) -> int:
    """A broker's id, from its id or its host's name."""
    if name.isdigit():
        return snapshot.broker(int(name)).id
    found = [row.id for row in snapshot.brokers if row.host == name]
    if len(found) != 1:
        near = difflib.get_close_matches(name, [row.host for row in snapshot.brokers], 1)
        hint = f", did you mean {near[0]}?" if near else ""
        raise PlacementError(f"{len(found)} brokers are on a host {name!r}{hint}")
    return found[0]


def _wanted(snapshot: Snapshot, options: dict[str, Any], allowed: Sequence[int] = ()) -> Options:
    """allowed: brokers that the question is about, which --avoid may not name."""
    import re

    from placement.questions import Options

    for name in ("topics", "not_topics"):
        try:
            re.compile(options[name])
        except re.error as error:
            raise PlacementError(
                f"--{name.replace('_', '-')} {options[name]!r} is not a regular expression: {error}"
            ) from None
    avoid = tuple(_id(snapshot, one) for one in options["avoid"])
    if both := set(avoid) & set(allowed):
        raise PlacementError(f"broker {min(both)} is both the subject of the plan and in --avoid")
    accept = tuple(_id(snapshot, one) for one in options["accept"])
    return Options(options["topics"], options["not_topics"], avoid, accept, options["same_rack"], options["guess"])


def _question() -> str:
    return " ".join(["smoke", *sys.argv[1:]])


def _answer(snapshot: Snapshot, plan: Plan, options: dict[str, Any], factor: int | None = None) -> int:
    """Checks the plan, prints it and writes it."""
    from placement import files, rules, table

    accept = [_id(snapshot, one) for one in options["accept"]]
    broken = rules.broken(snapshot, plan, accept, factor)
    if broken:
        more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
        raise PlacementError(f"this plan breaks a rule and is not shown; please report it: {broken[0]}{more}")
    click.echo(table.render(options["format_name"], snapshot, plan, round(options["rate"] * 1e6)), nl=False)
    if options["out"] and plan.changes:
        for path in files.write(options["out"], plan, round(options["batch"] * 1e9)):
            click.echo(f"smoke: written: {path}", err=True)
    return PLANNED if plan.changes else NOTHING_TO_DO
