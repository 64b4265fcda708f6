"""With which letters a text can begin that a regular expression matches, worked out from the expression itself."""

from __future__ import annotations

import string
import warnings
from typing import Any, Optional

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # the public name of re's own parser up to Python 3.13
    import sre_constants as kinds
    import sre_parse

LETTERS = frozenset(string.ascii_letters + "_")
CATEGORIES = {
    kinds.CATEGORY_DIGIT: frozenset(string.digits),
    kinds.CATEGORY_WORD: LETTERS | frozenset(string.digits),
    kinds.CATEGORY_SPACE: frozenset(" \t\n"),
}
# A class of more letters than these stands for any word.
MOST_LETTERS = 6

# What was read of a text so far, and whether its letters have ended.
States = set[tuple[str, bool]]


def heads(expression: str) -> Optional[set[str]]:
    """The runs of letters that a match can begin with; None if it can begin with any."""
    states = _sequence(sre_parse.parse(expression))
    if states is None or not all(ended for _text, ended in states):
        return None
    return {text for text, _ended in states}


def _sequence(parts: Any) -> Optional[States]:
    states: States = {("", False)}
    for kind, value in parts:
        ended = {state for state in states if state[1]}
        if len(ended) == len(states):
            break
        following = _part(kind, value)
        if following is None:
            return None
        states = ended | {(text + more, end) for text, done in states if not done for more, end in following}
    return states


def _part(kind: Any, value: Any) -> Optional[States]:
    if kind is kinds.LITERAL:
        return _one_of({chr(value)})
    if kind is kinds.IN:
        letters = _class(value)
        return None if letters is None or len(letters & LETTERS) > MOST_LETTERS else _one_of(letters)
    if kind is kinds.SUBPATTERN:
        return _sequence(value[-1])
    if kind is kinds.BRANCH:
        branches = [_sequence(branch) for branch in value[1]]
        return None if None in branches else {state for branch in branches for state in branch or ()}
    if kind in (kinds.MAX_REPEAT, kinds.MIN_REPEAT):
        least, most, repeated = value
        states = _sequence(repeated)
        if states is None or (most > 1 and not all(ended for _text, ended in states)):
            return None
        return states | ({("", False)} if least == 0 else set())
    return {("", False)} if kind in (kinds.AT, kinds.ASSERT, kinds.ASSERT_NOT) else None


def _one_of(characters: set[str]) -> States:
    return {(one, False) if one in LETTERS else ("", True) for one in characters}


def _class(parts: Any) -> Optional[set[str]]:
    found: set[str] = set()
    for kind, value in parts:
        if kind is kinds.LITERAL:
            found.add(chr(value))
        elif kind is kinds.RANGE:
            found.update(map(chr, range(value[0], value[1] + 1)))
        elif kind is kinds.CATEGORY and value in CATEGORIES:
            found |= CATEGORIES[value]
        else:
            return None
    return found
