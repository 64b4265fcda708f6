"""Kernel lines of memory and machine-check errors: EDAC, MCE, AMD's decoder, APEI/CPER, memory failure.

Above each form is a real line it was written for. One error often causes several of them; the one that names
the DIMM counts, and the vaguer ones of the same moment are dropped. Levels say nothing: EDAC tells an uncorrected
error at WARNING, and a corrected machine check is printed at EMERG.
"""

from __future__ import annotations

import bisect
import re
from typing import Dict, List, Mapping, Pattern, Sequence, Tuple

from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple
from agent.sources.kernel import cper_lines
from agent.sources.kernel.cper_lines import CORRECTED, SOMEWHERE, UNCORRECTED
from agent.sources.kernel.line_patterns import LineTable
from agent.sources.kernel.log import Record, Sighting

BY_STATUS = "by its status"
CRASH = "error of the previous boot"
STORM = "storm of corrected errors"
# So many interrupts within a second make a storm (arch/x86/kernel/cpu/mce/intel.c).
STORM_ERRORS = 15

PREVIOUS_BOOT = "previous boot"
MOMENT_S = 5.0

# How exactly a form names the part.
NAMES_DIMM, NAMES_BANK, NAMES_NOTHING = 0, 1, 2


class MemoryForm(NamedTuple):
    """One form of a line. kind BY_STATUS: what it is stands in the line. vague: how exactly it names the part.

    heads: as of LinePattern.
    """

    kind: str
    expression: Pattern[str]
    vague: int
    heads: str


def _form(kind: str, heads: str, expression: str, vague: int) -> MemoryForm:
    return MemoryForm(kind, pattern(expression, re.ASCII), vague, heads)


MCE = r"(?:(?:mce|core): )?\[Hardware Error\]: "

FORMS: Sequence[MemoryForm] = (
    # EDAC MC1: 128 CE memory read error on CPU_SrcID#1_Ha#0_Chan#1_DIMM#1 (channel:1 slot:1 page:0x2b67afa offset:0xb40 grain:32 syndrome:0x0 -  area:DRAM err_code:0001:0092 socket:1 ha:0 channel_mask:2 rank:5)
    # EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#0_DIMM#0 (channel:0 slot:0 page:0x1c0a2 offset:0x0 grain:32 - err_code:0x00a0:0x0091)
    # EDAC MC0: 3 CE Single-bit ECC on DIMM_A1 (node:0 card:0 module:0 rank:0 page:0x12345 offset:0x0 grain:0 syndrome:0x0 - APEI location: node:0 card:0)
    # EDAC MC0: 1 CE on mc#0csrow#1channel#0 (csrow:1 channel:0 page:0x0 offset:0x0 grain:64 syndrome:0x0)
    # EDAC MC0: 1 UE Cannot decode normalized address on unknown memory ( page:0x0 offset:0x0 grain:64)
    _form(
        BY_STATUS,
        "EDAC",
        r"EDAC (?:[\w-]+ )?MC(?P<mc>\d+): (?P<count>\d{1,9}) (?P<status>CE|UE) .*?\bon (?P<label>.{1,120}?) ?\(",
        NAMES_DIMM,
    ),
    # EDAC MC0: CE page 0x1f3a2, offset 0x0, grain 4096, syndrome 0x54, row 0, channel 1, label "DIMM_A1": e752x CE
    # EDAC MC0: UE page 0x0, offset 0x0, grain 4096, row 1, labels "DIMM_B1:DIMM_B2": i3000 UE
    # EDAC MC1: CE row 2, channel 0, label "CPU_SrcID#1_Channel#2_DIMM#0": 1 Unknown error(s): memory read on FATAL area
    # EDAC MC0: UE row 1, channel-a= 0 channel-b= 1 labels "DIMM_A1:DIMM_B1": i5000 UE
    _form(
        BY_STATUS,
        "EDAC",
        r'EDAC MC(?P<mc>\d+): (?P<status>CE|UE) (?:page|row) .* labels? "(?P<label>[^"]{0,120})"',
        NAMES_DIMM,
    ),
    # EDAC MC0: CE - no information available: i3000 CE log overflow
    _form(BY_STATUS, "EDAC", r"EDAC MC(?P<mc>\d+): (?P<status>CE|UE) - no information available", NAMES_DIMM),
    # EDAC DEVICE0: UE: cortex_arm64_edac instance: cpu0 block: L1 count: 1 'memory error'
    # EDAC DEVICE1: CE: L3 instance: l3_cache0 block: bank1 count: 3 'l3 corrected'
    _form(
        BY_STATUS,
        "EDAC",
        r"EDAC (?P<device>DEVICE\d+): (?P<status>CE|UE)\b(?:.* count: (?P<count>\d{1,9}))?",
        NAMES_BANK,
    ),
    # mce: [Hardware Error]: CPU 4: Machine Check: 0 Bank 7: 8c00004000010091
    # mce: [Hardware Error]: CPU 2: Machine Check Exception: 5 Bank 3: be00000000800400
    # [Hardware Error]: CPU 0: Machine Check Event: 0 Bank 5: cc00008000010092
    # EDAC sbridge MC0: CPU 0: Machine Check Event: 0 Bank 7: 8c00004000010091
    # EDAC skx MC4: CPU 20: Machine Check Event: 0x0 Bank 13: 0x8c00004200800090
    _form(
        BY_STATUS,
        "- EDAC core mce",
        rf"(?:{MCE}|EDAC \w+ MC\d+: )(?:CPU|RUNNING ON CPU) (?P<cpu>\d+): Machine Check(?: Exception| Event)?: "
        r"(?:0x)?[\da-f]+ Bank (?P<bank>\d+): (?P<bits>(?:0x)?[\da-f]{1,18})\b",
        NAMES_BANK,
    ),
    # [Hardware Error]: CPU:2 (17:31:0) MC18_STATUS[Over|CE|MiscV|AddrV|-|-|SyndV|CECC|-|-|-]: 0xdc2040000000011b
    # [Hardware Error]: CPU:0 MC4_STATUS[-|UE|MiscV|PCC|AddrV|UECC]: 0xbe00200000010c0f
    # [Hardware Error]: MC4_STATUS[Over|CE|MiscV|-|AddrV|CECC]: 0xdc00000000000000
    _form(
        BY_STATUS,
        "- core mce",
        MCE
        + r"(?:CPU:(?P<cpu>\d+)[ \t]+(?:\([\da-f:]+\)[ \t]+)?)?MC(?P<bank>\d+)_STATUS\[[^|\]]*\|(?P<status>CE|UE|UC|-)\|",
        NAMES_BANK,
    ),
    # mce: Uncorrected hardware memory error in user-access at 1f3a2c000
    # Memory failure: 0x123456: recovery action for dirty LRU page: Recovered
    # Memory failure: 0x123456: Sending SIGBUS to java:1234 due to hardware memory corruption
    # MCE 0x123456: Killing java:1234 due to hardware memory corruption
    _form(
        UNCORRECTED,
        "MCE Memory mce",
        r"(?:mce: Uncorrected hardware memory error in user-access|Memory failure: 0x[\da-f]+: "
        r"|MCE 0x[\da-f]+: (?:Killing |.* recovery: ))",
        NAMES_NOTHING,
    ),
    # [Hardware Error]: Uncorrected, software restartable error.
    # mce: [Hardware Error]: Uncorrected, software containable error.
    # [Hardware Error]: System Fatal error.
    # [Hardware Error]: Deferred error, no action required.
    _form(
        UNCORRECTED, "- core mce", MCE + r"(?:Uncorrected, software |System Fatal error|Deferred error)", NAMES_NOTHING
    ),
    # [Hardware Error]: Corrected error, no action required.
    # mce: [Hardware Error]: Machine check events logged
    # core: [Hardware Error]: Machine check events logged
    # [Hardware Error]: Machine check events logged
    _form(CORRECTED, "- core mce", MCE + r"(?:Corrected error, no action|Machine check events logged)", NAMES_NOTHING),
    # mce: CMCI storm detected: switching to poll mode
    # CMCI storm detected: switching to poll mode
    # mce: CPU3 BANK7 CMCI storm detected
    _form(STORM, "CMCI CPU mce", r"(?:mce: )?(?:CPU\d+ BANK\d+ )?CMCI storm detected", NAMES_NOTHING),
    # BERT: Error records from previous boot:
    _form(CRASH, "BERT", r"BERT: Error records from previous boot", NAMES_DIMM),
)

TABLE = LineTable(FORMS)

# Intel SDM vol. 3B 15.9.2: 000F 0000 1MMM CCCC is an error of a memory controller; bit 61 says it is uncorrected.
UNCORRECTED_BIT = 1 << 61
MEMORY_MASK, MEMORY_CODE = 0xEF80, 0x0080


def slot_not_told(controller: str) -> str:
    """The item for errors that a memory controller cannot assign to a DIMM."""
    return f"mc{controller}, unknown slot"


def sightings(new: Sequence[Record], all_records: Sequence[Record]) -> List[Sighting]:
    """What the new records say happened, to which DIMM, bank or processor; each error once."""
    found: List[Tuple[int, Sighting]] = []
    for record in new:
        form, match = TABLE.find(record.text)
        if form and match:
            found.append((form.vague, _sighting(form, match.groupdict(), record)))
    numbers = {record.seq for record in new}
    found += [(NAMES_BANK, seen) for seen in cper_lines.sightings(all_records) if seen.record.seq in numbers]
    found.sort(key=lambda pair: pair[1].record.seq)
    reported: Dict[Tuple[int, str], List[float]] = {}
    for vague, seen in found:
        reported.setdefault((vague, seen.kind), []).append(seen.record.at)
    return [seen for vague, seen in found if not _told_better(vague, seen, reported)]


def _told_better(vague: int, seen: Sighting, reported: Mapping[Tuple[int, str], List[float]]) -> bool:
    """Whether a form that names the part better tells of the same kind at the same moment; times are rising."""
    earliest = seen.record.at - MOMENT_S
    for better in range(vague):
        times = reported.get((better, seen.kind), [])
        next_one = bisect.bisect_left(times, earliest)
        if next_one < len(times) and times[next_one] <= seen.record.at + MOMENT_S:
            return True
    return False


def _sighting(form: MemoryForm, said: Mapping[str, str], record: Record) -> Sighting:
    if form.kind == STORM:
        return Sighting(SOMEWHERE, CORRECTED, record, form.expression, True, STORM_ERRORS)
    kind, item = form.kind, SOMEWHERE
    if form.kind == CRASH:
        item = PREVIOUS_BOOT
    elif said.get("mc"):
        kind, item = _kind(said["status"]), _dimm(said)
    elif said.get("device"):
        kind, item = _kind(said["status"]), f"EDAC {said['device'].lower()}"
    elif said.get("bank"):
        kind, item = _bank(said)
    return Sighting(item, kind, record, form.expression, True, int(said.get("count") or 1))


def _kind(status: str) -> str:
    return CORRECTED if status == "CE" else UNCORRECTED


def _dimm(said: Mapping[str, str]) -> str:
    label = (said.get("label") or "").strip(" :")
    return slot_not_told(said["mc"]) if label in ("", "unknown memory", "any memory", "unknown label") else label


def _bank(said: Mapping[str, str]) -> Tuple[str, str]:
    """What happened and where: Intel's lines hold the bank's status register, AMD's spell it out."""
    where = f"processor {said.get('cpu') or '?'} bank {said['bank']}"
    if not said.get("bits"):
        return _kind(said["status"]), where
    bits = int(said["bits"], 16)
    of_memory = bits & MEMORY_MASK == MEMORY_CODE
    return UNCORRECTED if bits & UNCORRECTED_BIT else CORRECTED, f"memory of {where}" if of_memory else where
