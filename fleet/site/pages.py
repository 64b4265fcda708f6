"""A night and its history -> the pages of the site: path and content, one after the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from fleet.digest import night_digest, page_paths, table_lines, trend_lines
from fleet.digest.night_digest import Digest, Section
from fleet.digest.table_lines import Line, Row, bounded
from fleet.nights.night import Night, Rows
from fleet.render import html_page
from fleet.render.charts import Chart
from fleet.site import findings, summaries
from fleet.site.history import DAYS, Count, Disk, History, Past
from fleet.store import reports

# No page is larger; what a host says is cut until it fits.
LARGEST = 300_000
ROWS_OF_PAGE = 200
CLUSTERS_OF_FLEET = 40
NAME_TEXT = 64
# How many findings, and disks, a page names; fewer where their words are long.
SIZES = (60, 20, 5)
HEALTHS = ("critical", "silent", "unknown", "warning", "maintenance", "ok")
HEIGHTS = {"critical": 10, "unknown": 7.5, "warning": 5, "ok": 3}


class Listed(NamedTuple):
    """One page of a long list."""

    rows: Rows
    number: int
    pages: int
    first: str

    def address(self, number: int) -> str:
        return page_paths.further(self.first, number)


class Run(NamedTuple):
    """Days in a row on which a host was alike. start: days from the left of the strip."""

    start: int
    days: int
    health: str
    first: str
    last: str

    @property
    def height(self) -> float:
        return HEIGHTS.get(self.health, 0)


def pages(
    night: Night, said: Digest, charts: Sequence[Chart], history: History, kept: Sequence[summaries.Kept] = ()
) -> Iterator[tuple[str, bytes]]:
    """All of them; a few thousand kB at a time. kept: the summaries of weeks and months."""
    made = set()
    for path, content in _of_night(night, said, charts, history):
        made.add(path)
        yield path, content
    yield from summaries.pages(kept, made.__contains__)


def _of_night(night: Night, said: Digest, charts: Sequence[Chart], history: History) -> Iterator[tuple[str, bytes]]:
    yield "style.css", (html_page.render("style.css") + html_page.render("site_style.css")).encode()
    yield from ((f"pictures/{chart.name}.png", chart.png) for chart in charts)
    made = _Pages(night, said, history)
    yield from made.fleet(charts)
    yield from made.clusters()
    yield from made.findings()
    yield from made.disks()
    yield from made.models()
    yield from made.hosts()


class _Pages:
    """The night's rows, sorted by whose page they stand on."""

    def __init__(self, night: Night, said: Digest, history: History) -> None:
        self._night, self._said, self._history = night, said, history
        self._tables = night.tables
        self._hosts = sorted(night.tables["host_health"], key=lambda row: (row["cluster"] or "", row["host"]))
        self._at_risk = _at_risk(night, history.ailing())

    def _html(self, template: str, address: str, title: str, **values: Any) -> tuple[str, bytes]:
        root = ".." if "/" in address else "."
        html = html_page.render(template, root=root, title=title, date=self._night.date, short=short, **values)
        return address, html.encode()

    def fleet(self, charts: Sequence[Chart]) -> Iterator[tuple[str, bytes]]:
        rows = sorted(self._tables["cluster_health"], key=_trouble)
        shown, quiet = rows[:CLUSTERS_OF_FLEET], len(rows[CLUSTERS_OF_FLEET:])
        yield self._html(
            "site_fleet.html", page_paths.FLEET, self._said.subject.removeprefix("[smoke] "),
            said=self._said, clusters=shown, quiet=quiet, charts=charts,
        )  # fmt: skip

    def clusters(self) -> Iterator[tuple[str, bytes]]:
        rows = sorted(self._tables["cluster_health"], key=_trouble)
        for part in _listed(rows, page_paths.CLUSTERS):
            yield self._html("site_clusters.html", part.address(part.number), _title("Clusters", part), list=part,
                             totals=self._said.totals)  # fmt: skip
        hosts: dict[str, Rows] = defaultdict(list)
        for host in self._hosts:
            hosts[host["cluster"] or ""].append(host)
        changes = _by(self._tables["cluster_changes"], "cluster")
        for row in rows:
            name = row["cluster"] or ""
            yield from self._cluster(row, sorted(hosts[name], key=_host_trouble), changes[(name,)])

    def _cluster(self, row: Row, hosts: Rows, changes: Rows) -> Iterator[tuple[str, bytes]]:
        name = row["cluster"] or ""
        for part in _listed(hosts, page_paths.cluster_page(name)):
            title = _title(f"Cluster {short(name or '-')}", part)
            address = part.address(part.number)

            def draw(most: int, part: Listed = part, title: str = title, address: str = address) -> tuple[str, bytes]:
                sections = _sections(_of_changes(changes), most)
                return self._html("site_cluster.html", address, title, row=row, list=part, sections=sections,
                                  totals=row)  # fmt: skip

            yield _fitting(draw)

    def findings(self) -> Iterator[tuple[str, bytes]]:
        for found in findings.lists(self._night, short):
            for part in _listed(found.rows, found.first):
                title = _title(short(found.title), part)
                yield self._html(found.template, part.address(part.number), title, list=part, total=len(found.rows))

    def disks(self) -> Iterator[tuple[str, bytes]]:
        for part in _listed(self._at_risk, page_paths.DISKS):
            yield self._html("site_disks.html", part.address(part.number), _title("Disks by risk", part), list=part)

    def models(self) -> Iterator[tuple[str, bytes]]:
        rates = [row for row in self._tables["failure_rates"] if row["model"]]
        for part in _listed(rates, page_paths.MODELS):
            yield self._html("site_models.html", part.address(part.number), _title("Disk models", part), list=part)
        of_rates, of_risk = _by(rates, "model"), _by(self._at_risk, "model")
        places = _by(self._history.models(), "model")
        for key in sorted({*of_rates, *places, *of_risk}):
            if not key[0]:
                continue

            def draw(most: int, key: tuple[str, ...] = key) -> tuple[str, bytes]:
                risk = of_risk[key]
                return self._html(
                    "site_model.html", page_paths.model_page(key[0]), f"Disk model {short(key[0])}",
                    rates=of_rates[key][:most], disks=risk[:most], more=len(risk[most:]),
                    places=places[key][: most * 2],
                )  # fmt: skip

            yield _fitting(draw)

    def hosts(self) -> Iterator[tuple[str, bytes]]:
        names = ("changes", "disk_trends", "usage_forecast", "dimm_trends", "slow_disks", "flapping", "clocks")
        rows = {name: _by(self._tables[name], "cluster", "host") for name in names}
        for host in self._hosts:
            key = (host["cluster"] or "", host["host"])
            past = self._history.of(*key)
            found = _of_host({name: of_table[key] for name, of_table in rows.items() if key in of_table})

            def draw(most: int, host: Row = host, past: Past = past, found: list[Section] = found) -> tuple[str, bytes]:
                return self._host(host, past, found, most)

            yield _fitting(draw)

    def _host(self, host: Row, past: Past, found: list[Section], most: int) -> tuple[str, bytes]:
        last = host["last_day"]
        return self._html(
            "site_host.html", page_paths.host_page(host["cluster"] or "", host["host"]), short(host["host"]),
            host=host, last_report=reports.date_of(last) if last is not None else f"none in these {DAYS} days",
            strip=_strip(past.days, self._night.day), sections=_sections(found, most),
            checks=[f"{short(name, 40)}: {status}{f' ({count})' if count > 1 else ''}"
                    for name, status, count in past.checks[: most * 4]],
            disks=[_disk(disk, self._night.day) for disk in past.disks[:most]], more=len(past.disks[most:]),
        )  # fmt: skip


def _fitting(draw: Callable[[int], tuple[str, bytes]]) -> tuple[str, bytes]:
    """The page with as many findings and disks as fit."""
    for most in SIZES:
        address, html = draw(most)
        if len(html) <= LARGEST:
            break
    return address, html


def short(text: str, length: int = NAME_TEXT) -> str:
    """A host's word: on one line, bounded."""
    plain = text if text.isprintable() else "".join(char if char.isprintable() else " " for char in text)
    return bounded(plain, length)


def _trouble(row: Row) -> tuple[Any, ...]:
    return (
        -row["critical_hosts"] - row["silent_hosts"],
        -row["unknown_hosts"],
        -row["warning_hosts"],
        row["cluster"] or "",
    )


def _host_trouble(row: Row) -> tuple[int, int, str]:
    return HEALTHS.index(row["health"]), -row["criticals"], row["host"]


def _by(rows: Rows, *names: str) -> defaultdict[tuple[str, ...], Rows]:
    found: defaultdict[tuple[str, ...], Rows] = defaultdict(list)
    for row in rows:
        found[tuple(row[name] or "" for name in names)].append(row)
    return found


def _listed(rows: Rows, first: str) -> list[Listed]:
    count = max(1, -(-len(rows) // ROWS_OF_PAGE))
    return [
        Listed(rows[number * ROWS_OF_PAGE : (number + 1) * ROWS_OF_PAGE], number + 1, count, first)
        for number in range(count)
    ]


def _title(words: str, part: Listed) -> str:
    return words if part.pages == 1 else f"{words}, page {part.number} of {part.pages}"


def _sections(found: list[Section], most: int) -> list[Section]:
    return [section._replace(lines=section.lines[:most], more=len(section.lines[most:])) for section in found]


def _of_changes(rows: Rows) -> list[Section]:
    kinds = [(night_digest.STANDING, "Findings"), (("resolved",), "Resolved"), (("unseen",), "No result today")]
    parts = (([row for row in rows if row["change"] in changes], title) for changes, title in kinds)
    return [Section(title, title, _alone(night_digest.lines(part))) for part, title in parts if part]


def _of_host(rows: dict[str, Rows]) -> list[Section]:
    more = [
        Section("disk_trends", "Disks wearing out", [trend_lines.trend(row) for row in rows.get("disk_trends", [])]),
        Section("slow_disks", "Disks slower than their peers", table_lines.slow(rows.get("slow_disks", []))),
        Section(
            "dimm_trends", "DIMMs with more corrected errors", list(map(table_lines.dimm, rows.get("dimm_trends", [])))
        ),
        Section("usage_forecast", "Mounts filling up", list(map(table_lines.filling, rows.get("usage_forecast", [])))),
        Section("flapping", "Flapping", list(map(table_lines.flapping, rows.get("flapping", [])))),
        Section("clocks", "Clock", list(map(table_lines.clock, rows.get("clocks", [])))),
    ]
    told = [section._replace(lines=_alone(section.lines)) for section in more if section.lines]
    return [*_of_changes(rows.get("changes", [])), *told]


def _alone(lines: list[Line]) -> list[Line]:
    """On its own page a host is not named in every line."""
    return [Line(*(short(part, night_digest.REASON_TEXT) for part in line._replace(where=""))) for line in lines]


def _strip(days: dict[int, str], night: int) -> dict[str, Any]:
    first = night - DAYS + 1
    runs: list[Run] = []
    for place in range(DAYS):
        health = days.get(first + place, "")
        date = reports.date_of(first + place)
        if runs and runs[-1].health == health:
            runs[-1] = runs[-1]._replace(days=runs[-1].days + 1, last=date)
        else:
            runs.append(Run(place, 1, health, date, date))
    counts = {health: sum(run.days for run in runs if run.health == health) for health in (*HEIGHTS, "")}
    told = ", ".join(f"{count} {health or 'without a report'}" for health, count in counts.items() if count)
    return {
        "days": DAYS,
        "runs": [run for run in runs if run.health],
        "told": runs[::-1] if len(runs) > 1 else [],
        "words": f"{DAYS} days up to {reports.date_of(night)}: {told}.",
    }


def _disk(disk: Disk, night: int) -> dict[str, Any]:
    years = disk.power_on_hours / 8766 if disk.power_on_hours else 0
    told = [_count(name, count, night) for name, count in disk.counts.items() if count.last or count.first]
    return {
        "item": disk.item,
        "model": disk.model,
        "slot": disk.slot,
        "status": disk.status or "unknown",
        "age": f"{years:.1f} years" if years else "",
        "gone": reports.date_of(disk.last_day) if disk.last_day != night else "",
        "counts": told,
    }


def _count(name: str, count: Count, night: int) -> dict[str, str]:
    title, unit = trend_lines.METRICS.get(name, (name.replace("_", " "), ""))
    last = f"{count.last:g}{unit}"
    if not count.points:
        return {"words": f"{title} {last}", "path": ""}
    since = next((day for day, value in count.points if value != count.points[0][1]), night)
    words = f"{title} {count.points[0][1]:g} to {last}, since {reports.date_of(since)}"
    return {"words": words, "path": _path(count.points, night)}


def _path(points: list[tuple[int, float]], night: int) -> str:
    """Steps from the left (the oldest day) to the right, 20 high."""
    low, high = min(value for _day, value in points), max(value for _day, value in points)
    placed = [(day - night + DAYS - 1, 20 - 20 * (value - low) / ((high - low) or 1)) for day, value in points]
    path = [f"{placed[0][0]},{placed[0][1]:.1f}"]
    for (_x, before), (x, y) in zip(placed, placed[1:], strict=False):
        path += [f"{x},{before:.1f}", f"{x},{y:.1f}"] if before != y else [f"{x},{y:.1f}"]
    return " ".join(path)


def _at_risk(night: Night, ailing: Rows) -> Rows:
    """Critical first, then by the days left at their pace, then the others that are not ok. why: in words."""
    trends = _by(night.tables["disk_trends"], "cluster", "host", "item")
    known: dict[tuple[str, ...], Row] = {(row["cluster"] or "", row["host"], row["item"]): row for row in ailing}
    reasons = _by([row for row in night.tables["changes"] if row["check_name"] == "smart"], "cluster", "host", "item")
    rows = []
    for key in sorted({*known, *trends}):
        found = trends.get(key, [])
        row = known.get(key) or {**found[0], "status": "ok"}
        left = min((trend["days_left"] for trend in found if trend["days_left"] is not None), default=10**6)
        said = [str(one["reason"] or "") for one in reasons.get(key, []) if one["change"] in night_digest.STANDING]
        why = "; ".join([*said, *(trend_lines.trend(trend).text for trend in found)])
        rows.append((row["status"] != "critical", left, row["status"] == "ok", key, {**row, "why": short(why, 300)}))
    return [row[-1] for row in sorted(rows, key=lambda row: row[:-1])]
