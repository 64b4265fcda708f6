"""Which RAID controllers this machine has (PCI drivers in sysfs), and what the tool of each reports of its arrays."""

from __future__ import annotations

from typing import Callable, Dict, List

from agent.host import CannotTell, Host, ToolMissing, cached_per_run
from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple
from agent.sources.raid import arrays
from agent.sources.raid.arrays import Array, Controller
from agent.sources.raid.tools import first_tool, names, text, whole

DELL, VMWARE = "0x1028", "0x15ad"
HPE = ("0x103c", "0x1590")
CLASS_SAS = "0x0107"
ALSO_PLAIN = ("mpi3mr", "esas2r")
PCI_ADDRESS = pattern(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")

SSACLI = ("ssacli", "hpssacli", "hpacucli")
ARCCONF = ("arcconf", "/usr/Arcconf/arcconf", "/usr/StorMan/arcconf")
SSACLI_PACKAGE, ARCCONF_PACKAGE = "ssacli from HPE", "arcconf from Microchip"

# The kernel's words for the volumes of mpt3sas (drivers/scsi/raid_class.c)
VOLUME_STATES = {
    "active": arrays.OPTIMAL,
    "degraded": arrays.DEGRADED,
    "resyncing": arrays.REBUILDING,
    "offline": arrays.FAILED,
}


class Card(NamedTuple):
    """A controller as the PCI bus shows it."""

    driver: str
    address: str
    subsystem_vendor: str


def cards(host: Host) -> List[Card]:
    """The controllers whose driver can run arrays that the kernel cannot see into."""
    found = []
    for driver in (*READERS, *TOOLS_TO_ASK):
        for address in filter(PCI_ADDRESS.fullmatch, names(host, f"/sys/bus/pci/drivers/{driver}")):
            found.append(Card(driver, address, text(host, f"/sys/bus/pci/devices/{address}/subsystem_vendor")))
    return [card for card in found if not _is_plain(host, card)]


def _is_plain(host: Host, card: Card) -> bool:
    """Whether it runs no arrays: VMware imitates such an HBA, and a card of the class SAS (HBA 9600) is one."""
    if card.driver in ALSO_PLAIN:
        return text(host, f"/sys/bus/pci/devices/{card.address}/class").startswith(CLASS_SAS)
    return card.subsystem_vendor == VMWARE


@cached_per_run
def controllers(host: Host, driver: str) -> List[Controller]:
    """What the controllers of one driver say; ToolMissing names the package if the tool is not there."""
    mine = [card for card in cards(host) if card.driver == driver]
    if driver in TOOLS_TO_ASK:
        raise CannotTell(f"arrays of driver {driver} are not supported: check them with {TOOLS_TO_ASK[driver]}")
    found = READERS[driver](host, mine)
    if len(found) < len(mine):
        raise CannotTell(f"{len(mine)} controllers of {driver} present, but their tool lists {len(found)}")
    return found


@cached_per_run
def volumes(host: Host) -> List[Array]:
    """The arrays of plain HBAs with RAID firmware (mpt3sas, IR), as the kernel's raid_class shows them."""
    return [_volume(host, name) for name in names(host, "/sys/class/raid_devices")]


def _volume(host: Host, name: str) -> Array:
    base = f"/sys/class/raid_devices/{name}"
    state, level = text(host, f"{base}/state"), text(host, f"{base}/level")
    return Array(
        name=f"volume {name}",
        level=level or "unknown level",
        state=VOLUME_STATES.get(state, arrays.UNKNOWN),
        said=state or "nothing",
        action="resync" if state == "resyncing" else "",
        disk=next(iter(names(host, f"{base}/device/block")), ""),
    )


def _megaraid(host: Host, mine: List[Card]) -> List[Controller]:
    from agent.sources.raid import megaraid  # loaded where such a controller is

    return megaraid.controllers(host, any(card.subsystem_vendor == DELL for card in mine))


def _mpi3mr(host: Host, mine: List[Card]) -> List[Controller]:
    from agent.sources.raid import megaraid

    return megaraid.controllers_of_mpi3mr(host, any(card.subsystem_vendor == DELL for card in mine))


def _smart_array(host: Host, mine: List[Card]) -> List[Controller]:
    from agent.sources.raid import ssacli

    _, answer = first_tool(host, SSACLI, SSACLI_PACKAGE, "ctrl", "all", "show", "config", "detail")
    return ssacli.parse(whole("ssacli", answer))


def _smartpqi(host: Host, mine: List[Card]) -> List[Controller]:
    """HPE's by ssacli, others (Adaptec SmartRAID, Cisco, Lenovo) by arcconf; by the other tool where one is missing."""
    hpe = any(card.subsystem_vendor in HPE for card in mine)
    first, second = (_smart_array, _adaptec) if hpe else (_adaptec, _smart_array)
    try:
        return first(host, mine)
    except ToolMissing as missing:
        try:
            return second(host, mine)
        except ToolMissing:
            raise missing from None


def _adaptec(host: Host, mine: List[Card]) -> List[Controller]:
    """arcconf counts the controllers of both drivers through."""
    from agent.sources.raid import arcconf

    both = [card for card in cards(host) if card.driver in ("aacraid", "smartpqi") and card.subsystem_vendor not in HPE]
    found = []
    for number in range(1, max(len(both), len(mine)) + 1):
        _, answer = first_tool(host, ARCCONF, ARCCONF_PACKAGE, "getconfig", str(number))
        out = whole("arcconf", answer)
        if len(both) == len(mine) or arcconf.driver(out) == mine[0].driver:
            found.append(arcconf.parse(str(number), out))
    return found


# mpt2sas and mpt3sas are not here: they are plain HBAs, and what few arrays they run the kernel shows by itself.
READERS: Dict[str, Callable[[Host, List[Card]], List[Controller]]] = {
    "megaraid_sas": _megaraid,
    "mpi3mr": _mpi3mr,
    "hpsa": _smart_array,
    "cciss": _smart_array,
    "smartpqi": _smartpqi,
    "aacraid": _adaptec,
}
# Drivers whose arrays nobody reads here, and the tool that would tell.
TOOLS_TO_ASK = {
    "3w-9xxx": "tw_cli",
    "3w-sas": "tw_cli",
    "3w-xxxx": "tw_cli",
    "DAC960": "/proc/rd/status",
    "arcmsr": "areca-cli",
    "dpt_i2o": "raidutil",
    "esas2r": "ATTO's Configuration Tool",
    "gdth": "icpcon",
    "hptiop": "hptraidconf",
    "ipr": "iprconfig",
    "ips": "ipssend",
    "megaraid_legacy": "megarc",
    "megaraid_mbox": "megarc",
    "mptsas": "mpt-status or lsiutil",
    "mptspi": "mpt-status or lsiutil",
    "mvumi": "mvcli",
    "myrb": "/sys/class/scsi_device/*/device/raid_state",
    "myrs": "/sys/class/scsi_device/*/device/raid_state",
    "pmcraid": "arcconf",
    "stex": "Promise's cliib",
}
