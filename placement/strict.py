"""Fields of a JSON document, each checked: a wrong one is named with its place. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from placement.errors import PlacementError
from smoketests.remote import strict_json

MOST_CHARACTERS = 100_000_000
# larger than any disk or rate, and still exact in other tools' numbers
LARGEST = 2**53


def mapping(written: str, name: str) -> dict[str, Any]:
    """The document's one object: no NaN, no key twice, at most 100 MB."""
    if len(written) > MOST_CHARACTERS:
        raise PlacementError(f"{name}: more than {MOST_CHARACTERS // 1_000_000} MB")
    try:
        found = json.loads(written, parse_constant=strict_json.no_constant, object_pairs_hook=strict_json.unique_keys)
    except json.JSONDecodeError as error:
        raise PlacementError(f"{name}:{error.lineno}:{error.colno}: not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise PlacementError(f"{name}: {error}") from None
    if not isinstance(found, dict):
        raise PlacementError(f"{name}: a JSON object is needed")
    return found


def rows(of: Mapping[str, Any], field: str, where: str) -> Sequence[dict[str, Any]]:
    found = of.get(field)
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise PlacementError(f"{where}: {field}: a list of objects is needed")
    return found


def text(of: Mapping[str, Any], field: str, where: str, default: str | None = None) -> str:
    found = of.get(field, default)
    if not isinstance(found, str):
        raise PlacementError(f"{where}: {field}: text is needed, not {_shown(found)}")
    return found


def integer(of: Mapping[str, Any], field: str, where: str, least: int = 0) -> int:
    found = of.get(field)
    if isinstance(found, bool) or not isinstance(found, int) or not least <= found <= LARGEST:
        raise PlacementError(f"{where}: {field}: a whole number from {least} is needed, not {_shown(found)}")
    return found


def optional_integer(of: Mapping[str, Any], field: str, where: str) -> int | None:
    return None if of.get(field) is None else integer(of, field, where)


def _shown(value: object) -> str:
    return repr(value)[:60]
