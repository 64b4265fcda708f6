"""The configuration of real hosts as a cluster of an inventory in YAML, to review, correct and commit.

Made of the facts of the agent's findings. A host's output is data: what does not match the schema becomes a comment.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import yaml

from inventory import schema, tree
from smoketests.remote.fanout import HostReport

# The checks whose facts say what a machine has.
CHECKS = ("mounts", "smart", "raid", "nic_link", "power", "services", "firewall")
ROLES = ("broker", "zookeeper", "controller")
MOST_REMARKS = 12
SHORT = ("ok", "skipped")

Findings = Sequence[Mapping[str, Any]]
Settings = dict[str, Any]


def learned(reports: Iterable[HostReport], cluster: str) -> str:
    """The YAML text; a host that could not be asked is a remark."""
    reports = sorted(reports, key=lambda one: one.host.name)
    known = {one.host.name: _settings(one) for one in reports if one.report.findings}
    shared = _on_several(known)
    lines = ["# Reported by the machines. Review it, correct it, then: smoke inventory check -i FILE",
             "# Not read: racks, broker ids, BMC users, the ensemble; nor whether the state found is the expected one.",
             "clusters:", f"  {_word(cluster)}:", "    hosts:"]  # fmt: skip
    for one in reports:
        if one.host.name in known:
            lines += _host_lines(one, known[one.host.name], shared)
    lines += [f"      # {one.host.name}: {_remark(one.reach.reason)}" for one in reports if one.host.name not in known]
    if not known:
        lines[-len(reports) - 1 if reports else -1] += " {}"
    return "\n".join(lines) + "\n"


def _host_lines(one: HostReport, settings: Settings, shared: set[str]) -> list[str]:
    remarks = [f"{name} {item}: {reason}" for name, item, reason in _untold(one.report.findings)]
    kept: Settings = {}
    for name, value in settings.items():
        if name == "disks" and shared & set(value):
            remarks.append("disks: serial numbers that another machine has too")
        elif _fits(name, value):
            kept[name] = value
        else:
            remarks.append(f"{name}: value is not valid in an inventory")
    text = yaml.safe_dump({one.host.name: kept or None}, sort_keys=False, width=100, default_flow_style=None)
    lines = [f"      {line}".rstrip() for line in text.splitlines()]
    left = len(remarks) - MOST_REMARKS
    remarks = remarks[:MOST_REMARKS] + ([f"and {left} more"] if left > 0 else [])
    return [*lines, *(f"        # {_remark(remark)}" for remark in remarks)]


def _fits(name: str, value: Any) -> bool:
    """Whether it could stand in an inventory, as we would write it."""
    text = yaml.safe_dump({"clusters": {"x": {"hosts": {"x": {name: value}}}}})
    root, problems = tree.parse(text, "learned")
    return root is not None and not problems and not schema.check(root)


def _settings(one: HostReport) -> Settings:
    """All that its findings tell."""
    by_check: dict[str, list[Mapping[str, Any]]] = {}
    for finding in one.report.findings:
        by_check.setdefault(str(finding["check"]), []).append(finding)
    host, found = one.host, {}
    for name in ("address", "port", "user"):
        if getattr(host, name):
            found[name] = getattr(host, name)
    roles = [role for role in str(one.report.header.get("role", "")).split(",") if role in ROLES]
    found.update({"roles": roles} if roles else {})
    for name, reader in READERS.items():
        value = reader(by_check)
        if value:
            found[name] = value
    return found


def _layout(by_check: Mapping[str, Findings]) -> str:
    """raid10 where an array says so below one mount; jbod where there are several mounts and no redundant array."""
    levels = {str(facts.get("level", "")).lower() for facts in _facts(by_check, "raid") if facts.get("kind") == "array"}
    mounts = len(_mounts(by_check))
    if any(level.replace("+", "") == "raid10" for level in levels) and mounts <= 1:
        return "raid10"
    redundant = levels - {"", "raid0", "linear", "jbod"}
    return "jbod" if mounts > 1 and not redundant else ""


def _mounts(by_check: Mapping[str, Findings]) -> dict[str, Any]:
    serials = {str(facts.get("path", "")): facts.get("serial") for facts in _facts(by_check, "smart")}
    found: dict[str, Any] = {}
    for finding in by_check.get("mounts", ()):
        facts = finding["facts"]
        if facts.get("mounted") is True:
            serial = serials.get(_disk_of(str(facts.get("device", ""))))
            told = {"fstype": facts.get("fstype"), "serial": serial}
            found[str(finding["item"])] = {name: value for name, value in told.items() if value} or None
    return found


def _disk_of(device: str) -> str:
    """/dev/sdd1 is a part of /dev/sdd, /dev/nvme0n1p1 of /dev/nvme0n1."""
    device = device if device.startswith("/dev/") else f"/dev/{device}"
    whole = re.fullmatch(r"(/dev/nvme[0-9]+n[0-9]+)(?:p[0-9]+)?", device) or re.fullmatch(
        r"(/dev/[a-z]+)[0-9]*", device
    )
    return whole[1] if whole else device


def _disks(by_check: Mapping[str, Findings]) -> list[str]:
    return sorted({str(facts["serial"]) for facts in _facts(by_check, "smart") if facts.get("serial")})


def _interfaces(by_check: Mapping[str, Findings]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for facts in _facts(by_check, "nic_link"):
        if facts.get("interface") and facts.get("present") is True and facts.get("carrier") is True:
            speed = facts.get("speed_mbps")
            found[str(facts["interface"])] = speed if isinstance(speed, int) and speed > 0 else None
    return found


def _psus(by_check: Mapping[str, Findings]) -> int:
    return sum(
        facts.get("present") is True and facts.get("part") != "redundancy" for facts in _facts(by_check, "power")
    )


def _ports(by_check: Mapping[str, Findings]) -> list[int]:
    ports = {port for facts in _facts(by_check, "services") for port in _list(facts.get("ports"))}
    return sorted(port for port in ports if isinstance(port, int))


def _firewall(by_check: Mapping[str, Findings]) -> str:
    said = [facts for facts in _facts(by_check, "firewall") if isinstance(facts.get("active"), list)]
    if not said or any(facts.get("unseen") for facts in said):
        return ""
    return "active" if any(facts["active"] for facts in said) else "inactive"


READERS: Mapping[str, Callable[[Mapping[str, Findings]], Any]] = {
    "layout": _layout,
    "mounts": _mounts,
    "disks": _disks,
    "interfaces": _interfaces,
    "psus": _psus,
    "ports": _ports,
    "firewall": _firewall,
}


def _facts(by_check: Mapping[str, Findings], name: str) -> list[Mapping[str, Any]]:
    return [finding["facts"] for finding in by_check.get(name, ())]


def _list(value: Any) -> list[Any]:
    return [one for one in value if isinstance(one, (int, str))] if isinstance(value, list) else []


def _untold(findings: Findings) -> list[tuple[str, str, str]]:
    """What the host could not tell, or does not have."""
    return [
        (str(finding["check"]), str(finding["item"]), str(finding["reason"]))
        for finding in findings
        if finding["status"] == "unknown" or (finding["status"] == "skipped" and finding["check"] == "power")
    ]


def _on_several(known: Mapping[str, Settings]) -> set[str]:
    """Serial numbers that are no identity: virtual disks of different machines have the same."""
    counts = Counter(disk for settings in known.values() for disk in settings.get("disks", ()))
    return {disk for disk, count in counts.items() if count > 1}


def _remark(words: str) -> str:
    """On one line, without control characters."""
    return re.sub(r"[^\x20-\x7e]+", " ", words)[:200]


def _word(name: str) -> str:
    return yaml.safe_dump(name).splitlines()[0]
