"""A hand-made JBOD broker: /kafka/d1 on sdb1 (ext4), /kafka/d2 on sdc1 (xfs), / on sda1, all well."""

from __future__ import annotations

from typing import Any, Dict

from agent.expected import Expected, ExpectedMount
from agent.host import Disk, Touched
from tests.machine import FakeHost

TB = 10**12
MOUNTINFO = {
    "/": "20 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw",
    "/kafka/d1": "31 20 8:17 / /kafka/d1 rw,noatime - ext4 /dev/sdb1 rw",
    "/kafka/d2": "32 20 8:33 / /kafka/d2 rw,noatime - xfs /dev/sdc1 rw,inode64,noquota",
}
FSTAB = {
    "/": "UUID=uuid-root / ext4 defaults 0 1",
    "/kafka/d1": "UUID=uuid-d1 /kafka/d1 ext4 noatime,nofail 0 2",
    "/kafka/d2": "LABEL=d2 /kafka/d2 xfs noatime,nofail 0 2",
}
EXPECTED = Expected(
    roles=("broker",),
    layout="jbod",
    mounts=(
        ExpectedMount("/kafka/d1", serial="ZA1BC1", uuid="uuid-d1", fstype="ext4"),
        ExpectedMount("/kafka/d2", serial="ZA1BC2", device="/dev/sdc1", fstype="xfs"),
    ),
)
INODES = {"inodes": 1000, "inodes_free": 900}


def disk(name: str, serial: str, dev: str) -> Disk:
    return Disk(name, "physical", "ST8000NM0055", serial, "0x5000c500" + serial.lower(), 8 * TB, True, "ata", "s1", dev)


def rows(table: Dict[str, str], **changes: str) -> str:
    """The table as a file; a change names a mount by its last word (`d1`), an empty one takes the row out."""
    changed = {path: changes.get(path.rpartition("/")[2], row) for path, row in table.items()}
    return "".join(f"{row}\n" for row in changed.values() if row)


def usage(percent: float, total: int = 8 * TB, **inodes: int) -> Touched:
    used = int(total * percent / 100)
    sizes = {"total_bytes": total, "used_bytes": used, "free_bytes": total - used}
    return Touched("", {**sizes, **INODES, **inodes})


def broker(files: Dict[str, Any] | None = None, answers: Dict[str, Any] | None = None, **given: Any) -> FakeHost:
    """The machine with these files and answers changed."""
    own_files: Dict[str, Any] = {
        "/proc/self/mountinfo": rows(MOUNTINFO),
        "/etc/fstab": rows(FSTAB),
        "/dev/disk/by-uuid/uuid-d1": "",
        "/dev/disk/by-label/d2": "",
        "/sys/fs/ext4/sdb1/errors_count": "0\n",
        "/sys/fs/ext4/sdb1/last_error_time": "0\n",
    }
    own_answers: Dict[str, Any] = {
        "link /dev/disk/by-uuid/uuid-d1": "/dev/sdb1",
        "link /dev/disk/by-uuid/uuid-root": "/dev/sda1",
        "link /dev/disk/by-label/d2": "/dev/sdc1",
        "processes": [],
        "disks": [disk("sda", "ZA1BC0", "8:0"), disk("sdb", "ZA1BC1", "8:16"), disk("sdc", "ZA1BC2", "8:32")],
        "touch usage /": usage(10, TB),
    }
    for name, dev in (("sda", "8:1"), ("sdb", "8:17"), ("sdc", "8:33")):
        own_files[f"/sys/block/{name}/{name}1/partition"] = "1\n"
        own_files[f"/sys/dev/block/{dev}/stat"] = "8721 12 504118 4100 99213 51 88120 7012 0 6000 11112\n"
        own_answers[f"link /sys/dev/block/{dev}"] = f"/sys/devices/pci0/block/{name}/{name}1"
        own_answers[f"link /dev/{name}1"] = f"/dev/{name}1"
    for path in ("/kafka/d1", "/kafka/d2"):
        own_answers[f"touch stat {path}"] = Touched("", {})
        own_answers[f"touch write {path}"] = Touched("", {"written": True})
        own_answers[f"touch usage {path}"] = usage(50)
    own_answers["touch stat /"] = Touched("", {})
    return FakeHost(
        files={**own_files, **(files or {})},
        answers={**own_answers, **(answers or {})},
        **{"expected": EXPECTED, **given},
    )
