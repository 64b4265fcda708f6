"""What reads hostile words, by family: each reader takes any text, and may say that it cannot tell, but nothing else.

The first byte of an input chooses the reader of its family, the rest is the text (bytes that are no UTF-8 replaced, as
the agent and the controller do it).
"""

from __future__ import annotations

import json
import os
import pathlib
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import paramiko

import inventory
from agent import expected
from agent.host import Answer, CannotTell
from agent.sources.bmc import event_log, ipmitool, power_supplies, sensors
from agent.sources.disks import diskstats, mount_table
from agent.sources.firewall import evaluate as packet_filter
from agent.sources.firewall import iptables, nftables, ruleset
from agent.sources.firewall.conditions import Connection
from agent.sources.kafka import java_processes, java_properties, log_events
from agent.sources.kafka import settings as kafka_settings
from agent.sources.kernel import disk_events, memory_lines, nic_events, oom_lines
from agent.sources.kernel import log as kernel_log
from agent.sources.network import bonding, ethtool, sockets
from agent.sources.raid import arcconf, mdstat, megacli, ssacli, storcli
from agent.sources.smart import smartctl
from agent.sources.system import antivirus_products, fanotify, systemd, time_daemons
from agent.sources.zookeeper import four_letter
from agent.sources.zookeeper import servers as zookeeper_servers
from agent.state import State
from fleet.archive import manifests
from fleet.mail import message
from inventory import ranges
from inventory.model import Host
from smoketests.readers import CannotRead, address
from smoketests.readers.kafka import client_properties, jaas, key_stores
from smoketests.readers.zookeeper import ensemble as zookeeper_reader
from smoketests.readers.zookeeper import partitions as zookeeper_partitions
from smoketests.remote import validation
from smoketests.ssh import host_keys
from tests.fuzz import seeds

Reader = Callable[[str], Any]


class Family(NamedTuple):
    """readers: by name. seeds: globs below the root, for all readers. refusals: what the readers may raise."""

    readers: Mapping[str, Reader]
    seeds: Sequence[str]
    refusals: tuple[type[Exception], ...] = (CannotTell,)

    def read(self, data: bytes) -> None:
        """One input; anything but a refusal is a finding."""
        names = list(self.readers)
        text = data[1:].decode("utf-8", "replace")
        try:
            self.readers[names[(data[0] if data else 0) % len(names)]](text)
        except self.refusals:
            return

    def seed_inputs(self) -> list[bytes]:
        """What to start from: every seed for every reader."""
        return [
            bytes([number]) + seed
            for number in range(len(self.readers))
            for seed in [b"", *seeds.of(tuple(self.seeds))]
        ]


def _smart(text: str) -> None:
    smartctl.parse(Answer(0, text, ""), "sda")


def _words_of_smartctl(text: str) -> None:
    smartctl.parse(Answer(2, text, text[:100]), "sda")


DEVICES = disk_events.Devices({"0:0:0:0": "sda", "ata1": "sda", "nvme0": "nvme0n1"}, {"8:0": "sda"}, ["sda", "nvme0n1"])
CARDS = nic_events.Cards({"0000:05:00.0": ["enp5s0f0"]}, {"n3": "enp5s0f0"}, ["enp5s0f0", "bond0"])


def _kernel_lines(text: str) -> None:
    """As records of one boot, a second apart."""
    records = [kernel_log.Record(at, 0, 4, 100.0 + at, row, "", 100.0 + at) for at, row in enumerate(text.split("\n"))]
    told = [
        *disk_events.sightings(records, records, DEVICES),
        *memory_lines.sightings(records, records),
        *nic_events.sightings(records, CARDS),
    ]
    kernel_log.gather(told)


def _kernel_records(text: str) -> None:
    for row in text.split("\n"):
        kernel_log.parse(row, 1e9, 2e9)


def _sensors(text: str) -> None:
    found = sensors.parse(text)
    power_supplies.power_supplies(found)
    power_supplies.redundancy(found)
    for sensor in found:
        sensors.by_severity(sensor)


def _events_of_the_bmc(text: str) -> None:
    for event in event_log.parse_events(text):
        event_log.memory_kind(event)
        event_log.dimm(event)


def _fate(chains: Sequence[Any]) -> None:
    packet_filter.fate(chains, Connection(9092, "ip"), ruleset.HOOKS)


def _kafka_settings(text: str) -> None:
    config = java_properties.parse(text)
    for setting in kafka_settings.DEFAULTS:
        kafka_settings.values(config, setting)


def _zookeeper_member(text: str) -> None:
    parts = text.split("\x00")
    zookeeper_reader.parse("zk1:2181", dict(zip(("srvr", "mntr", "conf"), [*parts, "", "", ""], strict=False)))


LIAR = Host("kafka-a02", cluster="prod-a", roles=("broker",), layout="jbod", rack="r7")


def _record(text: str) -> None:
    kept = validation.believed(LIAR, text.split("\n"), "r1", "2026-11-20T03:12:00Z")
    for line in kept.lines:
        said = json.loads(line, object_pairs_hook=_each_once, parse_constant=_no_number)
        assert (said["host"], said["cluster"], said["run_id"]) == ("kafka-a02", "prod-a", "r1"), line


def _each_once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    assert len(dict(pairs)) == len(pairs), "a key twice"
    return dict(pairs)


def _no_number(word: str) -> None:
    raise AssertionError(word)


def _known_hosts(text: str) -> None:
    for line in text.split("\n"):
        entry = host_keys.parse_line(line)
        if entry:
            host_keys.fingerprint(entry.blob)


def _certificate(text: str) -> None:
    host_keys.parse_certificate(text.encode("latin-1", "replace"))


def _inventory(ending: str) -> Reader:
    def load(text: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, f"inventory{ending}")
            with open(path, "w", encoding="utf-8", errors="replace") as file:
                file.write(text)
            for host in inventory.load([path]).hosts:
                expected.from_json(json.dumps(host.expected()))

    return load


def _ansible(text: str) -> None:
    """The same, behind a file of ours that asks for it."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "hosts.yaml").write_text(text, encoding="utf-8", errors="replace")
        (path / "ours.yaml").write_text("ansible: {inventory: hosts.yaml}\n", encoding="utf-8")
        inventory.load([str(path / "ours.yaml")])


def _mail_settings(text: str) -> None:
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", errors="replace") as file:
        file.write(text)
        file.flush()
        message.read_settings(file.name)


class _OneFile:
    def __init__(self, text: str) -> None:
        self._text = text

    def read(self, _path: str) -> bytes:
        return self._text.encode("utf-8", "replace")


def _manifest(text: str) -> None:
    manifests.manifest(_OneFile(text), "2026-11-20")  # type: ignore[arg-type]  # all that is asked of it


def _state(text: str) -> None:
    State("boot", 2e9, text).dump()


def _expected(text: str) -> None:
    expected.from_json(text)
    expected.split_password(text)


def _tests(*names: str) -> list[str]:
    return [f"tests/agent/**/test_{name}.py" for name in names]


FAMILIES: dict[str, Family] = {
    "smart": Family(
        {"report": _smart, "refusal": _words_of_smartctl, "scan": smartctl.parse_scan_json,
         "scan_text": smartctl.parse_scan_text},
        ["tests/machines/*/run/smartctl*", *_tests("smart", "report"), "tests/agent/sources/smart/made_reports.py"],
        (CannotTell, ValueError),
    ),
    "raid": Family(
        {"storcli": storcli.parse, "rebuilds": storcli.parse_rebuilds, "drives": storcli.parse_drives,
         "megacli": megacli.parse, "ssacli": ssacli.parse, "arcconf": lambda text: arcconf.parse("1", text),
         "mdstat": mdstat.parse},
        ["tests/machines/*/run/perccli64*", "tests/machines/*/root/proc/mdstat", "tests/agent/sources/raid/outputs.py",
         *_tests("md", "raid_controllers")],
    ),
    "kernel": Family(
        {"lines": _kernel_lines, "records": _kernel_records},
        ["agent/sources/kernel/*_lines.py", *_tests("line_patterns", "log", "disk_errors", "nic_resets")],
    ),
    "ipmi": Family(
        {"sensors": _sensors, "chassis": ipmitool.parse_chassis, "sel_info": event_log.parse_info,
         "sel": _events_of_the_bmc},
        ["tests/machines/*/run/ipmitool*", "tests/agent/sources/bmc/handmade_bmc.py",
         *_tests("sensors", "event_log", "power", "chassis")],
    ),
    "network": Family(
        {"link": ethtool.parse_link, "driver": ethtool.parse_driver, "statistics": ethtool.parse_statistics,
         "bond": lambda text: bonding.parse_bond(text, "bond0"), "sockets": sockets.parse_listening},
        ["tests/machines/*/run/ethtool*", *_tests("ethtool", "bonding", "sockets", "nic_link")],
    ),
    "firewall": Family(
        {"nft": lambda text: _fate(nftables.parse_ruleset(text)),
         "iptables": lambda text: _fate(list(iptables.parse_save(text, "ip").chains))},
        _tests("evaluate", "firewall"),
    ),
    "kafka": Family(
        {"properties": _kafka_settings, "log": lambda text: log_events.events(text, "UTC"),
         "java_errors": lambda text: oom_lines.errors(text, "UTC"), "killed": oom_lines.killed_process,
         "argv": lambda text: java_processes.of_java(text.split("\x00"))},
        ["agent/sources/kafka/*.py", *_tests("processes", "kafka_log", "kafka_config", "oom_lines", "java_processes")],
    ),
    "zookeeper": Family(
        {"srvr": four_letter.parse_srvr, "mntr": four_letter.parse_mntr, "cons": four_letter.parse_cons,
         "kind": four_letter.classify, "address": zookeeper_servers.parse_address},
        _tests("four_letter", "zookeeper"),
    ),
    "time": Family(
        {"chronyc": time_daemons.parse_chronyc, "ntpq": time_daemons.parse_ntpq,
         "timesync": time_daemons.parse_timesync_status},
        ["tests/machines/*/run/chronyc*", *_tests("time_daemons", "clock")],
    ),
    "mounts": Family(
        {"mountinfo": mount_table.parse_mountinfo, "fstab": mount_table.parse_fstab, "diskstats": diskstats.parse,
         "unit": mount_table.mount_unit},
        ["tests/machines/*/root/proc/self/mountinfo", "tests/machines/*/root/etc/fstab",
         "tests/machines/*/root/proc/diskstats", *_tests("mount_table", "diskstats")],
    ),
    "services": Family(
        {"cgroup": systemd.parse_cgroup, "show": systemd.parse_show, "marks": fanotify.parse_marks,
         "mdatp": antivirus_products.parse_mdatp_excludes,
         "clamd": lambda text: antivirus_products.parse_clamd_excludes(text, "ExcludePath")},
        ["tests/machines/*/run/systemctl*", *_tests("systemd", "fanotify", "antivirus")],
    ),
    "memory": Family(
        {"state": _state, "expected": _expected},
        ["tests/machines/*/state.txt", "tests/machines/*/expected.json", "tests/agent/test_state.py"],
        (ValueError, CannotTell),
    ),
    "records": Family({"lines": _record}, ["tests/records.py", "tests/smoketests/remote/test_hostile_host.py"]),
    "inventory": Family(
        {"yaml": _inventory(".yaml"), "json": _inventory(".json"), "ansible": _ansible, "ranges": ranges.expand},
        ["inventory/examples/*", "tests/inventory/test_*.py"],
        (inventory.InventoryError, ranges.BadRange),
    ),
    "nightly": Family(
        {"settings": _mail_settings, "manifest": _manifest},
        ["tests/fleet/mail/test_delivery.py"], (message.BadSettings,),
    ),
    "readers": Family(
        {"member": _zookeeper_member, "broker": lambda text: zookeeper_reader.parse_broker("1", text.encode()),
         "client": lambda text: client_properties.parse(text, "client.properties"),
         "address": lambda text: address(text, 2181), "jaas": jaas.parse,
         "store": lambda text: key_stores.opened(text.encode("latin-1", "replace"), ""),
         "state": lambda text: zookeeper_partitions.parse(text.encode())},
        ["tests/smoketests/readers/**/test_*.py", *_tests("four_letter")],
        (CannotRead, jaas.CannotParse, key_stores.CannotOpen),
    ),
    "keys": Family(
        {"known_hosts": _known_hosts, "certificate": _certificate}, ["tests/smoketests/ssh/test_connect.py"],
        (ValueError, paramiko.SSHException),
    ),
}  # fmt: skip
