"""A host's words made safe for a terminal, a log or a monitoring system."""

from __future__ import annotations

MAX_LETTERS = 2000


def printable(text: str) -> str:
    """One line without control or invisible characters, at most MAX_LETTERS long.

    >>> printable("a\\x1b[31mb\\nc")
    'a [31mb c'
    """
    if text.isprintable() and len(text) <= MAX_LETTERS:
        return text
    shown = "".join(letter if letter.isprintable() else " " for letter in text[:MAX_LETTERS])
    return shown + "…" if len(text) > MAX_LETTERS else shown
