"""The whole site: pages by hand, pages from the code and pages of the root, in a folder from which MkDocs builds."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence

from docs.generator import checks, formats, gate_rules, manual, playbooks, tables
from docs.generator.markdown import Page

ROOT = pathlib.Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
# untracked: what is made from the code is never out of date and in nobody's diff
BUILD = ROOT / "build" / "docs"
# pages that live elsewhere in the tree, by their path in the site
ELSEWHERE = {
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
    "measurements.md": "bench/README.md",
    "packaging.md": "packaging/README.md",
}
# what pages show or offer
ATTACHED = (".svg", ".png", ".json")
LINK = re.compile(r"\[([^\]]*)\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)]*)?\)")
# the navigation: hand-written pages by path, generated sections by folder
NAVIGATION: Sequence[tuple[str, Sequence[tuple[str, str]]]] = (
    ("Home", [("Overview", "index.md"), ("Quick start", "quick-start.md")]),
    ("Concepts", [("Concepts", "concepts.md"), ("Glossary", "glossary.md"), ("Architecture", "architecture.md")]),
    (
        "Guides",
        [
            ("Many hosts", "many-hosts.md"),
            ("Inventory", "inventory.md"),
            ("Gate", "gate.md"),
            ("Placement", "placement.md"),
            ("Playbooks", "playbooks.md"),
            ("Nightly job", "nightly.md"),
            ("Tables", "tables.md"),
            ("pytest", "pytest.md"),
            ("On one machine", "packaging.md"),
        ],
    ),
    ("Security", [("Security", "security.md")]),
    ("Performance", [("Performance", "performance.md"), ("Measurements", "measurements.md")]),
    (
        "Contributing",
        [
            ("Contributing", "contributing.md"),
            ("House style", "style.md"),
            ("Virtual rack", "rack.md"),
            ("Changelog", "changelog.md"),
        ],
    ),
)


def generated() -> dict[str, list[Page]]:
    """Section -> its pages, the index first."""
    books = playbooks.known()
    of_checks, of_rules, of_tables, of_formats = (
        checks.pages(books),
        gate_rules.pages(),
        tables.pages(),
        formats.pages(),
    )
    of_playbooks = playbooks.pages(books)
    return {
        "Commands": manual.pages(),
        "Checks": [checks.index(of_checks), *of_checks],
        "Gate rules": [gate_rules.index(of_rules), *of_rules],
        "Playbook reference": [playbooks.index(of_playbooks), *of_playbooks],
        "Table reference": [tables.index(of_tables), *of_tables],
        "Output formats": [formats.index(of_formats), *of_formats],
    }


def navigation(sections: dict[str, list[Page]]) -> list[object]:
    """MkDocs' `nav`: by hand first, then what is made."""
    guides: list[object] = [{title: [{name: path} for name, path in entries]} for title, entries in NAVIGATION]
    made = {title: [{page.title: page.path} for page in pages] for title, pages in sections.items()}
    return [*guides, {"Reference": [{title: entries} for title, entries in made.items()]}]


def sources() -> Iterator[tuple[str, str]]:
    """(path in the site, text) of each page that somebody wrote."""
    for path in sorted(DOCS.glob("*.md")):
        yield path.name, path.read_text()
    for name, place in ELSEWHERE.items():
        yield name, relinked((ROOT / place).read_text(), pathlib.PurePosixPath(place).parent)


def relinked(text: str, folder: pathlib.PurePosixPath) -> str:
    """Links of a page in `folder` of the repository, for the site: those to files that the site lacks become text.

    >>> relinked("[a](docs/gate.md#x), [b](bench/many.py)", pathlib.PurePosixPath("."))
    '[a](gate.md#x), b'
    """
    moved = {place: name for name, place in ELSEWHERE.items()}

    def there(match: re.Match[str]) -> str:
        label, target, anchor = match.groups("")
        path = os.path.normpath(folder / target)
        page = moved.get(path, path.removeprefix("docs/") if path.startswith("docs/") else "")
        return f"[{label}]({page}{anchor})" if page else label

    return LINK.sub(there, text)


def write(folder: pathlib.Path) -> None:
    """Everything that MkDocs needs, in `folder`: mkdocs.yml and pages/."""
    pages = folder / "pages"
    shutil.rmtree(pages, ignore_errors=True)
    pages.mkdir(parents=True)
    for name, text in sources():
        (pages / name).write_text(text)
    for path in DOCS.rglob("*"):
        if path.suffix in ATTACHED:
            target = pages / path.relative_to(DOCS)
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(path, target)
    sections = generated()
    for page in (page for made in sections.values() for page in made):
        (pages / page.path).parent.mkdir(exist_ok=True)
        (pages / page.path).write_text(page.text)
    # JSON is YAML
    own = {"INHERIT": str(DOCS / "mkdocs.yml"), "docs_dir": "pages", "site_dir": "site", "nav": navigation(sections)}
    (folder / "mkdocs.yml").write_text(json.dumps(own, indent=1))


def write_manuals(folder: pathlib.Path) -> list[pathlib.Path]:
    """smoke.1 and smoke-agent.8."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for one in (manual.smoke_manual(), manual.agent_manual()):
        path = folder / f"{one.title}.{one.section}"
        path.write_text(manual.roff(one))
        paths.append(path)
    return paths


def build(folder: pathlib.Path = BUILD, serve: bool = False) -> int:
    """MkDocs' exit code; a warning is an error."""
    write(folder)
    verb = ["serve"] if serve else ["build", "--quiet"]
    argv = [sys.executable, "-m", "mkdocs", *verb, "--strict", "--config-file", str(folder / "mkdocs.yml")]
    # Material's advertisement of its successor is no warning of ours
    return subprocess.run(argv, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, check=False).returncode
