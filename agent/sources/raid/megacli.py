"""MegaCli, the tool before storcli: `-LDPDInfo -aALL` (arrays), `-PDList` (every disk) and `-AdpBbuCmd` (batteries)."""

from __future__ import annotations

from typing import Dict, List, Set, Tuple

from agent.host import CannotTell
from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple
from agent.sources.raid import arrays as raid
from agent.sources.raid.arrays import Array, Controller, Member
from agent.sources.raid.megaraid_states import DISK_STATES, VIRTUAL_STATES

# BBU status for Adapter: 0
BATTERY = pattern(r"BBU status for Adapter: ?(\d{1,3})")
STATE = ("Battery State", "State")
# Adapter 0: Get BBU Status Failed.
#     The required hardware component is not present.
NO_BATTERY = pattern(r"Adapter (\d{1,3}): Get BBU Status Failed")
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


# Adapter #0
ADAPTER = pattern(r"Adapter #(\d{1,3})")
# Virtual Drive: 0 (Target Id: 0)    older: Virtual Disk: 0 (Target Id:0)
VIRTUAL = pattern(r"(?:CacheCade )?Virtual (?:Drive|Disk): (\d{1,4})")
# PD: 0 Information
DISK = pattern(r"PD: (\d{1,4}) Information")
# Span: 0 - Number of PDs: 8
SPAN = pattern(r"Span: (\d{1,3}) - Number of PDs: (\d{1,4})")
# Firmware state: Online, Spun Up
PAIR = pattern(r"([\w./ '()-]+): ?(.*)")
# Exit Code: 0x00
END = "Exit Code:"
# Adapter 0 -- Virtual Drive Information:
# No Virtual Drive Configured.
NO_ARRAY = "No Virtual Drive Configured"
# Primary-1, Secondary-3, RAID Level Qualifier-0
LEVEL = pattern(r"Primary-(\d), Secondary-(\d)")


class _Part(NamedTuple):
    """One virtual or physical drive under its adapter; span: of a physical drive."""

    kind: str
    number: str
    span: str
    facts: Dict[str, str]


def parse(text: str) -> List[Controller]:
    """The adapters with their virtual drives; CannotTell if there is none, or if the text does not come to its end."""
    adapters: Dict[str, List[_Part]] = {}
    parts: List[_Part] = []
    span = "0"
    for row in text.splitlines():
        adapter, virtual, disk, spans = (regex.match(row) for regex in (ADAPTER, VIRTUAL, DISK, SPAN))
        if adapter:
            parts = adapters.setdefault(adapter.group(1), [])
        elif spans and parts:
            span = spans.group(1)
            parts[-1].facts.setdefault("disks", "0")
            parts.append(_Part("span", span, span, {"disks": spans.group(2)}))
        elif (virtual or disk) and adapters:
            number = (virtual or disk).group(1)  # type: ignore[union-attr]
            parts.append(_Part("virtual" if virtual else "disk", number, span, {}))
        else:
            pair = PAIR.match(row.strip())
            if pair and parts:
                parts[-1].facts.setdefault(pair.group(1).rstrip(), pair.group(2).strip())
            elif "Number of Virtual Disks" in row and adapters:
                parts.append(_Part("count", "", "", {}))
    if not adapters or not (any(adapters.values()) or NO_ARRAY in text):
        raise CannotTell("MegaCli lists no adapter" if not adapters else "MegaCli lists no virtual drive")
    if END not in text:
        raise CannotTell("MegaCli's output is truncated: no exit code at its end")
    return [_controller(number, found) for number, found in adapters.items()]


def _controller(number: str, parts: List[_Part]) -> Controller:
    starts = [at for at, part in enumerate(parts) if part.kind == "virtual"]
    ends = starts[1:] + [len(parts)]
    arrays = tuple(_array(number, parts[start], parts[start + 1 : end]) for start, end in zip(starts, ends))
    slow = tuple(
        f"c{number}/v{part.number}: write-through although set to write-back: check its battery"
        for part in parts
        if part.kind == "virtual" and _writes_through(part.facts)
    )
    return Controller(f"c{number}", "MegaRAID", arrays, sum(part.kind == "disk" for part in parts), troubles=slow)


# Default Cache Policy: WriteBack, ReadAdaptive, Direct, No Write Cache if Bad BBU
# Current Cache Policy: WriteThrough, ReadAdaptive, Direct, No Write Cache if Bad BBU
def _writes_through(facts: Dict[str, str]) -> bool:
    wanted, now = facts.get("Default Cache Policy", ""), facts.get("Current Cache Policy", "")
    return wanted.startswith("WriteBack") and now.startswith("WriteThrough")


def _array(adapter: str, virtual: _Part, parts: List[_Part]) -> Array:
    said = virtual.facts.get("State", "")
    announced = sum(int(part.facts["disks"]) for part in parts if part.kind == "span")
    members: List[Member] = []
    spans: Dict[str, List[int]] = {}
    for part in parts:
        if part.kind == "disk":
            spans.setdefault(part.span, []).append(len(members))
            members.append(_member(part, len(members)))
    level = _level(virtual.facts.get("RAID Level", ""), len(members))
    mirrors: Tuple[Tuple[int, ...], ...] = ()
    if level in ("raid1", "raid10"):
        mirrors = tuple(pair for slots in spans.values() for pair in raid.in_pairs(slots))
    odd = raid.odd_list(len(members), announced or len(members))
    return Array(
        name=f"c{adapter}/v{virtual.number}",
        level=level,
        state=raid.UNKNOWN if odd else VIRTUAL_STATES.get(said.lower(), raid.UNKNOWN),
        said=(said or "nothing") + odd,
        members=tuple(members),
        groups=mirrors,
        action="rebuild" if any(member.state == raid.REBUILDING for member in members) else "",
    )


def _member(part: _Part, slot: int) -> Member:
    facts = part.facts
    said = facts.get("Firmware state", "").split(",")[0].strip()
    troubles = []
    if facts.get("Predictive Failure Count", "0") not in ("0", ""):
        troubles.append(f"{facts['Predictive Failure Count'][:9]} predictive failures")
    if facts.get("Drive has flagged a S.M.A.R.T alert", "").lower() == "yes":
        troubles.append("a SMART alert")
    if facts.get("Media Error Count", "0") not in ("0", ""):
        troubles.append(f"{facts['Media Error Count'][:9]} media errors")
    name = f"slot {facts.get('Enclosure Device ID', '?')}:{facts.get('Slot Number', '?')}" if said else "missing drive"
    state = DISK_STATES.get(said.lower(), raid.ONLINE if said else raid.MISSING)
    return Member(name, slot, state, " and ".join(troubles))


def _level(said: str, disks: int) -> str:
    match = LEVEL.match(said)
    if not match:
        return "unknown level"
    primary, secondary = match.groups()
    if primary == "1":
        return "raid10" if secondary == "3" or disks > 2 else "raid1"
    return f"raid{primary}{'0' if secondary == '3' else ''}"
