"""One page for each table of the nightly job: its question, key, method and columns, from the catalog."""

from __future__ import annotations

from docs.generator import markdown
from docs.generator.markdown import Page
from fleet.nights import catalog

FOLDER = "tables"
INTRO = "One page for each table that `smoke nightly` writes. [Tables](../tables.md) explains how to query them."


def pages() -> list[Page]:
    """Those of reported findings first, then those that a night computes."""
    return [page(table) for table in catalog.every()]


def index(made: list[Page]) -> Page:
    return markdown.index(FOLDER, "Table reference", INTRO, made)


def page(table: catalog.Table) -> Page:
    rows = [
        (markdown.code(name), kind, markdown.escaped(catalog.MEANINGS[name])) for name, kind in table.columns.items()
    ]
    key = ", ".join(map(markdown.code, table.key))
    return markdown.page(
        f"{FOLDER}/{table.name}.md",
        table.name,
        table.question,
        f"**{markdown.escaped(table.question)}**",
        f"Key (with `date`): {key}.",
        markdown.prose(table.method),
        markdown.section("Columns", markdown.table(("column", "type", "meaning"), rows)),
        markdown.block(f'smoke report --sql "FROM {table.name} LIMIT 10"'),
    )
