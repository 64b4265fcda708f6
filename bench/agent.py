#!/usr/bin/env python3
"""What one run of the agent costs, beside a plain shell loop over the same commands in the same run.

The disks are a stand-in: a `smartctl` that lists N disks behind a MegaRAID controller, sleeps for each and prints a
short healthy report. Every other tool is the real one, behind a wrapper that notes that it was called. The shell loop
then runs exactly the commands that were noted, one after the other.

    bench/agent.py [--runs 9] [--disks 4 24] [--sleep 0.05 0.5]
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
from typing import Any, NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOLS = ["chronyc", "dmidecode", "ethtool", "ipmitool", "iptables-save", "mdadm", "nft", "ntpq", "perccli", "rpm"]
TOOLS += ["ssacli", "storcli", "systemctl", "timedatectl"]
PR_SET_CHILD_SUBREAPER = 36
SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
FLOOR = "import json, psutil, pyudev, subprocess, threading"

SMARTCTL = """#!/bin/sh
printf '%s\\n' "smartctl $*" >> {log}
case "$*" in
*--scan*) exec cat {folder}/scan.json ;;
esac
sleep {sleep}
for word; do case $word in megaraid,*) exec cat {folder}/disk-"${{word#megaraid,}}".json ;; esac; done
exec cat {folder}/virtual.json
"""
WRAPPER = """#!/bin/sh
printf '%s\\n' "{name} $*" >> {log}
exec {real} "$@"
"""
ATTRIBUTES = {
    5: "Reallocated_Sector_Ct",
    187: "Reported_Uncorrect",
    197: "Current_Pending_Sector",
    198: "Offline_Uncorrectable",
    199: "UDMA_CRC_Error_Count",
}


class Cost(NamedTuple):
    """Wall seconds, processor seconds of the whole tree, and the peak resident set of its largest process in MB."""

    wall_s: float
    cpu_s: float
    rss_mb: float


class Trial(NamedTuple):
    """One number of disks: the agent, the shell loop, each command alone (wall seconds), what was called and found."""

    agent: Cost
    shell: Cost
    alone: dict[str, float]
    called: list[str]
    findings: list[dict[str, Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--disks", type=int, nargs="+", default=[4, 24])
    parser.add_argument("--sleep", type=float, nargs="+", default=[0.05, 0.5], help="seconds that one smartctl takes")
    arguments = parser.parse_args()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    python = sys.version.split()[0]
    print(
        f"{arguments.runs} runs each, medians; {os.cpu_count()} cores, Python {python}, load {os.getloadavg()[0]:.1f}"
    )
    floor = median([measure([sys.executable, "-I", "-c", FLOOR], {}) for _ in range(arguments.runs)])
    print(f"floor ({FLOOR}): {floor.wall_s * 1000:.0f} ms wall, {floor.cpu_s * 1000:.0f} ms CPU, {floor.rss_mb:.0f} MB")
    for sleep in arguments.sleep:
        walls = []
        for disks in arguments.disks:
            trial = one_size(disks, sleep, arguments.runs)
            show(disks, sleep, trial)
            walls.append(trial.agent.wall_s)
        print(f"  wall from {arguments.disks[0]} to {arguments.disks[-1]} disks: {walls[-1] / walls[0]:.2f} times")


def one_size(disks: int, sleep: float, runs: int) -> Trial:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        log = folder / "called"
        write_tools(folder, log, disks, sleep)
        environment = {"PATH": f"{folder}/bin:{SYSTEM_PATH}"}
        files = ["--state", str(folder / "state.json"), "--output", str(folder / "out")]
        command = [sys.executable, "-I", "-m", "agent", *files]
        measure(command, environment)  # the first run has no memory and no compiled files
        log.write_text("")
        measure(command, environment)
        called = log.read_text().splitlines()
        agent = median([measure(command, environment) for _ in range(runs)])
        findings = [json.loads(line) for line in (folder / "out").read_text().splitlines()][1:]
        loop = folder / "loop.sh"
        loop.write_text("".join(f"{words} >/dev/null 2>&1\n" for words in called))
        shell = median([measure(["sh", str(loop)], environment) for _ in range(3)])
        alone = {words: median([measure(words.split(), environment) for _ in range(3)]).wall_s for words in set(called)}
    return Trial(agent, shell, alone, called, findings)


def show(disks: int, sleep: float, trial: Trial) -> None:
    agent, shell = trial.agent, trial.shell
    slowest = max(trial.alone, key=lambda words: trial.alone[words])
    smart = [finding["status"] for finding in trial.findings if finding["check"] == "smart"]
    smartctls = [words for words in trial.called if words.startswith("smartctl")]
    scans = sum("--scan" in words for words in smartctls)
    others = len(trial.called) - len(smartctls)
    ratio, over = agent.wall_s / trial.alone[slowest], agent.wall_s - trial.alone[slowest]
    print(f"\n{disks} disks, {sleep * 1000:.0f} ms each ({smart.count('ok')} of {len(smart)} smart findings ok)")
    print(f"  agent        {agent.wall_s * 1000:6.0f} ms wall {agent.cpu_s * 1000:5.0f} ms CPU {agent.rss_mb:4.0f} MB")
    print(f"  shell loop   {shell.wall_s * 1000:6.0f} ms wall {shell.cpu_s * 1000:5.0f} ms CPU")
    print(f"  slowest tool {trial.alone[slowest] * 1000:6.0f} ms wall ({slowest[:60]})")
    print(f"  (a) agent / slowest tool  {ratio:.2f} (goal 1.25); {over * 1000:.0f} ms over it")
    print(f"  (b) CPU above the tools'  {(agent.cpu_s - shell.cpu_s) * 1000:.0f} ms (goal 130)")
    print(f"  (c) peak RSS              {agent.rss_mb:.0f} MB (goal 24)")
    print(f"  (d) processes             {len(smartctls) - scans} smartctl, {scans} scan, {others} other tools")
    print(f"  (e) agent / shell loop    {agent.wall_s / shell.wall_s:.2f} (wall)")


def write_tools(folder: pathlib.Path, log: pathlib.Path, disks: int, sleep: float) -> None:
    """The stand-in smartctl with its reports, and a noting wrapper around each real tool that is installed."""
    (folder / "bin").mkdir()
    devices = [{"name": "/dev/bus/0", "type": f"megaraid,{number}", "protocol": "SCSI"} for number in range(disks)]
    (folder / "scan.json").write_text(json.dumps({"smartctl": {"exit_status": 0}, "devices": devices}))
    for number in range(disks):
        (folder / f"disk-{number}.json").write_text(json.dumps(report(number)))
    (folder / "virtual.json").write_text(json.dumps({"smartctl": {"version": [7, 3], "exit_status": 4}}))
    scripts = {"smartctl": SMARTCTL.format(log=log, folder=folder, sleep=sleep)}
    for name in TOOLS:
        real = shutil.which(name, path=SYSTEM_PATH)
        if real:
            scripts[name] = WRAPPER.format(name=name, log=log, real=real)
    for name, text in scripts.items():
        (folder / "bin" / name).write_text(text)
        (folder / "bin" / name).chmod(0o755)


def report(number: int) -> dict[str, object]:
    """A healthy SATA disk behind the controller, as short as smartctl 7 would print it (hand-made)."""
    sound = {"value": 100, "worst": 100, "thresh": 10, "when_failed": "", "raw": {"value": 0, "string": "0"}}
    table = [{"id": id_, "name": name, "flags": {"prefailure": True}, **sound} for id_, name in ATTRIBUTES.items()]
    return {
        "json_format_version": [1, 0],
        "smartctl": {"version": [7, 3], "exit_status": 0},
        "device": {"name": "/dev/bus/0", "type": f"sat+megaraid,{number}", "protocol": "ATA"},
        "model_name": "ST8000NM0055-1RM112",
        "serial_number": f"ZA1BENCH{number:02}",
        "firmware_version": "SN04",
        "user_capacity": {"bytes": 8001563222016},
        "rotation_rate": 7200,
        "smart_support": {"available": True, "enabled": True},
        "smart_status": {"passed": True},
        "temperature": {"current": 31},
        "power_on_time": {"hours": 12000},
        "ata_smart_attributes": {"table": table},
    }


def measure(command: list[str], environment: dict[str, str]) -> Cost:
    """Run to the end, orphans of the run included, and add up what all of them used."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(
        command, env={**os.environ, **environment}, stdin=quiet, stdout=quiet, stderr=quiet, cwd=ROOT
    )
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
    return Cost(*(statistics.median(column) for column in zip(*costs, strict=True)))


if __name__ == "__main__":
    main()
