"""Errors that the firmware reports (APEI, as CPER records): each is a block of kernel lines with one number."""

from __future__ import annotations

import re
from typing import Dict, List, Mapping, Sequence

from agent.lazy_regex import pattern
from agent.sources.kernel.log import Record, Sighting

CORRECTED = "corrected error"
UNCORRECTED = "uncorrected error"
SOMEWHERE = "memory, unknown slot"

# {1}[Hardware Error]: event severity: corrected
CPER = pattern(r"\{(\d+)\}\[Hardware Error\]:\s*(.*)", re.ASCII)
# event severity: recoverable
# severity: 2, corrected          (RHEL 6)
SEVERITY = pattern(r"(?:event )?severity: (?:\d+, )?(\w+)", re.ASCII)
# section_type: memory error
SECTION = pattern(r"section_type: (.+)")
# fru_text: A1   /   fru_id: 00000000-0000-0000-0000-000000000000, fru_text: DIMM ??
FRU = pattern(r"(?:fru_id: \S+ )?fru_text: (\S.{0,60})")
# DIMM location: CPU 1 DIMM A2    /    DIMM location: not present. DMI handle: 0x0000
LOCATION = pattern(r"DIMM location: (?!not present)(\S.{0,60}?)\s*$")
# node:0 card:3 module:1 rank:0 bank:2 device:0 row:1234 column:56
# node: 0 card: 3 module: 1
NODE = pattern(r"(node: ?\d+)(?: (card: ?\d+))?(?: (module: ?\d+))?", re.ASCII)


def sightings(records: Sequence[Record]) -> List[Sighting]:
    """Errors of memory or processors told by the firmware (APEI), each in a block of lines with one number."""
    blocks: Dict[str, Dict[str, str]] = {}
    at: Dict[str, Record] = {}
    for record in records:
        match = CPER.match(record.text) if record.text.startswith("{") else None
        if match:
            block = blocks.setdefault(match.group(1), {})
            if _read_cper(block, match.group(2)) == "section":
                at.setdefault(match.group(1), record)
    return [_cper_sighting(blocks[number], record) for number, record in at.items() if _is_of_memory(blocks[number])]


def _read_cper(block: Dict[str, str], text: str) -> str:
    """Note what a line of the block says; the name of the field, or empty."""
    fields = (("severity", SEVERITY), ("section", SECTION), ("fru", FRU), ("location", LOCATION), ("node", NODE))
    for name, expression in fields:
        match = expression.match(text)
        if match:
            block.setdefault(name, " ".join(group for group in match.groups() if group).strip())
            return name
    return ""


def _is_of_memory(block: Mapping[str, str]) -> bool:
    return "severity" in block and bool(re.search(r"memory|processor", block.get("section", "")))


def _cper_sighting(block: Mapping[str, str], record: Record) -> Sighting:
    item = block.get("location") or block.get("fru") or block.get("node") or SOMEWHERE
    if "memory" not in block["section"]:
        item = "processor, unknown which"
    kind = CORRECTED if block["severity"] in ("corrected", "info") else UNCORRECTED
    text = f"{block['severity']} {block['section']} reported by the firmware (APEI) at {item}"
    return Sighting(item, kind, record._replace(text=text), CPER)
