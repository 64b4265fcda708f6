"""MegaCli's other answers: `-PDList` (every disk, in an array or not) and `-AdpBbuCmd` (the batteries)."""

from __future__ import annotations

from typing import Dict, List, Set

from agent.host import CannotTell
from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple

# Adapter #0
ADAPTER = pattern(r"Adapter #(\d{1,3})")
# BBU status for Adapter: 0
BATTERY = pattern(r"BBU status for Adapter: ?(\d{1,3})")
STATE = ("Battery State", "State")
# Adapter 0: Get BBU Status Failed.
#     The required hardware component is not present.
NO_BATTERY = pattern(r"Adapter (\d{1,3}): Get BBU Status Failed")
END = "Exit Code:"
# Firmware states of disks outside arrays that are as they should be
AT_REST = ("unconfigured(good)", "hotspare", "online", "jbod", "unconfigured(good), spun down", "copyback", "rebuild")
GOOD_BATTERY = ("optimal", "operational", "learning", "charging")
# Lines of a battery that say Yes when it is at its end
ENDS = (
    "Battery Pack Missing",
    "Battery Replacement required",
    "Remaining Capacity Low",
    "Pack is about to fail & should be replaced",
)


class Disks(NamedTuple):
    """Of one adapter: how many disks, and what is wrong with those outside arrays, by where they are."""

    disks: int
    troubles: Dict[str, str]


def parse_disks(text: str) -> Dict[str, Disks]:
    """The disks of `-PDList -aALL` by adapter; CannotTell if the text does not come to its end."""
    if END not in text:
        raise CannotTell("MegaCli's list of disks is truncated: no exit code at its end")
    adapters: Dict[str, List[Dict[str, str]]] = {}
    found: List[Dict[str, str]] = []
    for row in text.splitlines():
        adapter = ADAPTER.match(row)
        name, _, value = row.partition(":")
        if adapter:
            found = adapters.setdefault(adapter.group(1), [])
        elif name.strip() == "Enclosure Device ID":
            found.append({})
        if found and not adapter:
            found[-1].setdefault(name.strip(), value.strip()[:80])
    if not adapters:
        raise CannotTell("MegaCli's list of disks has no adapter")
    return {number: Disks(len(disks), _troubles(disks)) for number, disks in adapters.items()}


def _troubles(disks: List[Dict[str, str]]) -> Dict[str, str]:
    said = {f"slot {d.get('Enclosure Device ID', '?')}:{d.get('Slot Number', '?')}": _against(d) for d in disks}
    return {place: words for place, words in said.items() if words}


def _against(facts: Dict[str, str]) -> str:
    state = facts.get("Firmware state", "").split(",")[0].strip()
    words = [] if state.lower() in AT_REST else [f"is {state or 'in an unknown state'}"]
    if facts.get("Foreign State", "").lower() == "foreign":
        words.append("is foreign")
    if facts.get("Predictive Failure Count", "0") not in ("0", ""):
        words.append(f"has {facts['Predictive Failure Count'][:9]} predictive failures")
    if facts.get("Drive has flagged a S.M.A.R.T alert", "").lower() == "yes":
        words.append("has a SMART alert")
    return " and ".join(words)


def parse_batteries(text: str) -> Dict[str, str]:
    """What is wrong with the battery by adapter: empty for one that is well, or where there is none.

    CannotTell if the text tells of no adapter, or of one neither that it has no battery nor how that is.
    """
    found: Dict[str, List[str]] = {}
    reported: Set[str] = set()
    number = ""
    for row in text.splitlines():
        adapter, absent = BATTERY.match(row.strip()), NO_BATTERY.match(row.strip())
        if adapter or absent:
            number = (adapter or absent).group(1)  # type: ignore[union-attr]
            found.setdefault(number, [])
            reported.update({number} if absent else ())
        name, _, value = (part.strip() for part in row.partition(":"))
        if number and name in STATE:
            reported.add(number)
            found[number] += [] if value.lower() in GOOD_BATTERY else [f"battery {value[:60] or 'state unknown'}"]
        elif number and name in ENDS and value.lower() == "yes":
            found[number].append(f"battery: {name.lower()}")
    silent = sorted(set(found) - reported)
    if not found or silent or END not in text:
        raise CannotTell("MegaCli reports neither a battery state nor that there is no battery")
    return {number: f"{words[0]}: write cache not protected" if words else "" for number, words in found.items()}
