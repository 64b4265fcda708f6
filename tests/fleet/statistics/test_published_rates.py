"""A file of published failure rates: what is wrong with it is named before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleet import nightly
from fleet.statistics import published_rates
from fleet.statistics.published_rates import BadRates
from tests.fleet.history import NIGHT


def test_a_file_gives_models_and_rates(tmp_path: Path) -> None:
    path = tmp_path / "rates.yaml"
    path.write_text("source: a quarterly report\nrates:\n  ST8000NM0055: 1.2\n  'HGST HUH728080ALE600': 1\n")

    assert published_rates.read(str(path)) == {"ST8000NM0055": 1.2, "HGST HUH728080ALE600": 1.0}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expected `rates`"),
        ("rates: [1]", "expected `rates`"),
        ("rates: {}\nrate: {}", "expected `rates`"),
        ("rates: {A: 1.2 %}", "'A': '1.2 %' is not a rate in percent a year"),
        ("rates: {A: 0}", "'A': 0 is not a rate"),
        ("rates: {A: -1}", "'A': -1 is not a rate"),
        ("rates: {A: 120}", "'A': 120 is not a rate"),
        ("rates: {A: .nan}", "'A': nan is not a rate"),
        ("rates: {A: true}", "'A': True is not a rate"),
        ("rates: {1: 2}", "1: 2 is not a rate"),
        ("rates: {", "rates.yaml: while parsing"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "rates.yaml"
    path.write_text(text)

    with pytest.raises(BadRates, match=r"rates\.yaml") as refused:
        published_rates.read(str(path))

    assert words in str(refused.value)


def test_it_is_read_before_anything_is_started(tmp_path: Path) -> None:
    wanted = nightly.Wanted(str(tmp_path), NIGHT, published=str(tmp_path / "missing.yaml"))

    with pytest.raises(BadRates, match="No such file"):
        nightly.check(wanted)


def test_the_example_in_the_docs_is_one(tmp_path: Path) -> None:
    page = (Path(nightly.__file__).parent.parent / "docs/nightly.md").read_text()
    (text,) = [block for block in page.split("```") if "# published-rates.yaml" in block]
    path = tmp_path / "rates.yaml"
    path.write_text(text.removeprefix("yaml"))

    assert "example" in text
    assert published_rates.read(str(path)) != {}
