"""A page of the site, and the pieces of Markdown that pages are made of. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

# the markers of a docstring: the statuses of a check, the outcomes of a rule of the gate
MARKER = re.compile(r"^((?:Never )?[A-Z][a-z]+(?: [a-z]+)?):(?= )", re.MULTILINE)
CODE = re.compile(r"(`[^`]*`)")
SPECIAL = re.compile(r"([*_<>\[\]|#\\])")


class Page(NamedTuple):
    """path: relative to the site's pages, such as checks/smart.md. summary: one line for the section's index."""

    path: str
    title: str
    summary: str
    text: str


def escaped(text: str) -> str:
    """Text that Markdown shows as it is; what is in `code` stays."""
    parts = CODE.split(text)
    return "".join(part if part.startswith("`") else SPECIAL.sub(r"\\\1", part) for part in parts)


def prose(text: str) -> str:
    """A docstring as Markdown: its markers in bold, each in a paragraph of its own."""
    return MARKER.sub(r"\n**\1:**", escaped(text)).strip()


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are Markdown; a line break in one becomes a space."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(" ".join(cell.split()) for cell in line) + " |" for line in lines)


def code(text: str) -> str:
    """As inline code, that of an empty text too."""
    return f"`{text}`" if text else "—"


def block(text: str, language: str = "text") -> str:
    """A fenced block; the fence is longer than any in the text."""
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall(r"`{3,}", text))])
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def page(path: str, title: str, summary: str, *parts: str) -> Page:
    """A page from its parts; empty ones are left out."""
    text = "\n\n".join([f"# {title}", *filter(None, parts)])
    return Page(path, title, summary, f"{text}\n")


def section(title: str, text: str) -> str:
    """A heading and what follows it; nothing where there is no text."""
    return f"## {title}\n\n{text}" if text else ""


def limits(values: Mapping[str, object]) -> str:
    rows = [(code(name), code(str(value))) for name, value in values.items()]
    return table(("limit", "default"), rows) if rows else ""


def index(folder: str, title: str, intro: str, pages: Sequence[Page]) -> Page:
    """The first page of a folder: one row a page."""
    rows = [(f"[{one.title}]({one.path.removeprefix(folder + '/')})", escaped(one.summary)) for one in pages]
    return page(f"{folder}/index.md", title, "", intro, table(("name", ""), rows))
