"""storcli's and perccli's answers: JSON, or text in the shape of that JSON, and the tables in it."""

from __future__ import annotations

import json
import re
from typing import Any, Dict, Iterator, List, Mapping, Tuple

from agent.host import CannotTell
from agent.sources.raid import storcli_text

Row = Mapping[str, Any]


def responses(text: str) -> Iterator[Dict[str, Any]]:
    """The `Response Data` of each controller that answered."""
    start = text.find("{")
    controllers = _from_json(text[start:]) if start >= 0 and '"Controllers"' in text else storcli_text.parse(text)
    refusals = []
    answered = 0
    for controller in controllers:
        command, response = controller.get("Command Status"), controller.get("Response Data")
        status = command if isinstance(command, dict) else {}
        if isinstance(response, list):
            response = {"rows": response}
        if isinstance(response, dict) and response:
            answered += 1
            yield {"Controller": status.get("Controller", 0), **response}
        else:
            refusals.append(str(status.get("Description", "no answer"))[:100])
    if not answered:
        raise CannotTell(f"storcli lists no controller: {refusals[0] if refusals else 'unexpected output'}")


def _from_json(text: str) -> List[Dict[str, Any]]:
    try:
        given, _end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        raise CannotTell("storcli printed broken JSON") from None
    controllers = given.get("Controllers") if isinstance(given, dict) else None
    if not isinstance(controllers, list):
        raise CannotTell("storcli printed JSON without controllers")
    return [controller for controller in controllers if isinstance(controller, dict)]


def whole(value: Any) -> int:
    """A count given as a number or as text; 0 for anything else."""
    match = re.match(r"\d{1,18}", str(value).strip())
    return int(match.group()) if match else 0


def section(response: Mapping[str, Any], name: str) -> Row:
    """A part of pairs; empty if there is none."""
    part = response.get(name)
    return part if isinstance(part, dict) else {}


def table(response: Mapping[str, Any], name: str) -> List[Row]:
    section = response.get(name)
    return [row for row in section if isinstance(row, dict)] if isinstance(section, list) else []


def rows(response: Mapping[str, Any]) -> List[Row]:
    return [row for name in response for row in table(response, name)]


def nested(response: Mapping[str, Any]) -> Iterator[Tuple[str, Any]]:
    """All sections, those inside `… - Detailed Information` too."""
    for name, section in response.items():
        yield name, section
        if isinstance(section, dict):
            yield from section.items()


def rows_with(response: Mapping[str, Any], column: str) -> List[Row]:
    """The rows of all tables that have this column, each subject once; the tables' names differ with the question."""
    found: Dict[Any, Row] = {}
    for row in rows(response):
        if column in row:
            key = str(row) if str(row[column]).strip() == "-" else (str(row[column]).strip(), str(row.get("DG")))
            found.setdefault(key, row)
    return list(found.values())
