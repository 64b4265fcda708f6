"""atomic_file: the old file or the whole new one, and nothing beside it."""

from __future__ import annotations

import os
import pathlib
import stat

import pytest

from agent import atomic_file


def test_the_new_file_takes_the_place_of_the_old_with_the_mode_that_was_asked_for(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "state.json"
    path.write_text("old")

    atomic_file.replace(str(path), b"new", 0o640)

    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640 & ~_umask()
    assert os.listdir(tmp_path) == ["state.json"]


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_data_and_folder_are_synced_around_the_rename(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    sync, rename = os.fsync, os.replace

    def synced(handle: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        sync(handle)

    def renamed(aside: str, path: str) -> None:
        done.append("rename")
        rename(aside, path)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", renamed)
    atomic_file.replace(str(tmp_path / "a"), b"")

    assert done == ["file", "rename", "folder"]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "state.json"
    path.write_text("old")

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        atomic_file.replace(str(path), b"new")

    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["state.json"]


def test_a_folder_that_cannot_be_synced_is_no_failure(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "O_DIRECTORY", os.O_DIRECTORY | os.O_CREAT)  # refused by the kernel

    atomic_file.replace("a", b"new")

    assert pathlib.Path("a").read_bytes() == b"new"
