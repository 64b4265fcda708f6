"""What systemd says of a service's unit. A machine without systemd has no units, which is no fault."""

from __future__ import annotations

from typing import List

from agent.host import CannotTell, Host
from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple

# 0::/system.slice/kafka.service    1:name=systemd:/system.slice/system-kafka.slice/kafka@1.service
CGROUP = pattern(r"(?:0:|\d+:name=systemd):(/\S*)")
PROPERTIES = "Id,LoadState,ActiveState,SubState,Result,NRestarts"


class Unit(NamedTuple):
    """state: such as active/running or failed/failed. restarts: by systemd itself, -1 before systemd 235."""

    name: str
    loaded: bool
    active: str
    state: str
    result: str
    restarts: int


def unit_of(host: Host, pid: int) -> str:
    """The system service that a process belongs to; empty for one of a session, a container or another init."""
    try:
        return parse_cgroup(host.read(f"/proc/{pid}/cgroup"))
    except CannotTell:
        return ""


def parse_cgroup(text: str) -> str:
    """The unit's name in /proc/<pid>/cgroup."""
    for row in text.splitlines():
        match = CGROUP.fullmatch(row.strip())
        folders = match.group(1).split("/") if match else [""]
        if folders[-1].endswith(".service") and not any(folder.startswith("user@") for folder in folders):
            return folders[-1]
    return ""


def is_frozen(host: Host, pid: int) -> bool:
    """Whether the cgroup of a process, or one above it, is frozen (cgroup v2; `systemctl freeze`)."""
    try:
        rows = [CGROUP.fullmatch(row.strip()) for row in host.read(f"/proc/{pid}/cgroup").splitlines()]
        path = next((row.group(1) for row in rows if row and row.group().startswith("0:")), "")
        return bool(path) and "frozen 1" in host.read(f"/sys/fs/cgroup{path}/cgroup.events").splitlines()
    except CannotTell:
        return False


def is_frozen_v1(host: Host, pid: int) -> bool:
    """The same where the freezer is a hierarchy of cgroup v1 of its own; it tells of those above, too."""
    try:
        rows = [row.strip().split(":", 2) for row in host.read(f"/proc/{pid}/cgroup").splitlines()]
        path = next((row[2] for row in rows if len(row) == 3 and "freezer" in row[1].split(",")), "")
        if not path.startswith("/") or "/.." in path:
            return False
        state = host.read(f"/sys/fs/cgroup/freezer{path.rstrip('/')}/freezer.state").strip()
        return state in ("FROZEN", "FREEZING")
    except CannotTell:
        return False


def units(host: Host, *names: str) -> List[Unit]:
    """Those of the named units that exist; none where there is no systemd to ask."""
    try:
        answer = host.run("systemctl", "show", "-p", PROPERTIES, "--", *names)
    except CannotTell:
        return []
    return [unit for unit in parse_show(answer.out) if unit.loaded]


def parse_show(text: str) -> List[Unit]:
    """`systemctl show` of several units: rows Key=value, units parted by an empty line."""
    found = []
    for block in text.replace("\r", "").split("\n\n"):
        rows = dict(row.split("=", 1) for row in block.splitlines() if "=" in row)
        if rows.get("Id"):
            active, restarts = rows.get("ActiveState", "")[:40], rows.get("NRestarts", "")
            found.append(
                Unit(
                    rows["Id"][:80],
                    rows.get("LoadState") == "loaded",
                    active,
                    f"{active}/{rows.get('SubState', '')[:40]}",
                    rows.get("Result", "")[:40],
                    int(restarts) if restarts.isascii() and restarts.isdigit() else -1,
                )
            )
    return found
