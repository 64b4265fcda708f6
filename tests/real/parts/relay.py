"""A TCP relay in a process of its own: what it carries stands still when it is frozen, as behind a firewall that drops.

`python -m tests.real.parts.relay LISTEN:TARGET …` carries each port on loopback to another one.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from types import TracebackType

from tests.real.parts.namespace import ROOT, kill, wait_for


class Relay:
    """with Relay({listen: target}) as relay: relay.freeze(); its connections stay open and carry nothing."""

    def __init__(self, ports: Mapping[int, int]) -> None:
        self._ports = dict(ports)

    def __enter__(self) -> Relay:
        pairs = [f"{listen}:{target}" for listen, target in self._ports.items()]
        self._process = subprocess.Popen([sys.executable, "-m", "tests.real.parts.relay", *pairs], cwd=ROOT)
        wait_for("the relay", lambda: all(map(answers, self._ports)))
        return self

    def freeze(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        kill(self._process)


def answers(port: int) -> bool:
    with contextlib.suppress(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=2).close()
        return True
    return False


async def carry(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):  # one side closed: so does the other
        while part := await source.read(1 << 16):
            target.write(part)
            await target.drain()
    target.close()


async def serve(pairs: list[tuple[int, int]]) -> None:
    async def listen(port: int, to: int) -> None:
        async def accept(theirs: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
            try:
                ours, forth = await asyncio.open_connection("127.0.0.1", to)
            except OSError:
                back.close()
                return
            await asyncio.gather(carry(theirs, forth), carry(ours, back))

        server = await asyncio.start_server(accept, "127.0.0.1", port)
        await server.serve_forever()

    await asyncio.gather(*(listen(port, to) for port, to in pairs))


if __name__ == "__main__":
    asyncio.run(serve([(int(listen), int(to)) for listen, _, to in (word.partition(":") for word in sys.argv[1:])]))
