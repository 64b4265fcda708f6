"""The nightly job: read, compact, compute, write, tell. All I/O of a night is here or in what it calls in this order.

Each step can be killed and the job run again: the tables come out the same, and one mail is sent.
"""

from __future__ import annotations

import contextlib
import datetime
import decimal
import json
import math
import os
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import Any, NamedTuple

from fleet import tables
from fleet.analysis import stable_paths
from fleet.archive import compact, manifests, retention
from fleet.archive.manifests import HOME, Manifest
from fleet.digest import night_digest
from fleet.ingest import flat_tables, views
from fleet.mail import delivery, message
from fleet.nights import forecasts, stored_nights
from fleet.nights.night import Night, Rows
from fleet.render import charts, html_page, plain_text
from fleet.rollup import build
from fleet.site import folder, history, pages, summaries
from fleet.spark import session
from fleet.statistics import published_rates
from fleet.store import reports
from fleet.store.files import Files, HadoopFiles, LocalFiles, is_local, is_object_store
from fleet.tables import Given

WINDOW_DAYS = 30
IN_FLIGHT = 3
TABLES = f"{HOME}/tables"
LOCK = f"{HOME}/lock"
ROSTER = f"{HOME}/roster.jsonl"

Tell = Callable[[str], None]


class NoReports(Exception):
    """There is nothing to judge."""


class NotYet(Exception):
    """The day is not over."""


class Member(NamedTuple):
    """A host that the inventory names. maintenance: why it may be silent."""

    cluster: str
    host: str
    maintenance: str = ""


Roster = Sequence[Member]


class Wanted(NamedTuple):
    """What to do. mail, out: a settings file and a folder, or empty. site, site_url: the pages' folder and address.
    published: a file of disk models' failure rates, or empty."""

    store: str
    date: str
    spark: session.Wanted = session.Wanted()
    mail: str = ""
    out: str = ""
    keep: retention.Wanted = retention.Wanted()
    roster: Roster | None = None
    site: str = ""
    site_url: str = ""
    published: str = ""


class Done(NamedTuple):
    """What was done. summary: the plain text; kept: where the summary lies; unsent: why no mail could be sent;
    no_pages: why the pages are still those of before."""

    night: Night
    subject: str
    summary: str
    kept: str
    unsent: str = ""
    sent_before: str = ""
    no_pages: str = ""


def yesterday() -> str:
    """The last whole day, UTC."""
    today = datetime.datetime.now(datetime.timezone.utc).date()
    return (today - datetime.timedelta(days=1)).isoformat()


def run(wanted: Wanted, tell: Tell = lambda _words: None) -> Done:
    """The whole night. Raises NotYet, NoReports, session.CannotRun, files.Busy, mail.BadSettings,
    folder.NotWritten, published_rates.BadRates.

    What is to be deleted goes first: on a disk that is full the night could not make room for itself otherwise.
    """
    check(wanted)
    settings = message.read_settings(wanted.mail) if wanted.mail else None
    rates = published_rates.read(wanted.published) if wanted.published else {}
    with _at_work(wanted) as (files, spark):
        _make_room(files, wanted, tell)
        night = judge(spark, files, wanted.date, tell, wanted.roster, rates)
        _publish(files, wanted.date, tell)
        return deliver(files, night, wanted, settings, tell)


def check(wanted: Wanted, has_store: bool = True) -> None:
    """What can be known to be wrong before anything is started, or fetched. Raises what `run` raises."""
    if wanted.date > yesterday():
        raise NotYet(f"{wanted.date} is not over yet: the last whole day is {yesterday()} (UTC)")
    if is_object_store(wanted.store):
        raise session.CannotRun(f"{wanted.store}: object stores have no exclusive lock; use hdfs:// or a local folder")
    if wanted.mail:
        settings = message.read_settings(wanted.mail)
        if settings.user:
            message.password(settings)
    if wanted.site:
        if not is_local(wanted.store):
            raise folder.NotWritten("--site requires a local store")
        folder.check(wanted.site)
    if wanted.published:
        published_rates.read(wanted.published)
    session.read_settings(session.settings_path(wanted.spark))
    if has_store and is_local(wanted.store):
        _need_reports(LocalFiles(wanted.store), wanted.date)


def _publish(files: Files, date: str, tell: Tell) -> None:
    if isinstance(files, LocalFiles):
        try:
            stable_paths.publish(files, date)
        except stable_paths.NotPublished as error:
            tell(str(error))


def _make_room(files: Files, wanted: Wanted, tell: Tell) -> None:
    manifests.sweep(files)
    if not (wanted.keep.keep_days or wanted.keep.keep_raw_days):
        return
    done = retention.apply(files, wanted.date, wanted.keep)
    if done.older:
        days = f"{done.older[0]} to {done.older[-1]}" if len(done.older) > 1 else done.older[0]
        tell(f"older than --keep-days and not deleted: {days}; run once with --prune to delete them")


@contextlib.contextmanager
def _at_work(wanted: Wanted) -> Iterator[tuple[Files, Any]]:
    """The store, locked, and a Spark session."""
    if is_local(wanted.store):
        local = LocalFiles(wanted.store)
        with local.lock(LOCK), session.session(wanted.spark) as spark:
            yield local, spark
        return
    with session.session(wanted.spark) as spark:
        remote = HadoopFiles(wanted.store, spark)
        _need_reports(remote, wanted.date)
        with remote.lock(LOCK):
            yield remote, spark


def deliver(files: Files, night: Night, wanted: Wanted, settings: message.Settings | None, tell: Tell) -> Done:
    """The summary into the store first, so that it is there whatever becomes of the mail."""
    undelivered = _retry_earlier(files, night.date, settings, tell) if settings else []
    said = night_digest.digest(night, undelivered)
    pictures = charts.charts(night)
    if settings and wanted.site_url:
        settings = settings._replace(link=wanted.site_url)
    link = settings.link if settings else wanted.site_url
    text = plain_text.text(said, link)
    html = html_page.html(said, pictures, html_page.inside, link)
    kept = f"{summaries.SUMMARIES}/date={night.date}"
    files.replace(f"{kept}/summary.txt", text.encode())
    files.replace(f"{kept}/index.html", html.encode())
    if wanted.out:
        write_out(wanted.out, text, html, pictures)
    tell("summary written")
    done = Done(night, said.subject, text, files.url(kept), no_pages=_pages(files, night, wanted, said, pictures, tell))
    return mailed(done, said, pictures, settings, files, tell)


def mailed(
    done: Done,
    said: night_digest.Digest,
    pictures: list[charts.Chart],
    settings: message.Settings | None,
    files: Files,
    tell: Tell,
) -> Done:
    """Sent to all who have not had it, if there are settings; what went wrong stands in `unsent`."""
    if not settings:
        return done
    try:
        letter = message.letter(said, pictures, settings, delivery.store_id(files))
        return done._replace(sent_before=delivery.send_once(files, said.date, letter, settings, tell))
    except (delivery.NotSent, message.BadSettings) as error:
        return done._replace(unsent=str(error))


def _pages(
    files: Files, night: Night, wanted: Wanted, said: night_digest.Digest, pictures: list[charts.Chart], tell: Tell
) -> str:
    """Before the mail, whose links lead there; why there are no new ones, or nothing."""
    if not wanted.site or not isinstance(files, LocalFiles):
        return ""
    try:
        past = history.History(files, night.day)
        try:
            count = folder.write(wanted.site, pages.pages(night, said, pictures, past, summaries.kept(files)))
        finally:
            past.close()
    except (folder.NotWritten, history.Unreadable) as error:
        return str(error)
    tell(f"{count} pages written")
    return ""


def _retry_earlier(files: Files, date: str, settings: message.Settings, tell: Tell) -> list[str]:
    try:
        return delivery.retry_earlier(files, date, settings, tell)
    except message.BadSettings as error:  # tonight's mail will say so too, after the summary is written
        return [f"earlier mails: {error}"]


def write_out(folder: str, text: str, html: str, pictures: list[charts.Chart]) -> None:
    os.makedirs(folder, exist_ok=True)
    parts = {"summary.txt": text.encode(), "index.html": html.encode()}
    parts.update({f"{chart.name}.png": chart.png for chart in pictures})
    for name, content in parts.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)


def window(files: Files, date: str) -> list[str]:
    """The days of the window that the store knows of."""
    night = reports.number_of(date)
    return [day for day in manifests.dates(files) if night - WINDOW_DAYS < reports.number_of(day) <= night]


def _need_reports(files: Files, date: str) -> None:
    if not window(files, date):
        raise NoReports(f"{files.url('')} has no reports of the {WINDOW_DAYS} days up to {date}")


def judge(
    spark: Any,
    files: Files,
    date: str,
    tell: Tell = lambda _words: None,
    roster: Roster | None = None,
    rates: Mapping[str, float] = MappingProxyType({}),
) -> Night:
    """Compact what is new or late, compute the night's tables, and leave both in the store. rates: published failure
    rates of disk models, percent a year."""
    planned = manifests.plan(files, window(files, date))
    fresh = compact.compact(spark, files, [day.sources for day in planned if day.stale], tell)
    taken = {made.date: made for made in fresh}
    valid = [made for made in (taken.get(day.date, day.made) for day in planned) if made]
    _roster_view(spark, files, roster or ())
    night = reports.number_of(date)
    given = Given(night, night - WINDOW_DAYS + 1, rates)
    computed, left_out = _compute(spark, files, valid, given, tell, roster is not None)
    _write(files, date, computed)
    tell("tables written")
    manifests.sweep(files)
    told = [made for made in valid if made.date == date or made.date in taken or made.unread]
    return Night(
        date,
        computed,
        [
            *left_out,
            *(aside for day in planned for aside in day.aside),
            *(aside for made in told for aside in made.aside),
        ],
        sorted(day.date for day in planned if day.date in taken and day.made and day.date != date),
        len(valid),
        sum(made.sources for made in valid if made.date == date),
        forecasts.score(files, date),
    )


def _roster_view(spark: Any, files: Files, roster: Roster) -> None:
    """Through a file: rows of Python's would start Python workers."""
    if roster:
        files.replace(ROSTER, "".join(json.dumps(member._asdict()) + "\n" for member in roster).encode())
    frame = (
        spark.read.schema(views.ROSTER).json(files.url(ROSTER))
        if roster
        else spark.sql(flat_tables.empty(views.ROSTER))
    )
    frame.createOrReplaceTempView("roster")


def _compute(
    spark: Any, files: Files, valid: list[Manifest], given: Given, tell: Tell, has_roster: bool
) -> tuple[dict[str, Rows], list[reports.Aside]]:
    """The tables, and the days that the roll-up had to leave out."""
    night, first, date = given.night, given.first, reports.date_of(given.night)
    for table in flat_tables.COLUMNS:
        whole = table in views.WHOLE_WINDOW
        used = [made for made in valid if whole or made.date == date]
        _read(spark, files, table, used).createOrReplaceTempView(table)
    tell("computing tables")

    def keep(chain: dict[str, str]) -> list[Any]:
        return [
            _keep(spark, name, query.format(night=night, first=first, has_roster=has_roster))
            for name, query in chain.items()
        ]

    def rows(query: str) -> Rows:
        found = spark.sql(query).collect()
        return [{name: _plain(value) for name, value in row.asDict().items()} for row in found]

    queries = {name: query.format(night=night, first=first) for name, query in views.FRAMES.items()}
    queries |= {name: tables.query(name, night, first) for name in tables.selects()}

    with ThreadPoolExecutor(IN_FLIGHT) as several:
        rolled = several.submit(build.bring_up, spark, files, valid, date, tell)
        kept = [frame for frames in several.map(keep, views.CHAINS) for frame in frames]
        try:
            left_out = rolled.result()
            found = dict(zip(queries, several.map(rows, queries.values()), strict=True))
        finally:
            for frame in kept:
                frame.unpersist()
    selected = {name: found[name] for name in tables.selects()}
    return tables.every(selected, found, given), left_out


def _keep(spark: Any, name: str, query: str) -> Any:
    """A view that several tables start from, computed once.

    On this machine without what it was made from, which spares every table that uses it the planning of that. On a
    cluster with it: a worker that is lost takes its part with it.
    """
    frame = spark.sql(query)
    kept = frame.localCheckpoint() if spark.sparkContext.master.startswith("local") else frame.persist()
    kept.createOrReplaceTempView(name)
    return kept


def _plain(value: Any) -> Any:
    """Sums of whole numbers come as Decimal where they could be large. JSON has no infinite number."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return int(value) if isinstance(value, decimal.Decimal) and value == int(value) else value


def _read(spark: Any, files: Files, table: str, valid: list[Manifest]) -> Any:
    """Only the files that manifests name; an empty frame when there are none."""
    paths = [files.url(path) for made in valid for path in made.paths(table)]
    if not paths:
        return spark.sql(flat_tables.empty(flat_tables.COLUMNS[table]))
    return spark.read.schema(flat_tables.COLUMNS[table]).parquet(*paths)


def _write(files: Files, date: str, computed: dict[str, Rows]) -> None:
    """The tables as JSON lines in a folder of this run, then the night's list of them in one step."""
    before = stored_nights.folder(files, date)
    folder = f"{TABLES}/date={date}/run={uuid.uuid4().hex}"
    for name, rows in computed.items():
        text = "".join(json.dumps(row, sort_keys=True) + "\n" for row in rows)
        files.replace(f"{folder}/{name}.jsonl", text.encode())
    forecasts.keep(files, date, computed.get("disk_trends", []))
    files.replace(f"{stored_nights.NIGHTS}/{date}.json", json.dumps({"tables": folder}).encode())
    if before:
        files.delete(before)
