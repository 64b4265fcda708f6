#!/usr/bin/env python3
"""What one run of the agent costs, beside a plain shell loop over the same commands in the same run.

The disks are a stand-in: a `smartctl` that lists N disks behind a MegaRAID controller, sleeps 50 ms for each and prints
a short healthy report. Every other tool is the real one, behind a wrapper that notes that it was called. The shell loop
then runs exactly the commands that were noted, one after the other.

    bench/agent.py [--runs 9] [--disks 4 24]
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOLS = ("ipmitool", "ethtool", "mdadm", "nft", "iptables-save", "chronyc", "ntpq", "timedatectl", "systemctl", "storcli",
         "perccli", "ssacli", "dmidecode", "rpm")  # fmt: skip
PR_SET_CHILD_SUBREAPER = 36

SMARTCTL = """#!/bin/sh
printf '%s\\n' "smartctl $*" >> {log}
case "$*" in
*--scan*) exec cat {folder}/scan.json ;;
esac
sleep 0.05
for word; do case $word in megaraid,*) exec cat {folder}/disk-"${{word#megaraid,}}".json ;; esac; done
exec cat {folder}/virtual.json
"""
WRAPPER = """#!/bin/sh
printf '%s\\n' "{name} $*" >> {log}
exec {real} "$@"
"""


class Cost(NamedTuple):
    """Wall seconds, processor seconds of the whole tree, and the peak resident set of its largest process in MB."""

    wall_s: float
    cpu_s: float
    rss_mb: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--disks", type=int, nargs="+", default=[4, 24])
    arguments = parser.parse_args()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    print(
        f"{arguments.runs} runs each, medians; {os.cpu_count()} cores, Python {sys.version.split()[0]}, load {os.getloadavg()[0]:.1f}"
    )
    print("floor: interpreter with json, psutil, pyudev, subprocess, threading:", end=" ")
    floor = median([measure([sys.executable, "-I", "-c", FLOOR], {}) for _ in range(arguments.runs)])
    print(f"{floor.cpu_s * 1000:.0f} ms CPU, {floor.rss_mb:.0f} MB")
    walls = [one_size(disks, arguments.runs) for disks in arguments.disks]
    print(f"growth of wall from {arguments.disks[0]} to {arguments.disks[-1]} disks: {walls[-1] / walls[0]:.2f}")


FLOOR = "import json, psutil, pyudev, subprocess, threading"


def one_size(disks: int, runs: int) -> float:
    """Measure with this many disks, print one block, give the wall of the agent."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        log = folder / "called"
        write_tools(folder, log, disks)
        environment = {"PATH": f"{folder}/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
        command = [
            sys.executable,
            "-I",
            "-m",
            "agent",
            "--state",
            str(folder / "state.json"),
            "--output",
            str(folder / "out"),
        ]
        measure(command, environment)  # the first run has no memory and no compiled files
        log.write_text("")
        measure(command, environment)
        called = log.read_text().splitlines()
        agent = median([measure(command, environment) for _ in range(runs)])
        loop = folder / "loop.sh"
        loop.write_text("".join(f"{words} >/dev/null 2>&1\n" for words in called))
        shell = median([measure(["sh", str(loop)], environment) for _ in range(runs)])
        alone = {words: median([measure(words.split(), environment) for _ in range(3)]).wall_s for words in set(called)}
        findings = [json.loads(line) for line in (folder / "out").read_text().splitlines()][1:]
    show(disks, agent, shell, alone, called, findings)
    return agent.wall_s


def show(
    disks: int, agent: Cost, shell: Cost, alone: dict[str, float], called: list[str], findings: list[dict]
) -> None:  # type: ignore[type-arg]
    slowest = max(alone, key=lambda words: alone[words])
    smart = [finding for finding in findings if finding["check"] == "smart"]
    print(
        f"\n{disks} disks ({len(smart)} smart findings, {sum(f['status'] == 'ok' for f in smart)} ok; {len(findings)} in all)"
    )
    print(
        f"  agent        {agent.wall_s * 1000:6.0f} ms wall  {agent.cpu_s * 1000:5.0f} ms CPU  {agent.rss_mb:4.0f} MB"
    )
    print(
        f"  shell loop   {shell.wall_s * 1000:6.0f} ms wall  {shell.cpu_s * 1000:5.0f} ms CPU   (the same {len(called)} commands)"
    )
    print(f"  slowest tool {alone[slowest] * 1000:6.0f} ms wall  ({slowest[:60]})")
    print(f"  (a) agent / slowest single tool   {agent.wall_s / alone[slowest]:.2f}   (goal 1.3)")
    print(f"  (b) CPU above that of the tools   {(agent.cpu_s - shell.cpu_s) * 1000:.0f} ms   (goal 150)")
    print(f"  (c) peak RSS                      {agent.rss_mb:.0f} MB   (goal 36)")
    smartctls = [words for words in called if words.startswith("smartctl")]
    scans = sum("--scan" in words for words in smartctls)
    print(
        f"  (d) processes                     {len(smartctls) - scans} smartctl + {scans} scan, {len(called) - len(smartctls)} other tools"
    )
    print(f"  (e) agent / shell loop, wall      {agent.wall_s / shell.wall_s:.2f}")


def write_tools(folder: pathlib.Path, log: pathlib.Path, disks: int) -> None:
    """The stand-in smartctl with its reports, and a noting wrapper around each real tool that is installed."""
    (folder / "bin").mkdir()
    devices = [{"name": "/dev/bus/0", "info_name": f"/dev/bus/0 [megaraid_disk_{n:02}]", "type": f"megaraid,{n}",
                "protocol": "SCSI"} for n in range(disks)]  # fmt: skip
    (folder / "scan.json").write_text(json.dumps({"smartctl": {"exit_status": 0}, "devices": devices}))
    for number in range(disks):
        (folder / f"disk-{number}.json").write_text(json.dumps(report(number)))
    (folder / "virtual.json").write_text(json.dumps({"smartctl": {"version": [7, 3], "exit_status": 4}}))
    scripts = {"smartctl": SMARTCTL.format(log=log, folder=folder)}
    for name in TOOLS:
        real = shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin")
        if real:
            scripts[name] = WRAPPER.format(name=name, log=log, real=real)
    for name, text in scripts.items():
        (folder / "bin" / name).write_text(text)
        (folder / "bin" / name).chmod(0o755)


def report(number: int) -> dict[str, object]:
    """A healthy SATA disk behind the controller, as short as smartctl 7 would print it (hand-made)."""
    attributes = [{"id": id_, "name": name, "value": 100, "worst": 100, "thresh": 10, "when_failed": "",
                   "flags": {"prefailure": True}, "raw": {"value": 0, "string": "0"}}
                  for id_, name in ((5, "Reallocated_Sector_Ct"), (187, "Reported_Uncorrect"), (197, "Current_Pending_Sector"),
                                    (198, "Offline_Uncorrectable"), (199, "UDMA_CRC_Error_Count"))]  # fmt: skip
    return {
        "json_format_version": [1, 0], "smartctl": {"version": [7, 3], "exit_status": 0},
        "device": {"name": "/dev/bus/0", "type": f"sat+megaraid,{number}", "protocol": "ATA"},
        "model_name": "ST8000NM0055-1RM112", "serial_number": f"ZA1BENCH{number:02}", "firmware_version": "SN04",
        "user_capacity": {"bytes": 8001563222016}, "rotation_rate": 7200, "smart_support": {"available": True, "enabled": True},
        "smart_status": {"passed": True}, "temperature": {"current": 31}, "power_on_time": {"hours": 12000},
        "ata_smart_attributes": {"table": attributes},
    }  # fmt: skip


def measure(command: list[str], environment: dict[str, str]) -> Cost:
    """Run to the end, orphans of the run included, and add up what all of them used."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    process = subprocess.Popen(command, env={**os.environ, **environment}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, cwd=ROOT)  # fmt: skip
    _pid, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    while True:  # what the run left behind comes to us
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            break
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(wall, cpu, usage.ru_maxrss / 1024)


def median(costs: list[Cost]) -> Cost:
    return Cost(*(statistics.median(column) for column in zip(*costs)))


if __name__ == "__main__":
    main()
