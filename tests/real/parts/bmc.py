"""A real BMC for tests: OpenIPMI's ipmi_sim, asked by the real ipmitool over lanplus on loopback."""

from __future__ import annotations

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from agent.expected import Bmc

USER, PASSWORD = "admin", "s3cret-of-the-test"
ANSWERS_WITHIN_S = 15.0

# Numbers of the sensors, and of the bits of the discrete ones
PS1, PS2, REDUNDANCY, DRIVE, FAN, INLET, VOLT, INTRUSION = range(1, 9)
PRESENT, FAILURE, PREDICTIVE, AC_LOST = range(4)

CONFIG = """\
name "bmc"
set_working_mc 0x20
startlan 1
  addr 127.0.0.1 {port}
  priv_limit admin
  allowed_auths_callback none md2 md5 straight
  allowed_auths_user none md2 md5 straight
  allowed_auths_operator none md2 md5 straight
  allowed_auths_admin none md2 md5 straight
  guid a123456789abcdefa123456789abcdef
endlan
console 127.0.0.1 {console}
user 1 true "" "test" user 10 none md2 md5 straight
user 2 true "{user}" "{password}" admin 10 none md2 md5 straight
"""


class RealBmc:
    """A running ipmi_sim: two power supplies with redundancy, a drive slot, a fan, a temperature, a voltage."""

    def __init__(self, pid: int, port: int, console: int) -> None:
        self.pid, self.port, self._console = pid, port, console

    @property
    def expected(self) -> Bmc:
        return Bmc("lan", "127.0.0.1", self.port, USER)

    def command(self, words: str) -> None:
        """One line of ipmi_sim_cmd(5) on its console."""
        with socket.create_connection(("127.0.0.1", self._console), timeout=ANSWERS_WITHIN_S) as console:
            console.sendall(words.encode() + b"\n")
            console.settimeout(ANSWERS_WITHIN_S)
            answer = b""
            while not answer.rstrip(b" ").endswith(b"\r>"):
                answer += console.recv(4096)
        assert b"**" not in answer, answer  # it complains so: **Unknown command: …

    def set_bit(self, sensor: int, bit: int, on: bool, event: bool = True) -> None:
        self.command(f"sensor_set_bit 0x20 0 {sensor} {bit} {on:d} {event:d}")

    def only_bit(self, sensor: int, bit: int) -> None:
        self.command(f"sensor_set_bit_clr_rest 0x20 0 {sensor} {bit} 1 1")

    def set_value(self, sensor: int, value: int) -> None:
        """Of an analog sensor, in its raw unit: the fan's is 100 RPM."""
        self.command(f"sensor_set_value 0x20 0 {sensor} {value} 1")

    def add_event(self, sensor_type: int, sensor: int, reading_type: int, data: Sequence[int]) -> None:
        """A record of the event log, as a BIOS writes it; no time, as after a power loss of the BMC."""
        body = [0, 0, 0, 0, 0x20, 0, 4, sensor_type, sensor, reading_type, *data]
        self.command("sel_add 0x20 2 " + " ".join(f"{byte:#04x}" for byte in body))

    def freeze(self) -> None:
        """It takes packets and answers none."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)


def _name(name: str) -> list[int]:
    return [0xC0 | len(name), *name.encode()]


def _record(kind: int, body: list[int]) -> str:
    return "main_sdr_add 0x20 " + " ".join(f"{byte:#04x}" for byte in [0, 0, 0x51, kind, len(body), *body])


def _discrete(
    number: int, name: str, entity: tuple[int, int], kind: int, states: int, reading: int = 0x6F
) -> list[str]:
    """A compact sensor record (type 2) and its sensor, with bit 0 set."""
    mask = (1 << states) - 1
    bits = f"{mask:015b}"
    masks = [mask & 0xFF, mask >> 8] * 3
    body = [
        0x20,
        0,
        number,
        *entity,
        0x67,
        0x40,
        kind,
        reading,
        *masks,
        0xC0,
        0,
        0,
        1,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        *_name(name),
    ]
    return [
        f"sensor_add 0x20 0 {number} {kind} {reading}",
        f"sensor_set_bit_clr_rest 0x20 0 {number} 0 1",
        f"sensor_set_event_support 0x20 0 {number} enable scanning per-state {bits} {bits} {bits} {bits}",
        _record(2, body),
    ]


def _analog(number: int, name: str, entity: tuple[int, int], kind: int, unit: int, times: int, value: int,
            thresholds: Sequence[int]) -> list[str]:  # fmt: skip
    """A full sensor record (type 1) and its sensor. thresholds: unr, uc, unc, lnr, lc, lnc, raw."""
    bits = "000111111111111"
    body = [0x20, 0, number, *entity, 0x7F, 0x68, kind, 1, 0xFF, 0x7F, 0xFF, 0x7F, 0x3F, 0x3F, 0, unit, 0, 0]
    body += [times & 0xFF, (times >> 8) << 6, *[0] * 8, 0xFF, *[0] * 12, *_name(name)]
    return [
        f"sensor_add 0x20 0 {number} {kind} 1",
        f"sensor_set_threshold 0x20 0 {number} settable 111111 {' '.join(map(str, thresholds))}",
        f"sensor_set_event_support 0x20 0 {number} enable scanning per-state {bits} {bits} {bits} {bits}",
        f"sensor_set_value 0x20 0 {number} {value} 0",
        _record(1, body),
    ]


def _emulation() -> str:
    lines = [
        "mc_setbmc 0x20",
        "mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr",
        "sel_enable 0x20 1000 0x0a",
        *_discrete(PS1, "PS1 Status", (10, 1), 0x08, 7),
        *_discrete(PS2, "PS2 Status", (10, 2), 0x08, 7),
        *_discrete(REDUNDANCY, "PS Redundancy", (7, 1), 0x08, 8, reading=0x0B),
        *_discrete(DRIVE, "Drive 0", (4, 1), 0x0D, 9),
        *_analog(FAN, "FAN1", (29, 1), 0x04, 18, 100, 54, [255, 250, 240, 8, 10, 12]),
        *_analog(INLET, "Inlet Temp", (7, 1), 0x01, 1, 1, 24, [60, 50, 45, 0, 0, 0]),
        *_analog(VOLT, "P12V", (7, 1), 0x02, 4, 1, 12, [15, 14, 13, 9, 10, 11]),
        *_discrete(INTRUSION, "Chassis Intru", (23, 1), 0x05, 7),
        f"sensor_set_bit 0x20 0 {INTRUSION} 0 0 0",
        "mc_enable 0x20",
    ]
    return "\n".join(lines) + "\n"


def _free_port(kind: socket.SocketKind) -> int:
    with socket.socket(socket.AF_INET, kind) as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def prepare(folder: pathlib.Path, port: int, console: int, host_port: int = 0) -> list[str]:
    """Write what it reads, and give its command line. host_port: where the machine it belongs to is to connect."""
    (folder / "state").mkdir()
    config = CONFIG.format(port=port, console=console, user=USER, password=PASSWORD)
    config += f"serial 15 127.0.0.1 {host_port} codec VM\n" if host_port else ""
    (folder / "lan.conf").write_text(config)
    (folder / "bmc.emu").write_text(_emulation())
    return ["ipmi_sim", "-c", "lan.conf", "-f", "bmc.emu", "-s", "state"]


@contextmanager
def real_bmc(folder: pathlib.Path) -> Iterator[RealBmc]:
    """A BMC that answers, stopped at the end by its own pid; skips where its programs are not installed."""
    for tool, package in (("ipmi_sim", "openipmi"), ("ipmitool", "ipmitool")):
        if not shutil.which(tool):
            pytest.skip(f"needs {tool} (package {package})")
    port, console = _free_port(socket.SOCK_DGRAM), _free_port(socket.SOCK_STREAM)
    argv = prepare(folder, port, console)
    with (folder / "bmc.log").open("wb") as log:
        # It ends when its standard input does, so ours stays open; and on SIGPIPE when a console is closed early,
        # which Python ignores and so it does, if not restored.
        process = subprocess.Popen(
            argv, cwd=folder, stdin=subprocess.PIPE, stdout=log, stderr=log, restore_signals=False
        )
    try:
        _wait_until_it_listens(process, console, folder / "bmc.log")
        yield RealBmc(process.pid, port, console)
    finally:
        process.kill()
        process.wait()


def _wait_until_it_listens(process: subprocess.Popen[bytes], console: int, log: pathlib.Path) -> None:
    until = time.monotonic() + ANSWERS_WITHIN_S
    while time.monotonic() < until:
        assert process.poll() is None, log.read_text(errors="replace")
        try:
            socket.create_connection(("127.0.0.1", console), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"ipmi_sim does not listen: {log.read_text(errors='replace')}")
