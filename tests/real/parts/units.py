"""A stand-in for systemd on the hosts of a test, which have none: its servers are real, and so are their ends.

`systemctl` there is this program. Units are files in a folder of the host; what it starts or adopts stands in a cgroup
of the unit's name, by a file that is mounted over /proc/PID/cgroup.
"""

from __future__ import annotations

import json
import pathlib
import sys
from collections.abc import Sequence
from typing import Any

from tests.real.parts.machines import Machine

SYSTEMCTL = f"""#!{sys.executable} -S
import glob, json, os, signal, subprocess, sys, time

HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + "/units/"
verb = next(word for word in sys.argv[1:] if not word.startswith("-"))
named = [word for word in sys.argv[sys.argv.index(verb) + 1:] if word.endswith(".service") and word[0] != "-"]
known = sorted(os.path.basename(path)[:-5] for path in glob.glob(HOME + "*.json"))

def told(unit):
    return json.load(open(HOME + unit + ".json"))

def keep(unit, **fields):
    open(HOME + unit + ".new", "w").write(json.dumps({{**told(unit), **fields}}))
    os.replace(HOME + unit + ".new", HOME + unit + ".json")

def runs(unit):
    try:
        words = open(f"/proc/{{told(unit)['pid']}}/cmdline").read().replace(chr(0), " ")
        return " ".join(told(unit)["argv"][-2:]) in words
    except (OSError, KeyError):
        return False

def mark(unit, pid):
    keep(unit, pid=pid)
    open(HOME + unit + ".cgroup", "w").write("0::/system.slice/" + unit + chr(10))
    subprocess.run(["mount", "--bind", HOME + unit + ".cgroup", f"/proc/{{pid}}/cgroup"], check=True)

def start(unit):
    if not runs(unit):
        log = open(HOME + unit + ".log", "ab")
        program, *words = told(unit)["argv"]
        # java reads its cgroup as it starts, and the one of a unit is nowhere to be found
        words = ["-XX:-UseContainerSupport", *words] if program == "java" else words
        process = subprocess.Popen([program, *words], cwd=told(unit)["cwd"], stdin=subprocess.DEVNULL, stdout=log,
                                   stderr=log, start_new_session=True)
        mark(unit, process.pid)
        keep(unit, starts=told(unit).get("starts", 0) + 1)

def stop(unit):
    for number, patience in ((signal.SIGTERM, 60), (signal.SIGKILL, 20)):
        until = time.monotonic() + patience
        while runs(unit) and time.monotonic() < until:
            os.kill(told(unit)["pid"], number)
            time.sleep(0.3)

def adopt(unit):
    words = told(unit)["argv"]
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        if open(path).read().split(chr(0))[:-1] == words:
            mark(unit, int(path.split("/")[2]))

def show(unit):
    if "LimitNOFILE" in " ".join(sys.argv):
        return "1048576"
    if "ExecStart" in " ".join(sys.argv):
        return "ExecStart={{ argv[]=" + " ".join(told(unit)["argv"]) + " ; }}" + chr(10) + "User=root"
    state = "active" if unit in known and runs(unit) else "inactive"
    loaded = "loaded" if unit in known else "not-found"
    return chr(10).join([f"Id={{unit}}", f"LoadState={{loaded}}", f"ActiveState={{state}}", "SubState=running",
                         "Result=success", "NRestarts=0", ""])

if verb == "list-unit-files":
    print(chr(10).join(f"{{unit}} {{'enabled' if told(unit)['enabled'] else 'disabled'}} enabled" for unit in known))
elif verb == "show":
    print(chr(10).join(map(show, named)))
elif verb in ("enable", "disable"):
    [keep(unit, enabled=verb == "enable") for unit in named]
elif verb == "is-enabled":
    print("enabled" if told(named[0])["enabled"] else "disabled")
elif verb == "is-active":
    sys.exit(0 if all(map(runs, named)) else 3)
elif verb == "adopt":
    [adopt(unit) for unit in named]
elif verb in ("start", "stop", "restart"):
    for unit in named:
        verb != "start" and stop(unit)
        verb != "stop" and start(unit)
elif verb not in ("daemon-reload", "reset-failed", "status"):
    sys.exit("this stand-in knows no " + verb)
"""

# NOT a reboot: the servers of the units are killed, the kernel says another boot, and what is enabled starts
SHUTDOWN = f"""#!{sys.executable} -S
import glob, json, os, signal, subprocess, sys, time, uuid

HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if "-c" in sys.argv or os.fork():
    sys.exit(0)
os.setsid()
[os.dup2(os.open(os.devnull, os.O_RDWR), number) for number in (0, 1, 2)]
time.sleep(1)
units = {{path: json.load(open(path)) for path in glob.glob(HOME + "/units/*.service.json")}}
for said in units.values():
    try:
        os.kill(said["pid"], signal.SIGKILL)
    except ProcessLookupError:
        pass
open(HOME + "/boot_id", "w").write(str(uuid.uuid4()) + chr(10))
subprocess.run(["mount", "--bind", HOME + "/boot_id", "/proc/sys/kernel/random/boot_id"], check=True)
enabled = [os.path.basename(path)[:-5] for path, said in units.items() if said["enabled"]]
open(HOME + "/booted", "a").write(" ".join(["started", *enabled]) + chr(10))
for unit in enabled:
    subprocess.run([HOME + "/bin/systemctl", "start", unit], check=True)
"""


def install(home: pathlib.Path) -> str:
    """Put `systemctl` into a host; the folder for its PATH."""
    (home / "units").mkdir()
    (home / "bin").mkdir()
    for name, text in (("systemctl", SYSTEMCTL), ("shutdown", SHUTDOWN)):
        (home / f"bin/{name}").write_text(text)
        (home / f"bin/{name}").chmod(0o755)
    return str(home / "bin")


def adopt(machine: Machine, unit: str, argv: Sequence[str], cwd: pathlib.Path) -> None:
    """The server that runs there with these words is the unit's from now on; it starts at boot."""
    home = machine.sshd.folder
    (home / f"units/{unit}.json").write_text(json.dumps({"argv": list(argv), "cwd": str(cwd), "enabled": True}))
    machine.run(str(home / "bin/systemctl"), "adopt", unit)


def told(machine: Machine, unit: str) -> dict[str, Any]:
    """Its file: argv, enabled, pid (as the host sees it), and how many times it was started."""
    said: dict[str, Any] = json.loads((machine.sshd.folder / f"units/{unit}.json").read_text())
    return said
