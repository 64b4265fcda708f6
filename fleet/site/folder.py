"""The pages on the disk: written into a folder aside and shown at once, by the exchange of one link.

In DIR: `pages-…` holds the pages, `current` is a link to it, and the names in NAMES are links into `current`. What else
lies in DIR is left alone.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import uuid
from collections.abc import Iterable, Iterator

CURRENT = "current"
NAMES = ("index.html", "style.css", "clusters", "disks", "findings", "hosts", "models", "pictures", "summaries")
PAGES = re.compile(r"pages-[0-9a-f]{32}")
LOCK = ".lock"
# Made by fleet/digest/page_paths.py: nothing that a host says gets this far.
PATH = re.compile(r"(?:[a-z]+/)?[a-zA-Z0-9][a-zA-Z0-9.-]{0,120}")


class NotWritten(Exception):
    """The pages could not be written, and this is why; those of before are still there."""


def check(folder: str) -> None:
    """Raises NotWritten if something that is not ours has one of the names, before anything else is done."""
    if os.path.lexists(folder) and not os.path.isdir(folder):
        raise NotWritten(f"{folder} is no folder")
    for name in (CURRENT, *NAMES):
        path = os.path.join(folder, name)
        if os.path.lexists(path) and not _is_ours(path, name):
            raise NotWritten(f"{path} exists and is not a page of smoke nightly: --site requires a folder of its own")


def _is_ours(path: str, name: str) -> bool:
    if not os.path.islink(path):
        return False
    target = os.readlink(path)
    return bool(PAGES.fullmatch(target)) if name == CURRENT else target == f"{CURRENT}/{name}"


def write(folder: str, pages: Iterable[tuple[str, bytes]]) -> int:
    """Write all pages (path and content) and show them; what was shown before is removed. Gives how many there are."""
    try:
        check(folder)
        os.makedirs(folder, exist_ok=True)
        with _alone(folder):
            _sweep(folder)
            aside = f"pages-{uuid.uuid4().hex}"
            try:
                count = len(_write_aside(os.path.join(folder, aside), pages))
                _show(folder, aside)
            finally:
                _sweep(folder)
    except OSError as error:
        raise NotWritten(f"{error.filename or folder}: {error.strerror or error}") from None
    return count


def add(folder: str, pages: Iterable[tuple[str, bytes]]) -> int:
    """Add to the pages that are shown, each by a rename, or replace some of them; gives how many. Raises NotWritten."""
    try:
        check(folder)
        if not os.path.exists(os.path.join(folder, CURRENT)):
            raise NotWritten(f"{folder} has no pages yet: smoke nightly --site {folder} writes them")
        with _alone(folder):
            shown = os.readlink(os.path.join(folder, CURRENT))
            aside = os.path.join(folder, f"pages-{uuid.uuid4().hex}")
            try:
                paths = _write_aside(aside, pages)
                for path in paths:
                    os.makedirs(os.path.dirname(os.path.join(folder, shown, path)), exist_ok=True)
                    os.replace(os.path.join(aside, path), os.path.join(folder, shown, path))
                _link_names(folder)
            finally:
                _sweep(folder)
    except OSError as error:
        raise NotWritten(f"{error.filename or folder}: {error.strerror or error}") from None
    return len(paths)


@contextlib.contextmanager
def _alone(folder: str) -> Iterator[None]:
    with open(os.path.join(folder, LOCK), "a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise NotWritten(f"another job is writing the pages in {folder}") from None
        yield


def _write_aside(root: str, pages: Iterable[tuple[str, bytes]]) -> list[str]:
    os.mkdir(root)
    for name in NAMES:
        if "." not in name:
            os.mkdir(os.path.join(root, name))
    paths = []
    for path, content in pages:
        if not PATH.fullmatch(path):
            raise NotWritten(f"{path!r} is no path of a page")
        with open(os.path.join(root, path), "xb") as file:
            file.write(content)
        paths.append(path)
    return paths


def _show(folder: str, aside: str) -> None:
    """From the rename of `current` on, every name leads to the new pages."""
    link = os.path.join(folder, f".{aside}")
    os.symlink(aside, link)
    os.replace(link, os.path.join(folder, CURRENT))
    _link_names(folder)


def _link_names(folder: str) -> None:
    for name in NAMES:
        if not os.path.lexists(os.path.join(folder, name)):
            os.symlink(f"{CURRENT}/{name}", os.path.join(folder, name))


def _sweep(folder: str) -> None:
    """What a killed job left behind, and what is shown no more."""
    current = os.path.join(folder, CURRENT)
    shown = os.readlink(current) if os.path.islink(current) else ""
    for name in os.listdir(folder):
        if PAGES.fullmatch(name) and name != shown:
            shutil.rmtree(os.path.join(folder, name))
        elif PAGES.fullmatch(name.removeprefix(".")) and name.startswith("."):
            os.unlink(os.path.join(folder, name))
