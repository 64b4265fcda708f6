"""A host's words made safe for a terminal."""

from __future__ import annotations

import unicodedata

MAX_LETTERS = 2000

# Cc control, Cf invisible marks such as bidirectional overrides, Cs surrogates, Co private, Cn unassigned, Zl/Zp breaks
UNSAFE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def printable(text: str) -> str:
    """One line without control characters, at most MAX_LETTERS long.

    >>> printable("a\\x1b[31mb\\nc")
    'a [31mb c'
    """
    shown = "".join(" " if unicodedata.category(letter) in UNSAFE else letter for letter in text[:MAX_LETTERS])
    return shown + "…" if len(text) > MAX_LETTERS else shown
