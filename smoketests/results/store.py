"""The results store: one run is one file, written aside and then renamed, so that no reader sees a partial file."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator

from agent import atomic_file

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


class Writer:
    """One run's file, written while its hosts answer. It becomes visible, whole, with `end()`.

    OSError if the store cannot be written: nothing is left behind. A run that is killed leaves a file that begins
    with a dot: Spark and people overlook it.
    """

    def __init__(self, store: str, run_id: str, at: str) -> None:
        self.path = path_of(store, run_id, at)
        self._folder = os.path.dirname(self.path)
        os.makedirs(self._folder, exist_ok=True)
        self._aside = os.path.join(self._folder, f".{os.path.basename(self.path)}.{os.getpid()}")
        self._file = open(  # noqa: SIM115  closed by __exit__
            os.open(self._aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o640), "w", encoding="utf-8", errors="replace"
        )

    def write(self, lines: Iterable[str]) -> None:
        """Records of one host, or of the clusters."""
        self._file.writelines(f"{line}\n" for line in lines)

    def end(self, keep: bool = True) -> None:
        """Make it visible, or leave nothing behind."""
        try:
            if keep:
                self._file.flush()
                os.fsync(self._file.fileno())
                os.replace(self._aside, self.path)
        finally:
            with contextlib.suppress(OSError):  # what could not be flushed is lost, and was told above
                self._file.close()
            with contextlib.suppress(FileNotFoundError):  # renamed
                os.unlink(self._aside)
        if keep:
            atomic_file.sync_folder(self._folder)


class Keeping:
    """A Writer that spoils no run: what went wrong is in `problem`, and then nothing is kept."""

    def __init__(self, store: str, run_id: str, at: str) -> None:
        self.problem = ""
        self._store = store
        self._writer: Writer | None = None
        with self._noted():
            self._writer = Writer(store, run_id, at)

    def write(self, lines: Iterable[str]) -> None:
        if self._writer:
            with self._noted():
                self._writer.write(lines)

    def end(self, keep: bool = True) -> None:
        """Make it visible, or not."""
        writer, self._writer = self._writer, None
        if writer:
            with self._noted():
                writer.end(keep)

    @contextlib.contextmanager
    def _noted(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as error:
            self.problem = f"cannot store the report in {self._store}: {error}"
            self.end(keep=False)


def write(store: str, run_id: str, at: str, lines: Iterable[str]) -> str:
    """Store the lines of one run; gives the path."""
    run = Writer(store, run_id, at)
    whole = False
    try:
        run.write(lines)
        whole = True
    finally:
        run.end(keep=whole)
    return run.path
