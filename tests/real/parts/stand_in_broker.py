"""A stand-in for a Kafka broker: NOT Kafka, but a small Python process that looks like one from outside.

It is Python by the name of `java`, and this file by the name of the main class kafka.Kafka, so that its name and its
command line are those of a broker; it listens on the port of its server.properties, has log dirs, writes
kafkaServer.out and kafka.err, and keeps a server.log. On demand it opens files, maps memory, stops listening, or is
stopped and started again.
"""

from __future__ import annotations

import mmap
import os
import pathlib
import resource
import socket
import subprocess
import sys
import types
from typing import Callable


class StandInBroker:
    """A running stand-in below `folder`; a context manager that ends it by its own process id.

    user: the id that it becomes before it listens; 0 stays who it is.
    """

    def __init__(self, folder: pathlib.Path, files_limit: int = 0, user: int = 0) -> None:
        self.folder = folder
        self._user = user
        self.port = free_port()
        self.config = folder / "config" / "server.properties"
        self.logs = folder / "logs"
        self.log_dirs = [folder / "d1", folder / "d2"]
        self.server_log = self.logs / "server.log"
        self.error_log = self.logs / "kafka.err"
        self._files_limit = files_limit
        self._process: subprocess.Popen[bytes]
        for path in (self.config.parent, self.logs, *self.log_dirs):
            path.mkdir(parents=True, exist_ok=True)
        self.program = as_broker(folder, os.path.abspath(__file__))
        self.config.write_text(
            f"broker.id=1\nlisteners=PLAINTEXT://127.0.0.1:{self.port}\nlog.dirs={','.join(map(str, self.log_dirs))}\n"
        )
        self.server_log.touch()

    def __enter__(self) -> StandInBroker:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: types.TracebackType | None
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        return self._process.pid

    def start(self) -> None:
        """Start it with a path relative to its working directory, and wait until it listens."""
        self._control, theirs = socket.socketpair()
        options = [
            f"-Dkafka.logs.dir={self.logs}",
            f"--limit={self._files_limit}",
            f"--port={self.port}",
            f"--user={self._user}",
        ]
        with theirs, (self.logs / "kafkaServer.out").open("ab") as out, self.error_log.open("ab") as err:
            self._process = subprocess.Popen(
                [*self.program, *options, "config/server.properties"],
                stdin=theirs.fileno(),
                stdout=out,
                stderr=err,
                cwd=self.folder,
            )
        self._control.settimeout(30)
        self._wait()

    def stop(self) -> None:
        """End it and wait for its end; harmless when it has ended."""
        self._process.kill()
        self._process.wait(30)
        self._control.close()

    def restart(self) -> None:
        self.stop()
        self.start()

    def open_files(self, count: int) -> None:
        """Hold so many files open, beside the few of any process."""
        self._ask(f"files {count}")

    def map_memory(self, count: int) -> None:
        """Hold so many memory mappings that the kernel cannot merge, beside the few hundred of any process."""
        self._ask(f"maps {count}")

    def stop_listening(self) -> None:
        self._ask("close")

    def write(self, path: pathlib.Path, text: str) -> None:
        """Append to one of its logs."""
        with path.open("a") as log:
            log.write(text)

    def _ask(self, words: str) -> None:
        self._control.sendall(f"{words}\n".encode())
        self._wait()

    def _wait(self) -> None:
        answer = self._control.recv(100)
        assert answer == b"done\n", f"the stand-in says {answer!r}; see {self.error_log}"


def as_broker(folder: pathlib.Path, script: str) -> list[str]:
    """A command that runs a Python script as `…/java -S -Xstandin kafka.Kafka`, in the working directory `folder`."""
    for name, target in (("java", os.path.realpath(sys.executable)), ("kafka.Kafka", script)):
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(target)
    return [str(folder / "java"), "-S", "-Xstandin", "kafka.Kafka"]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def serve(limit: int, port: int, address: str = "127.0.0.1", user: int = 0) -> None:
    """The process itself: does as told on its standard input, a socket, until that closes."""
    if user:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    if limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    listener = socket.create_server((address, port))
    files: list[int] = []
    maps: list[mmap.mmap] = []

    def hold_files(count: int) -> None:
        while len(files) > count:
            os.close(files.pop())
        files.extend(os.open("/dev/null", os.O_RDONLY) for _ in range(count - len(files)))

    def hold_maps(count: int) -> None:
        while len(maps) > count:
            maps.pop().close()
        for number in range(len(maps), count):
            # neighbours of unlike protection are not merged into one mapping
            protection = mmap.PROT_READ if number % 2 else mmap.PROT_READ | mmap.PROT_WRITE
            maps.append(mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=protection))

    commands: dict[str, Callable[[int], None]] = {
        "files": hold_files,
        "maps": hold_maps,
        "close": lambda _count: listener.close(),
    }
    with socket.socket(fileno=0) as control, control.makefile("r") as orders:
        control.sendall(b"done\n")
        for order in orders:
            name, _, count = order.strip().partition(" ")
            commands[name](int(count or 0))
            control.sendall(b"done\n")


if __name__ == "__main__":
    given = dict(word.lstrip("-").split("=", 1) for word in sys.argv[1:] if "=" in word)
    serve(int(given["limit"]), int(given["port"]), user=int(given["user"]))
