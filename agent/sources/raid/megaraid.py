"""Broadcom's controllers (MegaRAID, PERC): which tool reads them, and what it reports of arrays and disks."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Sequence

from agent.host import CannotTell, Host, ToolMissing
from agent.lazy_regex import pattern
from agent.sources.raid import megacli, storcli
from agent.sources.raid.arrays import Array, Controller, Member
from agent.sources.raid.tools import TOOL_DEADLINE_S, first_tool, link, names, text, whole

Parser = Callable[[str], Dict[str, Any]]

STORCLI = ("storcli64", "storcli", "/opt/MegaRAID/storcli/storcli64")
PERCCLI = ("perccli64", "perccli", "/opt/MegaRAID/perccli/perccli64")
STORCLI2 = ("storcli2", "/opt/MegaRAID/storcli2/storcli2")
PERCCLI2 = ("perccli2", "/opt/MegaRAID/perccli2/perccli2")
MEGACLI = ("MegaCli64", "megacli", "/opt/MegaRAID/MegaCli/MegaCli64")

# /sys/devices/pci0000:00/…/host0/target0:2:1/0:2:1:0
SCSI_ADDRESS = pattern(r"/(\d{1,4}):([23]):(\d{1,4}):\d{1,4}$")


def controllers(host: Host, dell: bool) -> List[Controller]:
    """Those of megaraid_sas; where storcli is not installed, by MegaCli."""
    tools = PERCCLI + STORCLI if dell else STORCLI + PERCCLI
    package = "perccli from Dell" if dell else "storcli from Broadcom"
    try:
        tool, answer = first_tool(host, tools, package, "/call", "show", "all", "J")
    except ToolMissing as missing:
        try:
            return _by_megacli(host)
        except ToolMissing:
            raise missing from None
    found = _with_kernel_names(host, storcli.parse(answer.out))
    return _with_drives(host, tool, _with_rebuilds(host, tool, found))


def controllers_of_mpi3mr(host: Host, dell: bool) -> List[Controller]:
    """MegaRAID 9600 and PERC 12 (H965i), which only the second generation of the tools reads."""
    tools = PERCCLI2 + STORCLI2 if dell else STORCLI2 + PERCCLI2
    package = "perccli2 from Dell" if dell else "storcli2 from Broadcom"
    tool, answer = first_tool(host, tools, package, "/call", "show", "all", "J")
    found = storcli.parse(answer.out)
    return _with_drives(host, tool, _with_rebuilds(host, tool, found))


def _by_megacli(host: Host) -> List[Controller]:
    tool, answer = first_tool(host, MEGACLI, "megacli", "-LDPDInfo", "-aALL", "-NoLog")
    found = megacli.parse(whole("MegaCli", answer))
    found = _adding(found, lambda: _megacli_disks(host, tool), "disks outside arrays")
    return _adding(found, lambda: _megacli_batteries(host, tool), "battery")


def _megacli_disks(host: Host, tool: str) -> Dict[str, List[str]]:
    answer = host.run(tool, "-PDList", "-aALL", "-NoLog", deadline_s=TOOL_DEADLINE_S)
    disks = megacli.parse_disks(whole("MegaCli", answer))
    return {
        number: [f"disk in {place} {words}" for place, words in of.troubles.items()] for number, of in disks.items()
    }


def _megacli_batteries(host: Host, tool: str) -> Dict[str, List[str]]:
    """It ends with an error where an adapter has no battery, so the text tells."""
    answer = host.run(tool, "-AdpBbuCmd", "-GetBbuStatus", "-aALL", "-NoLog", deadline_s=TOOL_DEADLINE_S)
    batteries = megacli.parse_batteries(answer.out)
    return {number: [words] if words else [] for number, words in batteries.items()}


def _adding(found: List[Controller], ask: Callable[[], Dict[str, List[str]]], what: str) -> List[Controller]:
    """The controllers with more troubles by number (of `c0`); with `what` unknown where it cannot be read."""
    try:
        more = ask()
    except CannotTell as error:
        return [one._replace(untold=(*one.untold, f"{what} unknown: {error}")) for one in found]
    return [_with_more(one, more, what) for one in found]


def _with_more(one: Controller, more: Dict[str, List[str]], what: str) -> Controller:
    """A member of an array is reported there already."""
    known = [f"disk in {member.name} " for array in one.arrays for member in array.members]
    said = more.get(one.name[1:])
    if said is None:
        return one._replace(untold=(*one.untold, f"{what} unknown: MegaCli lists no data for this adapter"))
    new = [words for words in said if not words.startswith(tuple(known))]
    return one._replace(troubles=(*one.troubles, *new))


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
        members = [f"{controller.name} {member.name}" for member in array.members]
        slowest = min((progress[name] for name in members if name in progress), default=None)
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


def _changed(found: Sequence[Controller], of: Callable[[Controller, Array], Array]) -> List[Controller]:
    return [
        controller._replace(arrays=tuple(of(controller, array) for array in controller.arrays)) for controller in found
    ]


def _with_kernel_names(host: Host, found: List[Controller]) -> List[Controller]:
    """Virtual drives as the kernel names them, and disks as smartctl reaches them, for each controller.

    megaraid_sas puts virtual drive N at SCSI channel 2 (and 128 of them to a channel), target N.
    """
    adapters = {f"c{at}": number for at, number in enumerate(_adapters(host))}
    found_names = {}
    for name in names(host, "/sys/block"):
        match = SCSI_ADDRESS.search(link(host, f"/sys/block/{name}/device"))
        if match:
            adapter, channel, target = (int(number) for number in match.groups())
            found_names[adapter, (channel - 2) * 128 + target] = name

    def of(controller: Controller, array: Array) -> Array:
        adapter = adapters.get(controller.name, -1)
        number = array.name.rpartition("/v")[2]
        members = array.members
        if adapter >= 0:
            members = tuple(member._replace(disk=f"bus/{adapter}" if member.kind else "") for member in members)
        disk = found_names.get((adapter, int(number) if number.isdigit() else -1), "")
        return array._replace(disk=disk, members=members)

    return _changed(found, of)


def _adapters(host: Host) -> List[int]:
    """The SCSI host numbers of MegaRAID controllers, in storcli's order."""
    found = []
    for name in names(host, "/sys/class/scsi_host"):
        number = name[len("host") :]
        if number.isdigit() and text(host, f"/sys/class/scsi_host/{name}/proc_name") == "megaraid_sas":
            found.append(int(number))
    return sorted(found)
