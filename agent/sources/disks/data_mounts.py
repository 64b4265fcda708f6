"""Which mounts hold the data of this machine's servers, and by which user each is written to."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

from agent.expected import ExpectedMount
from agent.host import CannotTell, Host, cached_per_run
from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple
from agent.sources.disks import mount_table
from agent.sources.disks.mount_table import Mount
from agent.sources.kafka import processes as kafka
from agent.sources.kafka import server_folders
from agent.sources.kafka.server_folders import Folder

# Uid:	997	997	997	997        real, effective, saved, of the file system
# Groups:	997 1001
IDS = pattern(r"(?m)^(Uid|Gid|Groups):[ \t]*((?:\d[\d \t]*)?)$")
# CapEff:	0000000000000000
CAPABILITIES = pattern(r"(?m)^CapEff:\s*([\da-f]{1,16})$")
# capabilities(7): CAP_DAC_OVERRIDE, which no permission bits hold back
OVERRIDES = 1 << 1


class Writer(NamedTuple):
    """What a server writes to a mount as. user: its name, empty where that is not known or it is root.

    tree_of: the process in whose tree the folder is to be looked up, 0: in ours.
    """

    folder: str
    user: str = ""
    uid: int = 0
    gid: int = 0
    groups: Tuple[int, ...] = ()
    tree_of: int = 0

    @property
    def seen_at(self) -> str:
        """The folder as a path of ours."""
        return f"/proc/{self.tree_of}/root{self.folder}" if self.tree_of else self.folder


def all_of(host: Host) -> List[ExpectedMount]:
    """The data mounts of the inventory (or of the guess), and those of ZooKeeper, which need not be named."""
    named = list(host.expected.mounts)
    known = set(host.expected.mount_paths)
    return named + [ExpectedMount(path) for path in of_zookeeper(host) if path not in known]


def paths(host: Host) -> List[str]:
    return [mount.path for mount in all_of(host)]


@cached_per_run
def of_zookeeper(host: Host) -> Tuple[str, ...]:
    """The mounts that hold dataDir and dataLogDir of the ZooKeeper servers here, or held them in the last days."""
    try:
        services = [service for service in kafka.services(host) if service.role == "zookeeper"]
    except CannotTell:
        services = []
    folders = [folder.path for service in services for folder in server_folders.of(host, service) if folder.path]
    if not services and host.expected.roles and "zookeeper" not in host.expected.roles:
        return ()
    return holding(host, "data_mounts.zookeeper", folders)


def holding(host: Host, note: str, folders: Sequence[str], passing: Sequence[str] = ()) -> Tuple[str, ...]:
    """The mounts that hold these folders, or held them in the last days: a lost mount is still expected.

    Without folders, those that `note` remembers of earlier runs. passing: folders that are not remembered.
    """
    before = _remembered(host, note)
    if not folders:
        return tuple(dict.fromkeys(mount for mount, _at in before.values()))
    now: Dict[str, Tuple[str, float]] = {}
    for path in folders:
        held = before.get(path, ("", 0.0))
        mount = _mount_of(host, path)
        now[path] = (mount, host.now()) if len(mount) >= len(held[0]) else held
    host.state.remember(note, {path: row for path, row in now.items() if path not in passing} or before)
    return tuple(dict.fromkeys(mount for mount, _at in now.values() if mount))


def _remembered(host: Host, note: str) -> Dict[str, Tuple[str, float]]:
    """Folder -> its mount and when that was last seen."""
    rows = host.state.remembered(note)
    oldest = host.now() - kafka.REMEMBER_DAYS * 86400
    pairs = ((path, row) for path, row in (rows.items() if isinstance(rows, dict) else ()) if _is_whole(row))
    return {path: (mount, at) for path, (mount, at) in pairs if at >= oldest}


def _is_whole(row: Any) -> bool:
    return isinstance(row, list) and len(row) == 2 and isinstance(row[0], str) and isinstance(row[1], (int, float))


def _mount_of(host: Host, path: str) -> str:
    """The mount that holds a path, or the one that fstab wants there and that is missing."""
    try:
        mount = mount_table.mount_of(host, path)
        wanted = mount_table.fstab_of(host, path)
    except CannotTell:
        return ""
    return max(mount.path if mount else "", wanted.path if wanted else "", key=len)


def writer(host: Host, mount: Mount) -> Writer:
    """The folder on this mount that a server writes to, and as whom; of a server that is gone, as an earlier run saw.

    The root of the mount, as root, where no server is known to write to it.
    """
    note = f"data_mounts/writer {mount.path}"
    try:
        services = kafka.services(host)
    except CannotTell:
        services = []
    for service in sorted(services, key=lambda service: service.role):
        for folder in server_folders.of(host, service):
            if folder.path and folder.mount == mount:
                found = _as_user(host, folder, service)
                host.state.remember(note, None if folder.tree_of else [*found[:5], service.role])
                return found
    noted = host.state.remembered(note)
    role = noted[5] if isinstance(noted, list) and len(noted) == 6 else ""
    if any(service.config for service in services if service.role == role or not role):
        host.state.remember(note, None)  # that server no longer writes here
        noted = None
    found = _noted(noted) or Writer(mount.path)
    return found._replace(tree_of=1) if mount_table.of_init(host) and _is_ours_read_only(host, mount) else found


def _is_ours_read_only(host: Host, mount: Mount) -> bool:
    """Whether this mount is read-only for this process alone, by its unit."""
    own = mount_table.holding(mount_table.own_mounts(host), mount.path)
    return "ro" not in mount.options and bool(own and "ro" in own.options)


def _as_user(host: Host, where: Folder, service: kafka.Service) -> Writer:
    """The ids that the kernel holds a process to; root's where they cannot be read or permission bits do not count."""
    folder = Writer(where.inside, tree_of=where.tree_of)
    try:
        text = host.read(f"/proc/{service.process.pid}/status")
    except CannotTell:
        return folder
    ids = {name: [int(word) for word in words.split()] for name, words in IDS.findall(text)}
    capable = CAPABILITIES.search(text)
    overrides = bool(capable and int(capable.group(1), 16) & OVERRIDES)
    if overrides or len(ids.get("Uid", ())) < 4 or len(ids.get("Gid", ())) < 4 or not ids["Uid"][3]:
        return folder
    groups: Iterable[int] = ids.get("Groups", ())
    user = service.process.user or str(ids["Uid"][3])
    return folder._replace(user=user, uid=ids["Uid"][3], gid=ids["Gid"][3], groups=tuple(groups))


def _noted(row: Any) -> Optional[Writer]:
    """What an earlier run noted, if it has the shape of a Writer."""
    if not isinstance(row, list) or len(row) not in (5, 6) or not isinstance(row[4], list):
        return None
    texts, numbers = row[:2], [*row[2:4], *row[4]]
    whole = all(isinstance(text, str) for text in texts) and all(isinstance(number, int) for number in numbers)
    return Writer(row[0], row[1], row[2], row[3], tuple(row[4])) if whole and row[0].startswith("/") else None
