"""Which RAID controllers this machine has (PCI drivers in sysfs), and what the tool of each says of its arrays."""

from __future__ import annotations

import re
from typing import Callable, Dict, List, NamedTuple, Tuple

from agent.host import Answer, CannotTell, Host, Missing, ToolMissing, shared
from agent.sources import arcconf, block_devices, megacli, raid_arrays, ssacli, storcli
from agent.sources.raid_arrays import Array, Controller, Member

TOOL_DEADLINE_S = 20.0
DELL = "0x1028"
PCI_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")

# /sys/devices/pci0000:00/…/host0/target0:2:1/0:2:1:0
SCSI_ADDRESS = re.compile(r"/(\d{1,4}):([23]):(\d{1,4}):\d{1,4}$")

STORCLI = ("storcli64", "storcli", "/opt/MegaRAID/storcli/storcli64")
PERCCLI = ("perccli64", "perccli", "/opt/MegaRAID/perccli/perccli64")
MEGACLI = ("MegaCli64", "megacli", "/opt/MegaRAID/MegaCli/MegaCli64")
SSACLI = ("ssacli", "hpssacli", "hpacucli")
ARCCONF = ("arcconf", "/usr/Arcconf/arcconf", "/usr/StorMan/arcconf")

# The kernel's words for the volumes of mpt3sas (drivers/scsi/raid_class.c)
VOLUME_STATES = {
    "active": raid_arrays.OPTIMAL,
    "degraded": raid_arrays.DEGRADED,
    "resyncing": raid_arrays.REBUILDING,
    "offline": raid_arrays.FAILED,
}


class Card(NamedTuple):
    """A controller as the PCI bus shows it."""

    driver: str
    address: str
    subsystem_vendor: str


def cards(host: Host) -> List[Card]:
    """The controllers whose driver can run arrays that the kernel cannot see into."""
    found = []
    for driver in READERS:
        try:
            names = host.list_dir(f"/sys/bus/pci/drivers/{driver}")
        except Missing:
            continue
        for address in filter(PCI_ADDRESS.fullmatch, names):
            found.append(Card(driver, address, _vendor(host, address)))
    return found


def _vendor(host: Host, address: str) -> str:
    try:
        return host.read(f"/sys/bus/pci/devices/{address}/subsystem_vendor", 64).strip()
    except CannotTell:
        return ""


@shared
def controllers(host: Host, driver: str) -> List[Controller]:
    """What the controllers of one driver say; ToolMissing names the package if the tool is not there."""
    mine = [card for card in cards(host) if card.driver == driver]
    found = READERS[driver](host, mine)
    if len(found) < len(mine):
        raise CannotTell(f"{len(mine)} controllers of {driver} are there, their tool tells of {len(found)}")
    return found


@shared
def volumes(host: Host) -> List[Array]:
    """The arrays of plain HBAs with RAID firmware (mpt3sas, IR), as the kernel's raid_class shows them."""
    try:
        names = host.list_dir("/sys/class/raid_devices")
    except Missing:
        return []
    return [_volume(host, name) for name in names]


def _volume(host: Host, name: str) -> Array:
    base = f"/sys/class/raid_devices/{name}"
    state, level = host.read(f"{base}/state", 64).strip(), host.read(f"{base}/level", 64).strip()
    try:
        disks = host.list_dir(f"{base}/device/block")
    except Missing:
        disks = []
    return Array(
        name=f"volume {name}",
        level=level or "unknown level",
        state=VOLUME_STATES.get(state, raid_arrays.UNKNOWN),
        said=state or "nothing",
        action="resync" if state == "resyncing" else "",
        disk=disks[0] if disks else "",
    )


def _first_tool(host: Host, names: Tuple[str, ...], package: str, *arguments: str) -> Tuple[str, Answer]:
    """The answer of the first of these tools that is installed, and which it was."""
    for name in names:
        try:
            return name, host.run(name, *arguments, deadline_s=TOOL_DEADLINE_S)
        except ToolMissing:
            continue
    raise ToolMissing(f"{names[0]} is not installed (package {package})")


def _megaraid(host: Host, mine: List[Card]) -> List[Controller]:
    dell = any(card.subsystem_vendor == DELL for card in mine)
    names = PERCCLI + STORCLI if dell else STORCLI + PERCCLI
    package = "perccli from Dell" if dell else "storcli from Broadcom"
    try:
        tool, answer = _first_tool(host, names, package, "/call", "show", "all", "J")
    except ToolMissing as missing:
        try:
            _, answer = _first_tool(host, MEGACLI, "megacli", "-LDPDInfo", "-aALL", "-NoLog")
        except ToolMissing:
            raise missing from None
        return megacli.parse(answer.out)
    found = _with_kernel_names(host, storcli.parse(answer.out))
    return _with_drives(host, tool, _with_rebuilds(host, tool, found))


def _with_rebuilds(host: Host, tool: str, found: List[Controller]) -> List[Controller]:
    """Percent and time left, where something is rebuilding."""
    if not any(array.action for controller in found for array in controller.arrays):
        return found
    try:
        answer = host.run(tool, "/call/eall/sall", "show", "rebuild", "J", deadline_s=TOOL_DEADLINE_S)
        progress = storcli.parse_rebuilds(answer.out)
    except CannotTell:
        return found  # the rebuild itself is told all the same, without its percent

    def of(controller: Controller, array: Array) -> Array:
        names = [f"{controller.name} {member.name}" for member in array.members]
        slowest = min((progress[name] for name in names if name in progress), default=None)
        return array._replace(percent=slowest.percent, left_s=slowest.left_s) if slowest else array

    return _changed(found, of)


def _with_drives(host: Host, tool: str, found: List[Controller]) -> List[Controller]:
    """What the controller has against its drives, beside their state."""
    if not any(controller.disks for controller in found):
        return found
    try:
        answer = host.run(tool, "/call/eall/sall", "show", "all", "J", deadline_s=TOOL_DEADLINE_S)
        drives = storcli.parse_drives(answer.out)
    except CannotTell:
        return found  # the check `smart` asks each drive itself, and says so when it cannot

    def of(controller: Controller, array: Array) -> Array:
        return array._replace(members=tuple(healthy_or_not(controller, member) for member in array.members))

    def healthy_or_not(controller: Controller, member: Member) -> Member:
        health = drives.get(f"{controller.name} {member.name}")
        if health is None:
            return member
        trouble = ", ".join(filter(None, (member.trouble, health.trouble)))
        return member._replace(trouble=trouble, errors=health.media_errors)

    return _changed(found, of)


def _changed(found: List[Controller], of: Callable[[Controller, Array], Array]) -> List[Controller]:
    return [
        controller._replace(arrays=tuple(of(controller, array) for array in controller.arrays)) for controller in found
    ]


def _with_kernel_names(host: Host, found: List[Controller]) -> List[Controller]:
    """The virtual drives' kernel names: megaraid_sas puts drive N at SCSI channel 2 (128 to a channel), target N."""
    try:
        addresses = {name: host.link(f"/sys/block/{name}/device") for name in block_devices.whole_disks(host)}
    except CannotTell:
        addresses = {}
    names = {}
    for name, path in addresses.items():
        match = SCSI_ADDRESS.search(path)
        if match and _is_megaraid(host, match.group(1)):
            adapter, channel, target = (int(number) for number in match.groups())
            names[adapter, (channel - 2) * 128 + target] = name
    order = sorted({adapter for adapter, _ in names})
    hosts = {f"c{at}": adapter for at, adapter in enumerate(order)}

    def of(controller: Controller, array: Array) -> Array:
        number = array.name.rpartition("/v")[2]
        key = (hosts.get(controller.name, -1), int(number) if number.isdigit() else -1)
        return array._replace(disk=names.get(key, ""))

    return _changed(found, of)


def _is_megaraid(host: Host, adapter: str) -> bool:
    try:
        return host.read(f"/sys/class/scsi_host/host{adapter}/proc_name", 64).strip() == "megaraid_sas"
    except CannotTell:
        return False


def _smart_array(host: Host, mine: List[Card]) -> List[Controller]:
    _, answer = _first_tool(host, SSACLI, "ssacli from HPE", "ctrl", "all", "show", "config", "detail")
    return ssacli.parse(answer.out + answer.err)


def _adaptec(host: Host, mine: List[Card]) -> List[Controller]:
    found = []
    for number in range(1, len(mine) + 1):
        _, answer = _first_tool(host, ARCCONF, "arcconf from Microchip", "getconfig", str(number))
        found.append(arcconf.parse(str(number), answer.out))
    return found


def _no_reader(host: Host, mine: List[Card]) -> List[Controller]:
    raise CannotTell(f"arrays of the driver {mine[0].driver} cannot be read yet; ask its own tool")


# mpt2sas and mpt3sas are not here: they are plain HBAs, and what few arrays they run the kernel shows by itself.
READERS: Dict[str, Callable[[Host, List[Card]], List[Controller]]] = {
    "megaraid_sas": _megaraid,
    "hpsa": _smart_array,
    "smartpqi": _smart_array,
    "aacraid": _adaptec,
    "3w-9xxx": _no_reader,
    "3w-sas": _no_reader,
    "arcmsr": _no_reader,
    "mpi3mr": _no_reader,
}
