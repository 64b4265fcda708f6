"""A night's tables -> pictures (PNG) for the mail and the page. Pure, apart from importing matplotlib when asked."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, NamedTuple

from fleet.nights.night import Night, Rows
from fleet.store import reports

# Told apart also by those who do not see red and green, and by their order.
COLOURS = {
    "critical": "#b3261e",
    "silent": "#4a4458",
    "unknown": "#8a6fb0",
    "warning": "#e0a100",
    "ok": "#b7d3b0",
}
# Read at phone width too: there the picture is some 350 points wide, half of its pixels.
WIDTH_IN = 4.4
DPI = 160
BARS = 10


class Chart(NamedTuple):
    """A picture with the words for who cannot see it."""

    name: str
    title: str
    alt: str
    png: bytes


def charts(night: Night) -> list[Chart]:
    """Health over the window; disks most likely to fail and the fullest mounts, where there are any."""
    made = [
        health(night.tables["health_days"]),
        _trends(night.tables["disk_trends"]),
        _usage(night.tables["usage_forecast"]),
    ]
    return [chart for chart in made if chart]


def _draw(height_in: float, paint: Callable[[Any], None]) -> bytes:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH_IN, height_in), dpi=DPI, layout="constrained")
    axes = figure.subplots()
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    paint(axes)
    out = io.BytesIO()
    figure.savefig(out, format="png", metadata={"Software": None})
    return out.getvalue()


def health(days: Rows) -> Chart | None:
    """Hosts with trouble, day by day; None without a day."""
    if not days:
        return None
    troubled = [name for name in COLOURS if name != "ok"]

    def paint(axes: Any) -> None:
        places = list(range(len(days)))
        bottom = [0] * len(days)
        for name in troubled:
            counts = [row[f"{name}_hosts"] for row in days]
            axes.bar(places, counts, bottom=bottom, width=0.85, color=COLOURS[name], label=name)
            bottom = [low + count for low, count in zip(bottom, counts, strict=True)]
        step = max(1, len(days) // 5)
        shown = places[::-1][::step][::-1]
        axes.set_xticks(shown, [reports.date_of(days[place]["day"])[5:] for place in shown])
        axes.yaxis.get_major_locator().set_params(integer=True)
        axes.set_ylim(0, max(*bottom, 1) * 1.05)
        axes.set_ylabel("hosts")
        axes.legend(
            ncols=4, frameon=False, loc="lower left", bbox_to_anchor=(-0.1, 1), borderaxespad=0.2, fontsize=8.5,
            handlelength=1, columnspacing=1,
        )  # fmt: skip

    last = days[-1]
    alt = "Hosts with trouble per day; on the last day " + ", ".join(f"{last[f'{n}_hosts']} {n}" for n in COLOURS)
    return Chart("health", f"Hosts with trouble, {len(days)} days", alt, _draw(2.7, paint))


def _bars(rows: list[tuple[str, float, str, str]], label: str) -> bytes:
    """Rows of name, days left, colour and note, the most urgent on top."""

    def paint(axes: Any) -> None:
        places = range(len(rows))
        axes.barh(places, [row[1] for row in rows], color=[row[2] for row in rows], height=0.62)
        for place, row in zip(places, rows, strict=True):
            axes.annotate(row[3], (row[1], place), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8.5)
        axes.set_yticks(places, [row[0] for row in rows], fontsize=8.5)
        axes.invert_yaxis()
        axes.set_xlabel(label)
        axes.set_xlim(0, max(*(row[1] for row in rows), 1) * 1.6)

    return _draw(0.8 + 0.46 * len(rows), paint)


def _trends(trends: Rows) -> Chart | None:
    rows = [row for row in trends if row["limit_value"] is not None]
    if not rows:
        return None
    bars = [
        (
            f"{_short(row['host'], 20)}\n{_short(row['item'], 20)}",
            float(row["days_left"]),
            COLOURS["critical" if row["days_left"] <= 14 else "warning"],
            f"{row['days_left']:.0f} d ({row['metric'].replace('_', ' ')})",
        )
        for row in rows[:BARS]
    ]
    alt = "Days until a limit is crossed: " + "; ".join(f"{bar[0]} {bar[3]}" for bar in bars).replace("\n", " ")
    return Chart("disks", "Disks most likely to fail: days until a limit", alt, _bars(bars, "days left"))


def _usage(rows: Rows) -> Chart | None:
    if not rows:
        return None
    bars = [
        (
            f"{_short(row['host'], 20)}\n{_short(row['item'], 20)}",
            float(row["used_percent"]),
            COLOURS["critical" if row["days_left"] <= 7 else "warning"],
            f"{row['used_percent']:.0f} %, full in {row['days_left']:.0f} d",
        )
        for row in rows[:BARS]
    ]
    alt = "Mounts that fill up: " + "; ".join(f"{bar[0]} {bar[3]}" for bar in bars).replace("\n", " ")
    return Chart("usage", "Filling up: space used", alt, _bars(bars, "percent used"))


def _short(text: str, length: int) -> str:
    plain = "".join(char if char.isprintable() and char != "$" else " " for char in text)
    # hosts and serial numbers are alike at their beginnings
    return plain if len(plain) <= length else f"{plain[: length // 2 - 1]}…{plain[-(length // 2) :]}"
