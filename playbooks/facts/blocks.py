"""Block devices and what lies on them, from lsblk, findmnt and /etc/fstab of the machine."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from agent.api.disks import mount_table
from agent.host import CannotTell
from playbooks.view import View

COLUMNS = "NAME,KNAME,TYPE,SERIAL,SIZE,MODEL,WWN,FSTYPE,UUID,MOUNTPOINT,MAJ:MIN,RO"
MOST_DEEP = 12
# how /etc/fstab names a device
SOURCES = ("/dev/", "UUID=", "LABEL=", "PARTUUID=", "PARTLABEL=", "ID=")
QUOTE = '"'
# below these nothing is ever a data disk
SYSTEM = ("/", "/boot", "/boot/efi", "/usr", "/var", "/home", "/opt", "/etc", "/var/log", "[SWAP]")


class Block(NamedTuple):
    """A block device. name: of the kernel. mounts: where it is mounted, also `[SWAP]`. children: what is made of it."""

    name: str
    type: str
    serial: str
    size_bytes: int
    model: str
    wwn: str
    fstype: str
    uuid: str
    mounts: tuple[str, ...]
    children: tuple[Block, ...]

    @property
    def device(self) -> str:
        return f"/dev/{self.name}"

    def tree(self) -> Iterator[Block]:
        """It, and everything that is made of it."""
        yield self
        for child in self.children:
            yield from child.tree()

    def mounted_at(self) -> list[str]:
        """Where it, or anything on it, is in use."""
        return list(dict.fromkeys(path for one in self.tree() for path in one.mounts))


class DataMount(NamedTuple):
    """A file system that is mounted, or that /etc/fstab names. device: empty where the device is gone.

    source: as the kernel's table or /etc/fstab has it. listed: the source in /etc/fstab, empty if it is not there.
    disk: None where it lies on no single disk that is there.
    """

    path: str
    device: str
    source: str
    fstype: str
    options: str
    uuid: str
    disk: Block | None
    mounted: bool
    listed: str


def disks(view: View, fresh: bool = False) -> list[Block]:
    """Every whole disk, as it is now with `fresh`. CannotTell."""
    if fresh:
        return _disks(view)
    return view.once("blocks", lambda: _disks(view))


def _disks(view: View) -> list[Block]:
    mounted: dict[str, list[str]] = {}
    for row in mount_table.parse_mountinfo(view.out("cat", "/proc/self/mountinfo")):
        mounted.setdefault(row.dev, []).append(row.path)
    try:
        rows = json.loads(view.out("lsblk", "--json", "--bytes", "--output", COLUMNS))["blockdevices"]
        return [_block(row, mounted, 0) for row in rows]
    except (ValueError, KeyError, TypeError, RecursionError, AttributeError) as error:
        raise CannotTell(f"unexpected output from lsblk: {type(error).__name__}") from error


def _block(row: Mapping[str, Any], mounted: Mapping[str, Sequence[str]], depth: int) -> Block:
    if depth > MOST_DEEP:
        raise ValueError("too deep")
    at = [*mounted.get(str(row.get("maj:min")), ()), *([row["mountpoint"]] if row.get("mountpoint") else [])]
    return Block(
        name=str(row["kname"]), type=str(row.get("type") or ""), serial=str(row.get("serial") or "").strip(),
        size_bytes=int(row.get("size") or 0), model=" ".join(str(row.get("model") or "").split()),
        wwn=str(row.get("wwn") or ""), fstype=str(row.get("fstype") or ""), uuid=str(row.get("uuid") or ""),
        mounts=tuple(dict.fromkeys(map(str, at))),
        children=tuple(_block(child, mounted, depth + 1) for child in row.get("children") or ()),
    )  # fmt: skip


def disk_of(view: View, name: str) -> Block | None:
    """The whole disk that is, or has on it, the device of this kernel name; None if there is none or several."""
    found = [disk for disk in disks(view) if any(one.name == name for one in disk.tree())]
    return found[0] if len(found) == 1 else None


def block(view: View, name: str) -> Block | None:
    """A device, whole or part, by its kernel name."""
    return next((one for disk in disks(view) for one in disk.tree() if one.name == name), None)


def system_disks(view: View) -> set[str]:
    """Kernel names of disks that carry the system."""
    return {disk.name for disk in disks(view) if any(path in SYSTEM for path in disk.mounted_at())}


def file_systems(view: View) -> list[DataMount]:
    """What is mounted from a device or named by /etc/fstab so, each path once; the mounted first."""
    found: dict[str, DataMount] = {}
    for mount in mount_table.mounts(view):
        if mount.source.startswith("/dev/"):
            found[mount.path] = _mounted(view, mount)
    for entry in mount_table.fstab(view):
        if entry.path.startswith("/") and entry.path not in found and entry.source.startswith(SOURCES):
            found[entry.path] = _listed(view, entry)
    return list(found.values())


def _mounted(view: View, mount: mount_table.Mount) -> DataMount:
    there = next((one for disk in disks(view) for one in disk.tree() if mount.path in one.mounts), None)
    entry = mount_table.fstab_entry(view, mount.path)
    uuid = there.uuid if there and there.uuid else _uuid_of(entry.source if entry else "")
    return DataMount(
        mount.path, there.device if there else "", mount.source, mount.fstype,
        ",".join(entry.options) if entry else ",".join(mount.options), uuid,
        disk_of(view, there.name) if there else None, True, entry.source if entry else "",
    )  # fmt: skip


def _listed(view: View, entry: mount_table.FstabEntry) -> DataMount:
    uuid, name = _uuid_of(entry.source), _name_of(view, entry.source)
    there = next(
        (one for disk in disks(view) for one in disk.tree() if (uuid and one.uuid == uuid) or one.name == name), None
    )
    return DataMount(
        entry.path, there.device if there else "", entry.source, entry.fstype, ",".join(entry.options),
        uuid or (there.uuid if there else ""), disk_of(view, there.name) if there else None, False, entry.source,
    )  # fmt: skip


def _name_of(view: View, source: str) -> str:
    """The kernel's name of the device that an entry means; where it is gone, the last part of what it is called."""
    kind, _, value = source.partition("=")
    folder = mount_table.UDEV_FOLDERS.get(kind, "")
    path = f"{folder}/{mount_table.udev_name(value.strip(QUOTE))}" if folder and value else source
    try:
        return view.link(path).rpartition("/")[2]
    except CannotTell:
        return source.rpartition("/")[2]


def _uuid_of(source: str) -> str:
    return source.removeprefix("UUID=").strip('"') if source.startswith("UUID=") else ""


def partition_number(view: View, name: str) -> str:
    """Of a partition; empty for a whole disk."""
    try:
        return view.read(f"/sys/class/block/{name}/partition").strip()
    except CannotTell:
        return ""


def partition_name(disk: str, number: str) -> str:
    """The kernel's name of a partition.

    >>> partition_name("sdc", "2"), partition_name("nvme0n1", "2"), partition_name("sdc", "")
    ('sdc2', 'nvme0n1p2', 'sdc')
    """
    if not number:
        return disk
    return f"{disk}p{number}" if disk[-1:].isdigit() else f"{disk}{number}"


def place(view: View, name: str) -> dict[str, str]:
    """slot and enclosure of a disk, as far as the machine tells."""
    try:
        names = view.list_dir(f"/sys/block/{name}/device")
    except CannotTell:
        return {}
    bay = next((word.partition(":")[2] for word in names if word.startswith("enclosure_device:")), "")
    if bay:
        link = view.link(f"/sys/block/{name}/device/enclosure_device:{bay}")
        return {"slot": bay, "enclosure": link.split("/")[-2] if "/" in link else ""}
    return {"slot": _path_of(view, name)}


def _path_of(view: View, name: str) -> str:
    """udev's words for where a disk sits."""
    try:
        rows = view.out("udevadm", "info", "--query=property", f"--name=/dev/{name}").splitlines()
    except CannotTell:
        return ""
    known = dict(row.partition("=")[::2] for row in rows)
    return known.get("ID_SAS_PATH") or known.get("ID_PATH") or ""


def about(view: View, disk: Block) -> dict[str, object]:
    """The fields that every disk has."""
    return {
        "serial": disk.serial, "device": disk.device, "size_bytes": disk.size_bytes, "model": disk.model,
        "wwn": disk.wwn, **place(view, disk.name),
    }  # fmt: skip


def names(disk: Block) -> tuple[str, ...]:
    """What a disk may be called."""
    return (disk.serial, disk.wwn, disk.name)


def words(disk: Block) -> str:
    """A disk for a person."""
    size = f"{disk.size_bytes / 1e12:.1f} TB" if disk.size_bytes >= 1e12 else f"{disk.size_bytes / 1e9:.1f} GB"
    return f"{disk.device}, {disk.model or 'disk'}, {size}, serial {disk.serial or 'unknown'}"
