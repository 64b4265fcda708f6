"""The results store: one run is one file, written aside and then renamed, so that a reader never sees half of it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

# 2026-11-20T03:12:00Z
TIME = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d):(\d\d):(\d\d)Z")
RUN_ID = re.compile(r"[0-9a-zA-Z-]{1,64}")


def path_of(store: str, run_id: str, at: str) -> str:
    """results/date=2026-11-20/031200-<run id>.jsonl. Only a checked time and run id become part of a path."""
    time = TIME.fullmatch(at)
    if not time or not RUN_ID.fullmatch(run_id):
        raise ValueError(f"not a time and a run id: {at[:40]!r}, {run_id[:80]!r}")
    day, hours, minutes, seconds = time.groups()
    return os.path.join(store, f"date={day}", f"{hours}{minutes}{seconds}-{run_id}.jsonl")


def write(store: str, run_id: str, at: str, lines: Iterable[str]) -> str:
    """Store the lines of one run; gives the path. OSError if the store cannot be written: nothing is left behind."""
    path = path_of(store, run_id, at)
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    # A leading dot: Spark and people overlook it.
    aside = os.path.join(folder, f".{os.path.basename(path)}.{os.getpid()}")
    try:
        with open(
            os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o640), "w", encoding="utf-8", errors="replace"
        ) as file:
            file.writelines(f"{line}\n" for line in lines)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    except OSError:
        if os.path.exists(aside):
            os.unlink(aside)
        raise
    _sync_folder(folder)
    return path


def _sync_folder(folder: str) -> None:
    """Make the rename itself outlive a power cut."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
