"""Real file systems to break: ext4 and XFS on loop devices, a FUSE server that stops answering, and LiveHosts to look.

All need root. Each is a context manager that takes away what it set up, also after a failure.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pathlib
import select
import shutil
import struct
import subprocess
import threading
from typing import Collection, Dict, Iterator, List, Mapping, NamedTuple, Optional

import pytest

from agent.expected import Expected
from agent.host import Process
from agent.machine.live import LiveHost
from agent.state import State

MNT_DETACH = 2
libc = ctypes.CDLL(None, use_errno=True)


class Mounted(NamedTuple):
    """A mounted file system. device: the kernel's name of its block device, empty if it has none."""

    path: str
    device: str
    uuid: str = ""


class Here(LiveHost):
    """This machine, but with the given files (such as /etc/fstab) and links (such as /dev/disk/by-uuid/…)."""

    def __init__(
        self,
        expected: Expected,
        files: Optional[Mapping[str, str]] = None,
        links: Optional[Mapping[str, str]] = None,
        state: str = "",
    ) -> None:
        super().__init__(expected)
        self.files: Dict[str, str] = {"/etc/fstab": "", **(files or {})}
        self.links = dict(links or {})
        for path in self.links:
            self.files.setdefault(os.path.dirname(path), "")
        self.state = State(self.boot_id(), self.now(), state)

    def read(self, path: str, limit: int = 1 << 22) -> str:
        return self.files[path][:limit] if path in self.files else super().read(path, limit)

    def link(self, path: str) -> str:
        return self.links[path] if path in self.links else super().link(path)

    def processes(self) -> List[Process]:
        return []


def need(*tools: str) -> None:
    """Skip the test if a tool is missing; each is given as `tool:package`."""
    for tool in tools:
        name, _, package = tool.partition(":")
        if not shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin"):
            pytest.skip(f"{name} is not installed (package {package or name})")


def command(*argv: str) -> str:
    """Run a tool that must succeed; its output."""
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, f"{' '.join(argv)}: {done.stderr}"
    return done.stdout.strip()


def unmount(path: str) -> None:
    """At once if possible, else when its last user lets go."""
    if subprocess.run(["umount", path], capture_output=True, timeout=60, check=False).returncode:
        libc.umount2(os.fsencode(path), MNT_DETACH)


@contextlib.contextmanager
def loop_device(folder: pathlib.Path, name: str, size_mb: int) -> Iterator[str]:
    """A block device of a sparse file; gives its path, such as /dev/loop3."""
    need("losetup:mount")
    image = folder / f"{name}.img"
    with image.open("wb") as file:
        file.truncate(size_mb << 20)
    device = command("losetup", "-f", "--show", str(image))
    try:
        yield device
    finally:
        command("losetup", "-d", device)
        image.unlink()


@contextlib.contextmanager
def mounted(folder: pathlib.Path, name: str, device: str, options: str = "defaults") -> Iterator[Mounted]:
    path = folder / name
    path.mkdir(exist_ok=True)
    command("mount", "-o", options, device, str(path))
    try:
        uuid = command("blkid", "-p", "-o", "value", "-s", "UUID", device)
        yield Mounted(str(path), os.path.basename(os.path.realpath(device)), uuid)
    finally:
        unmount(str(path))


@contextlib.contextmanager
def loop_ext4(
    folder: pathlib.Path, name: str = "d1", *, size_mb: int = 32, options: str = "defaults", mkfs: Collection[str] = ()
) -> Iterator[Mounted]:
    """An ext4 on a loop device, mounted at folder/name."""
    need("mkfs.ext4:e2fsprogs")
    with loop_device(folder, name, size_mb) as device:
        command("mkfs.ext4", "-q", "-F", *mkfs, device)
        with mounted(folder, name, device, options) as mount:
            yield mount


@contextlib.contextmanager
def loop_xfs(folder: pathlib.Path, name: str = "d1", *, options: str = "defaults") -> Iterator[Mounted]:
    """An XFS on a loop device, mounted at folder/name; mkfs.xfs takes no less than 300 MB, here sparse."""
    need("mkfs.xfs:xfsprogs")
    with loop_device(folder, name, 320) as device:
        command("mkfs.xfs", "-q", device)
        with mounted(folder, name, device, options) as mount:
            yield mount


@contextlib.contextmanager
def frozen(mount: Mounted) -> Iterator[None]:
    """Every write to this file system hangs in uninterruptible sleep, as below a suspended or dead disk."""
    need("fsfreeze:util-linux")
    command("fsfreeze", "-f", mount.path)
    try:
        yield
    finally:
        command("fsfreeze", "-u", mount.path)


# Operations of include/uapi/linux/fuse.h.
GETATTR, STATFS, RELEASE, INIT, OPENDIR, READDIR, RELEASEDIR, TMPFILE = 3, 17, 18, 26, 27, 28, 29, 51
READDIRPLUS, FORGET, INTERRUPT, BATCH_FORGET = 44, 2, 36, 42
NO_REPLY = (FORGET, INTERRUPT, BATCH_FORGET)
LOOKING = frozenset({GETATTR, STATFS, OPENDIR, READDIR, READDIRPLUS, RELEASEDIR})
ENOSYS = 38


class Fuse:
    """A server on /dev/fuse that reads every request and answers INIT and the given operations, nothing else.

    A process whose request was read and is never answered cannot be killed: the hang of a dead disk.
    """

    def __init__(self, path: str, answered: Collection[int], refused: Collection[int]) -> None:
        self.path = path
        self._answered = frozenset(answered)
        self._refused = frozenset(refused)
        self._dead = False
        self._device = os.open("/dev/fuse", os.O_RDWR)
        self._wake, self._stop = os.pipe()
        data = f"fd={self._device},rootmode=40000,user_id=0,group_id=0,allow_other"
        if libc.mount(b"silent", os.fsencode(path), b"fuse", 0, data.encode()):
            os.close(self._device)
            raise OSError(ctypes.get_errno(), "mount of FUSE")
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def die(self) -> None:
        """The server ends: all that hangs gets an error, and so does every later touch."""
        if self._dead:
            return
        self._dead = True
        os.write(self._stop, b"s")
        self._thread.join(10)
        for handle in (self._device, self._wake, self._stop):
            os.close(handle)

    def _serve(self) -> None:
        while True:
            ready, _, _ = select.select([self._device, self._wake], [], [])
            if self._wake in ready:
                return
            try:
                request = os.read(self._device, 1 << 20)
            except OSError:
                return  # unmounted
            _length, operation, unique = struct.unpack_from("<IIQ", request)
            if operation in self._refused:
                os.write(self._device, struct.pack("<IiQ", 16, -ENOSYS, unique))
            elif operation == INIT or (operation in self._answered and operation not in NO_REPLY):
                body = self._body(operation)
                os.write(self._device, struct.pack("<IiQ", 16 + len(body), 0, unique) + body)

    def _body(self, operation: int) -> bytes:
        if operation == INIT:
            return struct.pack("<IIIIHHIIHHI28x", 7, 31, 1 << 16, 0, 12, 9, 1 << 16, 1, 1, 0, 0)
        if operation == GETATTR:
            # valid 0 s; inode 1, an empty folder of root's
            return struct.pack("<QII6Q3I7I", 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0o40755, 2, 0, 0, 0, 4096, 0)
        if operation == STATFS:
            return struct.pack("<5Q4I24x", 1000, 900, 900, 100, 90, 4096, 255, 4096, 0)
        return bytes(16) if operation == OPENDIR else b""


@contextlib.contextmanager
def silent_fuse(
    folder: pathlib.Path, name: str = "d1", *, answered: Collection[int] = (), refused: Collection[int] = ()
) -> Iterator[Fuse]:
    """A mount at folder/name of which nothing is answered but the operations given (INIT always)."""
    if not os.path.exists("/dev/fuse"):
        pytest.skip("this kernel has no FUSE (/dev/fuse)")
    path = folder / name
    path.mkdir(exist_ok=True)
    server = Fuse(str(path), answered, refused)
    try:
        yield server
    finally:
        libc.umount2(os.fsencode(str(path)), MNT_DETACH)
        server.die()
