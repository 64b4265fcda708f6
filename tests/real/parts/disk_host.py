"""A far host with disks to pull and put in: loop devices that look like disks there, behind a real sshd.

Loop devices have no serial numbers and are no disks, so `lsblk` there is a program that puts both into what the real
one says of these devices, and leaves this machine's own disks out. All else there is real.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping

import yaml

from tests.real.parts.filesystems import command, loop_device, need
from tests.real.parts.sshd import Sshd, sshd

LSBLK = f"""#!{sys.executable}
import json, subprocess, sys
known = json.load(open(FILE))
answer = json.loads(subprocess.run(["/usr/bin/lsblk", *sys.argv[1:], *known], capture_output=True, text=True).stdout
                    if known else '{{"blockdevices": []}}')
for row in answer["blockdevices"]:
    row.update(type="disk", serial=known["/dev/" + row["kname"]], model="LOOP DISK")
print(json.dumps(answer))
"""


class DiskHost:
    """disks: device -> serial number of the disks that are in."""

    def __init__(self, folder: pathlib.Path, server: Sshd) -> None:
        self.folder, self.server = folder, server
        self.disks: dict[str, str] = {}
        self.put({})

    def put(self, disks: Mapping[str, str]) -> None:
        """These disks are in from now on."""
        self.disks = dict(disks)
        aside = self.folder / "disks.new"
        aside.write_text(json.dumps(self.disks))
        aside.replace(self.folder / "disks")

    def run(self, *words: str) -> str:
        """In the host's own mounts; its output."""
        return self.server.in_its_files(*words)

    @property
    def fstab(self) -> str:
        return (self.folder / "fstab").read_text()

    def inventory(self, **fields: object) -> pathlib.Path:
        host = {"address": "127.0.0.1", "port": self.server.port, "user": "root", "roles": ["broker"], "layout": "jbod"}
        path = self.folder / "inventory.yaml"
        path.write_text(yaml.safe_dump({"clusters": {"prod-a": {"hosts": {"kafka-a01": {**host, **fields}}}}}))
        return path

    def access(self) -> list[str]:
        """How `smoke` gets there."""
        known, key = self.server.known_hosts, self.server.key
        return [
            "-i",
            str(self.inventory()),
            "--known-hosts",
            str(known),
            "--identity",
            str(key),
            "--ssh-config",
            "/dev/null",
        ]

    def state(self) -> dict[str, str]:
        """What a dry run must leave as it is: every byte of the disks and of /etc, and what is mounted."""
        os.sync()
        found = {"fstab": self.fstab, "mounts": self.run("cat", "/proc/1/mountinfo")}
        for device in self.disks:
            found[device] = hashlib.sha256(pathlib.Path(device).read_bytes()).hexdigest()
        rows = self.run("find", "/etc", "/usr/local", "/opt", "/srv", "-xdev", "-printf", "%p %s %T@ %m %U\\n")
        return {**found, "files": rows}


def at_rest(host: DiskHost) -> dict[str, str]:
    """The state once the kernel has written all that a mount leaves it to write: it commits every 5 s."""
    before: dict[str, str] = {}
    now = host.state()
    while now != before:
        time.sleep(7)
        before, now = now, host.state()
    return now


@contextlib.contextmanager
def disk_host(folder: pathlib.Path) -> Iterator[DiskHost]:
    """A host with no disks yet."""
    tools = folder / "bin"
    tools.mkdir()
    (tools / "lsblk").write_text(LSBLK.replace("FILE", repr(str(folder / "disks"))))
    (tools / "lsblk").chmod(0o755)
    (folder / "fstab").write_text("# a host of a test\n")
    path = f"{tools}:{os.environ['PATH']}:/usr/sbin:/sbin"
    with sshd(folder, path=path, binds={folder / "fstab": "/etc/fstab"}) as server:
        yield DiskHost(folder, server)


@contextlib.contextmanager
def empty_disk(folder: pathlib.Path, name: str, size_mb: int = 32) -> Iterator[str]:
    """A disk with nothing on it."""
    with loop_device(folder, name, size_mb) as device:
        yield device
        forget(device)


def forget(device: str) -> None:
    """Unmount it wherever it still is, so that the device can go."""
    subprocess.run(["umount", "-A", device], capture_output=True, timeout=60, check=False)


@contextlib.contextmanager
def data_disk(host: DiskHost, name: str, mount: pathlib.Path, size_mb: int = 32) -> Iterator[str]:
    """An ext4 disk, mounted there and in the host's /etc/fstab."""
    need("mkfs.ext4:e2fsprogs")
    mount.mkdir(parents=True, exist_ok=True)
    with loop_device(host.folder, name, size_mb) as device:
        # what the kernel would else still write in its own time is written now
        command("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", device)
        uuid = command("blkid", "-p", "-o", "value", "-s", "UUID", device)
        with (host.folder / "fstab").open("a") as file:
            file.write(f"UUID={uuid} {mount} ext4 defaults,noatime 0 2\n")
        host.run("mount", "-o", "noatime,noinit_itable", device, str(mount))
        yield device
        subprocess.run(["umount", "-A", device], capture_output=True, timeout=60, check=False)
