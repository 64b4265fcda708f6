"""The machine itself: its boot, its init system, its kernel settings; and values that a plan generates."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from agent.api.disks import mount_identity, mount_table
from agent.api.kafka import memory_maps
from agent.api.system import swappiness, transparent_hugepages
from agent.host import CannotTell, Missing
from playbooks.fact_schema import Fact
from playbooks.facts import Candidate, Look, limit, words_limit
from playbooks.view import View

# names in ID and ID_LIKE of /etc/os-release
FAMILIES = {"debian": "debian", "ubuntu": "debian", "rhel": "redhat", "fedora": "redhat", "centos": "redhat",
            "rocky": "redhat", "almalinux": "redhat", "ol": "redhat", "suse": "suse", "sles": "suse"}  # fmt: skip


def new_uuid(_look: Look, _of: Fact | None) -> list[Candidate]:
    """A UUID that nothing has: a plan can name a file system before it is made."""
    return [Candidate((), "a new UUID", lambda: {"uuid": str(uuid.uuid4())})]


def machine(look: Look, _of: Fact | None) -> list[Candidate]:
    return [Candidate((look.host.name,), look.host.name, lambda: _settings(look))]


def _settings(look: Look) -> Mapping[str, object]:
    view = look.view
    huge_pages = _huge_pages(view)
    good_modes = words_limit(look, transparent_hugepages, "good_modes")
    swappiness_now, maps_now = (_number(view, f"/proc/sys/vm/{name}") for name in ("swappiness", "max_map_count"))
    return {
        "boot_id": view.read("/proc/sys/kernel/random/boot_id").strip(),
        "systemd": "yes" if _is_there(view, "/run/systemd/system") else "no",
        "udev": "yes" if _is_there(view, "/run/udev/control") else "no",
        "family": _family(view),
        "swappiness": swappiness_now, "max_map_count": maps_now,
        "swappiness_wanted": _most(swappiness_now, limit(look, swappiness, "swappiness_warning"), lower=True),
        "max_map_count_wanted": _most(maps_now, limit(look, memory_maps, "max_map_count_warning")),
        "huge_pages": huge_pages,
        "huge_pages_wanted": huge_pages if huge_pages in good_modes else good_modes[0],
        "remounts": _remounts(view),
    }  # fmt: skip


def _most(now: int, wanted: int, lower: bool = False) -> int:
    """What is better already stays."""
    return min(now, wanted) if lower else max(now, wanted)


def _number(view: View, path: str) -> int:
    return view.read_int(path)


def _huge_pages(view: View) -> str:
    """The mode of transparent huge pages; none where the kernel has no such setting."""
    try:
        return transparent_hugepages.mode(view, "enabled", transparent_hugepages.MODES)
    except Missing:
        return "none"


def _is_there(view: View, path: str) -> bool:
    try:
        return bool(view.link(path))
    except CannotTell:
        return False


def _family(view: View) -> str:
    """debian, redhat, suse or other, by /etc/os-release."""
    try:
        rows = dict(row.partition("=")[::2] for row in view.read("/etc/os-release").splitlines())
    except CannotTell:
        return "other"
    words = f"{rows.get('ID', '')} {rows.get('ID_LIKE', '')}".replace('"', "").split()
    return next((family for name, family in FAMILIES.items() if name in words), "other")


def _remounts(view: View) -> list[str]:
    """Mounts with options of /etc/fstab that are not in effect, and that a remount brings."""
    found = []
    for mount in mount_table.mounts(view):
        lost = mount_identity.drift(view, mount).lost if mount_table.fstab_entry(view, mount.path) else ()
        if lost and "ro" not in lost:
            found.append(mount.path)
    return found
