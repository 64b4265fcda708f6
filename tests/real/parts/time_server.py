"""A real chronyd that may not touch the clock, and an NTP server on loopback that tells it another time."""

from __future__ import annotations

import contextlib
import pathlib
import shutil
import socket
import struct
import subprocess
import threading
import time
from typing import Iterator

import pytest

from agent.machine.commands import search_path


class TimeServer:
    """An NTP server on loopback whose clock is some seconds ahead."""

    def __init__(self, ahead_s: float) -> None:
        self._ahead_s = ahead_s
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
            last.sendto(b"", ("127.0.0.1", self.port))
        self._thread.join(10)
        self._socket.close()

    def _stamp(self, earlier_s: float = 0.0) -> bytes:
        now = time.time() + self._ahead_s - earlier_s + 2_208_988_800
        return struct.pack("!II", int(now) & 0xFFFFFFFF, int(now % 1 * 2**32))

    def _serve(self) -> None:
        while True:
            asked, address = self._socket.recvfrom(512)
            if len(asked) < 48:
                return
            head = struct.pack("!BBBbIII", 0x24, 2, asked[2], -20, 16, 16, 0x0A000001)
            self._socket.sendto(head + self._stamp(5) + asked[40:48] + self._stamp() + self._stamp(), address)


@contextlib.contextmanager
def chronyd_behind(folder: pathlib.Path, seconds: float) -> Iterator[int]:
    """chronyd on a clock that is so much behind its server's; its process id. Skips where it is not installed."""
    program = shutil.which("chronyd", path=search_path())
    if not program:
        pytest.skip("chronyd is not installed (package chrony)")
    server = TimeServer(seconds)
    config = folder / "chrony.conf"
    config.write_text(
        f"server 127.0.0.1 port {server.port} minpoll -2 maxpoll 0 iburst\n"
        f"bindcmdaddress /\npidfile {folder}/chronyd.pid\nport 0\n"
    )
    # -x: it may not touch the clock, so that it stays behind
    process = subprocess.Popen([program, "-x", "-d", "-u", "root", "-f", str(config)], stderr=subprocess.DEVNULL)
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait(10)
        server.close()
