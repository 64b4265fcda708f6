"""Network interfaces, with their driver, firmware and rings as reported by ethtool."""

from __future__ import annotations

import re
from collections.abc import Mapping

from agent.host import CannotTell
from playbooks.fact_schema import Fact
from playbooks.facts import Candidate, Look
from playbooks.view import View

ROW = re.compile(r"(RX|TX):\s+(\d+)")


def interfaces(look: Look, _of: Fact | None) -> list[Candidate]:
    """Those with a card behind them."""
    found = []
    for name in look.view.list_dir("/sys/class/net"):
        driver = _link(look.view, f"/sys/class/net/{name}/device/driver")
        if driver or name in look.items("nic_resets", "nic_link"):
            found.append(_interface(look, name, driver))
    return found


def _interface(look: Look, name: str, driver: str) -> Candidate:
    view = look.view

    def values() -> Mapping[str, object]:
        said = _driver(view, name)
        return {
            "name": name, "driver": driver or said.get("driver", ""), "driver_version": said.get("version", ""),
            "firmware": said.get("firmware-version", ""), "pci": _link(view, f"/sys/class/net/{name}/device"),
            "bond": _link(view, f"/sys/class/net/{name}/master"), **_rings(view, name),
        }  # fmt: skip

    return Candidate((name,), f"{name} ({driver or 'no driver'})", values)


def _link(view: View, path: str) -> str:
    try:
        return view.link(path).rpartition("/")[2]
    except CannotTell:
        return ""


def _driver(view: View, name: str) -> dict[str, str]:
    try:
        rows = view.out("ethtool", "-i", name).splitlines()
    except CannotTell:
        return {}
    return {key.strip(): value.strip() for key, _colon, value in (row.partition(":") for row in rows)}


def _rings(view: View, name: str) -> dict[str, str]:
    """Ring sizes now and at most; nothing where the driver has none."""
    try:
        maximum, _words, current = view.out("ethtool", "-g", name).partition("Current hardware settings")
    except CannotTell:
        return {}
    most, now = dict(ROW.findall(maximum)), dict(ROW.findall(current))
    if set(most) != {"RX", "TX"} or set(now) != set(most):
        return {}
    full = all(now[ring] == most[ring] for ring in most)
    sizes = {"rx": now["RX"], "tx": now["TX"], "rx_max": most["RX"], "tx_max": most["TX"]}
    return {**sizes, "rings": "full" if full else "small"}
