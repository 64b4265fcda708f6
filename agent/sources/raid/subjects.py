"""Every array and every RAID controller of this machine, whoever keeps it; and the layout below the data mounts."""

from __future__ import annotations

from typing import Callable, Dict, Sequence, Union

from agent.host import CannotTell, Host, cached_per_run
from agent.sources.disks import block_devices, mount_table
from agent.sources.disks.mount_table import Mount
from agent.sources.raid import boss, controllers, md
from agent.sources.raid.arrays import Array, Controller

NOT_REDUNDANT = ("raid0", "linear", "single", "dup")

Subject = Union[Array, Controller, CannotTell]


@cached_per_run
def subjects(host: Host) -> Dict[str, Subject]:
    """Every array and controller by its item; an error stands for those that could not be asked."""
    found: Dict[str, Subject] = {}
    _gather(found, "md", lambda: list(md.arrays(host).values()))
    _gather(found, "volumes", lambda: controllers.volumes(host))
    _gather(found, "btrfs", lambda: _on_data_mounts(host, "btrfs"))
    _gather(found, "zfs", lambda: _on_data_mounts(host, "zfs"))
    _gather(found, "boss", lambda: boss.controllers(host))
    for driver in sorted({card.driver for card in controllers.cards(host)}):
        _gather(found, driver, lambda driver=driver: controllers.controllers(host, driver))  # type: ignore[misc]
    return found


def _on_data_mounts(host: Host, fstype: str) -> Sequence[Array]:
    """File systems that are arrays themselves; their readers are loaded where a data mount is one."""
    if not any(mount.fstype == fstype for mount in data_mounts(host)):
        return []
    if fstype == "btrfs":
        from agent.sources.raid import btrfs

        return btrfs.arrays(host)
    from agent.sources.raid import zfs

    return zfs.arrays(host)


def data_mounts(host: Host) -> Sequence[Mount]:
    """What is mounted at the expected mounts; nothing where the table of mounts cannot be read."""
    try:
        found = [mount_table.mount_at(host, path) for path in host.expected.mount_paths]
    except CannotTell:
        return []  # the check `mounts` says so
    return [mount for mount in found if mount]


def _gather(found: Dict[str, Subject], name: str, ask: Callable[[], Sequence[Union[Array, Controller]]]) -> None:
    try:
        for subject in ask():
            found[subject.name] = subject
            if isinstance(subject, Controller):
                found.update({array.name: array for array in subject.arrays})
    except CannotTell as error:
        found[name] = error


def layout(host: Host) -> str:
    """`jbod`, `raid10` or another level, as it lies below the data mounts; `jbod and raid1` where they differ.

    CannotTell when none of them is mounted on a block device.
    """
    levels = {found.disk: found.level for found in subjects(host).values() if isinstance(found, Array)}
    pools = {found.name: found.level for found in subjects(host).values() if isinstance(found, Array)}
    words = set()
    for mount in data_mounts(host):
        if mount.fstype == "zfs":
            level = pools.get(f"zpool {mount.source.partition('/')[0]}", "")
            words.add("jbod" if level in NOT_REDUNDANT else level or "an unknown level")
    for path in host.expected.mount_paths:
        try:
            below = block_devices.stack_of_mount(host, path)
        except CannotTell:
            continue  # not mounted: the check `mounts` says so
        redundant = [levels[name] for name in sorted(below) if levels.get(name, "raid0") not in NOT_REDUNDANT]
        words.add(redundant[0] if redundant else "jbod")
    if not words:
        raise CannotTell("layout unknown: no data mount is mounted on a disk")
    return " and ".join(sorted(words))
