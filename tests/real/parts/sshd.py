"""A real sshd on loopback as a far host, in mount and process namespaces of its own.

Its /var/lib/fleet-smoke is a tmpfs that goes away with it, the shell's start-up file is empty, and whatever runs there
can be listed, and is killed with it. Other helpers may put files in place of the host's own (`binds`).
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psutil
import pytest

from inventory.model import Host
from smoketests.ssh.connect import Access, Deadlines

FOLDER = "/var/lib/fleet-smoke"
QUICK = Deadlines(connect=2, banner=2, auth=3, channel=2)
# $1: options of the tmpfs; then pairs of file and place, up to --; then the sshd
INSIDE = """set -e
mount -t tmpfs -o "$1" fleet-smoke /var/lib/fleet-smoke; shift
while [ "$1" != -- ]; do mount --bind "$1" "$2"; shift 2; done; shift
exec "$@" """


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def make_key(path: pathlib.Path, *options: str) -> pathlib.Path:
    """A new ed25519 key."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-f", path, *(options or ("-N", ""))], check=True)
    return path


@dataclass(frozen=True)
class Sshd:
    """A running sshd. pid is that of the process outside its namespaces; killing it kills all."""

    port: int
    folder: pathlib.Path
    pid: int

    @property
    def key(self) -> pathlib.Path:
        """The private key that is let in."""
        return self.folder / "id"

    @property
    def known_hosts(self) -> pathlib.Path:
        return self.folder / "known_hosts"

    @property
    def host_key(self) -> str:
        """ssh-ed25519 AAAA…"""
        return " ".join((self.folder / "host_key.pub").read_text().split()[:2])

    def host(self, name: str = "kafka-a01", **fields: Any) -> Host:
        return Host(name, address="127.0.0.1", port=self.port, **fields)

    def access(self, **fields: Any) -> Access:
        given: dict[str, Any] = {"deadlines": QUICK, "use_agent": False, "ssh_config": "/dev/null"}
        given |= {"known_hosts": (str(self.known_hosts),), "key_files": (str(self.key),)}
        return Access(**{**given, **fields})

    def running(self) -> list[str]:
        """The command lines of all that runs on this host, except sshd's own."""
        lines = []
        for process in psutil.Process(self.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                lines.append(" ".join(process.cmdline()))
        return [line for line in lines if line and not line.startswith("sshd:")]

    def in_its_files(self, *command: str) -> str:
        """Run something that sees the host's files; its output."""
        inner = psutil.Process(self.pid).children()[0].pid
        return subprocess.run(
            ["nsenter", "-t", str(inner), "-m", *command], check=True, capture_output=True, text=True
        ).stdout

    def stop_answering(self) -> None:
        """Freeze sshd's processes, as a machine that hangs would."""
        for process in psutil.Process(self.pid).children(recursive=True):
            process.send_signal(signal.SIGSTOP)


@contextlib.contextmanager
def sshd(
    folder: pathlib.Path,
    *options: str,
    tmpfs: str = "mode=0755,size=64m",
    binds: Mapping[pathlib.Path, str] | None = None,
    path: str = "",
    keys: Sequence[pathlib.Path] = (),
) -> Iterator[Sshd]:
    """options: sshd_config's, as in `sshd -o`. path: PATH of the commands run there. keys: let in as well."""
    for tool, package in (
        ("/usr/sbin/sshd", "openssh-server"),
        ("unshare", "util-linux"),
        ("ssh-keygen", "openssh-client"),
    ):
        if not shutil.which(tool):
            pytest.skip(f"needs {tool} (package {package})")
    if os.geteuid() != 0:
        pytest.skip("needs root: namespaces")
    prepare(folder, keys)
    port = free_port()
    for place in ("/run/sshd", FOLDER):
        pathlib.Path(place).mkdir(exist_ok=True)
    process = subprocess.Popen(
        ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
         "sh", "-c", INSIDE, "sh", tmpfs, *_pairs(folder, binds or {}), "--", *_command(folder, port, path, options)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=(folder / "sshd.log").open("wb"),
    )  # fmt: skip
    try:
        (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {(folder / 'host_key.pub').read_text()}")
        _wait(port, process, folder)
        yield Sshd(port, folder, process.pid)
    finally:
        process.kill()
        process.wait(timeout=10)


def prepare(folder: pathlib.Path, keys: Sequence[pathlib.Path] = ()) -> None:
    """The host's key, ours, and who is let in."""
    for name in ("host_key", "id"):
        if not (folder / name).exists():
            make_key(folder / name)
    public = [pathlib.Path(f"{key}.pub").read_text() for key in (folder / "id", *keys)]
    (folder / "authorized_keys").write_text("".join(public))
    (folder / "empty").write_text("")


def _pairs(folder: pathlib.Path, binds: Mapping[pathlib.Path, str]) -> list[str]:
    start_up = pathlib.Path.home() / ".bashrc"
    pairs = [str(folder / "empty"), str(start_up)] if start_up.exists() else []
    for source, place in binds.items():
        pairs += [str(source), place]
    return pairs


def _command(folder: pathlib.Path, port: int, path: str, options: Sequence[str]) -> list[str]:
    told = [f"ListenAddress=127.0.0.1:{port}", f"AuthorizedKeysFile={folder}/authorized_keys", "StrictModes=no",
            "UsePAM=no", "PidFile=none", "LogLevel=ERROR", *options]  # fmt: skip
    if path:
        told.append(f"SetEnv=PATH={path}")
    words = [word for option in told for word in ("-o", option)]
    return ["/usr/sbin/sshd", "-D", "-e", "-f", "/dev/null", "-h", str(folder / "host_key"), *words]


def _wait(port: int, process: subprocess.Popen[bytes], folder: pathlib.Path) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1) as tried:
            tried.settimeout(2)
            if tried.recv(4) == b"SSH-":
                return
        time.sleep(0.02)
    raise AssertionError(f"sshd does not start: {(folder / 'sshd.log').read_text()}")
