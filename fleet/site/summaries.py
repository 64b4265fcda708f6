"""The pages of the weeks and months that the store keeps a summary of."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from fleet.archive.manifests import HOME
from fleet.digest import page_paths
from fleet.digest.night_digest import Digest, Section
from fleet.digest.table_lines import Line
from fleet.render import html_page
from fleet.store import periods
from fleet.store.files import Files

SUMMARIES = f"{HOME}/summary"
# A year of weeks and of months.
MOST = 64
Pages = Iterator[tuple[str, bytes]]


class Kept(NamedTuple):
    """A summary, and its picture or nothing."""

    said: Digest
    chart: bytes


def place(kind: str, label: str) -> str:
    return f"{SUMMARIES}/{kind}={label}"


def keep(files: Files, kind: str, kept: Kept) -> None:
    folder = place(kind, kept.said.date)
    files.replace(f"{folder}/health.png", kept.chart)
    files.replace(f"{folder}/digest.json", json.dumps(_plain(kept.said)).encode())


def _plain(said: Digest) -> dict[str, Any]:
    sections = {
        name: [{**part._asdict(), "lines": [line._asdict() for line in part.lines]} for part in getattr(said, name)]
        for name in ("first", "rest")
    }
    return {**said._asdict(), **sections}


def kept(files: Files) -> list[Kept]:
    """The last ones first; one that cannot be read is left out."""
    names = (entry.name.partition("=") for entry in files.list(SUMMARIES) if entry.is_folder)
    known = [(label, kind) for kind, _equals, label in names if kind in (periods.WEEK, periods.MONTH)]
    ordered = sorted(known, key=lambda one: (periods.named(one[0]).last, one[1]), reverse=True)
    found = (_read(files, place(kind, label)) for label, kind in ordered[:MOST])
    return [one for one in found if one]


def _read(files: Files, folder: str) -> Kept | None:
    try:
        read = json.loads(files.read(f"{folder}/digest.json"))
        sections = {
            name: [Section(**{**part, "lines": [Line(**line) for line in part["lines"]]}) for part in read[name]]
            for name in ("first", "rest")
        }
        return Kept(Digest(**{**read, **sections}), files.read(f"{folder}/health.png"))
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def pages(found: Sequence[Kept], exists: Callable[[str], bool]) -> Pages:
    """exists: whether there is a page of an address; of others only the name is shown."""
    for one in found:
        label = one.said.date
        if one.chart:
            yield f"pictures/{label}.png", one.chart
        said = one.said._replace(first=_known(one.said.first, exists), rest=_known(one.said.rest, exists))
        clusters = [{**row, "has_page": exists(page_paths.cluster_page(row["cluster"] or ""))} for row in said.clusters]
        html = html_page.render(
            "site_summary.html", root="..", title=_title(said), date=label, said=said, clusters=clusters,
            has_chart=bool(one.chart),
        )  # fmt: skip
        yield page_paths.summary_page(label), html.encode()
    titles = [(page_paths.summary_page(one.said.date), _title(one.said)) for one in found]
    yield (
        page_paths.SUMMARIES,
        html_page.render("site_summaries.html", root="..", title="Weeks and months", date="", titles=titles).encode(),
    )


def _title(said: Digest) -> str:
    return said.subject.removeprefix("[smoke] ")


def _known(sections: list[Section], exists: Callable[[str], bool]) -> list[Section]:
    return [section._replace(lines=[_linked(line, exists) for line in section.lines]) for section in sections]


def _linked(line: Line, exists: Callable[[str], bool]) -> Line:
    if line.host and not exists(page_paths.host_page(line.cluster, line.host)):
        line = line._replace(cluster="", host="")
    return line if not line.page or exists(line.page) else line._replace(page="")
