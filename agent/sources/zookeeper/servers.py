"""Which ZooKeeper servers concern this machine: its own, and those that its broker depends on."""

from __future__ import annotations

from typing import List, Mapping, Optional, Tuple

from agent.host import CannotTell, Disk, Host, Missing, NotApplicable, cached_per_run
from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple
from agent.sources.disks import block_devices, mount_table
from agent.sources.kafka import processes as kafka

DEFAULT_PORT = 2181
# PERC H730P, MR9361-8i, LOGICAL VOLUME, Virtual disk
VIRTUAL_MODELS = ("perc", "megaraid", "mr9", "avago", "lsi", "raid", "logical", "virtual", "qemu")

#   |-- 10.0.0.5
#      /32 host LOCAL
LOCAL_ADDRESS = pattern(r"\|-- (\d{1,3}(?:\.\d{1,3}){3})\n\s+/32 host LOCAL")


class Server(NamedTuple):
    """A ZooKeeper server. here: it is, or should be, on this machine. config: its zoo.cfg, empty if not read."""

    address: str
    port: int
    here: bool
    secure: bool
    config: Mapping[str, str]

    @property
    def name(self) -> str:
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"


def broker_here(host: Host) -> bool:
    """Whether a broker runs, or should run, on this machine."""
    return "broker" in host.expected.roles or any(service.role == "broker" for service in kafka.services(host))


@cached_per_run
def servers(host: Host) -> List[Server]:
    """This machine's own server, and those that its broker depends on."""
    roles = host.expected.roles
    found = [_local(service.config) for service in kafka.services(host) if service.role == "zookeeper"]
    if not found and "zookeeper" in roles:
        found = [Server("127.0.0.1", _expected_port(host), True, False, {})]
    if "broker" in roles:
        found += _of_broker(host, bool(found))
    return found


def _expected_port(host: Host) -> int:
    ports = host.expected.ports
    return DEFAULT_PORT if not ports or DEFAULT_PORT in ports or "broker" in host.expected.roles else ports[0]


def _local(config: Mapping[str, str]) -> Server:
    """A server that runs here, by its configuration: clientPort, or `server.1=zk1:2888:3888;2181`."""
    address = config.get("clientPortAddress", "")
    dynamic = [value.partition(";")[2].rpartition(":")[2] for key, value in config.items() if key.startswith("server.")]
    given = config.get("clientPort") or next(filter(None, dynamic), "")
    secure = not given and "secureClientPort" in config
    port = number(config.get("secureClientPort") if secure else given)
    everywhere = address in ("", "0.0.0.0", "::")  # noqa: S104  compared with, not bound to
    return Server("127.0.0.1" if everywhere else address, port or DEFAULT_PORT, True, secure, config)


def _of_broker(host: Host, beside_local: bool) -> List[Server]:
    """Those of the inventory, or of the broker's zookeeper.connect; without this machine's own, if that is known."""
    named = list(host.expected.zookeeper) or _connect_string(host, beside_local)
    mine = _own_names(host)
    found = [parse_address(one) for one in named]
    here = [address in mine or address.split(".")[0] in mine for address, _port in found]
    return [
        Server(address, port, local, False, {})
        for (address, port), local in zip(found, here)
        if not (local and beside_local)
    ]


def _connect_string(host: Host, beside_local: bool) -> List[str]:
    brokers = [service for service in kafka.services(host) if service.role == "broker"]
    given = [service.config.get("zookeeper.connect", "") for service in brokers]
    if any(given):
        return [part.strip() for part in ",".join(given).split(",") if part.partition("/")[0].strip()]
    if beside_local:
        return []
    if any(service.config.get("process.roles") for service in brokers):
        raise NotApplicable("this broker runs with KRaft, without ZooKeeper")
    if not brokers:
        raise CannotTell("no broker runs here, and the inventory names no ZooKeeper")
    where = brokers[0].config_path or "its command line"
    if not brokers[0].config:
        raise CannotTell(f"{'' if host.is_root() else 'needs root: '}{where} cannot be read: ZooKeeper servers unknown")
    raise CannotTell(f"{where} names no ZooKeeper")


def parse_address(text: str) -> Tuple[str, int]:
    """`zk1:2181/chroot`, `zk1`, `[fd00::1]:2181`.

    >>> parse_address("zk1.example.org:2182/kafka")
    ('zk1.example.org', 2182)
    """
    whole = text.partition("/")[0].strip()
    address, colon, port = whole.rpartition(":")
    if not colon or "]" in port or (":" in address and not address.startswith("[")):
        address, port = whole, ""
    at = number(port) if port else DEFAULT_PORT
    if at is None or not 0 < at < 65536 or not address:
        raise CannotTell(f"{text[:60]!r} is not an address of a ZooKeeper server")
    return address.strip("[]"), at


def _own_names(host: Host) -> List[str]:
    names = ["localhost", "127.0.0.1", "::1", host.expected.host, host.expected.host.split(".")[0]]
    try:
        names.append(host.read("/proc/sys/kernel/hostname").strip().split(".")[0])
        names += LOCAL_ADDRESS.findall(host.read("/proc/net/fib_trie"))
    except Missing:
        names.append("")
    return [name for name in names if name]


def number(text: Optional[str]) -> Optional[int]:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else None


def rotating_disk(host: Host, config: Mapping[str, str]) -> str:
    """The rotating disk that carries the transaction log; empty if it is an SSD, or nobody knows."""
    folder = config.get("dataLogDir") or config.get("dataDir", "")
    try:
        mount = mount_table.mount_of(host, folder) if folder.startswith("/") else None
        names = block_devices.behind(host, mount.dev) if mount else []
        known = block_devices.disks(host) if names else {}
    except (CannotTell, Missing):
        return ""
    slow = [name for name in names if name in known and known[name].rotational and _says_true(known[name])]
    return f"{slow[0]} ({folder})" if slow else ""


def _says_true(disk: Disk) -> bool:
    """A controller's or a hypervisor's disk calls itself rotating whatever stands behind it."""
    model = disk.model.lower()
    virtual = disk.name.startswith(("vd", "xvd")) or any(word in model for word in VIRTUAL_MODELS)
    return disk.kind == "physical" and not virtual
