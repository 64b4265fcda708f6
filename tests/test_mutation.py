"""The tool that mutates modules: which changes it makes, and what it says of those that no test notices."""

from __future__ import annotations

import pathlib
import subprocess

import pytest

from tests.mutation import main, mutants, own_tests


def changes(text: str) -> set[str]:
    """The lines that the mutants of this text have in place of another."""
    return {
        line[2:] for mutant in mutants(text) for line in mutant.diff.splitlines() if line.startswith("+ ")
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("a < b", {"a <= b", "a >= b", "pass"}),
        ("x = a in b and c", {"x = a not in b and c", "x = a in b or c"}),
        ("x = not a", {"x = a"}),
        ("if a():\n    b = 1", {"if not a():", "b = 2", "b = 0"}),
        ("x = [b for b in c if b]", {"x = [b for b in c if not b]"}),
        ("x = 2.5", {"x = 3.5", "x = 1.5"}),
        ("x = True", {"x = False"}),
        ("x = a + b * c", {"x = a - b * c", "x = a + b / c"}),
        ("x = min(a)", {"x = max(a)"}),
        ("a()", {"pass"}),
        ("a.b = c", {"pass"}),
        ("a = a or b", {"pass", "a = a and b"}),
        ("a += b", {"pass", "a -= b"}),
        ("for a in b:\n    continue", {"pass"}),
        ("def f():\n    return a", {"return None"}),
        ("raise a", {"pass"}),
        ("x = f'{a - b} s'", {"x = f'{a + b} s'"}),
    ],
)
def test_a_module_is_changed_in_one_place_at_a_time(text: str, changed: set[str]) -> None:
    assert changes(text) == changed


@pytest.mark.parametrize(
    "text",
    [
        '"""A docstring with 1 number."""',
        "x = 'text'",
        "def f(a: Literal[1]) -> Literal[2]: ...",
        "@cache(1)\ndef f(): ...",
        "if TYPE_CHECKING:\n    a()",
        "if __name__ == '__main__':\n    a()",
        "def f():\n    return None",
        "x = y",
    ],
)
def test_what_no_test_of_behaviour_could_notice_is_left_alone(text: str) -> None:
    assert list(mutants(text)) == []


def test_each_mutant_is_a_whole_module_with_the_line_and_both_texts_of_its_change() -> None:
    first, second = mutants("import a\n\n# a comment\nlimit = 4\n")

    assert (first.line, first.diff, first.text) == (4, "- limit = 4\n+ limit = 5", "import a\nlimit = 5")
    assert (second.line, second.diff) == (4, "- limit = 4\n+ limit = 3")


@pytest.fixture
def tree(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A repository with a module, and a test that holds one of the two limits in it."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # none of ours is needed, and each run would load them
    files = {
        "part/__init__.py": "",
        "part/scale.py": "LEAST = 3\n\n\ndef is_enough(x):\n    return x >= LEAST\n",
        "tests/__init__.py": "",
        "tests/part/__init__.py": "",
        "tests/part/test_scale.py": "from part.scale import is_enough\n\n\n"
        "def test_three_is_enough_and_one_is_not():\n    assert is_enough(3) and not is_enough(1)\n",
        "tests/part/test_scaled.py": "def test_nothing():\n    pass\n",
        ".gitignore": "__pycache__/\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    return tmp_path


def test_what_no_test_notices_is_told_with_its_line_and_the_tree_stays_as_it_was(
    tree: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}

    assert main(["part/scale.py"], tree) == 1
    said = capfd.readouterr().out

    assert said.count("survived") == 1
    assert "part/scale.py:1: survived\n- LEAST = 3\n+ LEAST = 2\n" in said
    assert "4 of 5 mutants killed, 80 % (at least 85 %)" in said
    assert {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()} == before


def test_a_lower_threshold_or_other_lines_are_what_the_exit_code_is_about(tree: pathlib.Path) -> None:
    assert main(["part/scale.py", "--lines", "1", "--least", "50"], tree) == 0
    assert main(["part/scale.py", "--lines", "5-9"], tree) == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["part/none.py"], "no test file carries the name"),
        (["part/scale.py", "tests/part/test_scaled.py"], "do not import part/scale.py"),
        (["part/none.py", "tests/part/test_scaled.py"], "No such file"),
    ],
)
def test_tests_that_cannot_judge_a_module_are_refused(
    tree: pathlib.Path, capfd: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert main(arguments, tree) == 2
    assert words in capfd.readouterr().err


def test_tests_that_fail_without_a_mutant_are_refused(tree: pathlib.Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tree / "part/scale.py").write_text("def is_enough(x):\n    return False\n")

    assert main(["part/scale.py"], tree) == 2
    assert "fail on the module as it is" in capfd.readouterr().err


def test_a_mutant_that_never_ends_is_noticed(tree: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.mutation.SLOWEST_S", 0.5)
    monkeypatch.setattr("tests.mutation.TIMES_SLOWER", 0)
    (tree / "part/scale.py").write_text("def is_enough(x):\n    while not x:\n        pass\n    return x == 3\n")

    assert main(["part/scale.py", "--lines", "2"], tree) == 0


def test_a_modules_tests_are_found_by_its_name_beside_it_or_else_anywhere_in_its_package(tree: pathlib.Path) -> None:
    (tree / "tests/part/test_scale_of_hosts.py").write_text("")
    (tree / "tests/part/inner").mkdir()
    (tree / "tests/part/inner/test_deep.py").write_text("")

    assert own_tests("part/scale.py", tree) == ["tests/part/test_scale.py", "tests/part/test_scale_of_hosts.py"]
    assert own_tests("part/other/deep.py", tree) == ["tests/part/inner/test_deep.py"]
    assert own_tests("part/sca.py", tree) == []
