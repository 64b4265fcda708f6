"""The file-system worker's search of a log: what is new in it, over rotation, and nothing twice."""

from __future__ import annotations

import os
import pathlib

import pytest

from agent.machine import fs_worker

NEEDLE = "OutOfMemoryError"
OOM = "java.lang.OutOfMemoryError: Java heap space\n"


@pytest.fixture()
def log(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "server.log"
    path.write_text("[1] start\n")
    return path


class Reader:
    """Searches again and again from where it stopped, as the check does."""

    def __init__(self, path: pathlib.Path, limit: int = 1 << 20) -> None:
        self.path, self.limit, self.end, self.inode = path, limit, 0, 0

    def text(self) -> str:
        found = fs_worker.touch_search(str(self.path), self.end, self.inode, self.limit, NEEDLE)
        self.end, self.inode = found["end"], found["inode"]
        return str(found["text"])


def append(path: pathlib.Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_a_line_is_found_once_with_the_line_before_it(log: pathlib.Path) -> None:
    reader = Reader(log)
    assert reader.text() == ""
    append(log, "[2] well\n[3] ERROR\n" + OOM + "\tat kafka\n")

    assert reader.text() == "[3] ERROR\n" + OOM
    assert reader.text() == ""


def test_lines_next_to_each_other_are_given_once(log: pathlib.Path) -> None:
    log.write_text(OOM + OOM + "[4]\n" + OOM)

    assert Reader(log).text() == OOM + OOM + "[4]\n" + OOM


def test_half_a_line_is_left_for_the_next_time(log: pathlib.Path) -> None:
    reader = Reader(log)
    append(log, OOM[:-1])
    assert reader.text() == ""
    append(log, "\n")
    assert reader.text().endswith(OOM)


def test_what_was_written_before_each_of_two_rotations_is_found(log: pathlib.Path) -> None:
    reader = Reader(log)
    append(log, "seen " + OOM)
    assert reader.text().count(NEEDLE) == 1

    append(log, "first " + OOM)
    log.rename(f"{log}.2026-11-18-10")
    os.utime(f"{log}.2026-11-18-10", (1000, 1000))
    log.write_text("second " + OOM)
    log.rename(f"{log}.2026-11-18-11")
    os.utime(f"{log}.2026-11-18-11", (2000, 2000))
    log.write_text("third " + OOM)
    old = log.with_name("server.log.2026-11-18-09")
    old.write_text("ancient " + OOM)
    os.utime(old, (500, 500))

    assert [row.split()[0] for row in reader.text().splitlines() if NEEDLE in row] == ["first", "second", "third"]
    assert reader.text() == ""


def test_a_log_cut_short_is_read_from_its_start(log: pathlib.Path) -> None:
    reader = Reader(log)
    append(log, "x" * 1000 + "\n")
    assert reader.text() == ""
    log.write_text(OOM)

    assert reader.text() == OOM


def test_only_the_end_of_a_long_log_is_searched_and_that_is_said(log: pathlib.Path) -> None:
    log.write_text(OOM + "x" * 5000 + "\n" + "last " + OOM)
    found = fs_worker.touch_search(str(log), 0, 0, 1000, NEEDLE)

    assert found["text"].count(NEEDLE) == 1 and found["skipped_bytes"] == log.stat().st_size - 1000


def test_lines_with_any_of_several_needles_come_once_and_in_order(log: pathlib.Path) -> None:
    log.write_text("[1] a\n[2] blue\n[3] red and blue\n[4] c\n[5] d\n[6] red\n")

    found = fs_worker.touch_search(str(log), 0, 0, 1000, "red|blue")
    assert [row[1] for row in found["text"].splitlines()] == ["1", "2", "3", "5", "6"]


def test_what_a_rotated_log_holds_beyond_the_limit_is_said(log: pathlib.Path) -> None:
    reader = Reader(log, limit=100)
    reader.text()
    append(log, "x" * 500 + "\n")
    log.rename(f"{log}.1")
    log.write_text("new\n")

    assert fs_worker.touch_search(str(log), reader.end, reader.inode, 100, NEEDLE)["skipped_bytes"] == 401


def test_a_link_is_read_and_not_followed(tmp_path: pathlib.Path) -> None:
    (tmp_path / "link").symlink_to("/no/such/place")

    assert fs_worker.touch_link(str(tmp_path / "link")) == {"target": "/no/such/place"}


def rotated(log: pathlib.Path, times: int, text: str = OOM) -> Reader:
    """A log that was rotated so many times since it was read."""
    reader = Reader(log, limit=1000)
    reader.text()
    for number in range(times):
        old = log.with_name(f"{log.name}.{number}")
        log.rename(old)
        os.utime(old, (1000 + number, 1000 + number))
        log.write_text(f"[{number + 1}] {text}")
    return reader


def test_a_log_that_was_rotated_without_end_is_followed_through_its_newest_files(log: pathlib.Path) -> None:
    reader = rotated(log, 120, "x" * 10 + "\n" + OOM)
    reader.limit = 1 << 20
    rows = [row for row in reader.text().splitlines() if row.startswith("[")]

    assert rows[-1].startswith("[120]")
    assert len(rows) == fs_worker.MOST_ROTATED + 1


def test_of_rotated_logs_together_no_more_is_searched_than_of_the_log(log: pathlib.Path) -> None:
    reader = rotated(log, 10, "x" * 290 + "\n" + OOM)
    found = fs_worker.touch_search(str(log), reader.end, reader.inode, 1000, NEEDLE)

    assert found["text"].count(NEEDLE) <= 5
    assert found["skipped_bytes"] > 1500


def test_what_stands_beside_a_log_as_a_link_is_not_followed(log: pathlib.Path, tmp_path: pathlib.Path) -> None:
    reader = rotated(log, 1)
    reader.limit = 1 << 20
    (tmp_path / "secret").write_text("secret " + OOM)
    (tmp_path / "server.log.9").symlink_to(tmp_path / "secret")

    assert "secret" not in reader.text()
