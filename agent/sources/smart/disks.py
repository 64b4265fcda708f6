"""Which physical disks the machine has, each once: from udev, from `smartctl --scan`, and by probing HPE cards.

A disk is known by its serial. Where udev knows it (SATA, SAS, NVMe) nothing is read to find it; behind a RAID card
only the disk itself can tell, so those are read here, all at once, and the answer is kept for the check. One that
gives no answer (within 3 s if an earlier run knows it, else in full time) keeps its old name, or goes by its path,
such as "bus/0 megaraid,3": a disk that hangs affects its own item only.
A JBOD disk of a MegaRAID card is seen twice, as /dev/sdX and as megaraid,N: its SCSI address 0:channel:N says so
without asking (the driver uses channel * 128 + id as device id), and else its serial does.
"""

from __future__ import annotations

import functools
import re
from typing import Container, Dict, Iterable, List, Optional, Set, Tuple

from agent.host import CannotTell, Disk, Host, NotApplicable, Stuck, cached_per_run, run_concurrently
from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple
from agent.sources.smart import smartctl
from agent.sources.smart.report import Facts
from agent.sources.smart.smartctl import RAID_VOLUME, SMARTCTL_DEADLINE_S

PROBED_AT_ONCE = 8
MOST_PROBED = 64
MEGARAID_CHANNEL_SIZE = 128
FIRST_VOLUME_CHANNEL = 2

# How long a disk that an earlier run knows may keep the others from being told of.
HASTE_S = 3.0

# "3:0:8:0", the last part of where /sys/block/sda/device points
ADDRESS = pattern(r"(?<!\d)(\d{1,9}):(\d{1,9}):(\d{1,9}):\d{1,9}$")
NVME_NAMESPACE = pattern(r"^(nvme\d+)n\d+$")
NVME_PATH = pattern(r"^nvme\d+c\d+n\d+$")

NO_SMART_BY_NAME = (
    (pattern(r"^x?vd[a-z]+$"), "no SMART behind a virtual disk"),
    (pattern(r"^(mmcblk|pmem|fd|nbd|rbd|zd|drbd)\d"), "this kind of disk has no SMART"),
)


class Member(NamedTuple):
    """One disk to ask: smartctl's path and type, and what is known before asking. skip: why it has no SMART."""

    path: str
    kind: str = ""
    name: str = ""
    serial: str = ""
    wwn: str = ""
    model: str = ""
    slot: str = ""
    size_bytes: int = 0
    skip: str = ""

    @property
    def label(self) -> str:
        return f"{self.path} {self.kind}".strip()


def listed(host: Host) -> List[Member]:
    """Every disk that is visible, without asking one of them (but for HPE cards, which list nothing)."""
    disks = [disk for disk in host.disks() if disk.kind == "physical" and not NVME_PATH.match(disk.name)]
    addresses = {disk.name: _megaraid_address(host, disk) for disk in disks}
    seen = [_seen(disk, addresses[disk.name]) for disk in disks]
    jbod = {f"/dev/bus/{at[0]} megaraid,{at[2]}" for at in addresses.values() if at and at[1] < FIRST_VOLUME_CHANNEL}
    names = {disk.path for disk in disks}
    names.update(f"/dev/{match.group(1)}" for match in (NVME_NAMESPACE.match(disk.name) for disk in disks) if match)
    hidden = [m for m in _scanned(host) if m.label not in jbod and (m.kind or m.path not in names)]
    return seen + hidden + _behind_hpe(host, disks)


def _seen(disk: Disk, address: Optional[Tuple[int, int, int]]) -> Member:
    return Member(
        disk.path, "", disk.name, disk.serial, disk.wwn, disk.model, disk.slot, disk.size_bytes, _skip(disk, address)
    )


def _skip(disk: Disk, address: Optional[Tuple[int, int, int]]) -> str:
    by_name = next((why for named, why in NO_SMART_BY_NAME if named.match(disk.name)), "")
    if by_name:
        return f"{by_name}: {disk.path}"
    if disk.bus == "usb":
        return f"{disk.path} ({disk.model or 'unknown model'}) is attached by USB and is not a disk of this server"
    if (address and address[1] >= FIRST_VOLUME_CHANNEL) or (address is None and RAID_VOLUME.search(disk.model)):
        return f"{disk.path} is a virtual disk of a RAID card ({disk.model}): its members are checked instead"
    return ""


def _megaraid_address(host: Host, disk: Disk) -> Optional[Tuple[int, int, int]]:
    """Host, channel and device id of a disk on a MegaRAID card; None on anything else."""
    try:
        match = ADDRESS.search(host.link(f"/sys/block/{disk.name}/device"))
        if match is None:
            return None
        number, channel, target = (int(part) for part in match.groups())
        driver = host.read(f"/sys/class/scsi_host/host{number}/proc_name").strip()
    except CannotTell:
        return None
    return (number, channel, channel * MEGARAID_CHANNEL_SIZE + target) if driver == "megaraid_sas" else None


def _scanned(host: Host) -> List[Member]:
    """What the scan lists: with its type where only that reaches it."""
    try:
        devices = smartctl.scan(host).devices
    except CannotTell:
        return []  # an item of its own tells of it, see scan_problem
    return [Member(path, kind if "," in kind else "") for path, kind in dict.fromkeys(devices)]


def scan_problem(host: Host) -> Optional[CannotTell]:
    """Why the disks behind RAID cards could not be listed."""
    try:
        smartctl.scan(host)
    except CannotTell as error:
        return error
    return None


def _behind_hpe(host: Host, disks: List[Disk]) -> List[Member]:
    """The disks behind an HPE Smart Array card, found by asking for number 0, 1, … until there are no more."""
    if not any("LOGICAL VOLUME" in disk.model.upper() for disk in disks) or scan_problem(host):
        return []
    found: List[Member] = []
    for path in _hpe_cards(host) or [next(disk.path for disk in disks if "LOGICAL VOLUME" in disk.model.upper())]:
        found += _probed(host, path)
    return found


def _probed(host: Host, path: str) -> List[Member]:
    """One wave of questions is as long as the disks found the last time, and one more."""
    key = f"smart/cciss/{path}"
    remembered = host.state.remembered(key)
    wave = remembered + 1 if isinstance(remembered, int) and 0 < remembered < MOST_PROBED else PROBED_AT_ONCE
    members: List[Member] = []
    while len(members) < MOST_PROBED:
        asked = [Member(path, f"cciss,{len(members) + index}") for index in range(wave)]
        answers = read_all(host, asked)
        there = [index for index, member in enumerate(asked) if _is_there(answers[member.label])]
        members += asked[: there[-1] + 1] if there else []
        if len(there) < wave:
            break
    host.state.remember(key, len(members) or None)
    return members


def _is_there(answer: object) -> bool:
    """A disk that hangs is there; one that cannot be opened is not."""
    return isinstance(answer, (Facts, Stuck, NotApplicable))


def _hpe_cards(host: Host) -> List[str]:
    """The cards themselves (SCSI type 12), such as /dev/sg0."""
    try:
        names = host.list_dir("/sys/class/scsi_generic")
        types = {name: host.read(f"/sys/class/scsi_generic/{name}/device/type").strip() for name in names}
        return [f"/dev/{name}" for name in names if types[name] == "12"]
    except CannotTell:
        return []


def read_all(host: Host, members: Iterable[Member], in_haste: Container[str] = ()) -> Dict[str, object]:
    """Facts, or the exception, by label, all asked at once.

    A disk in haste is waited for only briefly; its reading goes on, for `smartctl.read` to pick up.
    """
    asks = {member.label: functools.partial(smartctl.read, host, member.path, member.kind) for member in members}
    return run_concurrently(asks, {label: HASTE_S if label in in_haste else SMARTCTL_DEADLINE_S + 1 for label in asks})


@cached_per_run
def found(host: Host) -> Dict[str, Member]:
    """Each disk once, by its serial, worldwide name, or path: what the check asks about.

    Reads the disks whose serial only they know, and all of them when the inventory names one that udev does not.
    """
    members = listed(host)
    all_named = all(any(is_named(name, member) for member in members) for name in host.expected.disks)
    unread = [m for m in members if not m.skip and not (all_named and (m.serial or m.wwn))]
    answers = read_all(host, unread, in_haste=_labels_before(host))
    reported = [_told(member, answers.get(member.label)) for member in members]
    return _once_each(reported, _labels(host, reported))


def item_at(host: Host, path: str, kind: str) -> str:
    """The item under which the check smart reports the disk at this path; empty where it reports none.

    A disk that is reached by two paths is one item: where the path is not the item's own, the serial decides.
    """
    label = Member(path, kind).label
    try:
        items = found(host)
    except CannotTell:
        return ""
    at_path = next((item for item, member in items.items() if member.label == label), "")
    return at_path or _same_serial(items, read_all(host, [Member(path, kind)])[label])


def _same_serial(items: Dict[str, Member], answer: object) -> str:
    serial = answer.serial if isinstance(answer, Facts) else ""
    return next((item for item, member in items.items() if serial and member.serial == serial), "")


def is_named(name: str, member: Member) -> bool:
    return smartctl.same_disk(name, member.serial, member.wwn)


def _told(member: Member, answer: object) -> Member:
    """The disk with what it said of itself; one without SMART still says who it is."""
    if isinstance(answer, (smartctl.VirtualDisk, smartctl.WithoutSmart)):
        answer = answer.facts
    if not isinstance(answer, Facts):
        return member
    return member._replace(
        serial=answer.serial or member.serial,
        wwn=member.wwn or answer.wwn,
        model=member.model or answer.model,
        size_bytes=member.size_bytes or answer.size_bytes or 0,
    )


def _labels(host: Host, members: List[Member]) -> Dict[str, str]:
    """What the disk at each path was called when it last said so: one that hangs keeps its name."""
    known = {member.label: member.serial for member in members if member.serial and not member.skip}
    here = {member.label for member in members}
    kept = {label: name for label, name in _labels_before(host).items() if label in here}
    labels = {**kept, **known}
    host.state.remember("smart/labels", labels or None)
    return labels


def _labels_before(host: Host) -> Dict[str, str]:
    before = host.state.remembered("smart/labels")
    rows = before.items() if isinstance(before, dict) else ()
    return {label: name for label, name in rows if isinstance(name, str)}


def _once_each(members: List[Member], labels: Dict[str, str]) -> Dict[str, Member]:
    once: Dict[str, Member] = {}
    names: Set[str] = set()
    for member in members:
        short = member.label.replace("/dev/", "", 1)
        key = short if member.skip else member.serial or member.wwn or labels.get(member.label) or short
        wwn = smartctl.plain_wwn(member.wwn)
        other = once.get(key)
        if (wwn and wwn in names) or (other and _same(other, member)):
            continue
        once[f"{key} {short}" if other else key] = member
        names.update({wwn} - {""})
    return once


def _same(one: Member, other: Member) -> bool:
    """Whether two paths with one serial lead to one disk: not two numbers of one card, and not two models."""
    if one.kind and other.kind and one.path == other.path:
        return False
    first, second = sorted((re.sub(r"\W", "", member.model).upper() for member in (one, other)), key=len)
    return first in second
