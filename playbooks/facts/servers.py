"""The Kafka broker and the ZooKeeper server of a machine: running, or only known to systemd."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping

from agent.api.kafka import Service, open_files
from agent.api.kafka import processes as kafka
from agent.api.properties import java_properties
from agent.api.system import systemd
from agent.host import CannotTell, Process
from playbooks.fact_schema import Fact
from playbooks.facts import Candidate, Look, limit
from playbooks.view import View

BROKER, ZOOKEEPER = "broker", "zookeeper"
# units of packages and of most sites: kafka.service, confluent-kafka.service, kafka@1.service, zookeeper.service
UNIT_NAMES = {
    BROKER: re.compile(
        r"(?!.*(?:connect|rest|schema|exporter|mirror|ui|manager|zookeeper))[\w-]{0,200}kafka[\w@-]{0,200}\.service"
    ),
    ZOOKEEPER: re.compile(r"(?!.*exporter)[\w-]{0,200}zookeeper[\w@-]{0,200}\.service"),
}
CONFIG_ENDINGS = {BROKER: (".properties",), ZOOKEEPER: (".cfg", ".properties", ".conf")}
# broker.id in ZooKeeper's days, node.id with KRaft
IDS = ("node.id", "broker.id")
# what `systemctl is-enabled` says of units that start at boot, and that `systemctl disable` keeps from it
ENABLED = ("enabled", "enabled-runtime", "generated")
# more for each client address is asked of ZooKeeper only from here on
FEW_CONNECTIONS = 300
# a broker is killed after all that is protected less
OOM_PROTECTION = 900
# fs.nr_open of every kernel; above it, setting a limit fails
MOST_OPEN_FILES = 1048576


def brokers(look: Look, _of: Fact | None) -> list[Candidate]:
    return [_candidate(look, service, unit) for service, unit in servers(look.view, BROKER)]


def zookeepers(look: Look, _of: Fact | None) -> list[Candidate]:
    return [_candidate(look, service, unit) for service, unit in servers(look.view, ZOOKEEPER)]


def servers(view: View, role: str) -> list[tuple[Service, str]]:
    """Servers of a role with their units: those that run; if none does, those that systemd could start."""
    running = [service for service in kafka.services(view) if kafka.serves(service, role)]
    found = [(service, systemd.unit_of(view, service.process.pid)) for service in running]
    return found or [(_stopped(view, role, unit), unit) for unit in _units(view, role)]


def _units(view: View, role: str) -> list[str]:
    try:
        rows = view.out("systemctl", "list-unit-files", "--type=service", "--no-legend", "--no-pager").splitlines()
    except CannotTell:
        return []
    names = [row.split()[0] for row in rows if row.split()]
    return sorted(name for name in names if UNIT_NAMES[role].fullmatch(name) and not name.endswith("@.service"))


def _stopped(view: View, role: str, unit: str) -> Service:
    """A server that does not run, as its unit describes it."""
    said = view.out("systemctl", "show", "--property=ExecStart,User,Environment", "--", unit)
    rows = dict(row.partition("=")[::2] for row in said.splitlines())
    path = next((word for word in _paths(rows) if word.endswith(CONFIG_ENDINGS[role])), "")
    config = _config(view, path)
    process = Process(0, "", (), rows.get("User", "") or "root", 0.0)
    return Service(role, process, path, config)


def _paths(rows: Mapping[str, str]) -> list[str]:
    return re.findall(r"(?<![\w.-])/[^\s;'\"=]+", rows.get("ExecStart", "") + " " + rows.get("Environment", ""))


def _config(view: View, path: str) -> dict[str, str]:
    try:
        return java_properties.parse(view.read(path)) if path else {}
    except CannotTell:
        return {}


def _candidate(look: Look, service: Service, unit: str) -> Candidate:
    pid = service.process.pid
    shown = f"{service.role} {unit or 'without a unit'} {service.config_path} " + (f"pid {pid}" if pid else "(stopped)")

    def values() -> Mapping[str, object]:
        found = {
            "unit": unit, "at_boot": at_boot(look.view, unit), "managed": "systemd" if unit else "otherwise",
            "pid": pid or "", "open_files_wanted": _open_files(look, pid, unit),
            "config": _absolute(look.view, service), "user": service.process.user,
            "ports": [str(port) for port in kafka.ports(service)] if service.config else [],
        }  # fmt: skip
        if service.role == ZOOKEEPER:
            return {**found, **_of_zookeeper(service.config)}
        return {**found, **_of_broker(look, service)}

    return Candidate((unit, unit.removesuffix(".service"), service.role, service.config_path), shown, values)


def _open_files(look: Look, pid: int, unit: str) -> int:
    """The limit that it should have: never less than it has, running or by its unit."""
    most = _number(look.view, "/proc/sys/fs/nr_open", MOST_OPEN_FILES)
    now = [limit(look, open_files, "limit_warning")]
    with contextlib.suppress(CannotTell):
        rows = look.view.read(f"/proc/{pid}/limits").splitlines() if pid else []
        now += [int(word) for row in rows if row.startswith("Max open files") for word in row.split() if word.isdigit()]
    with contextlib.suppress(CannotTell):
        said = look.view.out("systemctl", "show", "--property=LimitNOFILE", "--value", "--", unit) if unit else ""
        now += [most] if said.strip() == "infinity" else [int(said)] if said.strip().isdigit() else []
    return min(max(now), most)


def _number(view: View, path: str, otherwise: int) -> int:
    try:
        return view.read_int(path)
    except CannotTell:
        return otherwise


def at_boot(view: View, unit: str) -> str:
    """Whether `systemctl disable` keeps this unit from starting at boot: yes, no, or empty where nobody tells."""
    if not unit:
        return ""
    try:
        said = view.run("systemctl", "is-enabled", "--", unit).out.strip()
    except CannotTell:
        return ""
    return "yes" if said in ENABLED else "no"


def _absolute(view: View, service: Service) -> str:
    path = service.config_path
    if path and not os.path.isabs(path):
        path = os.path.join(view.link(f"/proc/{service.process.pid}/cwd"), path)
    return os.path.normpath(path) if path else ""


def _of_zookeeper(config: Mapping[str, str]) -> dict[str, object]:
    now = config.get("maxClientCnxns", "")
    # ZooKeeper takes 0, and what is below it, for no limit
    limited = now.lstrip("-").isdigit() and int(now) > 0
    wanted = max(FEW_CONNECTIONS, 2 * int(now)) if limited else FEW_CONNECTIONS if not now else ""
    said = {"client_port": config.get("clientPort", ""), "max_client_cnxns": now if limited else ""}
    return {"servers": _ensemble(config), **said, "max_client_cnxns_wanted": wanted}


def _of_broker(look: Look, service: Service) -> dict[str, object]:
    config = service.config
    found: dict[str, object] = {"id": broker_id(look, service), "cluster_id": _meta(look.view, service, "cluster.id")}
    found["oom_protection_wanted"] = max(OOM_PROTECTION, -_oom_score(look.view, service.process.pid))
    if config:
        found |= {"log_dirs": kafka.log_dirs(config), "mode": "kraft" if "process.roles" in config else "zookeeper"}
    return found


def _oom_score(view: View, pid: int) -> int:
    """oom_score_adj of a process: -1000 is never killed; 0 where it is not told."""
    try:
        return int(view.read(f"/proc/{pid}/oom_score_adj")) if pid else 0
    except (CannotTell, ValueError):
        return 0


def _ensemble(config: Mapping[str, str]) -> list[str]:
    """server.1=zk1:2888:3888;2181 -> zk1:2888:3888"""
    rows = sorted((key, value) for key, value in config.items() if key.startswith("server."))
    return [value.partition(";")[0].strip() for _key, value in rows]


def broker_id(look: Look, service: Service) -> str:
    """From the configuration; where it is generated, from the log dirs; else the inventory's."""
    said = next((service.config[name] for name in IDS if service.config.get(name, "").isdigit()), "")
    said = said or next(filter(None, (_meta(look.view, service, name) for name in IDS)), "")
    return said or ("" if look.host.broker_id is None else str(look.host.broker_id))


def _meta(view: View, service: Service, key: str) -> str:
    """What the first log dir that says it was formatted for."""
    folders = kafka.log_dirs(service.config) if service.config else []
    return next(filter(None, (_config(view, f"{path}/meta.properties").get(key, "") for path in folders)), "")


def metadata_log_below(look: Look, path: str) -> bool:
    """Whether a KRaft server of this machine keeps the cluster's metadata on the mount at this path."""
    for service, _unit in _all(look):
        if "process.roles" in service.config:
            folder = service.config.get("metadata.log.dir") or kafka.log_dirs(service.config)[0]
            if _is_below(folder, path):
                return True
    return False


def runs_without(look: Look, path: str) -> bool:
    """Whether the brokers of this machine start while the mount at this path is away and closed to their user.

    Kafka 3.9 does with another log dir left; a KRaft broker not without its metadata, nor as root, who is let in
    everywhere and finds an empty folder, which it takes for one that was never formatted.
    """
    for service, _unit in _all(look):
        rest = [folder for folder in kafka.log_dirs(service.config) if not _is_below(folder, path)]
        if not rest or ("process.roles" in service.config and service.process.user == "root"):
            return False
    return not metadata_log_below(look, path)


def zookeeper_below(look: Look, path: str) -> bool:
    """Whether a ZooKeeper server of this machine keeps its data on the mount at this path."""
    configs = [service.config for service, _unit in servers(look.view, ZOOKEEPER)]
    folders = [config.get(name, "") for config in configs for name in ("dataDir", "dataLogDir")]
    return any(folder and _is_below(folder, path) for folder in folders)


def _is_below(folder: str, path: str) -> bool:
    return folder == path or folder.startswith(path.rstrip("/") + "/")


def log_dirs_below(look: Look, path: str) -> list[str]:
    """Log dirs of this machine's brokers that lie on the mount at this path."""
    configs = [service.config for service, _unit in _all(look) if service.config]
    return [folder for config in configs for folder in kafka.log_dirs(config) if _is_below(folder, path)]


def _all(look: Look) -> list[tuple[Service, str]]:
    try:
        return servers(look.view, BROKER)
    except CannotTell:
        return []
