"""Services beside Kafka: antivirus, the firewall service, the time daemon."""

from __future__ import annotations

import json
from collections.abc import Mapping

from agent.api.kafka import processes as kafka
from agent.api.system import antivirus_products, needed_ports, systemd
from agent.host import CannotTell
from playbooks.fact_schema import Fact
from playbooks.facts import Candidate, Look
from playbooks.view import View

# Debian's, RHEL's
CLAMAV_FILES = ("/etc/clamav/clamd.conf", "/etc/clamd.d/scan.conf")
# what a product can do: leave folders out; any other is stopped
HOW = {"ClamAV": "clamav", "Microsoft Defender": "mdatp"}
# daemon -> its units on Debian and on RHEL
TIME = (
    ("chronyd", ("chronyd.service", "chrony.service")),
    ("ntpd", ("ntpd.service", "ntp.service", "ntpsec.service")),
    ("systemd-timesyncd", ("systemd-timesyncd.service",)),
)


def antivirus(look: Look, _of: Fact | None) -> list[Candidate]:
    """Units of known products (those that run, if any does), and programs that the agent found listening."""
    units = [unit for unit in _units(look.view) if unit.endswith(".service") and not _never_scans(unit)]
    known = [(unit, product.name) for unit in units for product in antivirus_products.PRODUCTS
             if unit.startswith(product.units)]  # fmt: skip
    running = [(unit, product) for unit, product in known if _is_active(look.view, unit)]
    return [*_listeners(look), *(_product(look, unit, product) for unit, product in running or known)]


def _never_scans(unit: str) -> bool:
    """Fetches signatures; or works only through ClamAV's daemon, which has the configuration."""
    return antivirus_products.UPDATER in unit or "clamonacc" in unit


def _product(look: Look, unit: str, product: str) -> Candidate:
    config = next((path for path in CLAMAV_FILES if look.view.exists(path)), "") if product == "ClamAV" else ""
    return _service(
        (unit, product), {"unit": unit, "product": product, "how": HOW.get(product, "stop"), "config": config}
    )


def _listeners(look: Look) -> list[Candidate]:
    """Programs of no known product: fatrace (4711)"""
    found = []
    for finding in look.findings:
        facts = finding["facts"]
        if finding["check"] == "antivirus" and not facts.get("known", True):
            found += [_program(look, str(finding["item"]), word) for word in facts.get("running") or ()]
    return found


def _program(look: Look, name: str, running: str) -> Candidate:
    pid = running.rpartition("(")[2].rstrip(")")
    unit = systemd.unit_of(look.view, int(pid)) if pid.isdigit() else ""
    return _service((name, unit), {"product": name, "unit": unit, "how": "stop" if unit else "kill", "pid": pid})


def firewalls(look: Look, _of: Fact | None) -> list[Candidate]:
    """The one thing that keeps the rules of this machine."""
    for kind, ask in (("firewalld", _firewalld), ("ufw", _ufw), ("nftables", _nftables), ("iptables", _iptables)):
        found = ask(look.view)
        if found is not None:
            unit = f"{kind}.service"
            known = {"unit": unit} if unit in _units(look.view) else {}
            return [_service((kind, "firewall"), {"kind": kind, **known, **found, **_wanted(look)})]
    return []


def _wanted(look: Look) -> dict[str, list[str]]:
    """What has to be let in. rich_rules: in firewalld's words, one for each network and port."""
    running = [port for service in kafka.services(look.view) for port in kafka.ports(service)]
    ports = [str(port) for port in needed_ports(look.view) or sorted(set(running))]
    peers = _peers(look)
    rules = [_rich_rule(network, port) for network in peers for port in ports]
    by_family = {6: [one for one in peers if ":" in one], 4: [one for one in peers if ":" not in one]}
    return {"ports": ports, "peers": by_family[4], "peers6": by_family[6], "rich_rules": rules}


def _rich_rule(network: str, port: str) -> str:
    family = "ipv6" if ":" in network else "ipv4"
    return f'rule family="{family}" source address="{network}" port port="{port}" protocol="tcp" accept'


def _peers(look: Look) -> list[str]:
    """The networks that the inventory lets in (limit `peers`); without any, all."""
    said = str(look.host.limits.get("firewall", {}).get("peers", ""))
    return [word.strip() for word in said.split(",") if word.strip()] or ["0.0.0.0/0", "::/0"]


def _firewalld(view: View) -> dict[str, str] | None:
    if not _is_active(view, "firewalld.service"):
        return None
    return {"zone": view.out("firewall-cmd", "--get-default-zone").strip()}


def _ufw(view: View) -> dict[str, str] | None:
    return {} if _said(view, "ufw", "status").startswith("Status: active") else None


def _nftables(view: View) -> dict[str, str] | None:
    """Where packets for this machine come first: the chain of hook input with the lowest priority."""
    try:
        rows = json.loads(_said(view, "nft", "--json", "list", "ruleset") or "{}").get("nftables", [])
        chains = [row["chain"] for row in rows if "chain" in row]
        chains = [one for one in chains if one.get("hook") == "input" and one["family"] in ("inet", "ip")]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise CannotTell(f"unexpected output from nft: {type(error).__name__}") from error
    ours = [one for one in chains if not _is_of_iptables(one)]
    if not ours:
        return None
    first = min(ours, key=lambda one: int(one.get("prio", 0)))
    return {"family": first["family"], "table": first["table"], "chain": first["name"]}


def _is_of_iptables(chain: Mapping[str, object]) -> bool:
    """iptables-nft keeps its rules in tables of these names, and nobody else should write there."""
    return chain["table"] in ("filter", "mangle", "raw", "nat", "security") and str(chain["name"]).isupper()


def _iptables(view: View) -> dict[str, str] | None:
    return {} if _said(view, "iptables", "-S").strip() else None


def _said(view: View, *argv: str) -> str:
    """Nothing where the tool is missing or fails."""
    try:
        return view.out(*argv)
    except CannotTell:
        return ""


def time_daemons(look: Look, _of: Fact | None) -> list[Candidate]:
    """The daemon that runs; if none does, the first that is installed. other: a second one that runs beside it."""
    known = [(daemon, unit) for daemon, units in TIME for unit in units if unit in _units(look.view)]
    running = [(daemon, unit) for daemon, unit in known if _is_active(look.view, unit)]
    if not known:
        return []
    daemon, unit = (running or known)[0]
    other = next((second for name, second in running if name != daemon), "")
    return [_service((daemon, unit, "clock"), {"daemon": daemon, "unit": unit, "other": other})]


def _service(names: tuple[str, ...], values: Mapping[str, object]) -> Candidate:
    return Candidate(names, ", ".join(str(value) for value in values.values()), lambda: values)


def _units(view: View) -> list[str]:
    """Services that systemd knows; none on a machine without it."""
    try:
        rows = view.out("systemctl", "list-unit-files", "--no-legend", "--no-pager").splitlines()
    except CannotTell:
        return []
    return [row.split()[0] for row in rows if row.split() and "masked" not in row.split()[1:2]]


def _is_active(view: View, unit: str) -> bool:
    try:
        return view.run("systemctl", "is-active", "--quiet", "--", unit).code == 0
    except CannotTell:
        return False
