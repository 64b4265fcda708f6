"""Reports that are larger than usual: read at one pace for all of them together, and kept in a file meanwhile.

What a flood costs is not its end, when it is cut off, but its way there: each byte is encrypted, sent and decrypted
beside the reports of the other hosts. So a host that has sent more than a report usually has gets no more room in its
ssh window than the pace allows, and its lines do not stay in memory.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator

# A host with 24 disks has some 100 KB, one with 60 some 250 KB.
USUAL_BYTES = 256 << 10
# What all larger reports together are read at while other hosts are at work, and when none is: 1 MB takes 0.5 s more,
# 35 floods of 4 MB are cut off after some 9 s.
BYTES_PER_S = 2 << 20
ALONE_BYTES_PER_S = 16 << 20
MOST_IN_FILE_BYTES = 1 << 30
# what Python adds to a short text
OVERHEAD_BYTES = 56


class LargeReports:
    """What the larger reports of one run share: their pace, and a file without a name. For any number of threads."""

    def __init__(self, bytes_per_s: float = BYTES_PER_S, others_at_work: Callable[[], bool] = lambda: True) -> None:
        self._bytes_per_s, self._others_at_work = bytes_per_s, others_at_work
        self._lock = threading.Lock()
        self._paid = 0.0
        self._file = -1
        self._end = 0

    def __del__(self) -> None:
        if self._file >= 0:
            os.close(self._file)

    def wait(self, size: int, until: float) -> None:
        """After so many bytes: until more may be read, each host in its turn; no longer than `until` (monotonic)."""
        bytes_per_s = self._bytes_per_s if self._others_at_work() else ALONE_BYTES_PER_S
        with self._lock:
            now = time.monotonic()
            self._paid = paid = max(self._paid, now) + size / bytes_per_s
        time.sleep(max(min(paid, until) - now, 0))

    def put(self, data: bytes) -> int:
        """Where in the file it stands now. OSError where there is no room."""
        with self._lock:
            if self._end + len(data) > MOST_IN_FILE_BYTES:
                raise OSError("file size limit reached")
            if self._file < 0:
                with tempfile.TemporaryFile() as file:
                    self._file = os.dup(file.fileno())
            start, self._end = self._end, self._end + len(data)
        done = 0
        while done < len(data):
            done += os.pwrite(self._file, memoryview(data)[done:], start + done)
        return start

    def get(self, start: int, size: int) -> bytes:
        parts = []
        while size and (part := os.pread(self._file, size, start)):
            parts.append(part)
            start, size = start + len(part), size - len(part)
        return b"".join(parts)


class Lines(Collection[str]):
    """Lines without line ends, in their order; in memory while they are few."""

    def __init__(self, shared: LargeReports) -> None:
        self._shared = shared
        self._held: list[str] = []
        self._held_bytes = 0
        self._count = 0
        self._places: list[tuple[int, int]] = []

    def append(self, line: str) -> None:
        self._held.append(line)
        self._count += 1
        self._held_bytes += len(line) + OVERHEAD_BYTES
        if self._held_bytes > USUAL_BYTES:
            self._put_aside()

    def _put_aside(self) -> None:
        data = "\n".join(self._held).encode()
        self._held_bytes = 0
        # no room for the file: they stay in memory, and the next ones are tried again
        with contextlib.suppress(OSError):
            self._places.append((self._shared.put(data), len(data)))
            self._held = []

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        for start, size in self._places:
            yield from self._shared.get(start, size).decode().split("\n")
        yield from self._held

    def __contains__(self, line: object) -> bool:
        return any(line == one for one in self)
