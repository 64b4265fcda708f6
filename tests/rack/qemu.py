"""One QEMU machine: its command line, and QMP to change it while it runs."""

from __future__ import annotations

import contextlib
import json
import pathlib
import socket
from collections.abc import Iterator, Mapping
from typing import Any

from tests.rack.image import Image
from tests.rack.machines import MODELS, RAM_MB, Disk, Machine, mac

QMP_S = 30.0
WIRE = "230.77.0.1"  # multicast on loopback, between the hosts
# The kernel holds the TSC against the emulated HPET, which is late on a busy machine, and would give up the TSC.
BOOT_WORDS = ("root=/dev/vda rw console=ttyS0 net.ifnames=0 panic=5 quiet systemd.show_status=0 mitigations=off "
              "tsc=nowatchdog transparent_hugepage=madvise")  # fmt: skip
CONTROLLERS = {
    "scsi": ["-device", "virtio-scsi-pci,id=scsi0"],
    "raid": ["-device", "megasas,id=raid0"],
}
# PCI Express cards sit behind a root port, which is what reports their errors to the kernel
BEHIND_PORT = ("e1000e",)


class QmpError(Exception):
    """QEMU refused an order; the message is its own."""


def qmp(path: pathlib.Path, execute: str, arguments: Mapping[str, Any] | None = None) -> Any:
    """One order to a running QEMU, and its answer. QmpError, OSError when it is gone."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(QMP_S)
        connection.connect(str(path))
        with connection.makefile("rw") as lines:
            json.loads(lines.readline())
            for order, given in (("qmp_capabilities", None), (execute, arguments)):
                lines.write(json.dumps({"execute": order, **({"arguments": dict(given)} if given else {})}) + "\n")
                lines.flush()
                answer = next(answer for answer in _answers(lines) if "event" not in answer)
                if "error" in answer:
                    raise QmpError(f"{order}: {answer['error']['desc']}")
    return answer["return"]


def _answers(lines: Any) -> Iterator[Any]:
    for line in lines:
        with contextlib.suppress(ValueError):
            yield json.loads(line)
    raise QmpError("QEMU ended")


def command(host: Machine, folder: pathlib.Path, image: Image, ports: Mapping[str, int]) -> list[str]:
    """The whole command line. ports: `ssh`, `service`, `ipmi` and `lan`, all on loopback."""
    forwards = f"hostfwd=tcp:127.0.0.1:{ports['ssh']}-:22,hostfwd=tcp:127.0.0.1:{ports['service']}-:{host.port}"
    argv = ["qemu-system-x86_64", "-name", host.name, "-machine", "q35", "-accel", "tcg,thread=multi,tb-size=192",
            "-cpu", "max", "-smp", "1", "-m", str(RAM_MB), "-display", "none", "-no-user-config", "-nodefaults",
            "-kernel", str(image.kernel), "-initrd", str(folder / "initrd.img"), "-append", BOOT_WORDS,
            "-serial", f"file:{folder}/console.log", "-qmp", f"unix:{folder}/qmp,server=on,wait=off",
            "-device", "virtio-rng-pci",
            "-drive", f"if=none,id=root,file={folder}/root.qcow2,cache=unsafe", "-device", "virtio-blk-pci,drive=root",
            "-netdev", f"user,id=net0,restrict=off,{forwards}",
            "-device", f"e1000e,netdev=net0,id=eno1,mac={mac(host, 0)}"]  # fmt: skip
    for number, card in enumerate(host.cards, 1):
        port = f"port{number}"
        if card in BEHIND_PORT:
            argv += ["-device", f"pcie-root-port,id={port},chassis={number},slot={number}"]
        bus = f",bus={port}" if card in BEHIND_PORT else ""
        argv += ["-netdev", f"socket,id=net{number},mcast={WIRE}:{ports['lan']},localaddr=127.0.0.1",
                 "-device", f"{card},netdev=net{number},id=lan{number},mac={mac(host, number)}{bus}"]  # fmt: skip
    argv += ["-chardev", f"socket,id=ipmi0,host=127.0.0.1,port={ports['ipmi']},reconnect=5",
             "-device", "ipmi-bmc-extern,chardev=ipmi0,id=bmc0", "-device", "isa-ipmi-kcs,bmc=bmc0"]  # fmt: skip
    for bus in dict.fromkeys(disk.bus for disk in host.disks):
        argv += CONTROLLERS.get(bus, [])
    for number, disk in enumerate(host.disks):
        argv += ["-drive", f"if=none,id={disk.name}-file,file={disk_file(folder, disk)},format=raw,cache=unsafe",
                 "-device", device(disk, number)]  # fmt: skip
    return argv


def disk_file(folder: pathlib.Path, disk: Disk) -> pathlib.Path:
    return folder / f"{disk.name}.raw"


def device(disk: Disk, number: int) -> str:
    """QEMU's -device of a disk whose file is `NAME-file`; number: its place on the bus."""
    model = MODELS.get(disk.bus, "")
    rest = {
        "sata": f"ide-hd,bus=ide.{number},model={model},rotation_rate=7200",
        "ssd": f"ide-hd,bus=ide.{number},model={model},rotation_rate=1",
        "nvme": "nvme",
        "scsi": "scsi-hd,bus=scsi0.0,rotation_rate=7200",
        "raid": f"scsi-hd,bus=raid0.0,scsi-id={number % 4},rotation_rate=7200",
    }[disk.bus]
    return f"{rest},id={disk.name},serial={disk.serial},drive={disk.name}-file"
