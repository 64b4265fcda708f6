"""What a table needs beside the rows of its SELECT."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

Rows = list[dict[str, Any]]


class Given(NamedTuple):
    """night: the day judged; first: the first one of the window; as days since 1970-01-01. published: failure rates of
    disk models, percent a year."""

    night: int
    first: int
    published: Mapping[str, float] = {}
