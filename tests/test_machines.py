"""Whole machines that tell a story: every folder of tests/machines is replayed with all checks, and must be told so.

A case needs no Python: a folder with a recording (`smoke record DIR`, or an edited copy of another), a STORY.md, and an
expected.txt that lists every finding that is neither ok nor skipped: `status check item | words; of its reason`.
"""

from __future__ import annotations

import pathlib
import shutil
from typing import NamedTuple

import pytest

from agent import engine
from agent.recording.recorded_host import ReplayHost
from agent.status import FINE, Finding
from tests.machine import STORIES, run_checks, story

NAMES = sorted(path.parent.name for path in STORIES.glob("*/machine.json"))
MOST_BYTES = 250_000


class Told(NamedTuple):
    """A line of expected.txt. words: what the reason must say, first of all which part."""

    status: str
    check: str
    item: str
    words: tuple[str, ...]


def expected(name: str) -> list[Told]:
    lines = (STORIES / name / "expected.txt").read_text().splitlines()
    found = []
    for line in lines:
        if line.strip() and not line.startswith("#"):
            subject, _, words = line.partition(" | ")
            status, check, item = subject.split(" ", 2)
            found.append(Told(status, check, item.strip(), tuple(word.strip() for word in words.split(";"))))
    return found


def troubles(findings: list[Finding]) -> dict[tuple[str, str, str], Finding]:
    return {(one.status, one.check, one.item): one for one in findings if one.status not in FINE}


def outcome(findings: list[Finding]) -> list[tuple[object, ...]]:
    """All that a finding says but how long it took."""
    return sorted(
        (one.check, one.item, one.verdict, repr(sorted(one.facts.items())), one.first_seen) for one in findings
    )


def test_there_are_stories() -> None:
    assert len(NAMES) >= 13


@pytest.mark.parametrize("name", NAMES)
def test_a_story_is_told_exactly(name: str) -> None:
    findings = run_checks(story(name))
    found = troubles(findings)

    assert not [one for one in findings if "the check failed" in one.verdict.reason]
    assert {one.check for one in findings} == set(engine.names())
    assert sorted(found) == sorted((told.status, told.check, told.item) for told in expected(name))
    for told in expected(name):
        reason = found[told.status, told.check, told.item].verdict.reason
        assert told.words[0] and all(word in reason for word in told.words), (told, reason)


@pytest.mark.parametrize("name", NAMES)
def test_a_story_is_told_the_same_each_time(name: str) -> None:
    assert outcome(run_checks(story(name))) == outcome(run_checks(story(name)))


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("healthy")])
def test_a_healthy_machine_is_left_in_peace(name: str) -> None:
    assert expected(name) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_story_is_short_and_says_what_happened(name: str) -> None:
    folder = STORIES / name

    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < MOST_BYTES
    told = (folder / "STORY.md").read_text()
    assert 2 <= len(told.splitlines()) <= 5
    assert ("Hand-made" in told) != ("Recorded for real" in told)


def test_a_case_can_be_made_from_another_with_a_text_editor(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "forgotten_setting"
    shutil.copytree(STORIES / "healthy_jbod_broker", folder)
    setting = folder / "root/proc/sys/vm/max_map_count"
    setting.write_text("65530\n")

    assert list(troubles(run_checks(ReplayHost(str(folder))))) == [("warning", "memory_maps", "vm.max_map_count")]
