"""The whole rack: hosts, their BMCs, the clock they follow, and `smoke` asked of them as an SRE does."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.rack import cpio, image, inventory, machines, qemu
from tests.rack.children import ChildDied, Children
from tests.rack.host import BOOT_S, Host, RackError
from tests.rack.machines import MACHINES, Machine
from tests.real.parts import bmc
from tests.real.parts.sshd import free_port, make_key

ROOT = pathlib.Path(__file__).parent.parent.parent
START_S = 30.0
SMOKE_S = 600
DEADLINE_S = 300
SSH_CONFIG = """Host {name}
  HostName 127.0.0.1
  Port {port}
  User root
  HostKeyAlias {name}
  IdentityFile {folder}/keys/id
  IdentitiesOnly yes
  UserKnownHostsFile {folder}/known_hosts
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  LogLevel ERROR
"""
MASTER = "  ControlMaster auto\n  ControlPath {folder}/ctl-%n\n  ControlPersist 120\n  ConnectTimeout 20\n"


def default_folder() -> pathlib.Path:
    """Where `scripts/rack` and the tests keep a running rack; RACK_FOLDER says another, for a second rack."""
    return pathlib.Path(os.environ.get("RACK_FOLDER") or image.cache() / "run")


class Rack:
    """A rack in a folder. tied: it dies with this process. quick: only the checks that a fault is about are asked.

    asked: hosts that smoke was just asked of, so that what comes now is news.
    """

    def __init__(self, folder: pathlib.Path | None = None, tied: bool = False) -> None:
        self.folder = folder or default_folder()
        self.quick = False
        self.asked: set[str] = set()
        self._children = Children(self.folder, tied)

    @property
    def hosts(self) -> dict[str, Host]:
        """Those that were started, by name."""
        try:
            known: dict[str, dict[str, int]] = json.loads((self.folder / "ports.json").read_text())
        except FileNotFoundError:
            return {}
        return {name: self._host(name, ports) for name, ports in known.items()}

    def __getitem__(self, name: str) -> Host:
        try:
            return self.hosts[name]
        except KeyError:
            raise RackError(f"no host {name!r} is up; there are: {', '.join(self.hosts) or 'none'}") from None

    def up(self, names: Sequence[str] = ()) -> None:
        """Boot fresh hosts, side by side; what an earlier rack left behind is swept first. image.CannotBuild."""
        chosen = [machines.machine(name) for name in names] or list(MACHINES)
        made = image.build()
        self.down()
        self.folder.mkdir(parents=True, exist_ok=True)
        time_port = self._start_clock()
        lan = free_port()
        ports = {host.name: {**{use: free_port() for use in ("ssh", "service", "ipmi", "bmc", "console")}, "lan": lan}
                 for host in chosen}  # fmt: skip
        self._keys([host.name for host in chosen])
        self._write_ssh(ports)
        for host in chosen:
            self._prepare(host, made, ports[host.name], time_port)
        (self.folder / "ports.json").write_text(json.dumps(ports))
        for host in chosen:
            self._start(host, made, ports[host.name])
        inventory.write(self.folder / "inventory.yaml", chosen, ports)
        for running in self.hosts.values():
            running.wait_until_up(BOOT_S)

    def renew(self, name: str) -> None:
        """One host from its beginning again: fresh disks, a fresh system, the same ports."""
        known = json.loads((self.folder / "ports.json").read_text())
        for child in (name, f"bmc-{name}"):
            self._children.stop(child)
        (self.folder / f"ctl-{name}").unlink(missing_ok=True)
        shutil.rmtree(self.folder / name)
        made, host = image.build(), machines.machine(name)
        self._prepare(host, made, known[name], int((self.folder / "time.port").read_text()))
        self._start(host, made, known[name])
        self[name].wait_until_up(BOOT_S)

    def down(self) -> list[str]:
        """End all, by pid; the names of what still ran."""
        for control in self.folder.glob("ctl-*"):
            argv = ["ssh", "-F", str(self.folder / "ssh_config"), "-O", "exit", control.name[4:]]
            subprocess.run(argv, capture_output=True, check=False)
        left = self._children.stop_all() if self.folder.exists() else []
        for part in self.folder.iterdir() if self.folder.exists() else ():
            shutil.rmtree(part) if part.is_dir() else part.unlink()
        return left

    def smoke(self, *words: str, inventory_file: pathlib.Path | None = None) -> dict[str, Any]:
        """`smoke WORDS -i INVENTORY --format json`, over ssh; the document it prints."""
        argv = [sys.executable, "-c", "from smoketests.cli import main; main()", *(words or ("all",)),
                "-i", str(inventory_file or self.folder / "inventory.yaml"),
                "--ssh-config", str(self.folder / "smoke_ssh_config"), "--format", "json",
                "--deadline", str(DEADLINE_S)]  # fmt: skip
        done = subprocess.run(argv, capture_output=True, text=True, timeout=SMOKE_S, cwd=ROOT, check=False)
        try:
            document: dict[str, Any] = json.loads(done.stdout)
        except ValueError:
            raise RackError(f"smoke: exit code {done.returncode}: {done.stderr[-600:]}") from None
        return document

    def freeze_bmc(self, name: str) -> None:
        self[name].bmc.freeze()

    def _host(self, name: str, ports: Mapping[str, int]) -> Host:
        controller = bmc.RealBmc(self._children.pid(f"bmc-{name}"), ports["bmc"], ports["console"])
        return Host(machines.machine(name), self.folder / name, ports, controller, self._children.pid(name))

    def _start_clock(self) -> int:
        file = self.folder / "time.port"
        self._children.start("clock", [sys.executable, "-m", "tests.rack.time_source", str(file)], ROOT)
        self._until(file.exists, "clock")
        return int(file.read_text())

    def _keys(self, names: Sequence[str]) -> None:
        keys = self.folder / "keys"
        keys.mkdir()
        for name in ("id", *names):
            make_key(keys / name)
        known = [f"{name} {(keys / f'{name}.pub').read_text()}" for name in names]
        (self.folder / "known_hosts").write_text("".join(known))
        password = self.folder / "bmc-password"
        password.touch(0o600)
        password.write_text(bmc.PASSWORD)

    def _write_ssh(self, ports: Mapping[str, Mapping[str, int]]) -> None:
        """One file for smoke, and one for us that keeps connections open."""
        plain = {
            name: SSH_CONFIG.format(name=name, port=given["ssh"], folder=self.folder) for name, given in ports.items()
        }
        (self.folder / "smoke_ssh_config").write_text("".join(plain.values()))
        kept = MASTER.format(folder=self.folder)
        (self.folder / "ssh_config").write_text("".join(text + kept for text in plain.values()))

    def _prepare(self, host: Machine, made: image.Image, ports: Mapping[str, int], time_port: int) -> None:
        """Its disks, made anew; its files behind the initrd; its BMC's files."""
        folder = self.folder / host.name
        (folder / "bmc").mkdir(parents=True)
        own = cpio.archive(machines.files(host, self.folder / "keys", time_port), "rack")
        (folder / "initrd.img").write_bytes(cpio.padded(made.initrd.read_bytes()) + own)
        _run("qemu-img", "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", str(made.disk), str(folder / "root.qcow2"))
        for disk in host.disks:
            file = qemu.disk_file(folder, disk)
            with file.open("wb") as raw:
                raw.truncate(disk.size_mb << 20)
            if disk.fstype == "ext4":
                # few inodes on the small disk, so that they can be used up
                few = ["-N", "256"] if disk.bus == "scsi" else []
                _run("mkfs.ext4", "-q", "-F", *few, "-U", host.uuid(disk), "-E", "lazy_itable_init=0", str(file))
            elif disk.fstype == "xfs":
                _run("mkfs.xfs", "-q", "-m", f"uuid={host.uuid(disk)}", str(file))

    def _start(self, host: Machine, made: image.Image, ports: Mapping[str, int]) -> None:
        folder = self.folder / host.name
        name = f"bmc-{host.name}"
        argv = bmc.prepare(folder / "bmc", ports["bmc"], ports["console"], ports["ipmi"])
        self._children.start(name, argv, folder / "bmc")
        self._children.start(host.name, qemu.command(host, folder, made, ports), folder)
        self._until(lambda: (folder / "qmp").exists(), host.name)

    def _until(self, true: Any, child: str) -> None:
        until = time.monotonic() + START_S
        while not true():
            if time.monotonic() > until or not self._children.pid(child):
                raise ChildDied(f"{child} does not start: {self._children.said(child)}")
            time.sleep(0.05)


def _run(*argv: str) -> None:
    path = os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"
    done = subprocess.run(argv, capture_output=True, text=True, env={**os.environ, "PATH": path}, check=False)
    if done.returncode:
        raise RackError(f"{argv[0]}: {done.stderr[-300:]}")


@contextlib.contextmanager
def rack(*names: str, folder: pathlib.Path | None = None) -> Iterator[Rack]:
    """A fresh rack that ends with the block, and with this process however that ends."""
    made = Rack(folder, tied=True)
    try:
        made.up(names)
        yield made
    finally:
        made.down()
