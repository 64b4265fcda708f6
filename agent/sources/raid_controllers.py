"""Which RAID controllers this machine has (PCI drivers in sysfs), and what the tool of each says of its arrays."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, Tuple

from agent.host import Answer, CannotTell, Host, Missing, ToolMissing, shared
from agent.patterns import pattern
from agent.sources import raid_arrays
from agent.sources.raid_arrays import Array, Controller, Member

Parser = Callable[[str], Dict[str, Any]]

TOOL_DEADLINE_S = 20.0
DELL = "0x1028"
PCI_ADDRESS = pattern(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")

# /sys/devices/pci0000:00/…/host0/target0:2:1/0:2:1:0
SCSI_ADDRESS = pattern(r"/(\d{1,4}):([23]):(\d{1,4}):\d{1,4}$")

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
        for address in filter(PCI_ADDRESS.fullmatch, _names(host, f"/sys/bus/pci/drivers/{driver}")):
            found.append(Card(driver, address, _text(host, f"/sys/bus/pci/devices/{address}/subsystem_vendor")))
    return found


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
    return [_volume(host, name) for name in _names(host, "/sys/class/raid_devices")]


def _volume(host: Host, name: str) -> Array:
    base = f"/sys/class/raid_devices/{name}"
    state, level = _text(host, f"{base}/state"), _text(host, f"{base}/level")
    return Array(
        name=f"volume {name}",
        level=level or "unknown level",
        state=VOLUME_STATES.get(state, raid_arrays.UNKNOWN),
        said=state or "nothing",
        action="resync" if state == "resyncing" else "",
        disk=next(iter(_names(host, f"{base}/device/block")), ""),
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
    from agent.sources import megacli, storcli  # loaded where such a controller is

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
        return megacli.parse(_whole("MegaCli", answer))
    found = _with_kernel_names(host, storcli.parse(answer.out))
    found = _with_rebuilds(host, tool, found, storcli.parse_rebuilds)
    return _with_drives(host, tool, found, storcli.parse_drives)


def _with_rebuilds(host: Host, tool: str, found: List[Controller], parse: Parser) -> List[Controller]:
    """Percent and time left, where something is rebuilding."""
    if not any(array.action for controller in found for array in controller.arrays):
        return found
    try:
        answer = host.run(tool, "/call/eall/sall", "show", "rebuild", "J", deadline_s=TOOL_DEADLINE_S)
        progress = parse(answer.out)
    except CannotTell:
        return found  # the rebuild itself is told all the same, without its percent

    def of(controller: Controller, array: Array) -> Array:
        names = [f"{controller.name} {member.name}" for member in array.members]
        slowest = min((progress[name] for name in names if name in progress), default=None)
        return array._replace(percent=slowest.percent, left_s=slowest.left_s) if slowest else array

    return _changed(found, of)


def _with_drives(host: Host, tool: str, found: List[Controller], parse: Parser) -> List[Controller]:
    """What the controller has against its drives, beside their state."""
    if not any(controller.disks for controller in found):
        return found
    try:
        answer = host.run(tool, "/call/eall/sall", "show", "all", "J", deadline_s=TOOL_DEADLINE_S)
        drives = parse(answer.out)
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
    """Virtual drives as the kernel names them, and disks as smartctl reaches them, for each controller.

    megaraid_sas puts virtual drive N at SCSI channel 2 (and 128 of them to a channel), target N.
    """
    adapters = {f"c{at}": number for at, number in enumerate(_megaraid_adapters(host))}
    names = {}
    for name in _names(host, "/sys/block"):
        match = SCSI_ADDRESS.search(_link(host, f"/sys/block/{name}/device"))
        if match:
            adapter, channel, target = (int(number) for number in match.groups())
            names[adapter, (channel - 2) * 128 + target] = name

    def of(controller: Controller, array: Array) -> Array:
        adapter = adapters.get(controller.name, -1)
        number = array.name.rpartition("/v")[2]
        members = array.members
        if adapter >= 0:
            members = tuple(member._replace(disk=f"bus/{adapter}" if member.kind else "") for member in members)
        disk = names.get((adapter, int(number) if number.isdigit() else -1), "")
        return array._replace(disk=disk, members=members)

    return _changed(found, of)


def _megaraid_adapters(host: Host) -> List[int]:
    """The SCSI host numbers of MegaRAID controllers, in storcli's order."""
    found = []
    for name in _names(host, "/sys/class/scsi_host"):
        number = name[len("host") :]
        if number.isdigit() and _text(host, f"/sys/class/scsi_host/{name}/proc_name") == "megaraid_sas":
            found.append(int(number))
    return sorted(found)


def _names(host: Host, path: str) -> List[str]:
    try:
        return host.list_dir(path)
    except Missing:
        return []


def _text(host: Host, path: str) -> str:
    try:
        return host.read(path, 64).strip()
    except CannotTell:
        return ""


def _link(host: Host, path: str) -> str:
    try:
        return host.link(path)
    except CannotTell:
        return ""


def _smart_array(host: Host, mine: List[Card]) -> List[Controller]:
    from agent.sources import ssacli

    _, answer = _first_tool(host, SSACLI, "ssacli from HPE", "ctrl", "all", "show", "config", "detail")
    return ssacli.parse(_whole("ssacli", answer))


def _whole(tool: str, answer: Answer) -> str:
    """The output of a tool that came to its end; text cut short would look like fewer arrays."""
    if answer.code:
        said = " ".join((answer.out + answer.err).split())[-120:]
        raise CannotTell(f"{tool} ended with exit code {answer.code}: {said or 'it said nothing'}")
    return answer.out


def _adaptec(host: Host, mine: List[Card]) -> List[Controller]:
    from agent.sources import arcconf

    found = []
    for number in range(1, len(mine) + 1):
        _, answer = _first_tool(host, ARCCONF, "arcconf from Microchip", "getconfig", str(number))
        found.append(arcconf.parse(str(number), _whole("arcconf", answer)))
    return found


def _no_reader(host: Host, mine: List[Card]) -> List[Controller]:
    raise CannotTell(f"arrays of the driver {mine[0].driver} cannot be read yet; ask its own tool")


# mpt2sas and mpt3sas are not here: they are plain HBAs, and what few arrays they run the kernel shows by itself.
READERS: Dict[str, Callable[[Host, List[Card]], List[Controller]]] = {
    "megaraid_sas": _megaraid,
    "hpsa": _smart_array,
    "smartpqi": _smart_array,
    "aacraid": _adaptec,
    **dict.fromkeys(("3w-9xxx", "3w-sas", "arcmsr", "mpi3mr"), _no_reader),
}
