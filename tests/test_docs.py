"""What the documents say is so."""

from __future__ import annotations

import doctest
import importlib
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from smoketests.cli import smoke

ROOT = pathlib.Path(__file__).parent.parent
PACKAGES = ("agent", "docs", "playbooks", "smoketests")
MODULES = [".".join(path.relative_to(ROOT).with_suffix("").parts) for name in PACKAGES
           for path in (ROOT / name).rglob("*.py") if ">>> " in path.read_text()]  # fmt: skip


@pytest.mark.parametrize("name", sorted(smoke.list_commands(click.Context(smoke))))
def test_every_command_has_help_and_stands_in_the_readme(name: str) -> None:
    command = smoke.get_command(click.Context(smoke), name)

    assert command and command.help
    assert f"smoke {name}" in (ROOT / "README.md").read_text()


def test_the_readme_is_one_screen() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 60


def named_commands() -> Iterator[tuple[str, str]]:
    """(page, command) of each `smoke …` in the documents: in `code`, or at the beginning of a line of a block."""
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("packaging/*.md")]:
        if page.name != "CHANGELOG.md":
            text = page.read_text()
            for command in re.findall(r"^(?:scripts/)?smoke [a-z].*|(?<=`)smoke [a-z][^`]*(?=`)", text, re.MULTILINE):
                yield page.name, " ".join(command.split())


def test_every_command_and_option_that_the_documents_name_exists() -> None:
    for page, line in named_commands():
        _smoke, *words = re.split(r" [#>|] | {2,}", line)[0].split()
        command: click.Command | None = smoke
        while words and isinstance(command, click.Group) and words[0][0] not in "-…(":
            command = command.get_command(click.Context(command), words.pop(0).strip(","))
            assert command, f"{page}: {line}"
        assert command
        known = {flag for option in command.params for flag in [*option.opts, *option.secondary_opts]} | {"--help"}
        for option in re.findall(r"(?<![^\s(])--[a-z][a-z-]+", line):
            assert option in known, f"{page}: {line}: {option}"


def test_every_test_that_the_documents_name_exists() -> None:
    """Files by their whole path, functions anywhere: docs/security.md names those that hold its promises."""
    written = "".join(path.read_text() for path in ROOT.glob("tests/**/test_*.py"))
    for page in [*ROOT.glob("docs/*.md"), ROOT / "CONTRIBUTING.md"]:
        text = page.read_text()
        for path in re.findall(r"`((?:tests|bench)/[\w/]+\.(?:py|yaml|md))", text):
            assert (ROOT / path).exists() or "NAME" in path, f"{page.name}: {path}"
        for name in re.findall(r"`(test_\w+)`", text):
            assert f"def {name}(" in written, f"{page.name}: {name}"


def test_every_file_that_the_readme_links_is_there() -> None:
    for link in re.findall(r"\]\(([^)#:]+)\)", (ROOT / "README.md").read_text()):
        assert (ROOT / link).exists(), link


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_docstrings_are_true(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))

    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.skipif(not shutil.which("git"), reason="git is missing (package git)")
def test_nothing_needs_the_folder_beside_the_checkout() -> None:
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    listed = [name for name in files.split("\0") if name and (ROOT / name).exists()]
    if not listed:
        pytest.skip("not a git checkout")
    needle = "../" + "shared"

    assert not [name for name in listed if needle in (ROOT / name).read_text(errors="replace")]


@pytest.mark.skipif(not shutil.which("visudo"), reason="visudo is missing (package sudo)")
def test_the_sudoers_snippet_parses() -> None:
    answer = subprocess.run(
        ["visudo", "-cf", ROOT / "packaging/fleet-smoke.sudoers"], capture_output=True, text=True, check=False
    )

    assert answer.returncode == 0, answer.stdout + answer.stderr


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is missing (package systemd)")
def test_the_unit_is_locked_down() -> None:
    """`systemd-analyze security` grades from 0 (locked) to 10 (open); a root service without any of it has 9.6."""
    unit = ROOT / "packaging/fleet-smoke-agent.service"
    answer = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", unit], capture_output=True, text=True, check=False
    )
    grade = re.search(r"exposure level[^:]*: ([\d.]+)", answer.stdout)

    assert grade, answer.stdout + answer.stderr
    assert float(grade.group(1)) < 6.0


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is missing (package systemd)")
def test_systemd_takes_the_agents_units_without_a_word(tmp_path: pathlib.Path) -> None:
    """`verify` names unknown settings and programs that are not there."""
    for name in ("fleet-smoke-agent.service", "fleet-smoke-agent.timer"):
        text = (ROOT / "packaging" / name).read_text()
        (tmp_path / name).write_text(text.replace("/opt/fleet-smoke/bin/python", sys.executable))
    answer = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", tmp_path / "fleet-smoke-agent.service",
         tmp_path / "fleet-smoke-agent.timer"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    about = [row for row in answer.stderr.splitlines() if "fleet-smoke" in row]
    assert answer.returncode == 0 and not about, answer.stderr
