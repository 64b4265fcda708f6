"""No sentence that a user can read has a phrase that docs/style.md bans: python -m tests.language lists them all."""

from __future__ import annotations

import pathlib

import pytest

from tests import language

PHRASES = language.banned(language.STYLE.read_text())

# Whoever rewrites the last sentence of an area takes it out; nothing is ever added.
NOT_YET_CLEAN = {
    "CHANGELOG.md",
}

CODE = '''
"""A module's docstring\n    that looks as ever."""
import click

@click.command()
def command() -> None:
    """In words."""

def function() -> str:
    """Not told."""
    return f"{command} is told" f" of {'nobody'}"
'''


def sentences(code: str) -> list[str]:
    return [sentence.text for sentence in language.in_code(pathlib.Path("x.py"), code)]


def test_the_style_has_phrases_to_ban_with_what_to_write_instead() -> None:
    assert len(PHRASES) >= 40
    assert PHRASES["anew"] == PHRASES["begun"] != ""
    assert all(phrase == phrase.lower() for phrase in PHRASES)


def test_the_sentences_of_code_are_its_literals_and_the_docstrings_that_users_see() -> None:
    assert sentences(CODE) == ["A module's docstring that looks as ever.", "In words.", "{} is told of {}", "nobody"]


def test_phrases_are_found_as_whole_words_across_literals_and_lines(tmp_path: pathlib.Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Title\n\nIt is told\nof a thing.\n\n* Retold offers, anewness\n* Started ANEW.\n")
    found = language.hits(str(page), PHRASES)

    assert [(hit.sentence.line, hit.phrase) for hit in found] == [(3, "told of"), (7, "anew")]


@pytest.mark.parametrize("area", language.areas())
def test_sentences_are_in_the_house_style(area: str) -> None:
    found = language.hits(area, PHRASES)
    if area in NOT_YET_CLEAN:
        assert found, f"{area} is clean: take it out of NOT_YET_CLEAN"
    else:
        assert not found, "\n".join(map(str, ["", *found]))


def test_no_area_that_is_gone_is_waited_for() -> None:
    assert set(language.areas()) >= NOT_YET_CLEAN
