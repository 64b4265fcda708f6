#!/usr/bin/env python3
"""What asking N hosts costs, beside clush and Fabric's own ThreadingGroup in the same run.

One sshd on 8 ports in a network and mount namespace of its own, loopback only; host i is 127.1.x.y, spread over the
ports by iptables, so that no accept backlog is full. Each host runs `sleep 0.05; cat report` (50 KB, some 100
findings), the same for all three; host keys are verified by ours and by clush, not by ThreadingGroup, which cannot.
clush: 64 at once, KexAlgorithms=curve25519-sha256, each ssh in a session of its own (setsid) for a fair share of the
processor. Client CPU is user and system time of the client and all it started (wait4), memory the largest resident
size of its largest process. Needs root, clustershell, iptables, openssh.

    bench/fanout.py [--hosts 32 128 256] [--runs 5]
    bench/fanout.py --hostile [--runs 5]

--hostile: 56 good hosts at 64 at once: alone; among 130 frozen ones that accept and say nothing; among these and 70
ordinary others; and among these and 70 hostile ones instead: 35 that print records until they are cut off, 35 that
print a word now and then. How many good reports came whole, when the middle and the last of them was handed over, and
the memory. No goal is on the whole run, which ends with the last bad host.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
import os
import pathlib
import random
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any, NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
PORTS = range(2200, 2208)
REPORT_BYTES = 50 << 10
FAR = "sleep 0.05; cat {folder}/report"
AT_ONCE = 64
SSH = ["-F", "/dev/null", "-o", "IdentitiesOnly=yes", "-o", "StrictHostKeyChecking=yes", "-o", "BatchMode=yes",
       "-o", "KexAlgorithms=curve25519-sha256", "-o", "LogLevel=ERROR"]  # fmt: skip
GOALS = {
    "CPU to clush": 0.45,
    "CPU to ThreadingGroup": 0.7,
    "wall to clush": 0.75,
    "memory to ThreadingGroup": 0.8,
    "CPU per host, 256 to 128": 1.15,
}


class Cost(NamedTuple):
    """Of one run of one client; seconds and MB."""

    wall: float
    cpu: float
    rss: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, nargs="+", default=[32, 128, 256])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--hostile", action="store_true")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    parser.add_argument("--client", choices=[*CLIENTS, *GOOD_CLIENTS], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.client:
        return {**CLIENTS, **GOOD_CLIENTS}[arguments.client](pathlib.Path(arguments.inside), arguments.hosts[0])
    if arguments.inside and arguments.hostile:
        return among_hostile(pathlib.Path(arguments.inside), arguments.runs)
    if arguments.inside:
        return compare(pathlib.Path(arguments.inside), arguments.hosts, arguments.runs)
    for tool in (*(() if arguments.hostile else ("clush",)), "iptables", "/usr/sbin/sshd", "unshare"):
        if not shutil.which(tool):
            return print(f"needs {tool}") or 1
    with tempfile.TemporaryDirectory() as folder:
        command = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        return subprocess.call([*command, sys.executable, __file__, *sys.argv[1:], "--inside", folder])


def addresses(hosts: int) -> list[str]:
    return [f"127.1.{number // 250}.{number % 250 + 1}" for number in range(hosts)]


def compare(folder: pathlib.Path, sizes: list[int], runs: int) -> int:
    """All clients at all sizes, in shuffled order; prints medians and ratios."""
    prepare(folder, max(sizes))
    serve(folder)
    seen: dict[tuple[str, int], list[Cost]] = {}
    rounds = [(client, size) for client in CLIENTS for size in sizes] * runs
    random.shuffle(rounds)
    for client, size in [(client, sizes[0]) for client in CLIENTS]:
        measure(folder, client, size)  # warms caches; not counted
    for client, size in rounds:
        seen.setdefault((client, size), []).append(measure(folder, client, size))
    overflows = pathlib.Path("/proc/net/netstat").read_text().splitlines()
    counts = dict(zip(overflows[0].split(), overflows[1].split(), strict=True))
    show(seen, sizes, runs, counts.get("ListenOverflows", "?"))
    return 0


def prepare(folder: pathlib.Path, hosts: int) -> None:
    """Keys, known_hosts and the report."""
    sys.path.insert(0, str(ROOT))
    from tests import records

    for name in ("host_key", "id"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    key = " ".join((folder / "host_key.pub").read_text().split()[:2])
    (folder / "known_hosts").write_text("".join(f"{address} {key}\n" for address in addresses(hosts)))
    (folder / "authorized_keys").write_text((folder / "id.pub").read_text())
    line = lambda **fields: json.dumps(records.finding(**fields), separators=(",", ":"))  # noqa: E731
    lines, size = [], 0
    while size < REPORT_BYTES - 600:
        lines.append(line(item=f"/kafka/d{len(lines)}", facts={"free_bytes": len(lines) << 40}))
        size += len(lines[-1]) + 1
    lines.append(line(check="agent", item="state"))
    (folder / "report").write_text("\n".join(lines) + "\n")
    (folder / "empty").write_text("")


def serve(folder: pathlib.Path) -> None:
    """An sshd that ends with this process namespace."""
    run = lambda *words: subprocess.run([str(word) for word in words], check=True)  # noqa: E731
    run("ip", "link", "set", "lo", "up")
    for number, port in enumerate(PORTS):
        spread = ["-m", "statistic", "--mode", "nth", "--every", len(PORTS) - number, "--packet", 0]
        run("iptables", "-t", "nat", "-A", "OUTPUT", "-p", "tcp", "-d", "127.1.0.0/16", "--dport", 22, *spread,
            "-j", "REDIRECT", "--to-ports", port)  # fmt: skip
    if (pathlib.Path.home() / ".bashrc").exists():
        run("mount", "--bind", folder / "empty", pathlib.Path.home() / ".bashrc")
    pathlib.Path("/run/sshd").mkdir(exist_ok=True)
    options = [f"Port={port}" for port in PORTS]
    options += [f"AuthorizedKeysFile={folder}/authorized_keys", "StrictModes=no", "UsePAM=no", "PidFile=none",
                "MaxStartups=2000", "LogLevel=ERROR", "ListenAddress=0.0.0.0"]  # fmt: skip
    words = [word for option in options for word in ("-o", option)]
    subprocess.Popen(["/usr/sbin/sshd", "-D", "-e", "-f", "/dev/null", "-h", folder / "host_key", *words])
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", PORTS[-1]), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise SystemExit("sshd does not start")


def measure(folder: pathlib.Path, client: str, hosts: int) -> Cost:
    """One client's whole process, start-up included."""
    words = [sys.executable, __file__, "--inside", str(folder), "--client", client, "--hosts", str(hosts)]
    if client == "clush":
        words = clush_command(folder, hosts)
    began = time.monotonic()
    with (folder / "out").open("wb") as out:
        pid = os.posix_spawn(shutil.which(words[0]) or words[0], words, environment(folder),
                             file_actions=[(os.POSIX_SPAWN_DUP2, out.fileno(), 1)])  # fmt: skip
        _, status, usage = os.wait4(pid, 0)
    wall = time.monotonic() - began
    check(folder, client, hosts, status)
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def environment(folder: pathlib.Path) -> dict[str, str]:
    """All clients compiled, as they are when installed: the first run, not counted, compiles them."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": f"{folder}/compiled"}


def check(folder: pathlib.Path, client: str, hosts: int, status: int) -> None:
    """Every host's whole report must have come."""
    size = (folder / "out").stat().st_size
    if client == "clush":
        good = size >= hosts * (folder / "report").stat().st_size
    else:
        good = (folder / "out").read_text().split() == [str(hosts)]
    if status or not good:
        raise SystemExit(f"{client}, {hosts} hosts: failed (status {status}, {size} bytes)")


def clush_command(folder: pathlib.Path, hosts: int) -> list[str]:
    options = " ".join([*SSH, "-i", f"{folder}/id", "-o", f"UserKnownHostsFile={folder}/known_hosts"])
    return ["clush", "-N", "-q", "-f", str(AT_ONCE), "-O", "ssh_path=setsid -w ssh", "-o", options,
            "-w", ",".join(addresses(hosts)), FAR.format(folder=folder)]  # fmt: skip


def threading_group(folder: pathlib.Path, hosts: int) -> int:
    from fabric import ThreadingGroup

    given = {"key_filename": str(folder / "id"), "look_for_keys": False, "allow_agent": False}
    results = ThreadingGroup(*addresses(hosts), connect_kwargs=given).run(FAR.format(folder=folder), hide=True)
    size = (folder / "report").stat().st_size
    print(sum(len(result.stdout) == size for result in results.values()))
    return 0


def ours(folder: pathlib.Path, hosts: int) -> int:
    sys.path.insert(0, str(ROOT))
    from inventory.model import Host
    from smoketests.remote import fanout
    from smoketests.remote.bundle import Bundle
    from smoketests.ssh.connect import Access

    access = Access(known_hosts=(str(folder / "known_hosts"),), key_files=(str(folder / "id"),), use_agent=False)
    # as the report has it: a healthy host speaks of itself
    who = Host("kafka-a03", cluster="prod-a", roles=("broker",), layout="jbod", rack="r7")
    fleet = [dataclasses.replace(who, address=address) for address in addresses(hosts)]
    far = FAR.format(folder=folder)
    findings = len((folder / "report").read_text().splitlines())
    whole = 0
    for heard in fanout.run(fleet, fanout.Options(jobs=AT_ONCE), Bundle(b"", "", ""), access, "r1", lambda *_: far):
        whole += len(heard.report.findings) == findings == len(heard.lines)
    print(whole)
    return 0


GOOD, FROZEN, FLOODS, DRIPS = 56, 130, 35, 35
FROZEN_PORT = 2300
FLOOD = "head -c 8000000 {folder}/flood"
DRIP = "while sleep 0.5; do echo wait; done"
GOOD_FAR = "sleep 1; cat {folder}/report"


def among_hostile(folder: pathlib.Path, runs: int) -> int:
    """The good hosts alone and among the bad ones, in turn; prints medians."""
    prepare(folder, GOOD + FLOODS + DRIPS)
    line = (folder / "report").read_text().splitlines()[0]
    (folder / "flood").write_text(f"{line}\n" * (8_000_000 // len(line)))
    serve(folder)
    silent = socket.create_server(("127.0.0.1", FROZEN_PORT), backlog=1000)
    seen: dict[str, list[list[float]]] = {name: [] for name in GOOD_CLIENTS}
    for _ in range(runs):
        for client, rows in seen.items():
            words = [sys.executable, __file__, "--inside", str(folder), "--client", client]
            answer = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True, env=environment(folder))
            rows.append([float(word) for word in answer.stdout.split()])
    silent.close()
    print("| 56 good hosts | whole reports | middle one after s | last after s | memory MB |\n|---|---|---|---|---|")
    middle = {
        client: [statistics.median(column) for column in zip(*rows, strict=True)] for client, rows in seen.items()
    }
    for client, (whole, median, last, memory) in middle.items():
        print(f"| {client} | {whole:.0f} | {median:.2f} | {last:.2f} | {memory:.0f} |")
    print(f"\nmiddle among frozen to alone: {middle['frozen'][1] / middle['alone'][1]:.2f} (goal, at most: 1.3), "
          f"among hostile: {middle['hostile'][1] / middle['alone'][1]:.2f}, "
          f"to as many ordinary ones: {middle['hostile'][1] / middle['frozen and others'][1]:.2f}")  # fmt: skip
    return 0


def good_ones(
    folder: pathlib.Path, _hosts: int, frozen: int = 0, floods: int = 0, drips: int = 0, others: int = 0
) -> int:
    """Prints how many good reports came whole, when the middle and the last came, and our memory in MB."""
    sys.path.insert(0, str(ROOT))
    from inventory.model import Host
    from smoketests.remote import fanout
    from smoketests.remote.bundle import Bundle
    from smoketests.ssh.connect import Access

    kinds = ["good"] * GOOD + ["flood"] * floods + ["drip"] * drips + ["other"] * others
    fleet = [Host(f"{kind}-{address}", address=address)
             for kind, address in zip(kinds, addresses(len(kinds)), strict=True)]  # fmt: skip
    fleet += [Host(f"frozen-{number}", address="127.0.0.1", port=FROZEN_PORT) for number in range(frozen)]
    random.Random(12).shuffle(fleet)

    def far(host: Host, *_: object) -> str:
        kind = host.name.partition("-")[0]
        return {"good": GOOD_FAR, "flood": FLOOD, "drip": DRIP, "other": GOOD_FAR}[kind].format(folder=folder)

    access = Access(known_hosts=(str(folder / "known_hosts"),), key_files=(str(folder / "id"),), use_agent=False)
    options = fanout.Options(jobs=AT_ONCE, run_s=20, grace_s=5)
    whole = len((folder / "report").read_text().splitlines())
    began, times = time.monotonic(), []
    for heard in fanout.run(fleet, options, Bundle(b"", "", ""), access, "r1", far):
        if heard.host.name.startswith("good") and len(heard.lines) == whole:
            times.append(time.monotonic() - began)
        elif heard.host.name.startswith("good"):
            print(f"{heard.host.name}: {heard.reach.reason}", file=sys.stderr)
    print(len(times), statistics.median(times), max(times), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    return 0


def show(seen: dict[tuple[str, int], list[Cost]], sizes: list[int], runs: int, overflows: str) -> None:
    middle = {key: Cost(*map(statistics.median, zip(*costs, strict=True))) for key, costs in seen.items()}
    best = {key: Cost(*map(min, zip(*costs, strict=True))) for key, costs in seen.items()}
    print(f"medians of {runs} runs, in shuffled order; in brackets the least; accept backlog overflows: {overflows}\n")
    print("| hosts | client | wall s | CPU s | CPU ms per host | memory MB |\n|---|---|---|---|---|---|")
    for size in sizes:
        for client in CLIENTS:
            cost, least = middle[client, size], best[client, size]
            print(f"| {size} | {client} | {cost.wall:.2f} ({least.wall:.2f}) | {cost.cpu:.2f} ({least.cpu:.2f}) "
                  f"| {cost.cpu / size * 1000:.1f} | {cost.rss:.0f} |")  # fmt: skip
    print("\n| hosts | CPU to clush | CPU to ThreadingGroup | wall to clush | memory to ThreadingGroup |")
    print("|---|---|---|---|---|")
    for size in sizes:
        us, clush, group = (middle[client, size] for client in ("ours", "clush", "ThreadingGroup"))
        print(f"| {size} | {us.cpu / clush.cpu:.2f} | {us.cpu / group.cpu:.2f} | {us.wall / clush.wall:.2f} "
              f"| {us.rss / group.rss:.2f} |")  # fmt: skip
    if {128, 256} <= set(sizes):
        ratio = middle["ours", 256].cpu / 256 / (middle["ours", 128].cpu / 128)
        print(f"\nCPU per host, 256 hosts to 128: {ratio:.2f}")
    print("goals, at most: " + ", ".join(f"{name} {most}" for name, most in GOALS.items()))


CLIENTS: dict[str, Any] = {"ours": ours, "clush": None, "ThreadingGroup": threading_group}
GOOD_CLIENTS = {
    "alone": good_ones,
    "frozen": functools.partial(good_ones, frozen=FROZEN),
    "frozen and others": functools.partial(good_ones, frozen=FROZEN, others=FLOODS + DRIPS),
    "hostile": functools.partial(good_ones, frozen=FROZEN, floods=FLOODS, drips=DRIPS),
}

if __name__ == "__main__":
    sys.exit(main())
