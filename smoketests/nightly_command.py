"""smoke nightly, smoke report: arguments, printing, exit codes. Fetches what they need beyond the base."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from typing import Any, NoReturn

import click

from smoketests import archive_report
from smoketests.archive_report import FORMATS

DONE, UNSENT, CANNOT = 0, 1, 3
NEEDED = ("pyspark", "matplotlib", "jinja2", "duckdb")
FETCH_S = 900


@click.command()
@click.option("--date", "-d", metavar="YYYY-MM-DD", help="The day to judge. [default: yesterday, UTC]")
@click.option("--store", "-s", default="results", show_default=True, metavar="DIR", help="Also hdfs:// or s3a://")
@click.option(
    "--inventory", "-i", multiple=True, metavar="PATH", help="Who is there: others are retired, and may be silent."
)
@click.option("--master", default="local[*]", show_default=True, metavar="URL", help="local[*], spark://…, yarn")
@click.option("--settings", metavar="NAME|FILE", help="Spark's settings: small, large, cluster, or a file of yours.")
@click.option("--mail", metavar="CONFIG", help="Send the summary, as this YAML file says.")
@click.option("--print", "show", is_flag=True, help="Print the summary.")
@click.option("--out", metavar="DIR", help="Also write the summary as a page and its pictures to DIR.")
@click.option("--site", metavar="DIR", help="Also write pages to click into to DIR, a folder of their own.")
@click.option("--site-url", metavar="URL", help="Where people open DIR: the mail's links lead there.")
@click.option(
    "--keep-days", type=click.IntRange(30), metavar="N", help="Delete what is older; 30 at least: a night reads those."
)
@click.option(
    "--keep-raw-days", type=click.IntRange(2), metavar="N", help="Delete reports that are older and in the archive."
)
@click.option("--prune", is_flag=True, help="Delete also what should have been deleted long ago.")
@click.option("--failed", metavar="UNIT", help="Only send a mail that this systemd unit failed; needs --mail.")
@click.option("--demo", is_flag=True, help="Make up a fleet of 200 hosts and 30 days with known faults, and judge it.")
@click.option("--quiet", "-q", is_flag=True, help="Say nothing but what went wrong.")
def nightly(
    date: str | None,
    store: str,
    inventory: tuple[str, ...],
    master: str,
    settings: str | None,
    mail: str | None,
    show: bool,
    out: str | None,
    site: str | None,
    site_url: str | None,
    keep_days: int | None,
    keep_raw_days: int | None,
    prune: bool,
    failed: str | None,
    demo: bool,
    quiet: bool,
) -> None:
    """Turn the fleet's reports of a day into tables and a summary, and mail it.

    Can be run again at any time: the tables come out the same, and the mail of a day is sent once.

    Exit codes: 0 done, 1 done but the mail could not be sent or the pages not be written, 3 could not be done.
    """
    if failed:
        _mail_failure(mail, failed)
    from fleet import nightly as job
    from fleet import retention, session

    day = _day(date or job.yesterday())
    keep = retention.Wanted(keep_days or 0, keep_raw_days or 0, prune)
    wanted = job.Wanted(
        store,
        day,
        session.Wanted(master, settings or ""),
        mail or "",
        out or "",
        keep,
        _roster(inventory),
        site or "",
        _address(site_url or ""),
    )
    _told(lambda: job.check(wanted, has_store=not demo))
    _need_extra()
    with _demo_store(day, quiet) if demo else contextlib.nullcontext(store) as where:
        done = _told(lambda: job.run(wanted._replace(store=where), _silent if quiet else _tell))
        if show or demo:
            click.echo(done.summary)
    _end(done, quiet, demo)


@click.command("report")
@click.argument("what", required=False, default="", metavar="[HOST|CLUSTER]")
@click.option("--store", "-s", default="results", show_default=True, metavar="DIR")
@click.option("--days", type=click.IntRange(1, 400), default=30, show_default=True, help="How far back.")
@click.option("--disk", metavar="SERIAL", help="The history of one disk, from the nightly tables.")
@click.option("--sql", metavar="SELECT", help="Ask the nightly tables; SHOW TABLES and DESCRIBE work, too.")
@click.option("--format", "form", type=click.Choice(FORMATS), default=FORMATS[0], help="Of --disk and --sql.")
def report_command(what: str, store: str, days: int, disk: str | None, sql: str | None, form: str) -> None:
    """Show the last results and the history that the store holds, of one host, one cluster, or all.

    Exit codes are Nagios': by the worst of the last results; 3 when there are none. Of --disk and --sql: 0 or 3.
    """
    from agent.status import EXIT_CODES, worst
    from smoketests import history

    if sql or disk:
        if what or (sql and disk):
            raise click.UsageError("one at a time: HOST or CLUSTER, --disk, or --sql")
        question = archive_report.of_disk(disk) if disk else archive_report.Question(sql or "")
        _answer(store, question, form)
    if form != FORMATS[0]:
        raise click.UsageError("--format needs --disk or --sql")
    try:
        found = history.past(store, what, days)
    except OSError as error:
        _fail(f"{store}: {error.strerror}")
    click.echo(history.text(found, what))
    standing = [
        finding["status"] for checks in found.states.values() for items in checks.values() for finding in items.values()
    ]
    sys.exit(EXIT_CODES[worst(standing)] if standing else CANNOT)


def _answer(store: str, question: archive_report.Question, form: str) -> NoReturn:
    _need_extra(("duckdb",))
    out = sys.stdout.buffer
    if form == "parquet" and out.isatty():
        raise click.UsageError("Parquet is no text: send it to a file, > answer.parquet")
    try:
        for piece in archive_report.answer(store, question, form):
            out.write(piece)
        out.flush()
    except archive_report.Unanswered as error:
        _fail(str(error))
    except BrokenPipeError:  # `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(DONE)


def _roster(paths: Sequence[str]) -> Any:
    """The inventory's hosts, or None where none is named."""
    if not paths:
        return None
    from fleet import nightly
    from inventory import loader, problems

    try:
        found = loader.load(paths)
    except (problems.InventoryError, OSError) as error:
        _fail(str(error))
    return tuple(nightly.Member(host.cluster, host.name, host.maintenance) for host in found.hosts)


def _mail_failure(config: str | None, unit: str) -> NoReturn:
    """For a unit's OnFailure=; exit code 1 when no mail could be sent."""
    from fleet import delivery, failed, mail

    if not config:
        raise click.UsageError("--failed needs --mail CONFIG")
    try:
        refused = failed.send(mail.read_settings(config), unit)
    except mail.BadSettings as error:
        _fail(str(error))
    except delivery.NotSent as error:
        _say(f"the mail could not be sent: {error}")
        sys.exit(UNSENT)
    if refused:
        _say(f"the server did not take the mail for {', '.join(refused)}")
    sys.exit(DONE)


def _told(work: Callable[[], Any]) -> Any:
    """Do it; what cannot be done is said in words, and ends the program."""
    from fleet import compact, files, mail, nightly, session
    from fleet.site import folder

    expected = (nightly.NotYet, nightly.NoReports, session.CannotRun, compact.Incomplete, files.Busy, mail.BadSettings,
                folder.NotWritten)  # fmt: skip
    try:
        return work()
    except (*expected, OSError) as error:
        _fail(str(error))


def _silent(_words: str) -> None:
    pass


def _tell(words: str) -> None:
    """The steps, but not each of 30 days."""
    if not words.startswith("manifest "):
        _say(words)


def _say(words: str) -> None:
    click.echo(f"smoke: {words}", err=True)


def _end(done: Any, quiet: bool, demo: bool) -> None:
    """Say what became of it, and end with its exit code."""
    kept = "" if demo else f"; the summary is in {done.kept}"
    if done.no_pages:
        _say(f"the pages could not be written, those of before are still there: {done.no_pages}")
    if done.unsent:
        _say(f"the mail could not be sent: {done.unsent}{kept}")
    if done.unsent or done.no_pages:
        sys.exit(UNSENT)
    if not quiet:
        before = f"; its mail was sent before, at {done.sent_before}" if done.sent_before else ""
        _say(f"{done.subject}{before}{kept}")
    sys.exit(DONE)


@contextlib.contextmanager
def _demo_store(date: str, quiet: bool) -> Iterator[str]:
    """A made-up history in a folder that is gone afterwards."""
    from fleet import demo

    with tempfile.TemporaryDirectory(prefix="smoke-demo-") as folder:
        if not quiet:
            _say(f"making up {demo.HOSTS} hosts and {demo.DAYS} days up to {date}")
        demo.write(folder, date)
        yield folder


def _day(text: str) -> str:
    from fleet import reports

    try:
        reports.number_of(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a date such as 2026-11-19", param_hint="--date") from None
    return text


def _address(url: str) -> str:
    if url and not re.match(r"https?://[^\s/]", url):
        raise click.BadParameter(
            f"{url!r} is no address such as https://ops.example.org/smoke", param_hint="--site-url"
        )
    return url


def _missing(needed: Sequence[str]) -> list[str]:
    return [name for name in needed if importlib.util.find_spec(name) is None]


def _need_extra(needed: Sequence[str] = NEEDED) -> None:
    """Fetch what is needed of the `fleet` extra into this environment when it is not there yet."""
    if not _missing(needed):
        return
    wanted = [name for name in extra_requirements() if name.startswith(tuple(needed))]
    _say(f"fetching {', '.join(wanted)} (once{', some 500 MB' if 'pyspark' in needed else ''})")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted]
    try:
        code = subprocess.run(command, timeout=FETCH_S, stdin=subprocess.DEVNULL, check=False).returncode
    except subprocess.TimeoutExpired:
        code = -1
    importlib.invalidate_caches()
    if code or _missing(needed):
        by_hand = " ".join([os.path.join(os.path.dirname(sys.executable), "pip"), "install", *map(repr, wanted)])
        _fail(
            f"{', '.join(_missing(needed))} could not be fetched; is a package index within reach? By hand: {by_hand}"
        )


def extra_requirements() -> list[str]:
    """What the `fleet` extra of this distribution names."""
    try:
        named = metadata.requires("fleet-smoke") or []
    except metadata.PackageNotFoundError:
        named = []
    split = (name.partition(";") for name in named)
    return [what.strip() for what, _sign, when in split if "extra" in when and "fleet" in when] or list(NEEDED)


def _fail(words: str) -> NoReturn:
    _say(words)
    sys.exit(CANNOT)
