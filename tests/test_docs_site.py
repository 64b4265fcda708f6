"""The site of docs/: every page that is written from the code, every link, the navigation, and the man pages."""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess

import pytest

from agent import engine
from docs.generator import checks, formats, gate_rules, manual, markdown, playbooks, site, tables
from docs.generator.manual import Manual
from smoketests import cluster, show
from smoketests.gate import rules

LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)]*))?\)")
FENCED = re.compile(r"^(`{3,}).*?^\1$", re.MULTILINE | re.DOTALL)
MANUALS = [manual.smoke_manual(), manual.agent_manual()]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The folder from which MkDocs builds."""
    folder = tmp_path_factory.mktemp("site")
    site.write(folder)
    return folder / "pages"


def text_of(made: list[markdown.Page], path: str) -> str:
    (found,) = [page for page in made if page.path == path]
    return found.text


# pages from the code


def test_there_is_a_page_for_each_check_rule_playbook_table_and_format() -> None:
    made = {page.path for section in site.generated().values() for page in section}

    assert {f"checks/{name}.md" for name in [*engine.names(), *cluster.names()]} <= made
    assert {f"gate-rules/{name}.md" for name in rules.names()} <= made
    assert {f"playbooks/{book.name}.md" for book in playbooks.known()} <= made
    assert {"tables/disks.md", "tables/failure_rates.md", "formats/checkmk.md", "formats/table.md"} <= made


def test_the_page_of_a_check_has_its_question_limits_facts_and_playbooks() -> None:
    text = text_of(checks.pages(playbooks.known()), "checks/swappiness.md")

    assert text.startswith(
        "# swappiness\n\n**Does the kernel prefer dropping page cache to swapping the broker out?**\n"
    )
    assert "\n**Warning:** " in text and "\n**Ok again:** " in text
    assert "| `swappiness_warning` | `1` |" in text
    assert "`swap_total_bytes`" in text
    assert "* [tune-os](../playbooks/tune-os.md)" in text


def test_the_page_of_a_rule_says_when_it_is_evaluated_and_links_what_it_reads() -> None:
    text = text_of(gate_rules.pages(), "gate-rules/nic_room.md")

    assert "| evaluated | before a maintenance |" in text
    assert "[nic_link](../checks/nic_link.md)" in text
    assert "| `used_percent` | `80` |" in text
    assert "--accept nic_room#ID" in text


def test_the_page_of_a_playbook_numbers_its_steps_and_marks_what_destroys() -> None:
    book = next(one for one in playbooks.known() if one.name == "replace-jbod-disk")
    text = playbooks.page(book).text
    numbers = re.findall(r"^\| (\d+) \|", text, re.MULTILINE)

    assert numbers == [str(number) for number in range(1, len(book.steps) + 1)]
    assert "**destroys data**" in text and "asks first" in text
    assert "(../checks/smart.md)" in text


def test_a_step_stays_in_its_cell_whatever_its_command_holds() -> None:
    for book in playbooks.known():
        for row in playbooks.steps(book):
            assert not [cell for cell in row if "|" in cell.replace("\\|", "")], (book.name, row)


def test_the_page_of_a_table_has_its_key_and_the_meaning_of_each_column() -> None:
    text = text_of(tables.pages(), "tables/failure_rates.md")

    assert "Key (with `date`): `model`, `firmware`." in text
    assert re.search(r"^\| `drive_days` \| [A-Z]+ \| .+ \|$", text, re.MULTILINE)


@pytest.mark.parametrize("name", [*show.FORMATS, *formats.OF_THE_AGENT])
def test_the_example_of_each_format_has_the_findings(name: str) -> None:
    text = text_of(formats.pages(), f"formats/{name}.md")

    assert "mounts" in text.partition("## Example")[2]


def test_text_from_the_code_is_shown_as_it_is() -> None:
    assert markdown.escaped("a_b * <c> `d_e|f`") == r"a\_b \* \<c\> `d_e|f`"
    assert markdown.prose("Asked.\nOk again: soon.") == "Asked.\n\n**Ok again:** soon."
    assert markdown.block("a\n```\nb") == "````text\na\n```\nb\n````"


# the whole


def test_every_link_leads_to_a_page_or_a_picture(pages: pathlib.Path) -> None:
    for path in pages.rglob("*.md"):
        for target, _anchor in LINK.findall(FENCED.sub("", path.read_text())):
            assert not target or (path.parent / target).exists(), f"{path.relative_to(pages)}: {target}"


def test_the_navigation_has_every_page_once(pages: pathlib.Path) -> None:
    def paths(node: object) -> list[str]:
        if isinstance(node, str):
            return [node]
        below = node.values() if isinstance(node, dict) else node
        assert isinstance(below, (list, type({}.values())))
        return [path for one in below for path in paths(one)]

    listed = paths(site.navigation(site.generated()))
    assert sorted(listed) == sorted(str(path.relative_to(pages)) for path in pages.rglob("*.md"))


def test_nothing_is_loaded_from_another_site(pages: pathlib.Path) -> None:
    config = (site.DOCS / "mkdocs.yml").read_text()

    assert "font: false" in config and "https://" not in config
    for path in pages.rglob("*.md"):
        assert not re.search(r"!\[[^\]]*\]\(https?:|<script|<img", path.read_text()), path


# man pages


@pytest.mark.parametrize("one", MANUALS, ids=lambda one: one.title)
def test_a_man_page_has_its_sections_in_order(one: Manual) -> None:
    heads = re.findall(r"^\.SH (.+)$", manual.roff(one), re.MULTILINE)
    order = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "COMMANDS", "EXIT STATUS", "ENVIRONMENT", "SEE ALSO"]

    assert heads == [head for head in order if head in heads]
    assert {"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS"} <= set(heads)


def test_the_man_pages_have_the_commands_and_options_that_there_are() -> None:
    smoke, agent = map(manual.roff, MANUALS)

    assert '.SS "smoke gate release' in smoke and '.SS "smoke inventory learn' in smoke
    assert "\\-\\-only\\-problems" in smoke and "SMOKE_STORE" in smoke
    assert "\\-\\-no\\-write\\-probe" in agent and "\\-\\-run\\-id" not in agent


@pytest.mark.skipif(not shutil.which("groff"), reason="groff is missing (package groff)")
@pytest.mark.parametrize("one", MANUALS, ids=lambda one: one.title)
def test_groff_formats_a_man_page_without_a_warning(one: Manual) -> None:
    formatted = subprocess.run(
        ["groff", "-man", "-Tutf8", "-K", "utf8", "-ww"],
        input=manual.roff(one), capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (formatted.returncode, formatted.stderr) == (0, "")
    assert "EXIT STATUS" in re.sub(".\x08", "", formatted.stdout)


def test_every_line_of_a_man_page_is_a_macro_that_man_knows_or_text() -> None:
    known = {".TH", ".SH", ".SS", ".PP", ".TP", ".B", ".nf", ".fi"}
    for one in MANUALS:
        for line in manual.roff(one).splitlines():
            assert line and (line.split()[0] in known or line[0] not in ".'"), line
