"""The packet filter rules that this machine's kernel holds, and what put them there."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, List, Sequence, Tuple

from agent.host import CannotTell, Host, Missing, NoPermission, ToolMissing, cached_per_run
from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple
from agent.sources.firewall import iptables, nftables
from agent.sources.firewall.conditions import networks_of
from agent.sources.firewall.evaluate import Chain, can_drop
from agent.sources.zookeeper import servers as zookeeper_servers

if TYPE_CHECKING:
    from agent.sources.firewall.conditions import Network

HOOKS = ("ingress", "prerouting", "input", "output")
TOOLS = (("ip", "iptables"), ("ip6", "ip6tables"))
# ENABLED=yes in /etc/ufw/ufw.conf
UFW_ENABLED = pattern(r"(?m)^\s*ENABLED=[\"']?yes[\"']?\s*$")
INNER_INTERFACES = ("lo", "docker", "veth", "virbr", "br-", "cni", "flannel", "cali", "podman")


class Rules(NamedTuple):
    """managers: firewalld, ufw. mechanisms: nftables, iptables, where rules can drop. unseen: rules we cannot read."""

    chains: Tuple[Chain, ...]
    installed: Tuple[str, ...]
    managers: Tuple[str, ...]
    mechanisms: Tuple[str, ...]
    unseen: str


@cached_per_run
def rules(host: Host) -> Rules:
    """All chains of nftables and iptables. A tool that is missing while the kernel holds rules is told in `unseen`."""
    unseen: List[str] = []
    by_nft = _nft(host, unseen)
    saved = [one for family, tool in TOOLS for one in _iptables(host, family, tool, unseen)]
    legacy = [chain for one in saved if not one.of_nftables for chain in one.chains]
    compatible = [chain for one in saved if one.of_nftables for chain in one.chains]
    # what iptables-nft made is told better by iptables-save, which knows its own matches
    reported = {(chain.family, chain.table) for chain in compatible}
    native = [chain for chain in by_nft if (chain.family, chain.table) not in reported]
    mechanisms = [("nftables", native), ("iptables", compatible + legacy)]
    return Rules(
        tuple(native + compatible + legacy),
        _installed(host),
        _managers(host),
        tuple(name for name, chains in mechanisms if can_drop(chains, HOOKS)),
        "; ".join(unseen),
    )


def _nft(host: Host, unseen: List[str]) -> List[Chain]:
    if not nf_tables_possible(host):
        return []
    try:
        answer = host.run("nft", "-j", "list", "ruleset")
    except ToolMissing as error:
        if _loaded(host):
            unseen.append(f"{error}, though the kernel's nf_tables is in use")
        return []
    if answer.code:
        raise CannotTell(f"nft: {_first_line(answer.err)}")
    return nftables.parse_ruleset(answer.out)


def _iptables(host: Host, family: str, tool: str, unseen: List[str]) -> List[iptables.Saved]:
    """The tables of iptables-save, and those of the older mechanism where iptables-save shows the newer one's."""
    legacy = _legacy_tables(host, tool)
    if not legacy and not nf_tables_possible(host):
        return []
    saved = []
    try:
        saved = [_save(host, f"{tool}-save", family)]
        if legacy and not any(one.chains and not one.of_nftables for one in saved):
            beside = _save(host, f"{tool}-legacy-save", family)
            # the same names in the same kernel, and yet other tables
            renamed = tuple(chain._replace(table=f"{chain.table} (legacy)") for chain in beside.chains)
            saved.append(beside._replace(chains=renamed))
    except ToolMissing as error:
        if legacy:
            unseen.append(f"{error}, although the kernel has {tool} rules ({', '.join(legacy[:4])})")
    return saved


def _save(host: Host, tool: str, family: str) -> iptables.Saved:
    answer = host.run(tool)
    if answer.code:
        raise CannotTell(f"{tool}: {_first_line(answer.err)}")
    return iptables.parse_save(answer.out, family)


def _first_line(text: str) -> str:
    return next((row.strip()[:120] for row in text.splitlines() if row.strip()), "failed without a message")


def _legacy_tables(host: Host, tool: str) -> List[str]:
    """The tables of ip_tables in use; asking iptables itself would load the module."""
    name = "ip6_tables_names" if tool.startswith("ip6") else "ip_tables_names"
    try:
        return host.read(f"/proc/net/{name}").split()
    except (Missing, NoPermission):
        return []


def nf_tables_possible(host: Host) -> bool:
    """False where nf_tables is a module that is not loaded: then there are no rules, and asking would load it."""
    try:
        if _loaded(host):
            return True
        release = host.read("/proc/sys/kernel/osrelease").strip()
        return "/nf_tables.ko" in host.read(f"/lib/modules/{release}/modules.builtin")
    except Missing:
        return True


def _loaded(host: Host) -> bool:
    """Missing where the kernel has no modules at all."""
    try:
        return any(row.startswith("nf_tables ") for row in host.read("/proc/modules").splitlines())
    except Missing:
        return False


def _managers(host: Host) -> Tuple[str, ...]:
    programs = {word for process in host.processes() for word in map(os.path.basename, process.argv[:3])}
    active = ["firewalld"] if "firewalld" in programs else []
    try:
        active += ["ufw"] if UFW_ENABLED.search(host.read("/etc/ufw/ufw.conf")) else []
    except Missing:
        return tuple(active)
    return tuple(active)


def _installed(host: Host) -> Tuple[str, ...]:
    programs = {"firewalld": "/usr/sbin/firewalld", "ufw": "/usr/sbin/ufw", "nftables": "/usr/sbin/nft"}
    programs["iptables"] = "/usr/sbin/iptables-save"
    return tuple(name for name, path in programs.items() if host.exists(path))


def outer_interfaces(host: Host) -> Tuple[str, ...]:
    """The interfaces that other machines come in on: those of the routes, without containers' and bridges' own."""
    try:
        rows = host.read("/proc/net/route").splitlines()[1:]
    except Missing:
        return ()
    names: Sequence[str] = [row.split()[0] for row in rows if row.split()]
    return tuple(dict.fromkeys(name for name in names if not name.startswith(INNER_INTERFACES)))


def own_addresses(host: Host) -> Tuple[Network, ...]:
    """The IPv4 addresses of this machine that others can come to; none where they cannot be told."""
    try:
        found = zookeeper_servers.LOCAL_ADDRESS.findall(host.read("/proc/net/fib_trie"))
    except CannotTell:
        return ()
    outer = dict.fromkeys(address for address in found if not address.startswith("127."))
    return tuple(network for address in outer for network in networks_of(address))
