"""The text of storcli and perccli in the shape of their JSON: tables as lists of rows, `key = value` as objects."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from agent.lazy_regex import pattern

SIZE = pattern(r"(?<![\d.])(\d[\d.]*) ([KMGTP]?B)\b")
# /c0/v0 :   VD LIST :   Cachevault_Info :
SECTION = pattern(r"(\S.*?) :\s*$")
PAIR = pattern(r"([^=|]+?) = ?(.*)")
FREE_TEXT = ("Name", "Model", "ProdID", "VendorSpecific", "Product Name")


def parse(text: str) -> List[Dict[str, Any]]:
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
