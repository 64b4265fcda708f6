"""A hand-made broker in good health, in every answer that any check asks for: the ground of the hand-made stories.

kafka-a03: system on an NVMe, four 8 TB SATA disks as JBOD, eight DIMMs, a bond over two ixgbe cards, a BMC in band with
two power supplies. Files and outputs are written in their documented formats; nothing is copied from a real machine.
"""

from __future__ import annotations

from typing import Any, Dict, List, Sequence, Tuple

from agent.expected import Bmc, Expected, ExpectedInterface, ExpectedMount
from agent.host import (
    Answer,
    CpuTimes,
    Descriptors,
    Disk,
    Interface,
    KernelClock,
    Load,
    Memory,
    Process,
    ProcessUse,
    Touched,
)
from tests.agent import servers
from tests.agent.jbod import TB, usage
from tests.agent.sources.bmc import handmade_bmc
from tests.agent.sources.smart import made_reports
from tests.machine import NOW, FakeHost

DISKS = ("sda", "sdb", "sdc", "sdd")
SERIALS = ("ZA1A0001", "ZA1A0002", "ZA1A0003", "ZA1A0004")
NVME = "nvme0n1"
NVME_SERIAL = "S4GANX0K100001"
UUIDS = tuple(f"5b1c6a4e-0000-4000-8000-00000000000{number}" for number in range(1, 5))
DIMMS = tuple(f"CPU_SrcID#{socket}_MC#0_Chan#{channel}_DIMM#0" for socket in (0, 1) for channel in range(4))
EDAC = "/sys/devices/system/edac/mc"
CARDS = {"enp5s0f0": "0000:05:00.0", "enp129s0f0": "0000:81:00.0"}
BROKER = servers.broker()
CONFIG = """\
broker.id=3
listeners=PLAINTEXT://:9092
log.dirs=/kafka/d1,/kafka/d2,/kafka/d3,/kafka/d4
zookeeper.connect=zk1:2181,zk2:2181,zk3:2181/kafka
"""
META = "#\n#Thu Aug 20 09:30:00 UTC 2026\nbroker.id=3\nversion=0\ncluster.id=MkU3OEVBNTcwNTJENDM2Qg\n"
LOG_DIRS = ("/kafka/d1", "/kafka/d2", "/kafka/d3", "/kafka/d4", "/kafka/data")
UPTIME_S = 90 * 86400.0

EXPECTED = Expected(
    host="kafka-a03",
    cluster="prod-a",
    roles=("broker",),
    layout="jbod",
    rack="a",
    mounts=tuple(
        ExpectedMount(f"/kafka/d{number}", serial=serial, uuid=uuid, fstype="ext4")
        for number, (serial, uuid) in enumerate(zip(SERIALS, UUIDS), 1)
    ),
    disks=SERIALS,
    interfaces=(ExpectedInterface("bond0", 20000, "full"),),
    psus=2,
    bmc=Bmc("inband"),
    ports=(9092,),
    zookeeper=("zk1:2181", "zk2:2181", "zk3:2181"),
)

SRVR = """\
Zookeeper version: 3.8.0-5a02a05eddb59aee6ac762f7ea82e92a68eb9c0f, built on 2022-02-25 08:49 UTC
Latency min/avg/max: 0/0.42/27
Received: 991223
Sent: 991240
Connections: 14
Outstanding: 0
Zxid: 0x400001a2f
Mode: {mode}
Node count: 1893
"""
MNTR = """\
zk_version\t3.8.0-5a02a05eddb59aee6ac762f7ea82e92a68eb9c0f, built on 2022-02-25 08:49 UTC
zk_server_state\t{mode}
zk_avg_latency\t0.42
zk_max_latency\t27
zk_outstanding_requests\t0
zk_num_alive_connections\t14
zk_znode_count\t1893
zk_approximate_data_size\t301223
zk_open_file_descriptor_count\t91
zk_max_file_descriptor_count\t128000
zk_stale_sessions_expired\t4
zk_connection_rejected\t0
"""
LEADER = "zk_synced_followers\t2\nzk_learners\t2\n"
CONS = """\
 /10.2.0.13:41870[1](queued=0,recved=91223,sent=91240,sid=0x300001a2f0001,lop=PING,to=18000)
 /10.2.0.14:41872[1](queued=0,recved=90112,sent=90125,sid=0x300001a2f0002,lop=PING,to=18000)
 /10.2.0.13:55012[0](queued=0,recved=1,sent=0)
"""
CONF = "clientPort=2181\ndataDir=/var/lib/zookeeper/version-2\nmaxClientCnxns=60\ntickTime=2000\n"


def healthy(**expected: Any) -> FakeHost:
    """The broker as it was an hour before each story; no run before."""
    return FakeHost(files(), commands(), answers(), EXPECTED._replace(**expected), now=NOW - 3600)


def files() -> Dict[str, Any]:
    return {**_settings(), **_disk_files(), **_edac(), **_network()}


def commands() -> Dict[str, Any]:
    smart = dict(zip(DISKS, (made_reports.ata(serial) for serial in SERIALS)))
    return {
        **handmade_bmc.commands(),
        **made_reports.scan(*(f"/dev/{name} sat" for name in DISKS)),
        **{made_reports.asked(f"/dev/{name}"): made_reports.printed(smart[name]) for name in DISKS},
        made_reports.asked(f"/dev/{NVME}"): made_reports.printed(made_reports.nvme(NVME_SERIAL)),
        **{f"ethtool {flags}{name}": Answer(0, text, "") for name in CARDS for flags, text in _ethtool(name)},
        **{f"ethtool {flags}bond0": Answer(code, text, "") for flags, code, text in ETHTOOL_OF_BOND},
        "chronyc -c -n tracking": tracking(0.000004855),
        "systemctl show -p Id,LoadState,ActiveState,SubState,Result,NRestarts -- kafka.service": Answer(
            0,
            "Id=kafka.service\nLoadState=loaded\nActiveState=active\nSubState=running\nResult=success\nNRestarts=0\n",
            "",
        ),
        "env -u TZ date +%z": Answer(0, "+0000\n", ""),
    }


def tracking(slow_by_s: float) -> Answer:
    """`chronyc -c tracking` of a clock that is slow by so much."""
    heard = NOW - 40
    rest = "-0.000003,0.000011,-21.5,-0.001,0.01,0.0004,0.0008,64.1,Normal"
    return Answer(0, f"0A020001,10.2.0.1,3,{heard:.9f},{slow_by_s:.9f},{rest}\n", "")


def answers() -> Dict[str, Any]:
    return {
        "uptime_s": UPTIME_S,
        "processes": [
            Process(1, "systemd", ("/sbin/init",), "root", NOW - UPTIME_S),
            Process(711, "chronyd", ("/usr/sbin/chronyd", "-F", "1"), "_chrony", NOW - UPTIME_S + 20),
            BROKER,
        ],
        f"process_use {BROKER.pid}": ProcessUse(21034, 128000, 9120),
        "touch read /etc/kafka/server.properties": Touched("", {"text": CONFIG}),
        **{f"touch read {path}/meta.properties": Touched("", {"text": META}) for path in LOG_DIRS},
        **{f"touch link /proc/{BROKER.pid}/fd/{number}": Touched("", {"target": "/dev/null"}) for number in (1, 2)},
        **_logs(),
        "descriptors anon_inode:[fanotify]": Descriptors((), ()),
        "disks": disks(),
        "interfaces": interfaces(),
        "memory": Memory(256 * 10**9, 190 * 10**9, 0, 0),
        "cpu_times": CpuTimes(911223.0, 203311.0, 40112.0, 9112.0, 7776000.0 * 32),
        "load": Load(4.1, 4.3, 4.2, 32),
        "kernel_clock": KernelClock(True, 0.01, 21.0),
        "kernel_records": ["6,1,0,-;Linux version 6.1.0-26-amd64 (debian-kernel@lists.debian.org)"],
        **_mount_answers(),
        **ensemble(),
    }


def ensemble() -> Dict[str, Any]:
    """The three ZooKeeper servers, each with its four words."""
    said: Dict[str, Any] = {}
    for name, mode in (("zk1", "follower"), ("zk2", "leader"), ("zk3", "follower")):
        said[f"exchange {name} 2181 srvr"] = SRVR.format(mode=mode)
        said[f"exchange {name} 2181 mntr"] = MNTR.format(mode=mode) + (LEADER if mode == "leader" else "")
        said[f"exchange {name} 2181 cons"] = CONS
        said[f"exchange {name} 2181 conf"] = CONF
    return said


def disks() -> List[Disk]:
    sata = [
        made_reports.disk(
            name, serial, wwn=f"0x5000c500a1b2c30{number}", slot=f"pci-0000:00:17.0-ata-{number + 1}",
            dev=f"8:{16 * number}",
        )
        for number, (name, serial) in enumerate(zip(DISKS, SERIALS))
    ]  # fmt: skip
    nvme = Disk(NVME, "physical", "SAMSUNG MZQLB1T9HAJR-00007", NVME_SERIAL, "eui.3438383054100001", 1920383410176,
                False, "nvme", "pci-0000:3b:00.0-nvme-1", "259:0")  # fmt: skip
    return [nvme, *sata]


def interfaces() -> List[Interface]:
    cards = [
        Interface(name, "physical", "ixgbe", f"3c:fd:fe:00:00:{number:02x}", pci, "bond0")
        for number, (name, pci) in enumerate(CARDS.items(), 1)
    ]
    return [Interface("bond0", "bond", "", "3c:fd:fe:00:00:01", "", ""), *cards,
            Interface("lo", "virtual", "", "00:00:00:00:00:00", "", "")]  # fmt: skip


def _settings() -> Dict[str, Any]:
    return {
        "/dev/ipmi0": "",
        "/proc/sys/vm/swappiness": "1\n",
        "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
        "/sys/kernel/mm/transparent_hugepage/defrag": "always defer defer+madvise [madvise] never\n",
        "/proc/sys/vm/max_map_count": "262144\n",
        "/proc/sys/fs/file-nr": "24312\t0\t9223372036854775807\n",
        "/proc/sys/kernel/hostname": "kafka-a03\n",
        "/proc/sys/kernel/osrelease": "6.1.0-26-amd64\n",
        "/proc/modules": "ixgbe 421888 0 - Live 0x0\nbonding 192512 0 - Live 0x0\n",
        "/lib/modules/6.1.0-26-amd64/modules.builtin": "kernel/fs/ext4/ext4.ko\n",
        "/proc/vmstat": "nr_free_pages 1204112\noom_kill 0\n",
        "/proc/cpuinfo": "processor\t: 0\nflags\t\t: fpu vme de pse tsc msr\n",
        "/var/lib/dpkg/info/bash.list": "",
        f"/proc/{BROKER.pid}/cgroup": "0::/system.slice/kafka.service\n",
        f"/proc/{BROKER.pid}/net/tcp": servers.tcp_table(9092),
        "/proc/net/route": "Iface\tDestination\tGateway\nbond0\t00000000\t0102000A\n",
        "/proc/net/fib_trie": "Main:\n  |-- 10.2.0.13\n     /32 host LOCAL\n",
    }


def _disk_files() -> Dict[str, Any]:
    found = {"/proc/self/mountinfo": mountinfo(), "/etc/fstab": fstab(), "/proc/diskstats": diskstats(),
             "/proc/mdstat": "Personalities : \nunused devices: <none>\n"}  # fmt: skip
    for name in (*DISKS, NVME):
        part = f"{name}p1" if name == NVME else f"{name}1"
        found[f"/sys/block/{name}/{part}/partition"] = "1\n"
        found[f"/sys/block/{name}/queue/scheduler"] = "[none] mq-deadline\n" if name == NVME else "[mq-deadline] none\n"
        found[f"/sys/fs/ext4/{part}/errors_count"] = "0\n"
        found[f"/sys/fs/ext4/{part}/last_error_time"] = "0\n"
    found.update({f"/dev/disk/by-uuid/{uuid}": "" for uuid in UUIDS})
    return found


def mountinfo(data: Sequence[Tuple[str, str, str]] = ()) -> str:
    """The root and the data mounts, each as (path, device number, device)."""
    plain = [(f"/kafka/d{n}", f"8:{16 * n - 15}", f"/dev/{name}1") for n, name in enumerate(DISKS, 1)]
    rows = ["21 1 259:1 / / rw,relatime - ext4 /dev/nvme0n1p1 rw,errors=remount-ro"]
    rows += [f"{30 + n} 21 {dev} / {path} rw,noatime - ext4 {source} rw" for n, (path, dev, source) in
             enumerate(data or plain)]  # fmt: skip
    return "".join(f"{row}\n" for row in rows)


def fstab() -> str:
    data = [f"UUID={uuid} /kafka/d{number} ext4 noatime,nofail 0 2" for number, uuid in enumerate(UUIDS, 1)]
    return "\n".join(["/dev/nvme0n1p1 / ext4 errors=remount-ro 0 1", *data]) + "\n"


def diskstats(minutes: int = 0) -> str:
    """Quiet disks, so many minutes after the first run."""
    rows = []
    for name, dev in (*((disk.name, disk.dev) for disk in disks()),):
        reads, writes = 900_000 + 2_000 * minutes, 700_000 + 3_000 * minutes
        numbers = [reads, 0, reads * 256, reads * 6, writes, 0, writes * 512, writes * 4, 0, writes * 3, writes * 4]
        rows.append(f"{dev.replace(':', ' ')} {name} {' '.join(map(str, numbers))}\n")
    return "".join(rows)


def _mount_answers() -> Dict[str, Any]:
    said: Dict[str, Any] = {
        "link /sys/dev/block/259:1": "/sys/devices/pci0000:3a/0000:3b:00.0/nvme/nvme0/nvme0n1/nvme0n1p1",
        "link /dev/nvme0n1p1": "/dev/nvme0n1p1",
        f"link /sys/block/{NVME}": "/sys/devices/pci0000:3a/0000:3b:00.0/nvme/nvme0/nvme0n1",
        "touch stat /": Touched("", {}),
        "touch usage /": usage(21, 10**12),
    }
    for number, (name, uuid) in enumerate(zip(DISKS, UUIDS), 1):
        path = f"/kafka/d{number}"
        address = f"{number}:0:0:0"
        place = f"/sys/devices/pci0000:00/0000:00:17.0/ata{number}/host{number}/target{number}:0:0/{address}"
        said[f"link /sys/block/{name}"] = f"{place}/block/{name}"
        said[f"link /sys/block/{name}/device"] = place
        said[f"link /sys/dev/block/8:{16 * number - 15}"] = f"{place}/block/{name}/{name}1"
        said[f"link /dev/{name}1"] = f"/dev/{name}1"
        said[f"link /dev/disk/by-uuid/{uuid}"] = f"/dev/{name}1"
        said[f"touch stat {path}"] = Touched("", {})
        said[f"touch write {path}"] = Touched("", {"written": True})
        said[f"touch usage {path}"] = usage(50 + number, 8 * TB)
    return said


def _logs() -> Dict[str, Any]:
    """server.log is there and quiet; the other places where a broker may write are not."""
    folders = ("/srv/kafka/logs", "/var/log/kafka")
    names = ("server.log", "kafka.err", "kafkaServer.out", "kafka.log", "state-change.log", "controller.log")
    missing = {f"touch search {folder}/{name}": Touched("ENOENT", {"error": "No such file or directory"})
               for folder in folders for name in names}  # fmt: skip
    quiet = Touched("", {"inode": 77, "end": 4096, "skipped_bytes": 0, "text": ""})
    return {**missing, "touch search /srv/kafka/logs/server.log": quiet}


def _edac() -> Dict[str, Any]:
    found = {}
    for number, label in enumerate(DIMMS):
        mc, dimm = divmod(number, 4)
        found.update(edac(number))
        found[f"{EDAC}/mc{mc}/dimm{dimm}/dimm_label"] = f"{label}\n"
        found[f"{EDAC}/mc{mc}/dimm{dimm}/dimm_location"] = f"channel {dimm} slot 0\n"
        found[f"{EDAC}/mc{mc}/ce_noinfo_count"] = found[f"{EDAC}/mc{mc}/ue_noinfo_count"] = "0\n"
    return found


def edac(number: int, corrected: int = 0, uncorrected: int = 0) -> Dict[str, str]:
    """The counters of one DIMM, and of its controller, the others of which count nothing."""
    mc, dimm = divmod(number, 4)
    base = f"{EDAC}/mc{mc}"
    return {
        f"{base}/dimm{dimm}/dimm_ce_count": f"{corrected}\n",
        f"{base}/dimm{dimm}/dimm_ue_count": f"{uncorrected}\n",
        f"{base}/ce_count": f"{corrected}\n",
        f"{base}/ue_count": f"{uncorrected}\n",
    }


def _network() -> Dict[str, Any]:
    found = {}
    for number, name in enumerate(("bond0", *CARDS), 2):
        base = f"/sys/class/net/{name}"
        found.update({f"{base}/statistics/{word}": text for word, text in STATISTICS.items()})
        found[f"{base}/ifindex"] = f"{number}\n"
        found[f"{base}/flags"] = "0x1003\n"
        found[f"{base}/carrier"] = "1\n"
        found[f"{base}/operstate"] = "up\n"
        found[f"{base}/speed"] = "20000\n" if name == "bond0" else "10000\n"
        found[f"{base}/duplex"] = "full\n"
        found[f"{base}/carrier_changes"] = "2\n"
        found[f"{base}/carrier_up_count"] = found[f"{base}/carrier_down_count"] = "1\n"
    for name in CARDS:
        found.update({f"/sys/class/net/{name}/queues/tx-{queue}/tx_timeout": "0\n" for queue in range(2)})
    found["/proc/net/bonding/bond0"] = BONDING
    return found


STATISTICS = {"rx_packets": "91223344\n", "rx_crc_errors": "0\n", "rx_missed_errors": "0\n", "rx_dropped": "0\n"}

ETHTOOL_OF_BOND = (
    ("", 0, "Settings for bond0:\n\tSpeed: 20000Mb/s\n\tDuplex: Full\n\tLink detected: yes\n"),
    ("-i ", 0, "driver: bonding\nversion: 6.1.0-26-amd64\nfirmware-version: 2\nbus-info: \n"),
    ("-S ", 0, ""),
)


def _ethtool(name: str) -> List[Tuple[str, str]]:
    link = (
        f"Settings for {name}:\n\tSupported link modes:   10000baseT/Full\n\tSupported pause frame use: Symmetric\n"
        "\tSpeed: 10000Mb/s\n\tDuplex: Full\n\tLink detected: yes\n"
    )
    driver = f"driver: ixgbe\nversion: 6.1.0-26-amd64\nfirmware-version: 0x800006da\nbus-info: {CARDS[name]}\n"
    return [("", link), ("-i ", driver), ("-S ", counters())]


def counters(resets: int = 0) -> str:
    """`ethtool -S` of ixgbe, the counters that matter."""
    return f"NIC statistics:\n     rx_packets: 91223344\n     rx_crc_errors: 0\n     tx_timeout_count: {resets}\n"


BONDING = """\
Ethernet Channel Bonding Driver: v6.1.0-26-amd64

Bonding Mode: IEEE 802.3ad Dynamic link aggregation
MII Status: up
MII Polling Interval (ms): 100

802.3ad info
Active Aggregator Info:
\tAggregator ID: 1
\tNumber of ports: 2

Slave Interface: enp5s0f0
MII Status: up
Speed: 10000 Mbps
Duplex: full
Link Failure Count: 0
Aggregator ID: 1

Slave Interface: enp129s0f0
MII Status: up
Speed: 10000 Mbps
Duplex: full
Link Failure Count: 0
Aggregator ID: 1
"""
