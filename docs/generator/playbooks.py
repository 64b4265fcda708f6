"""One page for each playbook: what `smoke playbook show NAME` prints, with links to the checks that lead to it."""

from __future__ import annotations

from docs.generator import markdown
from docs.generator.markdown import Page
from playbooks import loader, show
from playbooks.model import Playbook, Step

FOLDER = "playbooks"
INTRO = """One page for each playbook, written from its file. `smoke playbook show NAME` prints the same on a terminal;
[Playbooks](../playbooks.md) explains how to plan, run and resume one."""
MARKS = {" ": "", "?": "asks first", "!": "**destroys data**"}


def known() -> list[Playbook]:
    """The playbooks of this project, by name."""
    found = loader.files(loader.folders(environment={}))
    return [loader.load(path) for _name, path in sorted(found.items())]


def pages(books: list[Playbook]) -> list[Page]:
    return [page(one) for one in books]


def index(made: list[Page]) -> Page:
    return markdown.index(FOLDER, "Playbook reference", INTRO, made)


def page(one: Playbook) -> Page:
    safe = "Safe: `run --yes` may confirm each step." if one.safe else ""
    return markdown.page(
        f"{FOLDER}/{one.name}.md",
        one.name,
        one.title,
        f"**{markdown.escaped(one.title)}**",
        markdown.section("Meaning", markdown.escaped(one.means)),
        markdown.section("Risk", markdown.escaped(one.risk)),
        safe,
        markdown.escaped(show.ROLLING) if one.rolling else "",
        markdown.section("Findings that lead here", findings(one)),
        markdown.section("Steps", markdown.table(("", "step", "", "what"), steps(one))),
        markdown.block(f"smoke playbook plan {one.name} -i prod.yaml --host HOST"),
    )


def findings(one: Playbook) -> str:
    """A line each, for a check or for some of its items."""
    lines = []
    for finding in one.findings:
        of = f", item {markdown.code(finding.item)}" if finding.item else ""
        on = f", layout {markdown.code(finding.layout)}" if finding.layout else ""
        lines.append(f"* [{finding.check}](../checks/{finding.check}.md){of}{on}")
    return "\n".join(dict.fromkeys(lines))


def steps(one: Playbook) -> list[tuple[str, str, str, str]]:
    return [
        (str(number), markdown.escaped(step.name), MARKS[show.mark(step)], what(step))
        for number, step in enumerate(one.steps, 1)
    ]


def what(step: Step) -> str:
    """Commands as code, all else as text; a bar would end the table's cell."""
    text = show.what(step)
    shown = f"<code>{_html(text)}</code>" if step.run else markdown.escaped(text)
    condition = f" (only when <code>{_html(str(step.when))}</code>)" if step.when else ""
    return shown + condition


def _html(text: str) -> str:
    """As HTML in a table's cell: signs that Markdown would read are written as numbers."""
    return "".join(sign if sign.isalnum() or sign in " ./-," else f"&#{ord(sign)};" for sign in text)
