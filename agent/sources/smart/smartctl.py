"""smartctl: what each disk reports. One process for each disk, once for all checks that read it.

For other checks: `smart_facts_of(host, "sdc")` gives a disk's facts, shared with the check smart, and
`rules.trouble(facts)` describes what is wrong with it.
"""

from __future__ import annotations

import json
import re
from typing import Optional, Set, Tuple

from agent.host import Answer, CannotTell, Host, NoPermission, NotApplicable, cached_per_run
from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple
from agent.sources.disks import block_devices
from agent.sources.smart import history as smart_history
from agent.sources.smart.json_report import parse_json
from agent.sources.smart.report import BadReport, Facts

SMARTCTL_DEADLINE_S = 12.0

# -a has no trip point and no wear of ATA drives: those stand in the two logs. -n: looking must not wake a disk.
REPORT = ("-a", "-n", "standby", "-l", "scttempsts", "-l", "devstat")

CANNOT_READ = 1 | 2  # bits of the exit status: bad command line; open failed or asleep

# Disks without hardware of their own, by model: hypervisors, and the volumes of RAID cards.
VIRTUAL = pattern(r"QEMU|VBOX|VMware|Virtual|PersistentDisk|Elastic Block Store", re.IGNORECASE)
RAID_VOLUME = pattern(r"PERC|MegaRAID|\bMR\d{4}|LOGICAL VOLUME|ServeRAID|RAID", re.IGNORECASE)

# "/dev/bus/0 -d megaraid,8 # /dev/bus/0 [megaraid_disk_08], SCSI device"
SCAN_ROW = pattern(r"^(/dev/\S+) -d (\S+) #")
# "smartctl 6.6 2017-11-05 r4594 [x86_64-linux-4.19.0-21-amd64] (local build)"
BANNER = pattern(r"^smartctl (\d+)\.\d+ ", re.MULTILINE)
# What is not worth repeating of smartctl's words: banner, headings, blank lines
NO_WORDS = pattern(r"^(smartctl \d|Copyright|===|\s*$|Use smartctl -h)")


class Scan(NamedTuple):
    """What `smartctl --scan` lists, as (path, type); `json` tells whether this smartctl can print it."""

    json: bool
    devices: Tuple[Tuple[str, str], ...]


@cached_per_run
def scan(host: Host) -> Scan:
    """The one scan of a run. ToolMissing, NoPermission, Stuck, or CannotTell on odd output."""
    _need_root(host, "the list of disks behind RAID cards")
    answer = host.run("smartctl", "--json", "--scan", deadline_s=SMARTCTL_DEADLINE_S)
    if answer.out.lstrip().startswith("{"):
        return Scan(True, parse_scan_json(answer.out))
    listed = parse_scan_text(answer.out)
    banner = BANNER.search(answer.out)
    if not listed and "UNRECOGNIZED OPTION" not in answer.out and not (banner and int(banner.group(1)) < 7):
        raise CannotTell("smartctl --scan printed neither JSON nor a list of disks")
    if not listed:
        listed = parse_scan_text(host.run("smartctl", "--scan", deadline_s=SMARTCTL_DEADLINE_S).out)
    return Scan(False, listed)


def parse_scan_json(printed: str) -> Tuple[Tuple[str, str], ...]:
    try:
        rows = json.loads(printed).get("devices", [])
        return tuple((str(row["name"])[:100], str(row.get("type", ""))[:40]) for row in rows)
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        raise CannotTell("smartctl --scan printed damaged JSON") from None


def parse_scan_text(printed: str) -> Tuple[Tuple[str, str], ...]:
    rows = (SCAN_ROW.match(line) for line in printed.splitlines())
    return tuple((row.group(1), row.group(2)) for row in rows if row)


@cached_per_run
def read(host: Host, path: str, kind: str) -> Facts:
    """The facts of the disk at `path` (/dev/sdb with no kind, or /dev/bus/0 and megaraid,3), with growth and place.

    CannotTell with the reason: no root, no smartctl, asleep, no answer, odd output, no SMART. NotApplicable: a virtual
    disk. Of a disk without SMART the exception carries as `facts` what it told all the same: who it is.
    """
    where = f"{path} {kind}".strip()
    _need_root(host, f"SMART of {where}")
    facts = _report(host, path, kind)._replace(path=where)
    if facts.exit_status & CANNOT_READ and facts.passed is not False:
        raise _refused(where, " ".join(facts.messages))
    if facts.smart_available is False and facts.passed is not False:
        raise _without_smart(facts, kind)
    return smart_history.with_growth(host, facts._replace(in_raid=_in_raid(host, path, kind)))


def smart_facts_of(host: Host, kernel_name: str) -> Optional[Facts]:
    """The facts of a whole disk such as sdc or nvme0n1; None where they cannot be had."""
    try:
        return read(host, f"/dev/{kernel_name}", "")
    except (CannotTell, NotApplicable):
        return None


def parse(answer: Answer, where: str) -> Facts:
    """The facts in a report, JSON or text. BadReport, or CannotTell when smartctl says itself why there is none."""
    out = answer.out.lstrip()
    try:
        if out.startswith("{"):
            facts = parse_json(out)
            return facts._replace(exit_status=facts.exit_status | max(answer.code, 0))
        if answer.code < 0 or answer.code & CANNOT_READ:
            raise _refused(where, words(f"{answer.out}\n{answer.err}") or f"smartctl: exit code {answer.code}")
        if BANNER.search(answer.out) is None:
            raise BadReport("smartctl printed no report" if out else "smartctl printed nothing")
        from agent.sources.smart import text_report  # takes a tenth of a second: only where there is no JSON

        return text_report.read(answer)
    except BadReport as error:
        raise BadReport(f"{where}: {error}") from None


def words(printed: str) -> str:
    """What smartctl says besides its banner, on one line."""
    said = [line.strip() for line in printed.splitlines() if not NO_WORDS.match(line)]
    return " ".join(said)[:160]


def same_disk(named: str, serial: str, wwn: str) -> bool:
    """Whether an inventory's word for a disk means this one: its serial, the printed start of it, or its WWN."""
    wanted, own = named.strip().upper(), serial.strip().upper()
    if own and (wanted == own or (len(wanted) >= 8 and own.startswith(wanted))):
        return True
    return bool(wwn) and plain_wwn(named) == plain_wwn(wwn)


def plain_wwn(wwn: str) -> str:
    """
    >>> plain_wwn("naa.5000C500A1B2C3D4") == plain_wwn("0x5000c500a1b2c3d4")
    True
    """
    return re.sub(r"^(0x|naa\.|eui\.|wwn-0x|t10\.)", "", wwn.strip().lower())


def _need_root(host: Host, what: str) -> None:
    if not host.is_root():
        raise NoPermission(f"needs root: {what}")


def _report(host: Host, path: str, kind: str) -> Facts:
    options = REPORT + (("-d", kind) if kind else ()) + (path,)
    argv = ("smartctl", *(("--json",) if _has_json(host) else ()), *options)
    return parse(host.run(*argv, deadline_s=SMARTCTL_DEADLINE_S), f"{path} {kind}".strip())


def _has_json(host: Host) -> bool:
    """A scan that hangs or fails is another item's business: most smartctl have JSON."""
    try:
        return scan(host).json
    except CannotTell:
        return True


def _refused(where: str, said: str) -> CannotTell:
    """Why smartctl could not read a disk, from its own words."""
    asleep = re.search(r"Device is in (\w+) mode", said)
    if asleep:
        return CannotTell(f"{where} is in {asleep.group(1)} mode and was not woken")
    if "Permission denied" in said:
        return NoPermission(f"needs root: SMART of {where}")
    return CannotTell(f"{where} cannot be read: {said or 'smartctl printed no reason'}")


class VirtualDisk(NotApplicable):
    """A disk without hardware of its own."""

    def __init__(self, why: str, facts: Facts) -> None:
        super().__init__(why)
        self.facts = facts


class WithoutSmart(CannotTell):
    """A disk that says who it is, and not how it fares."""

    def __init__(self, why: str, facts: Facts) -> None:
        super().__init__(why)
        self.facts = facts


def _without_smart(facts: Facts, kind: str) -> Exception:
    """What a RAID card passes us through to is never one of its own volumes, whatever it is called."""
    name = f"{facts.vendor} {facts.model}".strip()
    if not kind and RAID_VOLUME.search(name):
        why = f"{facts.path} is a virtual disk of a RAID card ({name}): its members are checked instead"
        return VirtualDisk(why, facts)
    if VIRTUAL.search(name):
        return VirtualDisk(f"no SMART behind a virtual disk: {facts.path} ({name})", facts)
    why = f"{facts.path} ({name or 'unknown model'}) has no SMART: health unknown"
    return WithoutSmart(why, facts)


def _in_raid(host: Host, path: str, kind: str) -> bool:
    return host.expected.layout == "raid10" or bool(kind) or path.rpartition("/")[2] in _md_members(host)


@cached_per_run
def _md_members(host: Host) -> Set[str]:
    try:
        arrays = [name for name in block_devices.whole_disks(host) if name.startswith("md")]
        members = [part for name in arrays for part in block_devices.slaves(host, name)]
        return {block_devices.disk_of(host, part) for part in members}
    except CannotTell:
        return set()
