"""The hosts of the rack: their disks and cards, and the files that each gets before its first boot."""

from __future__ import annotations

import pathlib
from dataclasses import dataclass

from tests.rack import cpio

FILES = pathlib.Path(__file__).parent / "files"
STAND_IN = pathlib.Path(__file__).parent.parent / "real" / "parts" / "stand_in_broker.py"
RAM_MB = 640
WANTED = "etc/systemd/system/multi-user.target.wants"
PRIVATE = ("etc/ssh/ssh_host_ed25519_key", "root/.ssh/authorized_keys")
GATEWAY = "10.0.2.2"  # QEMU's own: the loopback of the machine that the rack runs on
# The others say that they are QEMU's, which have no SMART
MODELS = {"sata": "RACK SATA 4TB", "ssd": "RACK SSD 240G"}


@dataclass(frozen=True)
class Disk:
    """A disk of a host. bus: sata, ssd (also SATA), nvme, scsi (can be pulled and put back) or raid (MegaRAID).

    fstype: made before the first boot, with `uuid`; empty for a raw disk. mount: where fstab mounts it.
    """

    name: str
    bus: str
    size_mb: int = 320
    fstype: str = ""
    mount: str = ""

    @property
    def serial(self) -> str:
        return f"RK{self.name.upper().replace('-', '')}"


@dataclass(frozen=True)
class Machine:
    """A host. lan: its address among the others. cards: network cards beside the first, by their QEMU names.

    bmc: `inband` or `lan`, how the inventory says that it is asked.
    """

    name: str
    lan: str
    roles: tuple[str, ...]
    layout: str
    port: int
    disks: tuple[Disk, ...]
    cards: tuple[str, ...]
    bmc: str = "inband"
    bond: bool = False

    @property
    def mounts(self) -> dict[str, str]:
        """Mount -> serial of its disk; empty for what stands on several."""
        found = {disk.mount: disk.serial for disk in self.disks if disk.mount}
        return found if found or self.layout != "raid10" else {"/kafka/data": ""}

    def uuid(self, disk: Disk) -> str:
        number = [host.name for host in MACHINES].index(self.name)
        return f"0000000{number}-aaaa-bbbb-cccc-0000000000{self.disks.index(disk):02d}"


def _jbod() -> tuple[Disk, ...]:
    sata = [Disk(f"j1sata{n}", "sata", 320, "ext4" if n < 3 else "xfs", f"/kafka/d{n}") for n in range(1, 5)]
    return (*sata, Disk("j1nvme1", "nvme", 320, "xfs", "/kafka/d5"), Disk("j1scsi1", "scsi", 128, "ext4", "/kafka/d6"))


MACHINES = (
    Machine("jbod-1", "10.77.0.1", ("broker",), "jbod", 9092, _jbod(), ("e1000e",)),
    Machine(
        "raid-1", "10.77.0.2", ("broker",), "raid10", 9092,
        tuple(Disk(f"r1{bus}{n}", bus, mb) for bus, mb in (("sata", 160), ("raid", 16)) for n in range(1, 5)),
        ("virtio-net-pci,speed=10000,duplex=full", "virtio-net-pci,speed=10000,duplex=full"), bmc="lan", bond=True,
    ),
    Machine("zk-1", "10.77.0.3", ("zookeeper",), "", 2181, (Disk("z1ssd1", "ssd", 256, "ext4", "/var/lib/zookeeper"),),
            ("e1000",)),
)  # fmt: skip


def machine(name: str) -> Machine:
    """KeyError with the names that there are."""
    for host in MACHINES:
        if host.name == name:
            return host
    raise KeyError(f"no host {name!r} in the rack; there are {', '.join(host.name for host in MACHINES)}")


def files(host: Machine, keys: pathlib.Path, time_port: int) -> dict[str, tuple[bytes, int]]:
    """Path -> content and mode of what this host has of its own. keys: the folder with the ssh keys."""
    found = {
        "etc/hostname": f"{host.name}\n",
        "etc/hosts": "127.0.0.1 localhost\n" + "".join(f"{other.lan} {other.name}\n" for other in MACHINES),
        "etc/fstab": "/dev/vda / ext4 errors=remount-ro 0 1\n" + "".join(_fstab(host)),
        "etc/rack": f"{host.name}\n",
        "etc/sysctl.d/60-kafka.conf": "vm.swappiness = 1\nvm.max_map_count = 262144\n",
        "etc/chrony/chrony.conf": f"server {GATEWAY} port {time_port} iburst minpoll 2 maxpoll 4\nmakestep 1 -1\n"
        "driftfile /var/lib/chrony/chrony.drift\ncmdport 323\n",
        "etc/udev/rules.d/60-scheduler.rules": 'ACTION=="add|change", SUBSYSTEM=="block", KERNEL=="sd[a-z]|nvme*n*", '
        'ATTR{queue/scheduler}="mq-deadline"\n'
        'ACTION=="add", SUBSYSTEM=="block", ATTRS{model}=="scsi_debug*", '
        'RUN+="/usr/sbin/smartctl -q silent -s on $devnode"\n',
        "etc/modules-load.d/rack.conf": "ipmi_si\nipmi_devintf\n" + ("scsi_debug\n" if host.layout == "jbod" else ""),
        "etc/modprobe.d/rack.conf": "options scsi_debug dev_size_mb=32\n",
        "etc/systemd/journald.conf.d/rack.conf": "[Journal]\nStorage=volatile\nRuntimeMaxUse=8M\n",
        # an emulated host on a busy machine finds its disks late; Debian's 90 s would leave them unmounted
        "etc/systemd/system.conf.d/rack.conf": "[Manager]\nDefaultDeviceTimeoutSec=600\nDefaultTimeoutStartSec=600\n",
        "root/.ssh/authorized_keys": (keys / "id.pub").read_text(),
        "etc/ssh/ssh_host_ed25519_key": (keys / f"{host.name}").read_text(),
        "etc/ssh/ssh_host_ed25519_key.pub": (keys / f"{host.name}.pub").read_text(),
        "etc/ssh/sshd_config.d/rack.conf": "HostKey /etc/ssh/ssh_host_ed25519_key\nUseDNS no\nMaxStartups 100\n",
        **_network(host),
        **_services(host),
    }
    return {path: (text.encode(), _mode(path)) for path, text in found.items()}


def _mode(path: str) -> int:
    if path.startswith(WANTED):
        return cpio.LINK
    return 0o600 if path in PRIVATE else 0o755 if path.startswith("usr/local/") else 0o644


def _fstab(host: Machine) -> list[str]:
    careful = {"ext4": "noatime,errors=remount-ro,nofail", "xfs": "noatime,nofail"}
    rows = [f"UUID={host.uuid(disk)} {disk.mount} {disk.fstype} {careful[disk.fstype]} 0 2\n"
            for disk in host.disks if disk.mount]  # fmt: skip
    return rows or [f"/dev/md0 /kafka/data ext4 {careful['ext4']} 0 2\n"]


def mac(host: Machine, number: int) -> str:
    return f"52:54:00:77:0{host.lan.rpartition('.')[2]}:{number:02x}"


def _network(host: Machine) -> dict[str, str]:
    """eno1 leads to the machine that the rack runs on; lan1, or the bond of lan1 and lan2, to the other hosts."""
    folder = "etc/systemd/network"
    names = ["eno1", *(f"lan{number}" for number in range(1, len(host.cards) + 1))]
    found = {
        f"{folder}/10-{name}.link": f"[Match]\nMACAddress={mac(host, number)}\nType=ether\n[Link]\nName={name}\n"
        for number, name in enumerate(names)
    }
    found[f"{folder}/20-eno1.network"] = (
        f"[Match]\nName=eno1\n[Network]\nAddress=10.0.2.15/24\nGateway={GATEWAY}\nLinkLocalAddressing=no\n"
    )
    lan = f"[Network]\nAddress={host.lan}/24\nLinkLocalAddressing=no\n"
    if not host.bond:
        return {**found, f"{folder}/20-lan1.network": f"[Match]\nName=lan1\n{lan}"}
    bond = "[NetDev]\nName=bond0\nKind=bond\n[Bond]\nMode=active-backup\nMIIMonitorSec=100ms\n"
    return {
        **found,
        f"{folder}/30-bond0.netdev": bond,
        f"{folder}/30-members.network": "[Match]\nName=lan1 lan2\n[Network]\nBond=bond0\n",
        f"{folder}/30-bond0.network": f"[Match]\nName=bond0\n{lan}",
    }


def _services(host: Machine) -> dict[str, str]:
    if "zookeeper" in host.roles:
        return _enabled("zookeeper.service") | {"etc/zookeeper/conf/zoo.cfg": (FILES / "zoo.cfg").read_text()}
    log_dirs = ",".join(f"{path}/logs" for path in host.mounts)
    config = (f"broker.id={MACHINES.index(host) + 1}\nlisteners=PLAINTEXT://:{host.port}\nlog.dirs={log_dirs}\n"
              "zookeeper.connect=zk-1:2181\n")  # fmt: skip
    found = {
        "etc/kafka/server.properties": config,
        # Debian makes new users on a fresh system only
        "etc/sysusers.d/kafka.conf": 'u kafka 900 "Apache Kafka"\n',
        "etc/systemd/system/systemd-sysusers.service.d/rack.conf": "[Unit]\nConditionNeedsUpdate=\n",
        "opt/rack/stand_in_broker.py": STAND_IN.read_text(),
        "opt/rack/broker.py": (FILES / "broker.py").read_text(),
        "opt/rack/pcie_error.py": (FILES / "pcie_error.py").read_text(),
        **_enabled("kafka.service", MOUNTS=" ".join(host.mounts)),
    }
    if host.bond:
        found |= _enabled("md.service") | {"usr/local/sbin/storcli64": (FILES / "storcli.py").read_text()}
        found["etc/mdadm/mdadm.conf"] = "MAILADDR root\n"
    return found


def _enabled(unit: str, **words: str) -> dict[str, str]:
    text = (FILES / unit).read_text()
    for name, value in words.items():
        text = text.replace(f"@{name}@", value)
    return {f"etc/systemd/system/{unit}": text, f"{WANTED}/{unit}": f"/etc/systemd/system/{unit}"}
