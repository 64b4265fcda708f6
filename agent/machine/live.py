"""The machine this program runs on."""

from __future__ import annotations

import io
import itertools
import json
import os
import socket
import time
from typing import Any, Dict, List, Optional

from agent.expected import Expected
from agent.host import (
    COMMAND_DEADLINE_S,
    READ_LIMIT,
    TOUCH_DEADLINE_S,
    Answer,
    CannotTell,
    CpuTimes,
    Descriptors,
    Disk,
    Host,
    Interface,
    KernelClock,
    Load,
    Memory,
    Missing,
    NoPermission,
    Process,
    ProcessUse,
    Stuck,
    Touched,
    explain,
)
from agent.machine import (
    commands,
    devices,
    fs_worker,
    fs_worker_process,
    kernel_clock,
    kernel_counters,
    process_list,
    tcp,
)

# A broker has 100,000 open files and more; what listens to the kernel is opened early, with a small number.
DESCRIPTORS_PER_PROCESS = 4096


class LiveHost(Host):
    """The machine this program runs on."""

    def __init__(self, expected: Optional[Expected] = None) -> None:
        super().__init__(expected)
        self.fs_worker = fs_worker_process.start()
        self._fs_worker = self.fs_worker.control
        self._commands = commands.Commands()
        self._listed_at = 0.0

    def close(self) -> None:
        """Let the file-system worker end, and whatever tools are still running."""
        self._commands.end()
        self._fs_worker.close()

    def now(self) -> float:
        return time.time()

    def uptime_s(self) -> float:
        return time.clock_gettime(time.CLOCK_MONOTONIC)

    def is_root(self) -> bool:
        return os.geteuid() == 0

    def read(self, path: str, limit: int = READ_LIMIT) -> str:
        try:
            with open(path, "rb", buffering=0) as file:
                return _read_all(file, limit).decode("utf-8", "replace")
        except IsADirectoryError:
            return ""
        except OSError as error:
            raise explain(error, path) from error

    def list_dir(self, path: str) -> List[str]:
        try:
            return sorted(os.listdir(path))
        except OSError as error:
            raise explain(error, path) from error

    def link(self, path: str) -> str:
        if not os.path.lexists(path):
            raise Missing(f"{path} does not exist")
        try:
            return os.path.realpath(path)
        except OSError as error:  # /proc/4242/ns/net of another user's process
            raise explain(error, path) from error

    def run(
        self, *argv: str, deadline_s: float = COMMAND_DEADLINE_S, secret_env: str = "", secret_from: str = ""
    ) -> Answer:
        return self._commands.run(argv, deadline_s, secret_env, secret_from or secret_env)

    def touch(
        self, kind: str, path: str, *arguments: Any, deadline_s: float = TOUCH_DEADLINE_S, named_by: int = 0
    ) -> Touched:
        if self.fs_worker.problem:
            raise CannotTell(f"{kind} of {path}: {self.fs_worker.problem}")
        ours, theirs = socket.socketpair()
        with ours:
            try:
                with theirs:
                    socket.send_fds(self._fs_worker, [b"t"], [theirs.fileno()])
            except OSError as error:
                raise CannotTell(f"{kind} of {path}: the file-system worker died ({error.strerror})") from error
            request = {"touch": kind, "arguments": [path, *arguments], "deadline_s": deadline_s, "rights_of": named_by,
                       "listed_at": self._listed_at}  # fmt: skip
            ours.settimeout(deadline_s)
            pid = 0
            try:
                ours.sendall(json.dumps(request).encode())
                ours.shutdown(socket.SHUT_WR)
                pid = int.from_bytes(ours.recv(fs_worker.PID_BYTES), "little")
                reply = json.loads(fs_worker.receive(ours))
            except socket.timeout:
                if not pid:  # says nothing of the path
                    raise CannotTell(f"{kind} of {path}: no process started within {deadline_s:.0f} s") from None
                raise Stuck(f"{kind} of {path}", deadline_s, commands.whereabouts(pid), pid) from None
            except (ValueError, OSError):
                raise CannotTell(f"{kind} of {path}: the probing process died") from None
        if "cannot" in reply:
            raise CannotTell(f"{kind} of {path}: {reply['cannot']}")
        return Touched(reply.pop("errno", ""), reply)

    def exchange(self, address: str, port: int, words: str, deadline_s: float = 4.0) -> str:
        return tcp.exchange(address, port, words, deadline_s)

    def connect(self, *targets: str, deadline_s: float = 3.0) -> Dict[str, str]:
        return tcp.connect(targets, deadline_s)

    def processes(self) -> List[Process]:
        self._listed_at = self._listed_at or time.clock_gettime(time.CLOCK_BOOTTIME)
        return self.once("processes", process_list.processes)

    def process_use(self, pid: int) -> ProcessUse:
        try:
            return kernel_counters.process_use(pid, self.read)
        except (PermissionError, NoPermission):
            raise NoPermission(f"needs root: open files and memory mappings of process {pid}") from None
        except (FileNotFoundError, ProcessLookupError, Missing):
            raise Missing(f"process {pid} ended") from None

    def descriptors(self, target: str) -> Descriptors:
        seen = []
        hidden = []
        for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
            try:
                seen += [(pid, number) for number in _descriptors_of(pid, target)]
            except PermissionError:
                hidden.append(pid)
            except OSError:
                continue  # it ended while we listed
        return Descriptors(tuple(seen), tuple(hidden))

    def disks(self) -> List[Disk]:
        return self.once("disks", lambda: devices.disks(self))

    def interfaces(self) -> List[Interface]:
        return devices.interfaces(self)

    def memory(self) -> Memory:
        return kernel_counters.memory(self.read)

    def cpu_times(self) -> CpuTimes:
        return kernel_counters.cpu_times(self.read)

    def load(self) -> Load:
        return kernel_counters.load()

    def kernel_clock(self) -> KernelClock:
        return kernel_clock.ask()

    def kernel_records(self) -> List[str]:
        try:
            handle = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        except OSError as error:
            raise explain(error, "/dev/kmsg") from error
        records = []
        try:
            while True:
                try:
                    records.append(os.read(handle, 16384).decode("utf-8", "replace"))
                except BlockingIOError:
                    return records
                except BrokenPipeError:
                    continue  # overwritten while we read: the gap shows in the sequence numbers
                except OSError as error:
                    raise explain(error, "/dev/kmsg") from error
        finally:
            os.close(handle)


def _read_all(file: io.FileIO, limit: int) -> bytes:
    """Up to `limit` bytes in small reads: the kernel allocates as much as one read asks of a file below /proc/sys."""
    parts: List[bytes] = []
    size = 0
    while size < limit:
        part = file.read(min(1 << 16, limit - size))
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _descriptors_of(pid: int, target: str) -> List[int]:
    """The descriptors of a process that point at `target`, among its lowest DESCRIPTORS_PER_PROCESS."""
    folder = f"/proc/{pid}/fd"
    numbers = []
    with os.scandir(folder) as entries:
        for entry in itertools.islice(entries, DESCRIPTORS_PER_PROCESS):
            try:
                if os.readlink(entry.path) == target:
                    numbers.append(int(entry.name))
            except FileNotFoundError:
                continue  # closed while we listed
    return numbers
