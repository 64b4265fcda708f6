"""Machines as they come: just installed, nothing tuned, all in good health. By hand, after what each system ships.

Nothing here was recorded; each shape holds what differs between such machines: the distribution's defaults, file
systems, swap, time daemon, disks, cards, and the kernel lines of a boot without fault. Tools that a fresh install
lacks (smartctl, ipmitool, ethtool) are missing.
"""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

from agent.host import (
    Answer,
    CpuTimes,
    Descriptors,
    Disk,
    Interface,
    KernelClock,
    Load,
    Memory,
    NoPermission,
    Process,
    ProcessUse,
    Touched,
)
from agent.sources.kafka import log_files
from tests.agent import servers
from tests.agent.jbod import usage
from tests.machine import NOW, FakeHost

GB = 10**9
UPTIME_S = 3 * 86400.0
KEPT, UNKEPT = KernelClock(True, 0.02, 31.0), KernelClock(False, 0.0, 16_000.0)

# (mount point, device number, device, type)
MountRow = Tuple[str, str, str, str]


class Shape(NamedTuple):
    """One machine. roles: servers that run. keeper: its time daemon. config, lines: what differs from the plain one."""

    name: str
    kernel: str
    mounts: Sequence[MountRow]
    disks: Sequence[Disk]
    cards: Sequence[Interface]
    roles: Sequence[str] = ("broker",)
    keeper: str = "systemd-timesyncd"
    clock: KernelClock = KEPT
    swap_gb: int = 0
    memory_gb: int = 64
    root: bool = True
    log_dirs: str = "/var/lib/kafka/data"
    files: Dict[str, Any] = {}
    commands: Dict[str, Any] = {}
    lines: Sequence[str] = ()


def virtual_disk(name: str = "vda", dev: str = "254:0") -> Disk:
    return Disk(name, "physical", "", "", "", 64 * GB, True, "virtio", "pci-0000:00:05.0", dev)


def sata(number: int, rotational: bool = True) -> Disk:
    name = f"sd{chr(97 + number)}"
    wwn, slot = f"0x5000c500a0b0c00{number}", f"pci-0000:00:17.0-ata-{number + 1}"
    return Disk(name, "physical", "ST4000NM0035", f"ZC10000{number}", wwn, 4000 * GB, rotational, "ata", slot,
                f"8:{16 * number}")  # fmt: skip


def nvme(model: str = "SAMSUNG MZQL21T9HCJR-00A07") -> Disk:
    return Disk("nvme0n1", "physical", model, "S64GNE0R100001", "eui.0001", 1920 * GB, False, "nvme",
                "pci-0000:01:00.0-nvme-1", "259:0")  # fmt: skip


LOOPBACK = Interface("lo", "virtual", "", "00:00:00:00:00:00", "", "")
VIRTIO = [LOOPBACK, Interface("eth0", "physical", "virtio_net", "52:54:00:12:34:56", "0000:00:03.0", "")]
IXGBE = [
    LOOPBACK,
    Interface("eno1", "physical", "ixgbe", "3c:fd:fe:00:00:01", "0000:05:00.0", ""),
    Interface("eno2", "physical", "ixgbe", "3c:fd:fe:00:00:02", "0000:05:00.1", ""),
]
VETH = [LOOPBACK, Interface("eth0", "virtual", "veth", "02:42:ac:11:00:02", "", "")]

VIRTIO_BOOT = """\
Linux version 6.1.0-26-cloud-amd64 (debian-kernel@lists.debian.org) (gcc-12 (Debian 12.2.0-14) 12.2.0)
Hypervisor detected: KVM
kvm-clock: Using msrs 4b564d01 and 4b564d00
clocksource: kvm-clock: mask: 0xffffffffffffffff max_cycles: 0x1cd42e4dffb, max_idle_ns: 881590591483 ns
clocksource: Switched to clocksource kvm-clock
virtio_blk virtio2: [vda] 134217728 512-byte logical blocks (68.7 GB/64.0 GiB)
virtio_net virtio1 ens3: renamed from eth0
ACPI: PM: RTC can wake from S4
sr 1:0:0:0: [sr0] scsi3-mmc drive: 4x/4x cd/rw xa/form2 tray
blk_update_request: I/O error, dev fd0, sector 0 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0
floppy: error 10 while reading block 0
EXT4-fs (vda1): mounted filesystem with ordered data mode. Quota mode: none.
EXT4-fs (vda1): re-mounted. Quota mode: none.
random: crng init done
"""
BARE_BOOT = """\
Linux version 5.14.0-427.13.1.el9_4.x86_64 (mockbuild@iad1-prod-build001) (gcc (GCC) 11.4.1 20231218)
tsc: Refined TSC clocksource calibration: 2294.608 MHz
clocksource: Switched to clocksource tsc
mce: CPU0: Thermal monitoring enabled (TM1)
pcieport 0000:00:1c.0: AER: enabled with IRQ 122
pcieport 0000:00:1c.0: pciehp: Slot #5 AttnBtn- PwrCtrl- MRL- AttnInd- PwrInd- HotPlug+ Surprise+ Interlock- NoCompl+
pcieport 0000:3a:00.0: AER: Corrected error received: 0000:3b:00.0
ixgbe 0000:05:00.0: Multiqueue Enabled: Rx Queue count = 32, Tx Queue count = 32 XDP Queue count = 0
ixgbe 0000:05:00.0 eno1: NIC Link is Up 10 Gbps, Flow Control: RX/TX
ixgbe 0000:05:00.0 eno1: NIC Link is Down
ixgbe 0000:05:00.0 eno1: NIC Link is Up 10 Gbps, Flow Control: RX/TX
mpt3sas_cm0: sending diag reset !!
mpt3sas_cm0: diag reset: SUCCESS
ahci 0000:00:17.0: AHCI 0001.0301 32 slots 8 ports 6 Gbps 0xff impl SATA mode
ata1: SATA link up 6.0 Gbps (SStatus 133 SControl 300)
ata1.00: supports DRM functions and may not be fully accessible
ata8: SATA link down (SStatus 0 SControl 300)
sd 0:0:0:0: Power-on or device reset occurred
sd 0:0:0:0: [sda] Attached SCSI disk
sd 8:0:0:0: [sdz] Media removed, stopped polling
sd 8:0:0:0: [sdz] Attached SCSI removable disk
i801_smbus: probe of 0000:00:1f.4 failed with error -16
EDAC MC0: Giving out device to module skx_edac controller Skylake Socket#0 IMC#0: DEV 0000:3a:0a.0 (INTERRUPT)
ERST: Error Record Serialization Table (ERST) support is initialized.
EXT4-fs (sda2): VFS: Can't find ext4 filesystem
XFS (dm-0): Mounting V5 Filesystem
XFS (dm-0): Ending clean mount
bond0: (slave eno1): link status definitely up, 10000 Mbps full duplex
nf_conntrack version 0.5.0 (65536 buckets, 262144 max)
perf: interrupt took too long (2511 > 2500), lowering kernel.perf_event_max_sample_rate to 79000
TCP: request_sock_TCP: Possible SYN flooding on port 9092. Sending cookies.  Check SNMP counters.
"""


def ext4(path: str, dev: str, device: str) -> MountRow:
    return path, dev, device, "ext4"


def xfs(path: str, dev: str, device: str) -> MountRow:
    return path, dev, device, "xfs"


RHEL_ROOT = [xfs("/", "253:0", "/dev/mapper/rhel-root"), xfs("/boot", "8:1", "/dev/sda1"),
             xfs("/home", "253:2", "/dev/mapper/rhel-home")]  # fmt: skip
DATA = [xfs("/kafka/d1", "8:16", "/dev/sdb"), xfs("/kafka/d2", "8:32", "/dev/sdc")]
DM = Disk("dm-0", "dm", "", "", "", 70 * GB, True, "", "", "253:0")

CHRONYC = (
    "A29FC87B,162.159.200.123,4,{at:.6f},-0.000004855,-0.000003,0.000011,-21.5,-0.001,0.01,0.0004,0.0008,64.1,Normal\n"
)
TIMESYNC = """\
       Server: 162.159.200.1 (time.cloudflare.com)
Poll interval: 34min 8s (min: 32s; max 34min 8s)
         Leap: normal
       Offset: -1.234ms
 Packet count: 102
"""
NFT_EMPTY = (
    '{"nftables": [{"metainfo": {"version": "1.0.6", "release_name": "Lester Gooch #5", "json_schema_version": 1}}]}'
)

SHAPES: Sequence[Shape] = (
    Shape("debian12-cloud", "6.1.0-26-cloud-amd64", [ext4("/", "254:1", "/dev/vda1")], [virtual_disk()], VIRTIO,
          memory_gb=8, lines=VIRTIO_BOOT.splitlines()),
    Shape("debian12-bare-jbod-with-swap", "6.1.0-26-amd64",
          [ext4("/", "8:1", "/dev/sda1"), ext4("/kafka/d1", "8:16", "/dev/sdb"), ext4("/kafka/d2", "8:32", "/dev/sdc")],
          [sata(0), sata(1), sata(2)], IXGBE, swap_gb=8, log_dirs="/kafka/d1,/kafka/d2", lines=BARE_BOOT.splitlines()),
    Shape("debian13-without-timesyncd-yet", "6.12.43+deb13-amd64", [ext4("/", "254:1", "/dev/vda1")], [virtual_disk()],
          VIRTIO, roles=(), keeper="", clock=UNKEPT, lines=VIRTIO_BOOT.splitlines()),
    Shape("ubuntu2204-cloud-with-snaps", "5.15.0-122-generic",
          [ext4("/", "254:1", "/dev/vda1"), ("/snap/core20/2318", "7:0", "/dev/loop0", "squashfs")], [virtual_disk()],
          VIRTIO, files={"/etc/ufw/ufw.conf": "ENABLED=no\nLOGLEVEL=low\n"}, lines=VIRTIO_BOOT.splitlines()),
    Shape("ubuntu2404-with-swap-file", "6.8.0-45-generic", [ext4("/", "259:2", "/dev/nvme0n1p2")], [nvme()], IXGBE,
          swap_gb=8, files={"/proc/sys/vm/max_map_count": "1048576\n"}, lines=BARE_BOOT.splitlines()),
    Shape("rhel9-lvm-with-swap", "5.14.0-427.13.1.el9_4.x86_64", [*RHEL_ROOT, *DATA], [sata(0), sata(1), sata(2), DM],
          IXGBE, keeper="chronyd", swap_gb=32, log_dirs="/kafka/d1,/kafka/d2", lines=BARE_BOOT.splitlines(),
          files={"/etc/chrony.conf": "pool 2.rhel.pool.ntp.org iburst\nmakestep 1.0 3\nrtcsync\n"}),
    Shape("rhel9-zookeeper", "5.14.0-427.13.1.el9_4.x86_64", RHEL_ROOT, [sata(0), DM], IXGBE, roles=("zookeeper",),
          keeper="chronyd", swap_gb=4, lines=BARE_BOOT.splitlines()),
    Shape("rocky8-virtual-guest-of-tuned", "4.18.0-553.el8_10.x86_64", RHEL_ROOT, [virtual_disk(), DM], VIRTIO,
          keeper="chronyd", swap_gb=2, files={"/proc/sys/vm/swappiness": "30\n",
                                              "/usr/lib/sysctl.d/50-default.conf": "kernel.sysrq = 16\n"}),
    Shape("almalinux9-kraft", "5.14.0-427.el9.x86_64", RHEL_ROOT, [virtual_disk(), DM], VIRTIO, keeper="chronyd",
          roles=("kraft",)),
    Shape("amazon-linux-nvme", "6.1.112-122.189.amzn2023.x86_64", [xfs("/", "259:1", "/dev/nvme0n1p1")],
          [nvme("Amazon Elastic Block Store")],
          [LOOPBACK, Interface("ens5", "physical", "ena", "02:aa:bb:cc:dd:ee", "0000:00:05.0", "")], keeper="chronyd"),
    Shape("suse15-btrfs-with-swap", "6.4.0-150600.21-default",
          [("/", "0:34", "/dev/sda2", "btrfs"), ("/var", "0:45", "/dev/sda2", "btrfs")], [sata(0)], IXGBE,
          keeper="chronyd", swap_gb=2, lines=BARE_BOOT.splitlines()),
    Shape("docker-container", "6.1.0-26-amd64",
          [("/", "0:88", "overlay", "overlay"), ext4("/etc/hosts", "8:1", "/dev/sda1")], [], VETH, keeper="",
          memory_gb=4),
    Shape("unprivileged-container-without-a-role", "6.8.12-2-pve", [("/", "0:60", "rpool/data/subvol-100", "zfs")], [],
          VETH, roles=(), keeper="", root=False, memory_gb=2),
    Shape("virtual-machine-whose-clock-nobody-keeps", "5.10.0-32-amd64", [ext4("/", "254:1", "/dev/vda1")],
          [virtual_disk()], VIRTIO, roles=(), keeper="", clock=UNKEPT, lines=VIRTIO_BOOT.splitlines()),
    Shape("bare-machine-without-a-role", "5.14.0-427.13.1.el9_4.x86_64", RHEL_ROOT, [sata(0), sata(1), DM], IXGBE,
          roles=(), keeper="systemd-timesyncd", clock=UNKEPT, swap_gb=16, lines=BARE_BOOT.splitlines()),
)  # fmt: skip


def machine(shape: Shape) -> FakeHost:
    """The machine at its first run, with no inventory and no memory."""
    return FakeHost(
        files={**_files(shape), **shape.files},
        commands={**_clock(shape), "nft -j list ruleset": Answer(0, NFT_EMPTY, ""), **shape.commands},
        answers=_answers(shape),
    )


def _servers(shape: Shape) -> List[Process]:
    made = {"broker": servers.broker(), "zookeeper": servers.zookeeper(), "kraft": servers.broker(4243)}
    return [made[role] for role in shape.roles]


def _files(shape: Shape) -> Dict[str, Any]:
    rows = [f"{20 + number} 1 {dev} / {path} rw,relatime shared:1 - {fstype} {device} rw"
            for number, (path, dev, device, fstype) in enumerate(shape.mounts)]  # fmt: skip
    entries = [f"{device} {path} {fstype} defaults 0 0" for path, _dev, device, fstype in shape.mounts]
    found: Dict[str, Any] = {
        "/proc/self/mountinfo": "".join(f"{row}\n" for row in rows),
        "/etc/fstab": "".join(f"{entry}\n" for entry in entries),
        "/proc/sys/kernel/osrelease": f"{shape.kernel}\n",
        "/proc/sys/kernel/hostname": f"{shape.name}\n",
        "/proc/sys/vm/swappiness": "60\n",
        "/sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n",
        "/sys/kernel/mm/transparent_hugepage/defrag": "always defer defer+madvise [madvise] never\n",
        "/proc/sys/vm/max_map_count": "65530\n",
        "/proc/sys/fs/file-nr": "1312\t0\t9223372036854775807\n",
        "/proc/modules": "ext4 1 0 - Live 0x0\n",
        "/proc/vmstat": "oom_kill 0\n",
        "/proc/cpuinfo": f"processor\t: 0\nflags\t\t: fpu vme{' hypervisor' if shape.cards is VIRTIO else ''}\n",
        "/proc/net/route": f"Iface\tDestination\tGateway\n{shape.cards[-1].name}\t00000000\t0102000A\n",
        "/proc/mdstat": "Personalities : \nunused devices: <none>\n",
        "/proc/diskstats": "".join(f"{disk.dev.replace(':', ' ')} {disk.name} 900 0 7000 540 700 0 3500 280 0 600 820\n"
                                   for disk in shape.disks),
    }  # fmt: skip
    for disk in shape.disks:
        found[f"/sys/block/{disk.name}/queue/scheduler"] = "[none] mq-deadline bfq\n"
        found[f"/sys/block/{disk.name}/size"] = "1\n"
        for number in range(1, 4):
            part = f"{disk.name}p{number}" if disk.name[-1].isdigit() else f"{disk.name}{number}"
            found[f"/sys/block/{disk.name}/{part}/partition"] = f"{number}\n"
    for card in shape.cards:
        base = f"/sys/class/net/{card.name}"
        values = {
            "flags": "0x1003", "carrier": "1", "operstate": "up", "speed": "10000", "duplex": "full", "ifindex": "2",
            "mtu": "1500", "carrier_changes": "4", "statistics/rx_packets": "81223", "statistics/rx_dropped": "12",
        }  # fmt: skip
        found.update({f"{base}/{name}": f"{value}\n" for name, value in values.items()})
    for process in _servers(shape):
        found[f"/proc/{process.pid}/net/tcp"] = servers.tcp_table(9092, 2181, 9093)
        found[f"/proc/{process.pid}/cgroup"] = f"0::/system.slice/{process.user}.service\n"
    return found


def _clock(shape: Shape) -> Dict[str, Any]:
    if shape.keeper == "chronyd":
        return {"chronyc -c -n tracking": Answer(0, CHRONYC.format(at=NOW - 60), "")}
    if shape.keeper:
        return {"timedatectl timesync-status --no-pager": Answer(0, TIMESYNC, "")}
    return {}


def _answers(shape: Shape) -> Dict[str, Any]:
    running = _servers(shape)
    keeper = (
        [Process(611, shape.keeper, (f"/usr/sbin/{shape.keeper}",), "_time", NOW - UPTIME_S)] if shape.keeper else []
    )
    config = f"broker.id=1\nlisteners=PLAINTEXT://:9092\nlog.dirs={shape.log_dirs}\nzookeeper.connect=zk1:2181\n"
    if "kraft" in shape.roles:
        config = (
            "process.roles=broker,controller\nnode.id=1\nlisteners=PLAINTEXT://:9092,CONTROLLER://:9093\n"
            f"controller.listener.names=CONTROLLER\nlog.dirs={shape.log_dirs}\n"
        )
    given: Dict[str, Any] = {
        **servers.answers(running, {servers.BROKER_CONFIG: config}),
        "processes": [Process(1, "systemd", ("/sbin/init",), "root", NOW - UPTIME_S), *keeper, *running],
        "is_root": shape.root,
        "uptime_s": UPTIME_S,
        "disks": list(shape.disks),
        "interfaces": list(shape.cards),
        "memory": Memory(shape.memory_gb * GB, shape.memory_gb * GB // 2, shape.swap_gb * GB, 0),
        "cpu_times": CpuTimes(9112.0, 2033.0, 401.0, 91.0, UPTIME_S * 8),
        "load": Load(0.4, 0.3, 0.2, 8),
        "kernel_clock": shape.clock,
        "kernel_records": records(shape.lines) if shape.root else NoPermission("needs root: /dev/kmsg"),
        "descriptors anon_inode:[fanotify]": Descriptors((), ()),
        "touch stat /run/systemd/timesync/synchronized": Touched("", {"mtime": NOW - 900}),
    }
    quiet = Touched("", {"inode": 77, "end": 4096, "skipped_bytes": 0, "text": ""})
    for folder in ("/srv/kafka/logs", "/var/log/kafka", "/var/log/zookeeper"):
        names = (name for role in (*log_files.NAMES.values(), log_files.STATE_NAMES) for name in role)
        given.update({f"touch search {folder}/{name}": Touched("ENOENT", {"error": "no such file"}) for name in names})
    given["touch search /srv/kafka/logs/server.log"] = given["touch search /var/log/zookeeper/zookeeper.log"] = quiet
    for process in running:
        given[f"process_use {process.pid}"] = ProcessUse(412, 100000, 2120)
    for path, dev, device, _fstype in shape.mounts:
        name = device.rpartition("/")[2]
        given.update({f"touch stat {path}": Touched("", {}), f"touch write {path}": Touched("", {"written": True})})
        given[f"touch usage {path}"] = usage(31, 500 * GB)
        disk = next((disk.name for disk in shape.disks if name.startswith(disk.name)), "")
        kernel_name = "dm-0" if "mapper" in device else name
        given[f"link /sys/dev/block/{dev}"] = f"/sys/devices/virtual/block/{disk}/{kernel_name}"
        given[f"link {device}"] = f"/dev/{kernel_name}"
    for folder in (*shape.log_dirs.split(","), "/var/lib/zookeeper"):
        given[f"touch write {folder}"] = Touched("", {"written": True})
    return given


def records(lines: Sequence[str]) -> List[str]:
    """Kernel records of a boot; what follows in daily life is hours later."""
    return [f"4,{number},{1_000_000 + number * 100_000},-;{line}" for number, line in enumerate(lines)]
