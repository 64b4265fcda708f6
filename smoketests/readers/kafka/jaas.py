"""A line of `sasl.jaas.config`: which module logs in, and with what options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from inventory.errors import SmokeError

# As Java's StreamTokenizer reads it for Kafka: quoted with either quote, or bare up to white space or a sign.
# org.apache.kafka.common.security.plain.PlainLoginModule required username="smoke" password='a b' keyTab=/etc/k ;
TOKEN = re.compile(r"""\s+|//[^\n]*|/\*.*?\*/|"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|(=|;)|([^\s="';]+)""", re.DOTALL)
ESCAPE = re.compile(r"\\([0-3]?[0-7]{1,2}|.)", re.DOTALL)
CONTROL = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "b": "\b", "a": "\a", "v": "\v"}
FLAGS = ("required", "requisite", "sufficient", "optional")


class CannotParse(SmokeError):
    """Why it is no such line, without what it says: that may be a password."""


class Login(NamedTuple):
    """module: without its package, such as PlainLoginModule."""

    module: str
    options: dict[str, str]


def parse(text: str) -> Login:
    """CannotParse with a reason that holds no secret."""
    tokens = list(_tokens(text))
    if not tokens or tokens[-1] != (";", True) or len(tokens) < 3:
        raise CannotParse('expected: MODULE required name="value" …; ending with a semicolon')
    (module, _sign), (flag, _sign), *rest = tokens[:-1]
    if flag.lower() not in FLAGS:
        raise CannotParse(f"the second word must be one of {', '.join(FLAGS)}")
    if len(rest) % 3:
        raise CannotParse("options must be name=value; quote values with spaces or special characters")
    options: dict[str, str] = {}
    for (name, name_sign), equals, (value, value_sign) in zip(rest[::3], rest[1::3], rest[2::3]):
        if equals != ("=", True) or name_sign or value_sign:
            raise CannotParse("options must be name=value; quote values with spaces or special characters")
        options[name] = value
    return Login(module.rpartition(".")[2], options)


def _tokens(text: str) -> Iterator[tuple[str, bool]]:
    """Each word, and whether it is a sign (`=` or `;`) rather than one in quotes."""
    at = 0
    while at < len(text):
        found = TOKEN.match(text, at)
        if found is None:
            raise CannotParse("unterminated quote")
        at = found.end()
        double, single, sign, bare = found.groups()
        if double is not None or single is not None:
            yield ESCAPE.sub(_unescaped, double if double is not None else single), False
        elif sign or bare:
            yield sign or bare, bool(sign)


def _unescaped(found: re.Match[str]) -> str:
    said = found[1]
    return chr(int(said, 8)) if said[0] in "01234567" else CONTROL.get(said, said)
