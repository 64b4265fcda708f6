"""Real hosts for tests of whole clusters: each behind an sshd, with processes and mounts of its own."""

from __future__ import annotations

import contextlib
import os
import pathlib
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psutil
import yaml

from tests.real.parts.ensemble import Place
from tests.real.parts.sshd import Sshd, free_port, sshd

SMOKE = [sys.executable, "-m", "smoketests.cli"]


@dataclass(frozen=True)
class Machine:
    """A host; `address` is one of loopback's, which nobody else listens on."""

    name: str
    address: str
    port: int
    sshd: Sshd

    @property
    def place(self) -> Place:
        """Where its servers run: in the namespaces of its sshd, so that the agent there sees them."""
        first = psutil.Process(self.sshd.pid).children()[0].pid
        return Place(self.address, ("nsenter", "-t", str(first), "-m", "-p", "--"))

    def run(self, *command: str) -> str:
        """Run something there; its output."""
        done = subprocess.run([*self.place.enter, *command], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout


class Site:
    """The machines, and `smoke` asked of them."""

    def __init__(self, folder: pathlib.Path, machines: Sequence[Machine]) -> None:
        self.folder = folder
        self.machines = {machine.name: machine for machine in machines}
        lines = [f"[{one.address}]:{one.port} {one.sshd.host_key}\n" for one in machines]
        (folder / "known_hosts").write_text("".join(lines))

    def write(self, name: str, cluster: Mapping[str, Any], hosts: Mapping[str, Mapping[str, Any]]) -> pathlib.Path:
        """An inventory of these hosts. cluster: its own settings, such as kafka and zookeeper."""
        at = {name: {"address": one.address, "port": one.port, "user": "root"} for name, one in self.machines.items()}
        rows = {name: {**at[name], **fields} for name, fields in hosts.items()}
        path = self.folder / name
        path.write_text(yaml.safe_dump({"clusters": {"prod-a": {**cluster, "hosts": rows}}}, sort_keys=False))
        return path

    def smoke(
        self, inventory: pathlib.Path, *words: str, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """`smoke WORDS -i INVENTORY` with the keys and the memory of this test."""
        key = next(iter(self.machines.values())).sshd.key
        access = [
            "--known-hosts",
            str(self.folder / "known_hosts"),
            "--identity",
            str(key),
            "--ssh-config",
            "/dev/null",
        ]
        return subprocess.run(
            [*SMOKE, *words, "-i", str(inventory), *access], capture_output=True, text=True, timeout=300, check=False,
            env={**os.environ, "COLUMNS": "80", "SSH_AUTH_SOCK": "", "XDG_STATE_HOME": str(self.folder / "state"),
                 **(environment or {})},
        )  # fmt: skip


@contextlib.contextmanager
def site(
    folder: pathlib.Path, names: Sequence[str], first: int = 31, tools: Callable[[pathlib.Path], str] | None = None
) -> Iterator[Site]:
    """Machines of these names at 127.0.0.`first` and the following addresses.

    tools: puts programs into a host's folder, and gives where they are.
    """
    with contextlib.ExitStack() as stack:
        machines: list[Machine] = []
        for number, name in enumerate(names, first):
            home, port, address = folder / name, free_port(), f"127.0.0.{number}"
            home.mkdir()
            (home / "fstab").write_text("")
            keys = [machines[0].sshd.key] if machines else []
            binds = {home / "fstab": "/etc/fstab"}
            path = f"{tools(home)}:{os.environ['PATH']}:/usr/sbin:/sbin" if tools else ""
            listen = f"ListenAddress={address}:{port}"
            running = stack.enter_context(sshd(home, listen, keys=keys, binds=binds, path=path))
            machines.append(Machine(name, address, port, running))
        yield Site(folder, machines)
