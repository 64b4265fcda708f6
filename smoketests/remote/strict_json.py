"""One JSON value on one line, read strictly: nothing behind it, no NaN, numbers and nesting bounded. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

# a record and its facts are two levels; the deepest facts of ours have five
DEEPEST = 12
# the counters of NVMe disks have 128 bits
MOST_DIGITS = 40


def _integer(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"number of more than {MOST_DIGITS} digits")
    return int(digits)


def no_constant(name: str) -> Any:
    """For `parse_constant`: NaN and Infinity are refused."""
    raise ValueError(f"{name} is not a number")


def unique_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """For `object_pairs_hook`: an object; ValueError where a key occurs twice."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("duplicate key")
    return made


DECODE = json.JSONDecoder(parse_int=_integer, parse_constant=no_constant).raw_decode
DECODE_STRICT = json.JSONDecoder(parse_int=_integer, object_pairs_hook=unique_keys).raw_decode


def value(line: str) -> Any:
    """The one JSON value of a line. ValueError where it has none or several, or one nested too deep."""
    line = line.rstrip()
    try:
        found, end = DECODE(line)
    except RecursionError:
        raise ValueError("nested too deep") from None
    except json.JSONDecodeError:
        raise ValueError("not JSON") from None
    if end != len(line):
        raise ValueError("more than one value on a line")
    if line.count("{") + line.count("[") > DEEPEST and _depth(found) > DEEPEST:
        raise ValueError("nested too deep")
    return found


def _depth(of: Any) -> int:
    level, depth = [of], 0
    while level := [one for one in level if type(one) in (dict, list)]:
        depth += 1
        level = [inner for one in level for inner in (one.values() if type(one) is dict else one)]
    return depth


def keys_once(line: str) -> None:
    """ValueError where a key stands twice in a line that `value` took."""
    DECODE_STRICT(line)
