"""The results store: whole files only, and no path of a host's making."""

from __future__ import annotations

import errno
import pathlib
from collections.abc import Iterator

import pytest

from smoketests.results import store


def test_a_run_is_one_file_below_its_date(tmp_path: pathlib.Path) -> None:
    path = store.write(str(tmp_path), "abc123", "2026-11-20T03:12:05Z", ["{}", "[]"])

    assert path == str(tmp_path / "date=2026-11-20" / "031205-abc123.jsonl")
    assert pathlib.Path(path).read_text() == "{}\n[]\n"
    assert [file.name for file in (tmp_path / "date=2026-11-20").iterdir()] == ["031205-abc123.jsonl"]


@pytest.mark.parametrize(
    ("run_id", "at"),
    [("../../etc/x", "2026-11-20T03:12:05Z"), ("", "2026-11-20T03:12:05Z"), ("a", "../2026"), ("a", ""), ("a/b", "x")],
)
def test_what_is_not_a_time_or_a_run_id_never_becomes_a_path(tmp_path: pathlib.Path, run_id: str, at: str) -> None:
    with pytest.raises(ValueError, match="not a time and a run id"):
        store.write(str(tmp_path), run_id, at, [])

    assert not list(tmp_path.iterdir())


def test_a_store_that_fails_half_way_leaves_nothing_behind(tmp_path: pathlib.Path) -> None:
    def lines() -> Iterator[str]:
        yield "{}"
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        store.write(str(tmp_path), "abc", "2026-11-20T03:12:05Z", lines())

    assert not [file for file in tmp_path.rglob("*") if file.is_file()]
