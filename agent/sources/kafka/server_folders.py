"""Where the folders that a server names lie in this machine's tree: past symbolic links, and out of its container.

A server may see another tree than ours: that of a container, or of a unit with mounts of its own. What it calls
/var/lib/kafka/data is then found by the file system that it sees there (/proc/<pid>/mountinfo), if that is mounted
here, too.
"""

from __future__ import annotations

import os
from typing import Iterator, List, Optional, Sequence, Tuple

from agent.host import CannotTell, Host, NoPermission, cached_per_run
from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple
from agent.sources.disks import mount_table
from agent.sources.disks.mount_table import Mount
from agent.sources.kafka import processes as kafka

MOST_LINKS = 8
# Mounts of the system itself, on which a link to a data disk may lie; one on a data disk is not followed: it may hang.
OF_THE_SYSTEM = ("/", "/var", "/var/lib", "/opt", "/srv", "/home", "/usr", "/usr/local", "/mnt", "/data")
# 0::/system.slice/docker-0a1b.scope    4:memory:/kubepods/burstable/pod0a1b/0a1b    0::/machine.slice/libpod-0a1b.scope
CONTAINER = pattern(r"[/-](?:docker|kubepods|libpod|crio|cri-containerd|containerd|lxc|lxc\.payload)\b")


class Folder(NamedTuple):
    """given: as the server names it. inside: the same in the server's own tree, links followed.

    path: in this machine's tree; empty where it is not to be found there, for the reason `why`. mount: what holds it,
    seen from here if it is found, else as the server sees it. tree_of: the process whose tree `inside` is, 0: ours.
    """

    given: str
    inside: str
    path: str
    mount: Optional[Mount]
    tree_of: int = 0
    why: str = ""


def of(host: Host, service: kafka.Service) -> List[Folder]:
    """Its data folders, each once: log dirs, KRaft's metadata, ZooKeeper's; only absolute paths."""
    if service.role == "zookeeper":
        given = [service.config.get(name, "") for name in ("dataDir", "dataLogDir")]
    else:
        dirs = kafka.log_dirs(service.config) if service.config else ()
        given = [*dirs, service.config.get("metadata.log.dir", "")]
    paths = [path for path in dict.fromkeys(given) if path.startswith("/")]
    return [located(host, service.process.pid, path) for path in paths]


@cached_per_run
def located(host: Host, pid: int, path: str) -> Folder:
    """Where a folder lies that this process names; one of a process that cannot be seen is looked up in our tree."""
    try:
        theirs = _mounts_of(host, pid)
    except NoPermission:
        if _in_container(host, pid):
            return Folder(path, path, "", None, pid, f"needs root: process {pid} runs in a container")
        theirs = None
    ours = mount_table.mounts(host)
    if theirs is None or _same(theirs, mount_table.own_mounts(host)):
        inside = _followed(host, "", ours, path)
        return Folder(path, inside, inside, mount_table.holding(ours, inside))
    inside = _followed(host, f"/proc/{pid}/root", theirs, path)
    held = mount_table.holding(theirs, inside)
    found = _translated(ours, held, inside) if held else ""
    if found:
        return Folder(path, inside, found, mount_table.holding(ours, found), pid)
    kind = f"{held.fstype} " if held else "another file system "
    return Folder(path, inside, "", held, pid, f"{path} is on {kind}of the container of process {pid}")


@cached_per_run
def _mounts_of(host: Host, pid: int) -> Optional[List[Mount]]:
    try:
        return mount_table.parse_mountinfo(host.read(f"/proc/{pid}/mountinfo")) or None
    except NoPermission:
        raise
    except CannotTell:
        return None


def _in_container(host: Host, pid: int) -> bool:
    try:
        return bool(CONTAINER.search(host.read(f"/proc/{pid}/cgroup")))
    except CannotTell:
        return False


def _same(theirs: Sequence[Mount], ours: Sequence[Mount]) -> bool:
    """Whether both are one list of mounts: a mount's number is another one in each namespace."""
    return {(mount.number, mount.path) for mount in theirs} == {(mount.number, mount.path) for mount in ours}


def _translated(ours: Sequence[Mount], held: Mount, inside: str) -> str:
    """The path in our tree of what is `inside` on a mount of another; empty if its file system is not mounted here.

    A container's own layer (overlay) is no place of this machine, though its file system may be mounted here.
    """
    if held.fstype in ("overlay", "aufs"):
        return ""
    deep = mount_table.moved(inside, held.path, held.root)
    if mount_table.is_below(inside, held.path) and _at(ours, held, deep, inside):
        return inside
    roomy = sorted(ours, key=lambda mount: len(mount.root), reverse=True)
    return next((path for mount in roomy for path in _places(mount, deep) if _at(ours, held, deep, path)), "")


def _places(mount: Mount, deep: str) -> Iterator[str]:
    if mount_table.is_below(deep, mount.root):
        yield mount_table.moved(deep, mount.root, mount.path)


def _at(ours: Sequence[Mount], held: Mount, deep: str, path: str) -> bool:
    """Whether this path of our tree is that place of that file system, and no other mount hides it."""
    mount = mount_table.holding(ours, path)
    if mount is None or mount.dev != held.dev:
        return False
    return mount_table.moved(path, mount.path, mount.root) == deep


def _followed(host: Host, tree: str, table: Sequence[Mount], path: str) -> str:
    """The path without the symbolic links on the mounts of the system that lead there."""
    for _link in range(MOST_LINKS):
        onward = _through_link(host, tree, table, path)
        if not onward:
            break
        path = onward
    return os.path.normpath(path)


def _through_link(host: Host, tree: str, table: Sequence[Mount], path: str) -> str:
    """Where a path leads if one of its folders is a symbolic link; empty if none is."""
    mount = mount_table.holding(table, path)
    if mount is not None and mount.path not in OF_THE_SYSTEM:
        return ""
    parts = os.path.normpath(path).split("/")
    for number in range(2, len(parts) + 1):
        folder = "/".join(parts[:number])
        try:
            target = str(host.touch("link", f"{tree}{folder}").facts.get("target", ""))
        except CannotTell:
            return ""
        if target:
            return os.path.normpath(os.path.join(os.path.dirname(folder), target, *parts[number:]))
    return ""


def mounts_of(folders: Sequence[Folder]) -> Tuple[str, ...]:
    """The mounts here that hold those of the folders that are found here."""
    return tuple(dict.fromkeys(one.mount.path for one in folders if one.path and one.mount))
