"""One host of the rack as a fault or a playbook sees it: run something there, pull a disk, break its power supply.

with rack() as hosts:
    hosts["jbod-1"].run("uname", "-r").stdout
    hosts["jbod-1"].hot_remove_disk("j1scsi1")
    hosts["raid-1"].bmc.only_bit(bmc.PS1, bmc.FAILURE)
"""

from __future__ import annotations

import json
import os
import pathlib
import shlex
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.rack import qemu
from tests.rack.machines import Disk, Machine
from tests.real.parts.bmc import RealBmc

RUN_S = 240.0
BOOT_S = 600.0
# of a shell on a host that `smoke` has asked: `python3 -m agent` is then the agent that it left there last
BESIDE_AGENT = """cd $(ls -dt /var/lib/fleet-smoke/agent-*/all | head -n 1)
export PYTHONPATH=$PWD:$(dirname $PWD)/x86_64"""


class RackError(Exception):
    """A host of the rack does not do as it should; the message says which and what."""


@dataclass(frozen=True)
class Host:
    """A running host. folder: its files, the QMP socket among them. pid: its QEMU. bmc: its management controller."""

    machine: Machine
    folder: pathlib.Path
    ports: Mapping[str, int]
    bmc: RealBmc
    pid: int

    @property
    def name(self) -> str:
        return self.machine.name

    @property
    def ssh(self) -> list[str]:
        """The command line that leads there; a command may follow."""
        return ["ssh", "-F", str(self.folder.parent / "ssh_config"), self.name]

    def run(
        self, *argv: str, check: bool = True, text: str = "", seconds: float = RUN_S
    ) -> subprocess.CompletedProcess[str]:
        """Run something there as root. text: its standard input. RackError when it fails and `check` is set."""
        done = subprocess.run([*self.ssh, shlex.join(argv)], input=text, capture_output=True, text=True,
                              errors="replace", timeout=seconds, check=False)  # fmt: skip
        if check and done.returncode:
            said = f"{done.stdout[-300:]}{done.stderr[-500:]}".strip()
            raise RackError(f"{self.name}: {shlex.join(argv)[:200]}: exit code {done.returncode}: {said}")
        return done

    def sh(self, script: str, check: bool = True) -> str:
        """Run a script of its shell there; what it printed."""
        return self.run("sh", "-euc", script, check=check).stdout

    def write(self, path: str, text: str) -> None:
        self.run("sh", "-c", 'cat > "$1"', "sh", path, text=text)

    def kernel_names(self) -> dict[str, str]:
        """Serial -> `sdb`, as it is in this boot; `debug` is scsi_debug's disk, `debug_serial` its serial."""
        rows = [row.split() for row in self.run("lsblk", "-dno", "NAME,SERIAL,MODEL").stdout.splitlines()]
        names = {row[1]: row[0] for row in rows if len(row) > 2}
        for row in rows:
            if row[-1] == "scsi_debug":
                names |= {"debug": row[0], "debug_serial": row[1]}
        return names

    def broker(self, order: str) -> None:
        """Tell the stand-in broker: `files N`, `maps N`, `write FILE` or `close`."""
        program = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect('/run/kafka/control'); " \
            "s.sendall(sys.argv[1].encode() + b'\\n'); print(s.recv(9))"  # fmt: skip
        self.run("python3", "-c", program, order)

    def qmp(self, execute: str, **arguments: Any) -> Any:
        """One order to its QEMU (dashes in names: pass a dict by **). qemu.QmpError."""
        return qemu.qmp(self.folder / "qmp", execute, arguments)

    def set_link(self, card: str, up: bool) -> None:
        """Pull or plug the cable of `lan1`, say."""
        self.qmp("set_link", name=card, up=up)

    def set_nvme_warning(self, bits: int) -> None:
        """The critical warning byte of its NVMe disk's SMART log."""
        name = next(disk.name for disk in self.machine.disks if disk.bus == "nvme")
        self.qmp("qom-set", path=f"/machine/peripheral/{name}", property="smart_critical_warning", value=bits)

    def disk(self, name: str) -> Disk:
        return next(disk for disk in self.machine.disks if disk.name == name)

    def hot_remove_disk(self, name: str) -> None:
        """Pull a disk of bus `scsi` or `raid` (SATA and NVMe cannot be pulled here); back when QEMU has let it go."""
        self.qmp("device_del", id=name)
        self._until(lambda: name not in self._devices(), f"{name} is still plugged in")
        self._until(lambda: self._drop_file(f"{name}-file"), f"the file of {name} is still in use")

    def hot_add_disk(self, disk: Disk, new: bool = True) -> None:
        """Plug a disk in, another serial number or size is another disk; `new` makes its file anew, empty."""
        file = qemu.disk_file(self.folder, disk)
        if new:
            file.unlink(missing_ok=True)
            with file.open("wb") as made:
                made.truncate(disk.size_mb << 20)
        block = {"driver": "raw", "node-name": f"{disk.name}-file", "file": {"driver": "file", "filename": str(file)}}
        self.qmp("blockdev-add", **block)
        words = [word.partition("=")[::2] for word in qemu.device(disk, len(self.machine.disks)).split(",")]
        (driver, _), *options = words
        self.qmp("device_add", driver=driver, **{key: int(value) if value.isdigit() and key != "serial" else value
                                                 for key, value in options})  # fmt: skip

    def stall(self, seconds: float) -> None:
        """Its processors stand still while its clock goes on, as under a hypervisor that has no time for it."""
        os.kill(self.pid, signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            os.kill(self.pid, signal.SIGCONT)

    def reboot(self) -> None:
        """As an administrator does, and wait until it is up again."""
        before = self.boot_id()
        self.run("systemctl", "reboot", check=False)
        self._until(lambda: self._boot_id() not in ("", before), "it does not come back from its reboot", BOOT_S)
        self.wait_until_up()

    def reset(self) -> None:
        """Press the button: for a host that cannot do anything any more."""
        before = self._boot_id()
        self.qmp("system_reset")
        self._until(lambda: self._boot_id() not in ("", before), "it does not come back from its reset", BOOT_S)
        self.wait_until_up()

    def boot_id(self) -> str:
        return self.run("cat", "/proc/sys/kernel/random/boot_id").stdout.strip()

    def wait_until_up(self, seconds: float = BOOT_S) -> None:
        """Until systemd has started all, the service listens and the clock is set."""
        self._until(lambda: bool(self._boot_id()), f"no ssh: see {self.folder}/console.log", seconds)
        self._until(self._is_ready, "its services do not come up", seconds)

    def _is_ready(self) -> bool:
        state = self.run("systemctl", "is-system-running", check=False).stdout.strip()
        if state not in ("running", "degraded"):
            return False
        listening = f"ss -Hltn 'sport = :{self.machine.port}' | grep -q ."
        return self.run("sh", "-c", f"{listening} && chronyc -c tracking | grep -q Normal", check=False).returncode == 0

    def _boot_id(self) -> str:
        """Empty if it does not answer."""
        try:
            return self.run("cat", "/proc/sys/kernel/random/boot_id", check=False, seconds=30).stdout.strip()
        except subprocess.TimeoutExpired:
            return ""

    def _devices(self) -> list[str]:
        return [str(row["name"]) for row in self.qmp("qom-list", path="/machine/peripheral")]

    def _drop_file(self, node: str) -> bool:
        """A disk that was there at the start takes its file along; QEMU needs a moment to let go of the others."""
        nodes = [row.get("node-name") for row in self.qmp("query-named-block-nodes")]
        try:
            if node in nodes:
                self.qmp("blockdev-del", **{"node-name": node})
        except qemu.QmpError:
            return False
        return True

    def _until(self, true: Any, problem: str, seconds: float = 60.0) -> None:
        until = time.monotonic() + seconds
        while not true():
            if time.monotonic() > until:
                raise RackError(f"{self.name}: {problem} (waited {seconds:.0f} s)")
            time.sleep(0.5)

    def __str__(self) -> str:
        return json.dumps({"name": self.name, **self.ports})
