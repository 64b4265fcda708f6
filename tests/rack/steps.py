"""What can be done to a host: the words of faults.yaml. Each takes the host and what stands behind the word."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tests.rack import qemu
from tests.rack.faults import Step
from tests.rack.host import BESIDE_AGENT, Host, RackError
from tests.rack.machines import mac
from tests.real.parts import bmc

SOCKETS: dict[str, list[socket.socket]] = {}
SPARE = "RKSPARE"
# ZooKeeper's ConnectRequest (protocol 0, a session of 40 s, no password), its ping and its end, each with its length
# before it; a session that is not ended expires, and the agent says so
HELLO = struct.pack(">iiqiqi16s?", 45, 0, 0, 40_000, 0, 16, bytes(16), False)
PING = struct.pack(">iii", 8, -2, 11)
BYE = struct.pack(">iii", 8, 1, -11)
SLOW: dict[str, threading.Event] = {}
STOPPED_S, RUNNING_S = 1.5, 0.2
KILL_AGENT = f"""{BESIDE_AGENT}
python3 -m agent > /run/half-report & agent=$!
until [ $(wc -l < /run/half-report) -gt 2 ]; do sleep 0.05; done
kill -KILL $agent; wait $agent || true
grep -q '"kind":"header"' /run/half-report && ! grep -q '"check":"agent"' /run/half-report"""


def do(host: Host, steps: Sequence[Step]) -> None:
    """One after the other. RackError names the step that failed."""
    for word, argument in steps:
        if word not in WORDS:
            raise RackError(f"no step {word!r}; there are {', '.join(sorted(WORDS))}")
        WORDS[word](host, argument)


def _sh(host: Host, script: str) -> None:
    host.sh(script)


def _nvme(host: Host, bits: int) -> None:
    host.set_nvme_warning(bits)


def _bmc(host: Host, words: str) -> None:
    """`only_bit PS1 FAILURE`, `set_bit PS1 PRESENT 0`, `freeze`, `thaw`, `slow`, `quick`, or a line for its console."""
    name, *rest = words.split()
    if name == "slow":
        SLOW[host.name] = threading.Event()
        threading.Thread(target=_slow, args=(host, SLOW[host.name]), daemon=True).start()
    elif name == "quick":
        SLOW.pop(host.name).set()
    elif name in ("freeze", "thaw"):
        getattr(host.bmc, name)()
    elif name in ("only_bit", "set_bit", "set_value"):
        getattr(host.bmc, name)(*(int(getattr(bmc, word, word)) for word in rest))
    else:
        host.bmc.command(words)


def _slow(host: Host, ended: threading.Event) -> None:
    """It works a fifth of a second at a time, with more than a second between."""
    while not ended.is_set():
        host.bmc.freeze()
        ended.wait(STOPPED_S)
        host.bmc.thaw()
        ended.wait(RUNNING_S)


def _link(host: Host, words: str) -> None:
    card, state = words.split()
    host.set_link(card, state == "up")


def _broker(host: Host, order: str) -> None:
    host.broker(order)


def _pull(host: Host, name: str) -> None:
    host.hot_remove_disk(name)


def _plug(host: Host, name: str) -> None:
    """The disk that was pulled, with what is on it."""
    host.hot_add_disk(host.disk(name), new=False)


def _plug_new(host: Host, name: str) -> None:
    """Another, empty disk in its place."""
    host.hot_add_disk(replace(host.disk(name), name=SPARE.lower()))


def _reboot(host: Host, _nothing: Any) -> None:
    host.reboot()


def _reset(host: Host, _nothing: Any) -> None:
    host.reset()


def _connect(host: Host, count: int) -> None:
    """So many ZooKeeper sessions from one address, kept alive: without one, it closes a connection after 10 s."""
    port = host.ports["service"]
    SOCKETS[host.name] = [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(count)]
    for one in SOCKETS[host.name]:
        one.sendall(HELLO)
    threading.Thread(target=_keep_alive, args=(host.name,), daemon=True).start()
    time.sleep(1)


def _keep_alive(name: str) -> None:
    while name in SOCKETS:
        for one in SOCKETS.get(name, []):
            with contextlib.suppress(OSError):  # closed by the other side, which is what the fault may be about
                one.sendall(PING)
        time.sleep(5)


def _disconnect(host: Host, _nothing: Any) -> None:
    held = SOCKETS.pop(host.name, [])
    for one in held:
        with contextlib.suppress(OSError):  # as in _keep_alive
            one.sendall(BYE)
    time.sleep(1)
    for one in held:
        one.close()


def _frames(host: Host, count: int) -> None:
    """So many frames of a protocol that nobody knows, from the wire between the hosts (one multicast datagram each)."""
    frame = (
        bytes.fromhex(mac(host.machine, 1).replace(":", "")) + bytes.fromhex("525400770fff") + b"\x88\xb6" + bytes(60)
    )
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire:
        wire.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
        for number in range(count):
            wire.sendto(frame, (qemu.WIRE, host.ports["lan"]))
            if number % 50 == 0:
                time.sleep(0.05)  # an emulated card takes them no faster


def _throttle(host: Host, words: str) -> None:
    """`j1sata2 6`: so many requests a second; 0 for all that there are."""
    name, rate = words.split()
    rates = dict.fromkeys(("bps", "bps_rd", "bps_wr", "iops_rd", "iops_wr"), 0)
    host.qmp("block_set_io_throttle", id=name, iops=int(rate), **rates)


def _stall(host: Host, seconds: float) -> None:
    host.stall(seconds)


def _agent_killed(host: Host, _nothing: Any) -> None:
    """Begin a run of the agent there, and kill it while it works."""
    host.sh(KILL_AGENT)


def _sleep(_host: Host, seconds: float) -> None:
    time.sleep(seconds)


WORDS: dict[str, Callable[[Host, Any], None]] = {
    "sh": _sh,
    "nvme": _nvme,
    "bmc": _bmc,
    "link": _link,
    "broker": _broker,
    "pull": _pull,
    "plug": _plug,
    "plug_new": _plug_new,
    "reboot": _reboot,
    "reset": _reset,
    "connect": _connect,
    "disconnect": _disconnect,
    "frames": _frames,
    "throttle": _throttle,
    "stall": _stall,
    "agent_killed": _agent_killed,
    "sleep": _sleep,
}
