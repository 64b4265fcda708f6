"""What the kernel said happened, and on which disk: the tables of lines, and what other lines add to each."""

from __future__ import annotations

import re
from typing import Collection, Dict, Iterator, List, Mapping, Optional, Sequence

from agent.host import CannotTell, Host, cached_per_run
from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple
from agent.sources.disks import block_devices
from agent.sources.disks.device_names import journal_device, whole_disk
from agent.sources.kernel import controller_lines, disk_lines, file_system_lines, pcie_lines
from agent.sources.kernel.disk_event_kinds import BACK, FS_STOPPED, HUNG_TASK, IO, OFFLINE, RESET
from agent.sources.kernel.line_patterns import LinePattern, LineTable
from agent.sources.kernel.log import Record, Sighting
from agent.sources.kernel.pcie_lines import SLOT_EMPTY

FORMS = (
    *disk_lines.FORMS,
    *controller_lines.FORMS,
    *file_system_lines.FORMS,
    *pcie_lines.FORMS,
)
TABLE = LineTable(FORMS)

HUNG_TASKS_ITEM = "blocked tasks"
BOOT_S = 300.0
ATTACH_S = 120.0

# Optical drives and floppies (also the BMC's virtual ones) fail whenever they are empty.
REMOVABLE = pattern(r"(?:sr|fd|scd|nbd|ram|zram)\d+$")
# A drive that does not know a discard says so; it loses nothing.
# critical target error, dev sda, sector 0 op 0x3:(DISCARD) flags 0x800 phys_seg 1 prio class 0
UNSUPPORTED = pattern(r".* op 0x\w+:\((?:DISCARD|SECURE_ERASE|SECURE ERASE|WRITE_ZEROES|WRITE_SAME|WRITE SAME)\)")

# sd 2:0:0:0: [sdc] Attached SCSI disk
ATTACHED = pattern(r"sd (\d+:\d+:\d+:\d+): \[(\w+)\] (?:Attached SCSI|\d+ \d+-byte (?:logical|hardware))", re.ASCII)
# sd 2:0:0:0: [sdc] 7814037168 512-byte logical blocks: (4.00 TB/3.64 TiB)
SIZED = pattern(r"sd (\d+:\d+:\d+:\d+): \[\w+\] [1-9]\d* \d+-byte", re.ASCII)
# nvme nvme0: 16/0/0 default/read/poll queues
NVME_READY = pattern(r"nvme (nvme\d+): \d+/\d+/\d+ default/read/poll queues")
# device-mapper: multipath: 253:2: Reinstating path 8:32.
REINSTATED = pattern(r"device-mapper: multipath: (?:\d+:\d+: )?Reinstating path (\d+:\d+)")
# sd 2:0:0:0: [sdc] tag#12 Sense Key : Medium Error [current]
ADDRESSED = pattern(r"sd (\d+:\d+:\d+:\d+): \[(\w+)\]", re.ASCII)
# XFS (loop0): Mounting V5 Filesystem 0f2a7c5e-2f0e-4b0e-9f0e-1c2d3e4f5a6b
XFS_MOUNTED = pattern(r"XFS \(([^)\s]+)\): (?:Mounting V\d|Ending (?:clean mount|recovery))", re.ASCII)
OPERATOR_FLAG = 0x4


class Devices(NamedTuple):
    """Which disk stands behind what a line names. Each maps to a kernel name such as `sdd`.

    addresses: `2:0:0:0`, `ata3`, `nvme0`, `0000:04:00.0` (`PCI 0000:18:00.0` where several disks stand behind it);
    numbers: `8:32`; disks: the whole disks there are.
    """

    addresses: Mapping[str, str]
    numbers: Mapping[str, str]
    disks: Sequence[str]


# /sys/devices/pci0000:00/0000:00:1f.2/ata3/host2/target2:0:0/2:0:0:0/block/sdc
# /sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0/nvme/nvme0/nvme0n1
ADDRESS = pattern(r"/(ata\d+|\d+:\d+:\d+:\d+|nvme\d+)(?=/)", re.ASCII)
# each bridge on the way to a disk, and its controller
PCI = pattern(r"/([\da-f]{4,8}:[\da-f]{2}:[\da-f]{2}\.\d)(?=/)")


@cached_per_run
def devices(host: Host) -> Devices:
    """The disks of this machine and where they are attached; a disk that is gone keeps its address until a reboot."""
    addresses = dict(host.state.cursor("disk_sightings/addresses") or {})
    try:
        disks = block_devices.disks(host)
    except CannotTell:
        disks = {}  # the lines are worth telling all the same
    for name in disks:
        try:
            path = host.link(f"/sys/block/{name}")
        except CannotTell:
            continue
        for address in ADDRESS.findall(path):
            addresses[address] = name
        for address in PCI.findall(path):
            shared_by_several = addresses.get(address, name) != name and not _replaces(disks, addresses[address])
            addresses[address] = f"PCI {address}" if shared_by_several else name
    host.state.set_cursor("disk_sightings/addresses", addresses)
    return Devices(addresses, {disk.dev: name for name, disk in disks.items() if disk.dev}, sorted(disks))


def _replaces(disks: Mapping[str, object], before: str) -> bool:
    """Whether the disk that stood behind an address is gone, so that the one there now came in its place."""
    return not before.startswith("PCI ") and before not in disks


def sightings(
    new: Sequence[Record], all_records: Sequence[Record], devices: Devices, troubled: Collection[str] = ()
) -> Iterator[Sighting]:
    """What the new records say happened, to which item; all records tell what came before and after.

    troubled: the items of earlier trouble. BACK is told of these and of those that are new among them, no others.
    """
    context = _Context(all_records, devices)
    known = set(troubled)
    for record in new:
        for item in context.back(record):
            if item in known:
                yield Sighting(item, BACK, record, ATTACHED)
        form, match = TABLE.find(record.text)
        if form and match:
            kind = context.kind(form, match, record)
            for item in context.items(kind, match) if kind else ():
                known.add(item)
                yield Sighting(item, kind, record, form.expression, form.each)


def attached_at(records: Sequence[Record], name: str) -> Optional[float]:
    """When the disk that has this name now was attached; None if the log does not tell."""
    said = f"[{name}] Attached SCSI"
    return next((record.at for record in reversed(records) if said in record.text), None)


class _Context:
    """What other lines tell: SCSI addresses of disks that are gone, when a disk was attached, who shut XFS down."""

    def __init__(self, records: Sequence[Record], devices: Devices) -> None:
        self._names = dict(devices.addresses)
        self._numbers = devices.numbers
        self._disks = frozenset(devices.disks)
        self._attached: Dict[str, List[float]] = {}
        self._sized: Dict[str, float] = {}
        self._at_address: Dict[str, List[str]] = {}
        self._stopped: Dict[str, List[int]] = {}
        for record in records:
            self._note(record)

    def _note(self, record: Record) -> None:
        named = ADDRESSED.match(record.text) if record.text.startswith("sd ") else None
        if named:
            address, name = named.groups()
            self._names[address] = name
            if name not in self._at_address.setdefault(address, []):
                self._at_address[address].append(name)
            if ATTACHED.match(record.text):
                self._attached.setdefault(named.group(1), []).append(record.uptime_s)
        elif record.text.startswith("XFS "):
            mounted = XFS_MOUNTED.match(record.text)
            if mounted:
                self._stopped.setdefault(mounted.group(1), []).append(record.seq)
            elif "User initiated shutdown" in record.text:
                self._stopped.setdefault(record.text[5 : record.text.find(")")], []).append(-record.seq)

    def back(self, record: Record) -> List[str]:
        """The items that this line says are there again: a disk with a size at its address, a controller, a path."""
        text = record.text
        if text.startswith("sd "):
            sized = SIZED.match(text)
            if sized:
                self._sized[sized.group(1)] = record.uptime_s
            attached = ATTACHED.match(text) if "] Attached SCSI" in text else None
            address = attached.group(1) if attached else ""
            if record.uptime_s - self._sized.get(address, -ATTACH_S) < ATTACH_S:
                return [*self._at_address.get(address, ()), address]
        elif text.startswith("nvme "):
            ready = NVME_READY.match(text)
            return [self.disk(self._names.get(ready.group(1), ready.group(1)))] if ready else []
        elif text.startswith("device-mapper: "):
            path = REINSTATED.match(text)
            return [self._numbers.get(path.group(1), path.group(1))] if path else []
        return []

    def kind(self, form: LinePattern, match: re.Match[str], record: Record) -> str:
        """The kind of what happened; empty if it is no news: a boot, a hot plug, an operator's own doing."""
        said = match.groupdict()
        text = record.text
        if form.kind == IO and UNSUPPORTED.match(text):
            return ""
        if "Power-on or device reset" in text and self._just_attached(said.get("address") or "", record.uptime_s):
            return ""
        if form.kind == RESET and "diag reset" in text and record.uptime_s < BOOT_S:
            return ""
        if form.kind == SLOT_EMPTY:
            return OFFLINE if record.uptime_s >= BOOT_S else ""
        if said.get("of") and int(said["has"]) >= int(said["of"]):
            return ""
        if text.startswith("XFS ") and self._by_operator(said, record.seq):
            return FS_STOPPED
        return form.kind

    def _just_attached(self, address: str, uptime_s: float) -> bool:
        return uptime_s < BOOT_S or any(0 <= at - uptime_s <= ATTACH_S for at in self._attached.get(address, ()))

    def _by_operator(self, said: Mapping[str, Optional[str]], seq: int) -> bool:
        flags = said.get("flags") or said.get("flags_before") or "0x0"
        marks = [mark for mark in self._stopped.get(said["device"] or "", ()) if abs(mark) <= seq]
        return bool(int(flags, 16) & OPERATOR_FLAG) or (bool(marks) and marks[-1] < 0)

    def items(self, kind: str, match: re.Match[str]) -> List[str]:
        """The disks, arrays or devices that the line names."""
        if kind == HUNG_TASK:
            return [HUNG_TASKS_ITEM]
        said = {name: value for name, value in match.groupdict().items() if value}
        found = [said["array"]] if "array" in said else []
        for name in ("device", "member", "card"):
            if name in said:
                found.append(self.disk(said[name]))
                break
        else:
            found += self._indirect(said)
        return [item for item in dict.fromkeys(found) if not REMOVABLE.match(item)]

    def _indirect(self, said: Mapping[str, str]) -> List[str]:
        if "pci" in said:  # of another card: not ours to tell
            behind = self._names.get(said["pci"], "")
            return [behind] if behind else []
        for name in ("probed", "library", "md", "layer"):
            if name in said:
                return [self._names.get(said[name], said[name])]
        if "journal" in said:
            return [self.disk(journal_device(said["journal"]))]
        if "number" in said:
            return [self._numbers.get(said["number"], said["number"])]
        if "address" in said:
            return [self._names.get(said["address"], said["address"])]
        if "ata" in said:
            port = said["ata"].partition(".")[0]
            return [self._names.get(port, port)]
        return [self.disk(self._names.get(said["nvme"], said["nvme"]))] if "nvme" in said else []

    def disk(self, name: str) -> str:
        """The whole disk of a partition or an NVMe controller; anything else stands for itself."""
        if name in self._disks:
            return name
        return self._names.get(name) or whole_disk(name)
