"""smoke nightly: arguments, printing, exit codes."""

from __future__ import annotations

import contextlib
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import click

from smoketests.commands import fleet_extra
from smoketests.commands.fleet_extra import DONE, fail, say

UNSENT = 1


@click.command()
@click.option("--date", "-d", metavar="YYYY-MM-DD", help="The day to process. [default: yesterday, UTC]")
@click.option("--store", "-s", default="results", show_default=True, metavar="DIR", help="Also hdfs://")
@click.option("--inventory", "-i", multiple=True, metavar="PATH", help="Expected hosts; all others count as retired.")
@click.option("--master", default="local[*]", show_default=True, metavar="URL", help="local[*], spark://…, yarn")
@click.option("--settings", metavar="NAME|FILE", help="Spark settings: small, large, cluster, or a file.")
@click.option("--mail", metavar="CONFIG", help="Mail the summary; settings in this YAML file.")
@click.option("--print", "show", is_flag=True, help="Print the summary.")
@click.option("--out", metavar="DIR", help="Also write the summary as a page and its pictures to DIR.")
@click.option("--site", metavar="DIR", help="Also write a static site to DIR, a folder of its own.")
@click.option("--site-url", metavar="URL", help="Public address of DIR, for links in the mail.")
@click.option("--keep-days", type=click.IntRange(30), metavar="N", help="Delete older days; at least 30.")
@click.option(
    "--keep-raw-days", type=click.IntRange(2), metavar="N", help="Delete older reports that are in the archive."
)
@click.option("--prune", is_flag=True, help="Also delete days that earlier runs did not delete.")
@click.option("--published-rates", metavar="FILE", help="YAML file with failure rates of disk models to compare with.")
@click.option("--failed", metavar="UNIT", help="Only send a mail that this systemd unit failed; needs --mail.")
@click.option(
    "--summary",
    type=click.Choice(("week", "month")),
    help="Instead of a day: the last complete ISO week or month, or that of --date, from the nightly tables.",
)
@click.option("--demo", is_flag=True, help="Generate 200 hosts and 30 days with known faults, and report on them.")
@click.option("--quiet", "-q", is_flag=True, help="Print errors only.")
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
    published_rates: str | None,
    failed: str | None,
    summary: str | None,
    demo: bool,
    quiet: bool,
) -> None:
    """Turn the fleet's reports of a day into tables and a summary, and mail it.

    Safe to run again: the tables are the same, and the mail of a day is sent once.

    Exit codes: 0 done, 1 done but the mail or the pages failed, 3 failed.
    """
    if failed:
        _mail_failure(mail, failed)
    if summary:
        if demo:
            raise click.UsageError("--summary needs a store with nights: not --demo")
        _summarise(
            [store, summary, _day(date) if date else "", mail or "", out or "", site or "", _address(site_url or "")],
            show,
            quiet,
        )
    from fleet import nightly as job
    from fleet.archive import retention
    from fleet.spark import session

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
        published_rates or "",
    )
    _told(lambda: job.check(wanted, has_store=not demo))
    fleet_extra.need()
    with _demo_store(day, quiet) if demo else contextlib.nullcontext(store) as where:
        done = _told(lambda: job.run(wanted._replace(store=where), _silent if quiet else _tell))
        if show or demo:
            click.echo(done.summary)
    _end(done, quiet, demo)


def _summarise(given: list[str], show: bool, quiet: bool) -> NoReturn:
    """A week or a month. given: the fields of summary.Wanted."""
    from fleet import summary

    wanted = summary.Wanted(*given)
    _told(lambda: summary.check(wanted))
    fleet_extra.need(("matplotlib", "jinja2", "duckdb"))
    done = _told(lambda: summary.run(wanted, _silent if quiet else _tell))
    if show:
        click.echo(done.summary)
    _end(done, quiet, demo=False)


def _roster(paths: Sequence[str]) -> Any:
    """The inventory's hosts, or None where none is named."""
    if not paths:
        return None
    from fleet import nightly
    from inventory import loader, problems

    try:
        found = loader.load(paths)
    except (problems.InventoryError, OSError) as error:
        fail(str(error))
    return tuple(nightly.Member(host.cluster, host.name, host.maintenance) for host in found.hosts)


def _mail_failure(config: str | None, unit: str) -> NoReturn:
    """For a unit's OnFailure=; exit code 1 when no mail could be sent."""
    from fleet.mail import delivery, failed_night, message

    if not config:
        raise click.UsageError("--failed needs --mail CONFIG")
    try:
        refused = failed_night.send(message.read_settings(config), unit)
    except message.BadSettings as error:
        fail(str(error))
    except delivery.NotSent as error:
        say(f"the mail could not be sent: {error}")
        sys.exit(UNSENT)
    if refused:
        say(f"the server rejected the mail for {', '.join(refused)}")
    sys.exit(DONE)


def _told(work: Callable[[], Any]) -> Any:
    """Do it; what cannot be done is said in words, and ends the program."""
    from fleet import nightly, summary
    from fleet.archive import compact
    from fleet.mail import message
    from fleet.nights import period_facts
    from fleet.site import folder
    from fleet.spark import session
    from fleet.statistics import published_rates
    from fleet.store import files

    expected = (nightly.NotYet, nightly.NoReports, session.CannotRun, compact.Incomplete, files.Busy,
                message.BadSettings, folder.NotWritten, period_facts.NoNights, period_facts.Unreadable,
                summary.NotLocal, published_rates.BadRates)  # fmt: skip
    try:
        return work()
    except (*expected, OSError) as error:
        fail(str(error))


def _silent(_words: str) -> None:
    pass


def _tell(words: str) -> None:
    """The steps, but not each of 30 days."""
    if not words.startswith("manifest "):
        say(words)


def _end(done: Any, quiet: bool, demo: bool) -> NoReturn:
    """Say what became of it, and end with its exit code."""
    kept = "" if demo else f"; the summary is in {done.kept}"
    if done.no_pages:
        say(f"the pages could not be written, the previous ones are unchanged: {done.no_pages}")
    if done.unsent:
        say(f"the mail could not be sent: {done.unsent}{kept}")
    if done.unsent or done.no_pages:
        sys.exit(UNSENT)
    if not quiet:
        before = f"; its mail was sent earlier, at {done.sent_before}" if done.sent_before else ""
        say(f"{done.subject}{before}{kept}")
    sys.exit(DONE)


@contextlib.contextmanager
def _demo_store(date: str, quiet: bool) -> Iterator[str]:
    """A made-up history in a folder that is gone afterwards."""
    from fleet import demo

    with tempfile.TemporaryDirectory(prefix="smoke-demo-") as folder:
        if not quiet:
            say(f"generating {demo.HOSTS} hosts and {demo.DAYS} days up to {date}")
        demo.write(folder, date)
        yield folder


def _day(text: str) -> str:
    from fleet.store import reports

    try:
        reports.number_of(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a date such as 2026-11-19", param_hint="--date") from None
    return text


def _address(url: str) -> str:
    if url and not re.match(r"https?://[^\s/]", url):
        raise click.BadParameter(
            f"{url!r} is not an address such as https://ops.example.org/smoke", param_hint="--site-url"
        )
    return url
