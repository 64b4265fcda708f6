"""ZFS pools under the data mounts, as arrays: `zpool status`, as JSON (OpenZFS 2.3 and later) or as text.

Read by what OpenZFS documents and prints; no pool could be made where this was written.
"""

from __future__ import annotations

import json
import re
from typing import Any, Dict, Iterator, List, Tuple

from agent.host import CannotTell, Host
from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple
from agent.sources.disks import mount_table
from agent.sources.raid import arrays as raid
from agent.sources.raid.arrays import Array, Member
from agent.sources.raid.tools import TOOL_DEADLINE_S, whole

POOL_STATES = {
    "ONLINE": raid.OPTIMAL,
    "DEGRADED": raid.DEGRADED,
    "FAULTED": raid.FAILED,
    "SUSPENDED": raid.FAILED,
    "UNAVAIL": raid.FAILED,
    "OFFLINE": raid.FAILED,
    "REMOVED": raid.FAILED,
}
DISK_STATES = {
    "ONLINE": raid.ONLINE,
    "AVAIL": raid.SPARE,
    "INUSE": raid.ONLINE,
    "DEGRADED": raid.ONLINE,
    "UNAVAIL": raid.MISSING,
    "REMOVED": raid.MISSING,
    "FAULTED": raid.FAILED,
    "OFFLINE": raid.FAILED,
}
ERRORS_ARE = "read, write or checksum errors"

#   pool: tank
POOL = pattern(r"\s*pool: (\S+)$")
#         /dev/sdb1             DEGRADED     0     0   12  too many errors
ROW = pattern(r"\t( *)(\S+) +([A-Z]+)(?: +([\d.]+[KMGT]?) +([\d.]+[KMGT]?) +([\d.]+[KMGT]?))?")
#     2.10G resilvered, 15.11% done, 00:11:02 to go
DONE = pattern(r"([\d.]{1,6})% done")
# What holds disks and is none: mirror-0, raidz2-1, draid1:4d:…, spare-3, replacing-1, logs, cache, special
GROUP = pattern(r"(mirror|raidz\d?|draid\d?\S*|spare|replacing)-\d+$")
SIZES = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


class Vdev(NamedTuple):
    """One line of the tree: a disk, or what holds disks. depth: 0 for the pool itself."""

    depth: int
    name: str
    state: str
    errors: int


class Pool(NamedTuple):
    """damaged: how many files are lost, in its own words; resilver: percent done, -1 while none runs."""

    name: str
    state: str
    vdevs: Tuple[Vdev, ...]
    damaged: str
    resilver: float


def arrays(host: Host) -> List[Array]:
    """The pools that hold a data mount."""
    mounts = [mount_table.mount_at(host, path) for path in host.expected.mount_paths]
    wanted = {mount.source.partition("/")[0] for mount in mounts if mount and mount.fstype == "zfs"}
    if not wanted:
        return []
    answer = host.run("zpool", "status", "-P", "-j", deadline_s=TOOL_DEADLINE_S)
    if answer.code:  # before OpenZFS 2.3
        answer = host.run("zpool", "status", "-P", deadline_s=TOOL_DEADLINE_S)
    found = {pool.name: _array(pool) for pool in parse(whole("zpool", answer))}
    silent = sorted(wanted - set(found))
    if silent:
        raise CannotTell(f"zpool does not list pool {silent[0]}")
    return [found[name] for name in sorted(wanted)]


def parse(text: str) -> List[Pool]:
    """The pools of `zpool status -P` with or without -j; CannotTell if it tells of none or is odd."""
    pools = list(_from_json(text) if text.lstrip().startswith("{") else _from_text(text))
    if not pools:
        raise CannotTell("zpool lists no pool")
    return pools


def _from_json(text: str) -> Iterator[Pool]:
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        raise CannotTell("zpool printed broken JSON") from None
    pools = given.get("pools") if isinstance(given, dict) else None
    for name, pool in pools.items() if isinstance(pools, dict) else ():
        if not isinstance(pool, dict):
            raise CannotTell("zpool printed unexpected JSON")
        scan = pool.get("scan_stats")
        vdevs = tuple(_walk(pool.get("vdevs"), 0))
        errors = str(pool.get("error_count", "0"))
        damaged = "" if errors in ("0", "") else f"{errors[:20]} data errors"
        yield Pool(str(name)[:80], str(pool.get("state", "")), vdevs, damaged, _scanned(scan))


def _walk(tree: Any, depth: int) -> Iterator[Vdev]:
    for name, vdev in tree.items() if isinstance(tree, dict) and depth < 6 else ():
        if isinstance(vdev, dict):
            errors = sum(_count(str(vdev.get(f"{kind}_errors", "0"))) for kind in ("read", "write", "checksum"))
            yield Vdev(depth, str(name)[:120], str(vdev.get("state", ""))[:20], errors)
            yield from _walk(vdev.get("vdevs"), depth + 1)


def _scanned(scan: Any) -> float:
    """The percentage of a resilver that runs, -1 without one."""
    if not isinstance(scan, dict) or scan.get("function") != "RESILVER" or scan.get("state") != "SCANNING":
        return -1.0
    done, total = (_count(str(scan.get(name, "0"))) for name in ("issued", "to_examine"))
    return round(min(100.0 * done / total, 100.0), 1) if total else 0.0


def _count(word: str) -> int:
    """`0`, `12`, `1.2K`, `3.50G`; 0 for anything else.

    >>> _count("12"), _count("1.2K"), _count("-")
    (12, 1200, 0)
    """
    match = re.fullmatch(r"(\d{1,18}(?:\.\d{1,4})?)([KMGT]?)B?", word.strip())
    return int(float(match.group(1)) * SIZES.get(match.group(2), 1)) if match else 0


def _from_text(text: str) -> Iterator[Pool]:
    rows = [row[:400] for row in text.splitlines()]
    starts = [at for at, row in enumerate(rows) if POOL.match(row)]
    for start, end in zip(starts, starts[1:] + [len(rows)]):
        yield _pool(rows[start:end])


def _pool(rows: List[str]) -> Pool:
    pairs: Dict[str, str] = {}
    for row in rows:
        name, colon, value = row.partition(":")
        if colon and not row.startswith("\t"):
            pairs.setdefault(name.strip(), value.strip())
    vdevs = tuple(_vdev(*match.groups()) for match in map(ROW.match, rows) if match and match.group(2) != "NAME")
    reported = pairs.get("errors", "")
    if not reported:
        raise CannotTell("zpool's output is truncated: no line of errors")
    resilver = -1.0
    if "resilver in progress" in pairs.get("scan", ""):
        done = next(filter(None, map(DONE.search, rows)), None)
        resilver = min(float(done.group(1).strip(".") or 0), 100.0) if done and done.group(1).count(".") < 2 else 0.0
    damaged = "" if reported == "No known data errors" else reported[:80]
    return Pool(pairs.get("pool", "")[:80], pairs.get("state", ""), vdevs, damaged, resilver)


def _vdev(blanks: str, name: str, state: str, *counts: Any) -> Vdev:
    return Vdev(len(blanks) // 2, name[:120], state, sum(_count(count or "0") for count in counts))


def _array(pool: Pool) -> Array:
    members, groups, kinds = _members(pool.vdevs)
    state = POOL_STATES.get(pool.state, raid.UNKNOWN)
    rebuilding = pool.resilver >= 0
    return Array(
        name=f"zpool {pool.name}",
        level=_level(kinds, groups),
        state=raid.REBUILDING
        if rebuilding and state in (raid.OPTIMAL, raid.DEGRADED) and not _gone(members)
        else state,
        said=(pool.state[:40] or "nothing") + raid.odd_list(len(members), len(members)),
        members=members,
        groups=groups,
        action="resilver" if rebuilding else "",
        percent=pool.resilver,
        faults=(f"data damaged: {pool.damaged}",) if pool.damaged else (),
        errors_are=ERRORS_ARE,
    )


def _gone(members: Tuple[Member, ...]) -> bool:
    return any(member.state in (raid.FAILED, raid.MISSING) for member in members)


def _members(vdevs: Tuple[Vdev, ...]) -> Tuple[Tuple[Member, ...], Tuple[Tuple[int, ...], ...], List[str]]:
    """The disks, which of them mirror each other, and the kinds of what holds them; not those of logs and caches."""
    members: List[Member] = []
    groups: Dict[int, List[int]] = {}
    kinds: List[str] = []
    inside, mirror = True, -1
    for at, vdev in enumerate(vdevs):
        if vdev.depth == 0:
            inside, mirror = at == 0, -1
            continue
        named = GROUP.match(vdev.name)
        if named and vdev.depth == 1 and inside:
            mirror = at if named.group(1) == "mirror" else -1
            kinds.append(named.group(1))
        elif not named:
            mirror = -1 if vdev.depth == 1 else mirror
            slot = len(members) if inside else -1
            state = DISK_STATES.get(vdev.state, raid.UNKNOWN)
            members.append(Member(vdev.name.replace("/dev/", "", 1), slot, state, errors=vdev.errors))
            if mirror >= 0 and inside:
                groups.setdefault(mirror, []).append(slot)
    return tuple(members), tuple(tuple(slots) for slots in groups.values() if len(slots) > 1), kinds


def _level(kinds: List[str], groups: Tuple[Tuple[int, ...], ...]) -> str:
    """Pools of mirrors are what others call raid1 and raid10; of disks alone raid0."""
    if not kinds:
        return "raid0"
    if set(kinds) == {"mirror"}:
        return "raid1" if len(groups) == 1 else "raid10"
    return " and ".join(sorted(set(kinds)))[:60]
