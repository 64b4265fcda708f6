"""Does a packet filter block connections between the brokers, or between them and ZooKeeper?

Evaluated is what the kernel does to a new TCP connection, whichever tool wrote the rules (firewalld, ufw, nftables,
iptables): each needed port is followed through them. Needed are the ports of the inventory, or those that the running
servers listen on, and ZooKeeper's 2888 and 3888 in an ensemble.

Warning: a firewall is active without `firewall: active` in the inventory; or none is active with it; or a needed
port is open only for some sources or interfaces (limit `peers`: the networks that your brokers and clients are in, as
`10.0.0.0/8, 10.9.0.0/16`; rules about sources are then compared with them), or is closed over IPv6 alone.
Critical: a needed port is blocked for all sources, inbound or outbound.
Unknown: not root; nft or iptables is missing though the kernel holds rules; rules that this check cannot evaluate.
Ok again: as soon as the rules accept the ports and the firewall is as in the inventory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Sequence, Tuple

from agent.host import CannotTell, Host, Missing, NoPermission
from agent.named_tuples import NamedTuple
from agent.sources.firewall import evaluate as packet_filter
from agent.sources.firewall import ruleset
from agent.sources.firewall.conditions import Connection, networks_of
from agent.sources.firewall.evaluate import Fate
from agent.sources.kafka import processes as kafka
from agent.status import Verdict, combine, critical, unknown, warning

if TYPE_CHECKING:
    from agent.sources.firewall.conditions import Network

LIMITS = {"peers": ""}
PLAYBOOK = "firewall"
ACTIVE = "active"
MANAGERS = ("firewalld", "ufw")

INCOMING = ("ingress", "prerouting", "input")
OUTGOING = ("output",)
BROKER_PORT = 9092
CLIENT_PORT = 2181
ENSEMBLE_PORTS = (2888, 3888)


class Facts(NamedTuple):
    """active: what filters now. Ports with where they end: `9092 (inet filter input)`. unseen: what we cannot read."""

    expected: str
    installed: Tuple[str, ...]
    active: Tuple[str, ...]
    ports: Tuple[int, ...]
    blocked: Tuple[str, ...]
    blocked_outgoing: Tuple[str, ...]
    blocked_ipv6: Tuple[str, ...]
    partly_open: Tuple[str, ...]
    cannot_tell: Tuple[str, ...]
    unseen: str


def find(host: Host) -> Sequence[str]:
    kafka.need_role(host)
    return ["firewall"]


def look(host: Host, item: str) -> Facts:
    if not host.is_root():
        raise NoPermission("needs root: the rules of the packet filter")
    rules = ruleset.rules(host)
    ports = needed_ports(host)
    peers = _peers(host, item)
    interfaces = ruleset.outer_interfaces(host)

    own = ruleset.own_addresses(host)

    def fates(family: str, peers: Tuple[Network, ...], hooks: Sequence[str]) -> Dict[int, Fate]:
        to = () if hooks == OUTGOING else own
        connections = [Connection(port, family, peers, interfaces, to) for port in ports]
        return {one.port: packet_filter.fate_from_all(rules.chains, one, hooks) for one in connections}

    ipv4 = fates("ip", peers, INCOMING)
    return Facts(
        expected=host.expected.firewall,
        installed=rules.installed,
        active=rules.managers + rules.mechanisms,
        ports=ports,
        blocked=_those(ipv4, packet_filter.BLOCKED),
        blocked_outgoing=_those(fates("ip", (), OUTGOING), packet_filter.BLOCKED),
        blocked_ipv6=_those(fates("ip6", peers, INCOMING), packet_filter.BLOCKED) if _has_ipv6(host) else (),
        partly_open=_those(ipv4, packet_filter.PARTLY),
        cannot_tell=_those(ipv4, packet_filter.UNSURE),
        unseen=rules.unseen,
    )


def needed_ports(host: Host) -> Tuple[int, ...]:
    """The inventory's, or those of the roles; and what ZooKeeper's servers say to each other."""
    roles = host.expected.roles
    ports = list(host.expected.ports)
    if not ports:
        ports += [BROKER_PORT] if "broker" in roles else []
        ports += [CLIENT_PORT] if "zookeeper" in roles else []
    if "zookeeper" in roles:
        configs = [service.config for service in kafka.services(host) if service.role == "zookeeper"]
        ports += [port for config in configs for port in ensemble_ports(config)]
        ports += [] if any(configs) else ENSEMBLE_PORTS
    return tuple(sorted(set(ports)))


def ensemble_ports(config: Mapping[str, str]) -> List[int]:
    """`server.1=zk1:2888:3888`, perhaps with `:observer;2181` behind; nothing for a server of its own."""
    found = []
    for key, value in config.items():
        if key.startswith("server."):
            words = value.partition(";")[0].replace("|", ":").split(":")
            found += [int(word) for word in words[1:] if word.isascii() and word.isdigit() and len(word) < 6]
    return found


def _peers(host: Host, item: str) -> Tuple[Network, ...]:
    message = host.limits("firewall", LIMITS, item)["peers"]
    words = [word.strip() for word in str(message).split(",") if word.strip()]
    networks = [networks_of(word) for word in words]
    if not all(networks):
        raise CannotTell(f"limit `peers` is {message!r}, expected networks such as 10.0.0.0/8")
    return tuple(network for part in networks for network in part)


def _has_ipv6(host: Host) -> bool:
    """Whether an interface has an address that others can reach: fd00… 02 40 00 80 eth0"""
    try:
        rows = [row.split() for row in host.read("/proc/net/if_inet6").splitlines()]
    except Missing:
        return False
    return any(len(row) == 6 and row[3] == "00" for row in rows)


def _those(fates: Mapping[int, Fate], state: str) -> Tuple[str, ...]:
    def where(fate: Fate) -> str:
        return f" ({', '.join(fate.why[:3])})" if fate.why else ""

    return tuple(f"{port}{where(fate)}" for port, fate in fates.items() if fate.state == state)


def judge(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    who = " and ".join([name for name in facts.active if name in MANAGERS] or facts.active) or "no firewall"
    ports = ", ".join(map(str, facts.ports)) or "no port"
    rules = [unknown(facts.unseen, PLAYBOOK)] if facts.unseen else []
    if not facts.active:
        if facts.expected == ACTIVE:
            rules.append(warning("no firewall active, but the inventory expects one", PLAYBOOK))
        return combine(rules, f"no firewall active; installed: {', '.join(facts.installed) or 'none'}")
    if facts.blocked:
        rules.append(critical(f"{who} blocks TCP {_list(facts.blocked)}", PLAYBOOK))
    if facts.blocked_outgoing:
        rules.append(critical(f"{who} blocks connections to TCP {_list(facts.blocked_outgoing)}", PLAYBOOK))
    if facts.cannot_tell:
        rules.append(unknown(f"cannot evaluate the rules for TCP {_list(facts.cannot_tell)}", PLAYBOOK))
    if facts.partly_open:
        rules.append(
            warning(f"open for some sources only, others not evaluated: TCP {_list(facts.partly_open)}", PLAYBOOK)
        )
    if facts.blocked_ipv6 and not facts.blocked:
        rules.append(warning(f"{who} blocks over IPv6 TCP {_list(facts.blocked_ipv6)}", PLAYBOOK))
    if facts.expected != ACTIVE:
        rules.append(warning(f"{who} is active, but the inventory expects no firewall", PLAYBOOK))
    return combine(rules, f"{who} is active as expected and accepts TCP {ports}")


def _list(ports: Sequence[str]) -> str:
    return ", ".join(ports[:5]) + (f" and {len(ports) - 5} more" if len(ports) > 5 else "")
