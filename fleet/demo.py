"""A made-up fleet: 200 hosts, 30 days, and known faults. The same for the same date, written as the agent writes.

Nothing of it is kept in the repository. `PLANTED` says what the night's summary must name, and nothing else.
"""

from __future__ import annotations

import datetime
import gzip
import json
import os
import random
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from fleet.store import reports

HOSTS = 200
DAYS = 30
SEED = 20261119
CLUSTERS = ("prod-a", "prod-b", "prod-c", "prod-d", "prod-e")
HOSTS_OF_CLUSTER = HOSTS // len(CLUSTERS)
HOSTS_OF_RACK = 20
HOSTS_OF_DRAWER = 4
HOSTS_OF_FEED = 8
DISKS = 8
DIMMS = 4
TB = 10**12
GB = 10**9
DISK_SIZE = 8 * TB

# model, firmware, of how many disks in 64
MODELS = (
    ("ST8000NM0055-1RM112", "SN05", 30),
    ("HGST HUH728080ALE600", "A4GNT907", 28),
    ("TOSHIBA MG05ACA800E", "GX4A", 6),
)
BAD_BATCH = ("TOSHIBA MG05ACA800E", "GX4A")

QUIET_CHECKS = {
    "raid": "no arrays here",
    "disk_balance": "used space differs by 4 points",
    "disk_scheduler": "mq-deadline",
    "memory": "64 GB, 31 % available",
    "nic_link": "10000 Mbit/s, full duplex",
    "nic_resets": "no resets",
    "power": "PS1 and PS2 ok",
    "cooling": "6 fans ok, 24 C",
    "chassis": "ok",
    "open_files": "4211 of 100000",
    "memory_maps": "3120 of 262144",
    "swappiness": "vm.swappiness is 1; no swap",
    "antivirus": "none",
    "firewall": "inactive",
    "services": "kafka.service runs since 41 days",
    "out_of_memory": "none",
    "cpu": "load 0.31 per processor",
}


CLUSTER_FINDINGS = (
    ("partitions", "offline"),
    ("partitions", "under_replicated"),
    ("cluster_disk_balance", "brokers"),
    ("zk_quorum", "ensemble"),
)


class Fault(NamedTuple):
    """One planted fault, of a host or of a whole cluster (`prod-a/`): days back from the night when it begins and ends,
    and what a finding then says.
    """

    host: str
    check: str
    item: str
    status: str
    reason: str
    playbook: str
    begins: int = 0
    ends: int = -1

    def stands(self, back: int) -> bool:
        return self.begins >= back > self.ends


def host_name(number: int) -> str:
    return f"kafka-{'abcde'[number // HOSTS_OF_CLUSTER]}{number % HOSTS_OF_CLUSTER + 1:02d}"


def number_of(host: str) -> int:
    return "abcde".index(host[6]) * HOSTS_OF_CLUSTER + int(host[7:]) - 1


def serial(host: str, disk: int) -> str:
    return f"Z{host[6:].upper()}D{disk}"


def model(host: str, disk: int) -> tuple[str, str]:
    place = (number_of(host) * DISKS + disk) * 37 % 64
    for name, firmware, share in MODELS:
        if place < share:
            return name, firmware
        place -= share
    raise AssertionError("the shares add up to 64")


def _bad_batch() -> list[tuple[str, int]]:
    disks = [(host_name(n), d) for n in range(HOSTS) for d in range(DISKS) if model(host_name(n), d) == BAD_BATCH]
    return disks[10::18][:7]


HIDDEN_READONLY = "kafka-a03"
FILLING = ("kafka-b12", "/kafka/d5")
UNEVEN = "kafka-b30"
FLAPPING = "kafka-c17"
REALLOCATING = ("kafka-c05", 2)
WEARING = ("kafka-d08", 0)
SLOW = ("kafka-e21", 6)
DIMM = ("kafka-d33", "DIMM_B1")
FEED_HOSTS = [host_name(n) for n in range(64, 72)]
DRAWER_HOSTS = [host_name(n) for n in range(100, 104)]
SILENT = {"kafka-a25": 0, "kafka-e02": 4}
CLOCK_AHEAD = "kafka-c38"
CLOCK_ADRIFT = "kafka-d14"
UNTUNED = ["kafka-e11", "kafka-e12", "kafka-e13", "kafka-e14", "kafka-e30"]
MENDED = "kafka-b02"
WORSE = "kafka-a17"
BATCH_DISKS = _bad_batch()

FAULTS = (
    Fault(
        HIDDEN_READONLY,
        "mounts",
        "/kafka/d3",
        "critical",
        "/kafka/d3 (sdd): create fails with EROFS though mounted rw; ext4 logged 2 errors, last 02:12Z",
        "hidden-readonly",
    ),
    Fault(FILLING[0], "disk_usage", FILLING[1], "warning", "/kafka/d5 is 81 % full", "full-disk", 4),
    Fault(UNEVEN, "disk_balance", "-", "warning", "used space differs by 38 points", "full-disk", 9),
    *(
        Fault(FLAPPING, "nic_resets", "eth0", "warning", "eth0 reset 1 time since the last run", "nic-resets", n, n - 1)
        for n in (21, 16, 12, 8, 3, 0)
    ),
    Fault(
        REALLOCATING[0],
        "smart",
        serial(*REALLOCATING),
        "warning",
        "sdc: reallocated sectors grow by 30 a week",
        "replace-jbod-disk",
        11,
    ),
    *(
        Fault(host, "power", "PS2", "warning", "PS2 lost AC 02:58Z, PS1 ok: no redundancy", "lost-psu")
        for host in FEED_HOSTS
    ),
    *(
        Fault(
            host,
            "disk_errors",
            "sdb",
            "critical",
            "sdb: device offlined after 6 resets, last 01:40Z",
            "failed-motherboard",
        )
        for host in DRAWER_HOSTS
    ),
    *(
        Fault(
            host,
            "smart",
            serial(host, disk),
            "critical",
            f"sd{'abcdefgh'[disk]}: SMART overall health: failing",
            "replace-jbod-disk",
            begins,
        )
        for (host, disk), begins in zip(BATCH_DISKS, (25, 22, 18, 13, 9, 6, 2), strict=True)
    ),
    Fault(*DIMM[:1], "memory_errors", DIMM[1], "warning", "DIMM_B1: corrected errors keep growing", "replace-dimm", 5),
    Fault(CLOCK_ADRIFT, "clock", "clock", "critical", "1840 ms from the time servers", "clock", 1),
    *(
        Fault(
            host, "swappiness", "vm.swappiness", "critical", "vm.swappiness is 60, should be at most 1", "tune-os", 40
        )
        for host in UNTUNED
    ),
    Fault(MENDED, "nic_link", "eth1", "critical", "eth1 has no carrier", "nic-resets", 6, 0),
    Fault(WORSE, "cooling", "Fan3", "warning", "Fan3 turns at 1200 of 4000 rpm", "overheating", 3, 0),
    Fault(WORSE, "cooling", "Fan3", "critical", "Fan3 stopped (0 RPM)", "overheating", 0),
    # of a cluster as a whole: host ''
    Fault("prod-a/", "partitions", "offline", "critical", "3 partitions have no leader", "broker-down"),
    Fault("prod-b/", "partitions", "offline", "critical", "17 partitions have no leader", "broker-down", 2),
    Fault("prod-c/", "partitions", "under_replicated", "warning", "9 partitions are under-replicated", "", 3, 0),
    Fault("kafka-a25", "reach", "ssh", "critical", "no answer on port 22 within 5 s", "broker-down"),
)

# section of the summary -> what it must name
PLANTED: Mapping[str, set[str]] = {
    "new": {f"{HIDDEN_READONLY} mounts /kafka/d3", f"{FLAPPING} nic_resets eth0", "kafka-a25 reach ssh"}
    | {f"{host} power PS2" for host in FEED_HOSTS}
    | {f"{host} disk_errors sdb" for host in DRAWER_HOSTS},
    "worse": {f"{WORSE} cooling Fan3"},
    "ongoing": {
        f"{FILLING[0]} disk_usage {FILLING[1]}",
        f"{UNEVEN} disk_balance -",
        f"{REALLOCATING[0]} smart {serial(*REALLOCATING)}",
        f"{DIMM[0]} memory_errors {DIMM[1]}",
        f"{CLOCK_ADRIFT} clock clock",
    }
    | {f"{host} swappiness vm.swappiness" for host in UNTUNED}
    | {f"{host} smart {serial(host, disk)}" for host, disk in BATCH_DISKS},
    "resolved": {f"{MENDED} nic_link eth1"},
    "unseen": set(),
    "cluster_changes": {
        "new prod-a partitions offline",
        "ongoing prod-b partitions offline",
        "resolved prod-c partitions under_replicated",
    },
    "flapping": {f"{FLAPPING} nic_resets eth0"},
    "disk_trends": {f"{host} {serial(host, disk)}" for host, disk in (REALLOCATING, WEARING, *BATCH_DISKS)},
    "slow_disks": {f"{SLOW[0]} sd{'abcdefgh'[SLOW[1]]}"},
    "failure_rates": {" ".join(BAD_BATCH)},
    "dimm_trends": {f"{DIMM[0]} {DIMM[1]}"},
    "shared_fate": {
        "power feed feed-8 power",
        "drawer r05 d0 disk_errors",
        f"batch {' firmware '.join(BAD_BATCH)} smart",
    },
    "usage_balance": {UNEVEN, FILLING[0]},
    "usage_forecast": {" ".join(FILLING)},
    "silent_hosts": set(SILENT),
    "clocks": {CLOCK_AHEAD, CLOCK_ADRIFT},
}


def write(store: str, date: str, hosts: int = HOSTS, days: int = DAYS) -> None:
    """Write the history that ends with `date` into a new store; runs at 03:00Z, on the last day also at 11 and 19."""
    night = reports.number_of(date)
    for back in range(days - 1, -1, -1):
        for hour in (3, 11, 19) if back == 0 else (3,):
            _write_run(store, night, back, hour, hosts)


def _write_run(store: str, night: int, back: int, hour: int, hosts: int) -> None:
    date = reports.date_of(night - back)
    run_id = f"demo{night - back}{hour:02d}"
    folder = os.path.join(store, f"date={date}")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{hour:02d}0000-{run_id}.jsonl")
    with gzip.open(f"{path}.gz", "wt", 1, encoding="ascii") if back > 1 else open(path, "w", encoding="ascii") as file:
        for number in range(hosts):
            for line in _lines(Machine(host_name(number), date, night, back, hour, run_id)):
                file.write(line + "\n")
        for cluster in CLUSTERS[: -(-hosts // HOSTS_OF_CLUSTER)]:
            for line in _cluster_lines(cluster, date, night, back, hour, run_id):
                file.write(line + "\n")


def _cluster_lines(cluster: str, date: str, night: int, back: int, hour: int, run_id: str) -> Iterator[str]:
    """What the controller finds of a whole cluster: the host is empty."""
    whole = Machine(f"{cluster}/", date, night, back, hour, run_id)
    at = f"{date}T{hour:02d}:01:00Z"
    run = {
        "schema": 1,
        "run_id": run_id,
        "at": at,
        "cluster": cluster,
        "host": "",
        "role": "",
        "layout": "",
        "rack": "",
    }
    faults = {(f.check, f.item): f for f in FAULTS if f.host == whole.host and f.stands(back)}
    for check, item in CLUSTER_FINDINGS:
        yield json.dumps({**run, **_finding(whole, check, item, {}, faults.get((check, item)))})


class Machine(NamedTuple):
    """One host in one run."""

    host: str
    date: str
    night: int
    back: int
    hour: int
    run_id: str

    @property
    def silent(self) -> bool:
        return self.back <= SILENT.get(self.host, -1)

    def run(self) -> dict[str, Any]:
        number = number_of(self.host)
        return {
            "schema": 1,
            "run_id": self.run_id,
            "at": f"{self.date}T{self.hour:02d}:00:{number % 40:02d}Z",
            "cluster": CLUSTERS[number // HOSTS_OF_CLUSTER],
            "host": self.host,
            "role": "broker",
            "layout": "jbod",
            "rack": f"r{number // HOSTS_OF_RACK:02d}",
        }


def _lines(machine: Machine) -> Iterator[str]:
    run = machine.run()
    if not machine.silent:
        yield json.dumps({**run, "kind": "header", **_header(machine)})
    faults = {(f.check, f.item): f for f in FAULTS if f.host == machine.host and f.stands(machine.back)}
    said: dict[tuple[str, str], dict[str, Any]] = (
        {} if machine.silent else {**{key: {} for key in faults}, **_facts(machine)}
    )
    if machine.silent:
        said = {("reach", fault.item): {} for fault in FAULTS if fault.check == "reach" and fault.host == machine.host}
    for (check, item), facts in said.items():
        yield json.dumps({**run, **_finding(machine, check, item, facts, faults.get((check, item)))})


def _header(machine: Machine) -> dict[str, Any]:
    number = number_of(machine.host)
    midnight = (machine.night - machine.back) * 86400
    ahead = 431 if machine.host == CLOCK_AHEAD and machine.back < 2 else 0
    return {
        "agent": "1.0",
        "kernel": "6.1.0-31-amd64",
        "boot_id": f"boot-{number}",
        "clock": midnight + machine.hour * 3600 + number % 40 + ahead,
        "drawer": f"d{number // HOSTS_OF_DRAWER % (HOSTS_OF_RACK // HOSTS_OF_DRAWER)}",
        "power_feed": f"feed-{number // HOSTS_OF_FEED}",
    }


def _finding(machine: Machine, check: str, item: str, facts: dict[str, Any], fault: Fault | None) -> dict[str, Any]:
    since = fault.begins if fault else machine.back
    day = datetime.datetime.fromtimestamp((machine.night - since) * 86400 + 10800, datetime.timezone.utc)
    return {
        "check": check,
        "item": item,
        "status": fault.status if fault else "ok",
        "reason": fault.reason if fault else QUIET_CHECKS.get(check, "ok"),
        "playbook": fault.playbook if fault else "",
        "facts": facts,
        "duration_ms": 12,
        "first_seen": day.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def _facts(machine: Machine) -> dict[tuple[str, str], dict[str, Any]]:
    """What a host says, by check and item; the numbers are plausible and the same on every call."""
    chance = random.Random(f"{SEED} {machine.host} {machine.back} {machine.hour}")  # noqa: S311  no secret
    said: dict[tuple[str, str], dict[str, Any]] = {}
    for disk in range(DISKS):
        said["smart", serial(machine.host, disk)] = _smart(machine, disk)
        said["disk_usage", f"/kafka/d{disk}"] = _usage(machine, disk, chance)
        said["disk_latency", f"sd{'abcdefgh'[disk]}"] = _latency(machine, disk, chance)
        said["mounts", f"/kafka/d{disk}"] = {}
    for path in ("/", "/var"):
        said["disk_usage", path] = {"data": False, "used_bytes": 11 * GB, "free_bytes": 29 * GB}
    for dimm in range(DIMMS):
        said["memory_errors", f"DIMM_{'AB'[dimm // 2]}{dimm % 2}"] = _dimm(machine, f"DIMM_{'AB'[dimm // 2]}{dimm % 2}")
    said["clock", "clock"] = {"offset_ms": 1840 if machine.host == CLOCK_ADRIFT and machine.back < 2 else 0.4}
    items = {"power": "PS2", "nic_link": "eth1", "nic_resets": "eth0", "cooling": "Fan3", "swappiness": "vm.swappiness"}
    for check in QUIET_CHECKS:
        said[check, items.get(check, "-")] = {}
    said["disk_errors", "sdb"] = {}
    return said


def _smart(machine: Machine, disk: int) -> dict[str, Any]:
    name, firmware = model(machine.host, disk)
    chance = random.Random(f"{SEED} {machine.host} {disk}")  # noqa: S311  no secret
    facts: dict[str, Any] = {
        "model": name,
        "firmware": firmware,
        "slot": str(disk),
        "size_bytes": DISK_SIZE,
        "power_on_hours": 20000 + 24 * (DAYS - machine.back) + chance.randrange(9000),
        "reallocated_sectors": chance.choice((0, 0, 0, 0, 0, 2, 8)),
        "pending_sectors": 0,
        "offline_uncorrectable": 0,
        "grown_defects": None,
        "wear_percent": None,
    }
    if (machine.host, disk) == REALLOCATING:
        facts["reallocated_sectors"] = 12 + max(0, 21 - machine.back) * 31
    if (machine.host, disk) == WEARING:
        facts.update(model="SAMSUNG MZQL27T6HBLA", firmware="GDC5602Q", wear_percent=86 - machine.back // 3)
    return facts


def _usage(machine: Machine, disk: int, chance: random.Random) -> dict[str, Any]:
    percent = 46 + number_of(machine.host) % 7 + disk % 3 + chance.random()
    if (machine.host, f"/kafka/d{disk}") == FILLING:
        percent = 81 - machine.back * 1.2
    if machine.host == UNEVEN and disk == 1 and machine.back <= 9:
        percent = 84
    used = int(DISK_SIZE * percent / 100)
    return {"data": True, "used_bytes": used, "free_bytes": DISK_SIZE - used}


def _latency(machine: Machine, disk: int, chance: random.Random) -> dict[str, Any]:
    busy = 55 if machine.hour == 11 else 8
    slow = 7 if (machine.host, disk) == SLOW and machine.hour == 11 else 1
    return {
        "rotational": True,
        "r_await_ms": round((6 + chance.random() * 2) * slow, 2),
        "w_await_ms": round((9 + chance.random() * 3) * slow, 2),
        "utilisation_percent": busy + chance.randrange(6),
    }


def _dimm(machine: Machine, dimm: str) -> dict[str, Any]:
    corrected = 0
    if (machine.host, dimm) == DIMM:
        corrected = max(0, 9 - machine.back) ** 2 * 3
    return {"corrected": corrected, "uncorrected": 0}
