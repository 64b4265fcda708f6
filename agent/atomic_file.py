"""A file that is written aside and renamed: readers find the old one or the whole new one, even after a power cut."""

from __future__ import annotations

import contextlib
import os


def replace(path: str, data: bytes, mode: int = 0o600) -> None:
    """Put `data` in place of what is there. The folder must exist. OSError: the old file stands and nothing is left.

    The file aside begins with a dot, so that listings and Spark overlook it should the machine die meanwhile.
    """
    folder, name = os.path.split(path)
    aside = os.path.join(folder, f".{name}.{os.urandom(4).hex()}")
    try:
        with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    finally:
        with contextlib.suppress(OSError):  # renamed, or never made
            os.unlink(aside)
    sync_folder(folder)


def sync_folder(folder: str) -> None:
    """Make a rename in it outlive a power cut; some file systems cannot, and need not fail for it."""
    with contextlib.suppress(OSError):
        handle = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
