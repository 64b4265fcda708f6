"""The forms that lines of the kernel can have, and how to find that of a line without trying them all."""

from __future__ import annotations

import re
from typing import Dict, Generic, List, Match, Pattern, Protocol, Sequence, Tuple, TypeVar, Union

from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple


class LinePattern(NamedTuple):
    """One form that a kernel line can have. each: every such line is one event; else it repeats within an event.

    heads: the letters that such a line begins with (`-`: none), several with blanks between them; after a `*`: words
    that stand anywhere in a line of this form, which may begin with anything.
    """

    kind: str
    expression: Pattern[str]
    each: bool = True
    heads: str = "*"


def form(kind: str, heads: str, expression: str, each: bool = True) -> LinePattern:
    return LinePattern(kind, pattern(expression, re.ASCII), each, heads)


class Form(Protocol):
    """What a LineTable holds."""

    @property
    def expression(self) -> Pattern[str]: ...
    @property
    def heads(self) -> str: ...


AnyForm = TypeVar("AnyForm", bound=Form)

# sd 2:0:0:0: …    ata3.00: …    {1}[Hardware Error]: …
HEAD = re.compile(r"[A-Za-z_]*")


class LineTable(Generic[AnyForm]):
    """Finds the form of a line among those whose lines begin with the same letters: a log has many lines, few of which
    tell of trouble, and to try them all with a hundred patterns takes seconds."""

    def __init__(self, forms: Sequence[AnyForm]) -> None:
        self._by_head: Dict[str, List[Tuple[str, AnyForm]]] = {}
        heads = [() if form.heads.startswith("*") else tuple(form.heads.split()) for form in forms]
        rows = [(form.heads.partition("*")[2], form) for form in forms]
        self._others = [row for row, named in zip(rows, heads) if not named]
        for head in {head for named in heads for head in named}:
            found = [row for row, named in zip(rows, heads) if not named or head in named]
            self._by_head["" if head == "-" else head] = found

    def find(self, text: str) -> Union[Tuple[AnyForm, Match[str]], Tuple[None, None]]:
        """The first form that a line has, and its match."""
        head = HEAD.match(text)
        for words, form in self._by_head.get(head.group() if head else "", self._others):
            if words in text:
                match = form.expression.match(text)
                if match:
                    return form, match
        return None, None
