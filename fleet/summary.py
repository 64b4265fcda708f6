"""smoke nightly --summary: the week or the month from the nights that the store keeps; without Spark."""

from __future__ import annotations

import os
from typing import NamedTuple

from fleet import nightly
from fleet.digest import period_digest
from fleet.mail import message
from fleet.nightly import Done, Tell
from fleet.nights import period_facts
from fleet.render import charts, html_page, plain_text
from fleet.site import folder, summaries
from fleet.store import periods, reports
from fleet.store.files import LocalFiles, is_local
from fleet.store.periods import Period


class NotLocal(Exception):
    """The store is not on this machine."""


class Wanted(NamedTuple):
    """What to do. kind: week or month. date: a day of it, or empty for the last whole one. The rest as for a night."""

    store: str
    kind: str
    date: str = ""
    mail: str = ""
    out: str = ""
    site: str = ""
    site_url: str = ""


def period(wanted: Wanted) -> Period:
    yesterday = reports.number_of(nightly.yesterday())
    if wanted.date:
        return periods.of(wanted.kind, reports.number_of(wanted.date))
    return periods.last_whole(wanted.kind, yesterday)


def check(wanted: Wanted) -> None:
    """What can be known to be wrong before anything is fetched. Raises what `run` raises."""
    if not is_local(wanted.store):
        raise NotLocal("--summary requires a local store")
    if wanted.date > nightly.yesterday():
        raise nightly.NotYet(f"{wanted.date} is not over yet: the last whole day is {nightly.yesterday()} (UTC)")
    if wanted.mail:
        settings = message.read_settings(wanted.mail)
        if settings.user:
            message.password(settings)
    if wanted.site:
        folder.check(wanted.site)


def run(wanted: Wanted, tell: Tell = lambda _words: None) -> Done:
    """Raises NotLocal, nightly.NotYet, period_facts.NoNights, period_facts.Unreadable, files.Busy, mail.BadSettings,
    folder.NotWritten."""
    check(wanted)
    settings = message.read_settings(wanted.mail) if wanted.mail else None
    files = LocalFiles(wanted.store)
    with files.lock(nightly.LOCK):
        found = period_facts.facts(files, period(wanted), reports.number_of(nightly.yesterday()))
        return _deliver(files, found, wanted, settings, tell)


def _deliver(
    files: LocalFiles, found: period_facts.Facts, wanted: Wanted, settings: message.Settings | None, tell: Tell
) -> Done:
    """Into the store first, so that it is there whatever becomes of the mail."""
    said = period_digest.summary(found)
    health = charts.health(found.health)
    pictures = [health] if health else []
    if settings and wanted.site_url:
        settings = settings._replace(link=wanted.site_url)
    link = settings.link if settings else wanted.site_url
    text, html = plain_text.text(said, link), html_page.html(said, pictures, html_page.inside, link)
    place = summaries.place(found.period.kind, said.date)
    files.replace(f"{place}/summary.txt", text.encode())
    files.replace(f"{place}/index.html", html.encode())
    summaries.keep(files, found.period.kind, summaries.Kept(said, health.png if health else b""))
    if wanted.out:
        nightly.write_out(wanted.out, text, html, pictures)
    tell("summary written")
    done = Done(found.night, said.subject, text, files.url(place), no_pages=_pages(files, wanted, tell))
    return nightly.mailed(done, said, pictures, settings, files, tell)


def _pages(files: LocalFiles, wanted: Wanted, tell: Tell) -> str:
    """Beside those of the last night; why there are no new ones, or nothing."""
    if not wanted.site:
        return ""
    try:
        shown = os.path.join(wanted.site, folder.CURRENT)
        made = summaries.pages(summaries.kept(files), lambda path: os.path.exists(os.path.join(shown, path)))
        tell(f"{folder.add(wanted.site, made)} pages written")
    except folder.NotWritten as error:
        return str(error)
    return ""
