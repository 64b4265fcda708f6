#!/usr/bin/env python3
"""What reading a long kernel log costs: processor time of all checks that read it, on a first run that reads it all.

The log is made up of lines as a busy machine writes them (a packet filter that logs, containers that come and go,
audit, USB, disks and cards at boot), one in a hundred of them tells of trouble. Nothing else of the machine is asked.

    bench/kernel_lines.py [--lines 66000] [--runs 5]
"""

from __future__ import annotations

import argparse
import pathlib
import statistics
import sys
import time
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from agent import engine
from agent.host import Disk, Interface
from tests.machine import FakeHost

DAILY = (
    "[UFW BLOCK] IN=eth0 OUT= MAC=3c:fd:fe:00:00:01 SRC=10.1.2.{n} DST=10.1.2.3 LEN=60 TTL=64 PROTO=TCP SPT=40112",
    "docker0: port 3(veth1a2b{n}c) entered blocking state",
    "docker0: port 3(veth1a2b{n}c) entered disabled state",
    "device veth1a2b{n}c entered promiscuous mode",
    "eth0: renamed from veth1a2b{n}c",
    "IPv6: ADDRCONF(NETDEV_CHANGE): veth1a2b{n}c: link becomes ready",
    'audit: type=1400 audit(1795000000.{n}:812): apparmor="ALLOWED" operation="open" comm="java"',
    "perf: interrupt took too long (2511 > 2500), lowering kernel.perf_event_max_sample_rate to 79000",
    "TCP: request_sock_TCP: Possible SYN flooding on port 9092. Sending cookies.  Check SNMP counters.",
    "usb 1-1.{n}: new high-speed USB device number 4 using xhci_hcd",
    "EXT4-fs (sdd1): mounted filesystem with ordered data mode. Quota mode: none.",
    "sd 2:0:0:0: [sdc] tag#3 Sense Key : Illegal Request [current]",
    "mpt3sas_cm0: log_info(0x31110e03): originator(PL), code(0x11), sub_code(0x0e03)",
    "ixgbe 0000:05:00.0 eth0: NIC Link is Up 10 Gbps, Flow Control: RX/TX",
    "nvme nvme0: {n}/0/0 default/read/poll queues",
    "ata3.00: configured for UDMA/133",
)
TROUBLE = (
    "sd 2:0:0:0: [sdc] tag#12 Sense Key : Medium Error [current]",
    "blk_update_request: critical medium error, dev sdc, sector 1953458176",
    "EDAC MC1: 1 CE memory read error on CPU_SrcID#1_Chan#1_DIMM#1 (channel:1 slot:1 page:0x2b67afa offset:0xb40)",
    "ixgbe 0000:05:00.0 eth0: initiating reset due to tx timeout",
)


def log(lines: int) -> list[str]:
    texts = [TROUBLE[n // 100 % len(TROUBLE)] if n % 100 == 99 else DAILY[n % len(DAILY)].format(n=n % 250)
             for n in range(lines)]  # fmt: skip
    return [f"6,{n},{n * 1000},-;{text}" for n, text in enumerate(texts)]


def machine(records: list[str]) -> FakeHost:
    disk = Disk("sdc", "physical", "ST8000NM0055", "ZA1", "", 8 * 10**12, True, "ata", "", "8:32")
    card = Interface("eth0", "physical", "ixgbe", "3c:fd:fe:00:00:01", "0000:05:00.0", "")
    answers: dict[str, Any] = {"kernel_records": records, "disks": [disk], "interfaces": [card], "processes": []}
    return FakeHost(files={"/proc/vmstat": "oom_kill 0\n"}, answers={**answers, "uptime_s": len(records) / 1000})


def readers() -> list[str]:
    """The checks that ask for the kernel's records."""
    asked = []
    for name in engine.names():
        host = machine([])
        said = host.kernel_records
        host.kernel_records = lambda said=said, name=name: asked.append(name) or said()  # type: ignore[method-assign,misc]
        list(engine.run(host, [name]))
    return list(dict.fromkeys(asked))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, default=66_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    names, records = readers(), log(options.lines)
    took = []
    for _run in range(options.runs):
        before = time.process_time()
        found = list(engine.run(machine(records), names))
        took.append(time.process_time() - before)
    trouble = sum(one.status in ("warning", "critical") for one in found)
    print(f"{options.lines} lines, checks {', '.join(names)}: {trouble} findings of trouble")
    print(f"CPU {statistics.median(took):.2f} s (median of {options.runs}; least {min(took):.2f} s)")


if __name__ == "__main__":
    main()
