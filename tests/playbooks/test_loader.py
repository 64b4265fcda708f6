"""A playbook file is either usable or refused, with the place of everything that is wrong."""

from __future__ import annotations

import pathlib
import textwrap

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from playbooks.loader import PlaybookError, files, load, parse

FOLDER = pathlib.Path(__file__).parent / "folder"
GOOD = yaml.safe_load((FOLDER / "quiet-swap.yaml").read_text())


def problems(steps: str, needs: str = "{}", more: str = "") -> list[str]:
    """What is wrong with a playbook of these steps, each as `line: words`."""
    text = "title: A test of something\nmeans: what it means here\nrisk: what is at risk here\n"
    text += f"needs: {needs}\n{more}steps:\n{textwrap.indent(textwrap.dedent(steps).strip(), '  ')}\n"
    try:
        parse(text.encode(), "book.yaml")
    except PlaybookError as error:
        return [str(problem) for problem in error.problems]
    return []


def test_a_playbook_is_read_with_all_that_it_says() -> None:
    playbook = load(str(FOLDER / "quiet-swap.yaml"))

    assert playbook.name == "quiet-swap" and playbook.safe and playbook.changes
    assert [step.kind for step in playbook.steps] == ["run", "run", "check"]
    assert playbook.steps[1].done[0] == "grep"
    assert playbook.steps[2].name == "swappiness is ok"
    assert [str(name) for name in playbook.steps[1].uses()] == ["{host.name}", "{run.id}"]


@pytest.mark.parametrize(
    ("steps", "needs", "words"),
    [
        ("- {name: Look at it, run: [lsblk, '{disk.device}']}", "{}", "{disk.device} has no value"),
        ("- {name: Look at it, run: [lsblk, '{dsk.device}']}", "{disk: jbod-disk}", "did you mean 'disk'?"),
        ("- {name: Look at it, run: [lsblk, '{disk.divice}']}", "{disk: jbod-disk}", "did you mean 'device'?"),
        ("- {name: Look at it, run: [lsblk, '{disk}']}", "{disk: jbod-disk}", "expected the form {disk.serial}"),
        ("- {name: Look at it, run: [awk, '{print}']}", "{}", "expected the form {disk.serial}"),
        ("- {name: Look at it, run: [echo, 'a}']}", "{}", "unmatched }; write }} for a literal brace"),
        ("- {name: Look at it, run: [sh, -c, lsblk]}", "{}", "without a shell"),
        ("- {name: Look at it, run: [env, A=b, bash, -ec, lsblk]}", "{}", "without a shell"),
        ("- {name: Look at it, run: [sudo, lsblk]}", "{}", "added automatically"),
        ("- {name: Look at it, run: [perl, -e, 'print {disk.size_bytes}']}", "{disk: jbod-disk}", "in program text"),
        ("- {name: Look at it, run: ['{disk.device}']}", "{disk: jbod-disk}", "the program must be a literal name"),
        ("- {run: [lsblk]}", "{}", "requires a `name`"),
        ("- {name: Look at it, run: [lsblk], check: mounts}", "{}", "not one step: it has exactly one of gate"),
        ("- {name: Look at it}", "{}", "not one step: it has exactly one of gate"),
        ("- {wait: It is well again}", "{}", "not one step: it has exactly one of gate"),
        ("- {check: mount}", "{}", "no check named 'mount'; did you mean 'mounts'?"),
        ("- {check: mounts, undo: [ls]}", "{}", "undo has no meaning in a step with `check`"),
        ("- {check: mounts, when: it rains}", "{}", "expected a condition such as"),
        ("- {gate: replace}", "{}", "gate: 'replace' is not one of"),
        ("- {name: Look at it, run: lsblk}", "{}", "run: 'lsblk' is not a list"),
        ("- {name: Look at it, run: [sleep, 5]}", "{}", "5 is not a text"),
        ("- {name: Look at it, runs: [lsblk]}", "{}", "did you mean 'run'?"),
        ("- {check: mounts, status: fine}", "{}", "status: 'fine' is not one of ok, warning"),
        ("- {wait: It is well, check: raid, deadline: soon}", "{}", "deadline: 'soon' is not a time such as 90s"),
        ("- {check: mounts}", "{disk: jbod-disc}", "disk: 'jbod-disc' is not one of"),
        ("- {check: mounts}", "{disk: jbod-disk}", "disk is listed under `needs`, but no step uses it"),
        ("- {name: Make it, run: [mkfs.xfs, '{new.device}'], destroys: knew}", "{new: empty-disk}", "did you mean"),
        ("- {name: Make it, run: [mkfs.xfs, /dev/sdx], destroys: new}", "{new: empty-disk}", "does not name it"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_place(steps: str, needs: str, words: str) -> None:
    found = problems(steps, needs)

    assert any(words in problem for problem in found), found
    assert all(problem.startswith("book.yaml:") and problem.split(":")[1].isdigit() for problem in found)


def test_a_safe_playbook_destroys_nothing_and_asks_no_person() -> None:
    assert problems("- confirm: The disk was pulled", more="safe: true\n")
    assert problems("- {name: Make it, run: [mkfs.xfs, '{new.device}'], destroys: new}", "{new: empty-disk}",
                    more="safe: true\n")  # fmt: skip
    assert not problems("- check: mounts", more="safe: true\n")


def test_what_is_missing_is_named() -> None:
    with pytest.raises(PlaybookError, match=r"book\.yaml:1:1: risk is missing"):
        parse(b"title: abc\nmeans: what it means\nsteps: [{check: mounts}]", "book.yaml")


def test_a_folder_of_the_site_adds_playbooks_and_replaces_ours(tmp_path: pathlib.Path) -> None:
    (tmp_path / "quiet-swap.yaml").write_text("title: ours")
    (tmp_path / "notes.txt").write_text("no playbook")

    assert files([str(FOLDER), str(tmp_path)])["quiet-swap"] == str(tmp_path / "quiet-swap.yaml")
    with pytest.raises(PlaybookError, match="cannot be read"):
        files([str(tmp_path / "none")])


@given(st.binary(max_size=400))
def test_rubbish_is_refused_in_words(data: bytes) -> None:
    with pytest.raises(PlaybookError):
        parse(data, "book.yaml")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@given(st.sampled_from([*GOOD, "needs"]), JSON)
def test_a_key_of_rubbish_is_refused_in_words_or_means_something(key: str, value: object) -> None:
    try:
        parse(yaml.safe_dump({**GOOD, key: value}).encode(), "book.yaml")
    except PlaybookError as error:
        assert error.problems


@given(st.sampled_from(["name", "run", "input", "done", "undo", "when", "check", "gate", "wait", "every"]), JSON)
def test_a_step_of_rubbish_is_refused_in_words_or_means_something(key: str, value: object) -> None:
    step = {**GOOD["steps"][1], key: value}
    try:
        parse(yaml.safe_dump({**GOOD, "steps": [step]}).encode(), "book.yaml")
    except PlaybookError as error:
        assert error.problems
