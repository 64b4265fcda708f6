"""A digest -> plain text that reads well alone, 80 columns wide. Pure."""

from __future__ import annotations

import textwrap

from fleet.digest.night_digest import HEALTHS, Digest, Section
from fleet.digest.page_paths import FLEET
from fleet.digest.table_lines import Row

WIDTH = 80
# A space at which no line is broken.
JOINED = "\N{NO-BREAK SPACE}"
FOOT = "Next step: smoke playbook show NAME (the name after >).\nA host's history: smoke report HOST."


def text(said: Digest, link: str = "") -> str:
    """The whole digest. link: the address of the pages, or empty."""
    blocks = [said.subject, "\n".join(_wrap(said.headline)), *map(_section, said.first), _cluster_table(said)]
    blocks += [*map(_section, said.rest), FOOT + (f"\nAll results: {link.rstrip('/')}/{FLEET}" if link else "")]
    return "\n\n".join(filter(None, blocks)) + "\n"


def _wrap(words: str, initial_indent: str = "", subsequent_indent: str = "") -> list[str]:
    return textwrap.wrap(
        words, WIDTH, initial_indent=initial_indent, subsequent_indent=subsequent_indent, break_on_hyphens=False
    )


def _cluster_table(said: Digest) -> str:
    head = f"{'cluster':<20} {'hosts':>6} " + " ".join(f"{name:>9}" for name in (*HEALTHS, "ok"))
    rows = [_cluster_row(str(row["cluster"] or "-"), row) for row in said.clusters]
    quiet = [f"and {said.quiet} clusters without changes"] if said.quiet else []
    total = [_cluster_row("all", said.totals)] if len(said.clusters) + said.quiet > 1 else []
    return "\n".join([head, *rows, *quiet, *total])


def _cluster_row(name: str, row: Row) -> str:
    counts = " ".join(f"{row[f'{health}_hosts']:>9}" for health in (*HEALTHS, "ok"))
    return f"{name[:20]:<20} {row['hosts']:>6} {counts}"


def _section(section: Section) -> str:
    lines = [section.title.upper()]
    for line in section.lines:
        level = f"{line.level.upper():<8}"
        lines += _wrap("  ".join(filter(None, [level, f"{line.where}  {line.what}", line.consequence, line.age])),
                       subsequent_indent=" " * 10)  # fmt: skip
        todo = f"{line.text}  >{JOINED}{line.todo}" if line.todo else line.text
        wrapped = _wrap(todo, initial_indent=" " * 10, subsequent_indent=" " * 10)
        lines += [part.replace(JOINED, " ") for part in wrapped]
    if section.note:
        lines += _wrap(section.note, initial_indent=" " * 10, subsequent_indent=" " * 10)
    if section.more:
        whole = f": smoke report {section.whole}" if section.whole else ""
        lines.append(f"          and {section.more} more{whole}")
    return "\n".join(lines)
