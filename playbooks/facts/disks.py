"""Disks with data mounts of their own (JBOD), file systems, and disks that are empty."""

from __future__ import annotations

from collections.abc import Mapping

from agent.host import CannotTell
from playbooks.fact_schema import Fact
from playbooks.facts import Candidate, Look, blocks, servers
from playbooks.facts.blocks import Block, DataMount
from playbooks.view import View


def jbod_disks(look: Look, _of: Fact | None) -> list[Candidate]:
    """Data mounts that lie on one disk each; also those whose disk is gone."""
    system = blocks.system_disks(look.view)
    found = []
    for mount in blocks.file_systems(look.view):
        lies_on_system = mount.path in blocks.SYSTEM or (mount.disk is not None and mount.disk.name in system)
        if not lies_on_system and (mount.disk is None or mount.disk.type == "disk"):
            found.append(_jbod_disk(look, mount))
    return found


def _jbod_disk(look: Look, mount: DataMount) -> Candidate:
    serial = mount.disk.serial if mount.disk else _inventory_serial(look, mount.path)
    names = (
        mount.path,
        mount.source,
        mount.device,
        mount.uuid,
        serial,
        *(blocks.names(mount.disk) if mount.disk else ()),
    )
    shown = f"{mount.path}: {blocks.words(mount.disk)}" if mount.disk else f"{mount.path}: disk {serial} not found"

    def values() -> Mapping[str, object]:
        metadata = "yes" if servers.metadata_log_below(look, mount.path) else "no"
        others = "yes" if servers.runs_without(look, mount.path) else "no"
        log_dirs = servers.log_dirs_below(look, mount.path)
        known = {
            "mount": mount.path,
            "serial": serial,
            "metadata_log": metadata,
            "others": others,
            "log_dirs": log_dirs,
        }
        return {**_file_system(look, mount), **known, **_hardware(look.view, mount)}

    return Candidate(names, shown, values)


def _hardware(view: View, mount: DataMount) -> dict[str, object]:
    """Of a disk that is gone, the name that it had."""
    if mount.disk is None:
        name = mount.source.rpartition("/")[2]
        return {"device": mount.source, "sysfs": f"/sys/block/{name}"} if mount.mounted else {}
    number = blocks.partition_number(view, mount.device.rpartition("/")[2])
    return {
        **blocks.about(view, mount.disk), "partition": mount.device, "partition_number": number,
        "sysfs": f"/sys/block/{mount.disk.name}", "nvme": "yes" if mount.disk.name.startswith("nvme") else "no",
    }  # fmt: skip


def _file_system(look: Look, mount: DataMount) -> dict[str, object]:
    return {
        "uuid": mount.uuid, "fstab": mount.listed, "fstype": mount.fstype, "options": mount.options,
    }  # fmt: skip


def _inventory_serial(look: Look, path: str) -> str:
    return next((mount.serial for mount in look.host.mounts if mount.path == path), "")


def mounts(look: Look, _of: Fact | None) -> list[Candidate]:
    """Every file system on a device."""
    return [_mount(look, mount) for mount in blocks.file_systems(look.view)]


def _mount(look: Look, mount: DataMount) -> Candidate:
    disk = mount.disk
    names = (mount.path, mount.source, mount.device, mount.uuid, *(blocks.names(disk) if disk else ()))

    def values() -> Mapping[str, object]:
        known = {"disk": disk.device, "serial": disk.serial} if disk else {}
        log_dir = next(iter(servers.log_dirs_below(look, mount.path)), "")
        named = {"path": mount.path, "device": mount.device or mount.source, "log_dir": log_dir}
        if servers.zookeeper_below(look, mount.path):
            named["zookeeper"] = "yes"
        return {**named, **known, **_file_system(look, mount)}

    return Candidate(names, f"{mount.path} ({mount.fstype} on {mount.device or mount.source})", values)


def empty_disks(look: Look, of: Fact | None) -> list[Candidate]:
    """Disks with nothing on them and of nothing; if some are newer than the plan, only these.

    of: the disk that it replaces: the new one has its partition where the old one had it.
    """
    found = [disk for disk in blocks.disks(look.view, fresh=True) if _is_empty(look.view, disk)]
    new = [disk for disk in found if disk.serial and disk.serial not in look.disks_before]
    return [_empty_disk(look, disk, of) for disk in new or found]


def _empty_disk(look: Look, disk: Block, old: Fact | None) -> Candidate:
    number = old.words("partition_number") if old else ""

    def values() -> Mapping[str, object]:
        return {**blocks.about(look.view, disk), "partition": "/dev/" + blocks.partition_name(disk.name, number)}

    return Candidate(blocks.names(disk), blocks.words(disk), values)


def _is_empty(view: View, disk: Block) -> bool:
    bare = disk.type == "disk" and disk.size_bytes > 0 and not (disk.children or disk.mounts or disk.fstype)
    return bare and not signatures(view, disk.device)


def signatures(view: View, device: str) -> list[str]:
    """What blkid and wipefs find at the known places of a device: gpt, ext4, linux_raid_member, … CannotTell."""
    rows = view.out("wipefs", "--no-act", "--parsable", "--", device).splitlines()
    found = [row.split(",")[-1] for row in rows if row and not row.startswith("#")]
    if not found:
        found = _probed(view, device)
    return found


def _probed(view: View, device: str) -> list[str]:
    """blkid looks at the device itself, not at what it remembers; it exits with 2 when there is nothing."""
    done = view.ask("blkid", "-p", "-o", "export", "--", device)
    if done.code == 2 and not done.out.strip():
        return []
    if done.code:
        raise CannotTell(f"blkid failed on {device}: {done.said}")
    words = dict(row.partition("=")[::2] for row in done.out.splitlines())
    return [word for word in (words.get("TYPE", ""), words.get("PTTYPE", "")) if word]
