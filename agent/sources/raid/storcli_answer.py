"""storcli's and perccli's answers: JSON, or text in the shape of that JSON, and the tables in it."""

from __future__ import annotations

import json
import re
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

from agent.host import CannotTell
from agent.lazy_regex import pattern

SIZE = pattern(r"(?<![\d.])(\d[\d.]*) ([KMGTP]?B)\b")
# /c0/v0 :   VD LIST :   Cachevault_Info :
SECTION = pattern(r"(\S.*?) :\s*$")
PAIR = pattern(r"([^=|]+?) = ?(.*)")
FREE_TEXT = ("Name", "Model", "ProdID", "VendorSpecific", "Product Name")


def parse_text(text: str) -> List[Dict[str, Any]]:
    """One entry for each `Controller = N` that is followed by its status."""
    rows = [row.rstrip() for row in text.splitlines()]
    starts = [at for at, row in enumerate(rows) if row.startswith("Controller = ") and _status_follows(rows, at)]
    return [_block(rows[start:end]) for start, end in zip(starts, starts[1:] + [len(rows)])]


def _status_follows(rows: List[str], at: int) -> bool:
    return any(row.startswith("Status = ") for row in rows[at + 1 : at + 3])


def _block(rows: List[str]) -> Dict[str, Any]:
    """One controller's text: pairs above the first section, then sections of pairs or of one table."""
    command: Dict[str, Any] = {}
    response: Dict[str, Any] = {}
    name, section, read_to = "", response, 0
    for at, row in enumerate(rows):
        if at < read_to:
            continue
        title = SECTION.match(row)
        if title and at + 1 < len(rows) and rows[at + 1].startswith("==="):
            name, section = title.group(1), {}
            response[name] = section
        elif row.startswith("---") and at + 2 < len(rows) and rows[at + 2].startswith("---"):
            table = _parse_table(rows[at + 1], rows[at + 3 :])
            known = response.get(name or "rows")
            response[name or "rows"] = (known if isinstance(known, list) else []) + table
            section = {}
            read_to = at + 3 + len(table) + 1
        else:
            _note_pair(row, section, command if not response and not name else None, response)
    return {"Command Status": command, "Response Data": response}


def _note_pair(row: str, section: Dict[str, Any], command: Optional[Dict[str, Any]], response: Dict[str, Any]) -> None:
    pair = PAIR.match(row)
    if not pair or "|" in row:
        return
    key, value = pair.group(1).strip(), pair.group(2).strip()
    if command is not None and key in ("Controller", "Status", "Description"):
        command[key] = value
    elif key in ("Virtual Drives", "Physical Drives"):
        response[key] = value
    else:
        section[key] = value


def _parse_table(header: str, rows: List[str]) -> List[Dict[str, str]]:
    columns = header.split()
    found = []
    for row in rows:
        if row.startswith("---") or not row.strip():
            break
        found.append(_cells(columns, SIZE.sub(r"\1_\2", row).split()))
    return found


def _cells(columns: List[str], words: List[str]) -> Dict[str, str]:
    """Words under their columns; the column of free text takes what the others leave."""
    free = next((at for at, column in enumerate(columns) if column in FREE_TEXT), len(columns))
    after = max(len(columns) - free - 1, 0)
    if len(words) < free + after:
        return dict(zip(columns, words))
    cells = dict(zip(columns[:free], words))
    if free < len(columns):
        cells[columns[free]] = " ".join(words[free : len(words) - after])
        cells.update(zip(columns[free + 1 :], words[len(words) - after :]))
    return {
        column: word.replace("_", " ") if SIZE.match(word.replace("_", " ")) else word for column, word in cells.items()
    }


Row = Mapping[str, Any]


def responses(text: str) -> Iterator[Dict[str, Any]]:
    """The `Response Data` of each controller that answered."""
    start = text.find("{")
    controllers = _from_json(text[start:]) if start >= 0 and '"Controllers"' in text else parse_text(text)
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
