"""smoke report: arguments, printing, exit codes."""

from __future__ import annotations

import os
import re
import sys
from typing import NoReturn

import click

from smoketests.commands import archive_report, fleet_extra
from smoketests.commands.archive_report import FORMATS
from smoketests.commands.fleet_extra import CANNOT, DONE, fail

DAYS = 30
WRONG_USAGE = 2
TABLE = re.compile(r"[a-z]+(?:_[a-z]+)*")


@click.command("report")
@click.argument("what", required=False, default="", metavar="[HOST|CLUSTER|TABLE]")
@click.option("--store", "-s", default="results", show_default=True, metavar="DIR")
@click.option(
    "--days", type=click.IntRange(1, 400), metavar="N", help=f"How far back. [default: {DAYS}; of a table the last day]"
)
@click.option("--disk", metavar="SERIAL", help="The history of one disk, from the nightly tables.")
@click.option("--sql", metavar="SELECT", help="Query the nightly tables; SHOW TABLES and DESCRIBE work, too.")
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default=FORMATS[0], help="Format of a table, --disk and --sql."
)
def report_command(what: str, store: str, days: int | None, disk: str | None, sql: str | None, form: str) -> None:
    """Show the last results and the history in the store, of one host, one cluster, or all; or a nightly table.

    TABLE is a name such as disk_trends; --sql 'SHOW TABLES' lists all.

    Exit codes are Nagios': by the worst of the last results; 3 when there are none. Of a table, --disk and --sql: 0 or
    3.
    """
    if bool(what) + bool(sql) + bool(disk) > 1:
        raise click.UsageError("use only one of HOST, CLUSTER or TABLE, --disk, --sql")
    if sql or disk or _is_table(what):
        if days and not _is_table(what):
            raise click.UsageError("--days applies to a host, a cluster or a table")
        _answer(store, _question(what, days or 1, disk, sql), form)
    if form != FORMATS[0]:
        raise click.UsageError("--format needs TABLE, --disk or --sql")
    _results(store, what, days or DAYS)


def _is_table(what: str) -> bool:
    """A host of that name is asked for as CLUSTER/HOST."""
    if not TABLE.fullmatch(what):
        return False
    from fleet.nights import catalog

    return what in {table.name for table in catalog.every()}


def _question(what: str, days: int, disk: str | None, sql: str | None) -> archive_report.Question:
    if disk:
        return archive_report.of_disk(disk)
    return archive_report.Question(sql) if sql else archive_report.of_table(what, days)


def _results(store: str, what: str, days: int) -> NoReturn:
    from agent.status import EXIT_CODES, worst
    from smoketests.results import history

    try:
        found = history.past(store, what, days)
    except OSError as error:
        fail(f"{store}: {error.strerror}")
    click.echo(history.text(found, what))
    standing = [
        finding["status"] for checks in found.states.values() for items in checks.values() for finding in items.values()
    ]
    sys.exit(EXIT_CODES[worst(standing)] if standing else CANNOT)


def _answer(store: str, question: archive_report.Question, form: str) -> NoReturn:
    fleet_extra.need(("duckdb",))
    out = sys.stdout.buffer
    if form == "parquet" and out.isatty():
        fleet_extra.say("Parquet is binary: redirect it to a file, for example > answer.parquet")
        sys.exit(WRONG_USAGE)
    try:
        for piece in archive_report.answer(store, question, form):
            out.write(piece)
        out.flush()
    except archive_report.Unanswered as error:
        fail(str(error))
    except BrokenPipeError:  # `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(DONE)
