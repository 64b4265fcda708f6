"""/proc/net/bonding: the members of a bond and which of them carry it."""

from __future__ import annotations

from typing import Dict, List

from agent.host import CannotTell, Host, cached_per_run
from agent.named_tuples import NamedTuple
from agent.sources.network import interfaces


class Member(NamedTuple):
    """up: by the bond's own monitoring. aggregator: of 802.3ad, empty otherwise."""

    name: str
    up: bool
    failures: int
    aggregator: str


class Bond(NamedTuple):
    mode: str
    up: bool
    active: str
    aggregator: str
    members: List[Member]

    def carries(self, member: Member) -> bool:
        """Whether the member takes part: in 802.3ad one in another aggregator is up and yet idle."""
        return member.up and (not self.aggregator or not member.aggregator or member.aggregator == self.aggregator)


class Place(NamedTuple):
    """What an interface is to a bond. carries: whether it takes part. bond_up: how many of its members do."""

    bond: str
    is_member: bool
    carries: bool
    bond_up: int
    bond_members: int


def place(host: Host, name: str) -> Place:
    """The interface's place; an empty bond if it is neither a bond nor a member of one."""
    master = interfaces.bond_of(host, name)
    if not master and interfaces.interfaces(host)[name].kind != "bond":
        return Place("", False, False, 0, 0)
    seen = bond(host, master or name)
    carrying = [member.name for member in seen.members if seen.carries(member)]
    return Place(master or name, bool(master), name in carrying, len(carrying), len(seen.members))


@cached_per_run
def bond(host: Host, name: str) -> Bond:
    return parse_bond(host.read(f"/proc/net/bonding/{name}"), name)


def parse_bond(text: str, name: str) -> Bond:
    """CannotTell if it is not the kernel's description of a bond."""
    blocks: List[Dict[str, str]] = [{}]
    for row in text.splitlines():
        key, separator, value = row.partition(":")
        key, value = key.strip(), value.strip()
        if key in ("Slave Interface", "Member Interface"):
            blocks.append({"name": value})
        elif separator:
            blocks[-1].setdefault(key, value)
    about = blocks[0]
    if "Bonding Mode" not in about or "MII Status" not in about:
        raise CannotTell(f"/proc/net/bonding/{name} does not describe a bond")
    return Bond(
        about["Bonding Mode"][:60],
        about["MII Status"] == "up",
        about.get("Currently Active Slave", ""),
        about.get("Aggregator ID", ""),
        [_member(block) for block in blocks[1:]],
    )


def _member(block: Dict[str, str]) -> Member:
    failures = block.get("Link Failure Count", "")
    counted = int(failures) if failures.isascii() and failures.isdigit() and len(failures) < 20 else 0
    return Member(block["name"][:40], block.get("MII Status") == "up", counted, block.get("Aggregator ID", ""))
