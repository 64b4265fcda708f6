"""chronyd, ntpd and systemd-timesyncd: which runs, and what it says of the clock."""

from __future__ import annotations

import math
from typing import Dict, List, Optional

from agent.host import CannotTell, Host, Process, ToolMissing
from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple

# Process name -> the daemon it belongs to. phc2sys carries a PTP card's time into the kernel's clock.
DAEMONS = {
    "chronyd": "chronyd",
    "ntpd": "ntpd",
    "systemd-timesyncd": "systemd-timesyncd",
    "systemd-timesyn": "systemd-timesyncd",
    "phc2sys": "phc2sys",
}

VMWARE_TOOLS = "VMware Tools"

# System time of `ntpq -c rv`, in seconds since 1900: reftime=e6d2ecb6.2f1a9fbe
NTP_TO_UNIX_S = 2208988800
# touched by systemd-timesyncd whenever it sets the clock (systemd-timesyncd.service(8))
STAMP = "/run/systemd/timesync/synchronized"
ERROR_MS_PER_S = 0.5
CHRONY_CONF = ("/etc/chrony.conf", "/etc/chrony/chrony.conf")
# rtcsync
RTCSYNC = pattern(r"(?m)^\s*rtcsync\b")
# Server: (null) (ntp1.example.net)
NO_SERVER = ("(null)", "n/a", "")
# version="ntpd 4.2.8p15@1.3728-o", leap=00, stratum=3, refid=192.0.2.1, offset=-0.045,
NTPQ_VARIABLE = pattern(r'(?<!\w)(\w+)=("[^"]*"|[^,\s]*)')
#        Offset: -1.234ms    or: +1min 2.5s
TIME_SPAN = pattern(r"(?<![\d.])(\d+(?:\.\d+)?)\s*(us|ms|s|min|h|d)\b")
UNIT_MS = {"us": 0.001, "ms": 1.0, "s": 1e3, "min": 6e4, "h": 3.6e6, "d": 8.64e7}


class Tracking(NamedTuple):
    """What a daemon says. offset_ms is None when it does not say; updated_at: seconds since the epoch, 0 unknown.

    reference: its time server, empty if it has none. own_clock: it follows nothing but the machine's own clock.
    """

    synchronised: bool
    offset_ms: Optional[float]
    reference: str
    own_clock: bool
    updated_at: float


def running(host: Host) -> Dict[str, Process]:
    """The daemons that steer the clock, each by its first process, in the order of DAEMONS."""
    found: Dict[str, Process] = {}
    for process in sorted(host.processes(), key=lambda process: process.started_at):
        daemon = DAEMONS.get(process.name)
        # `phc2sys -E ntpshm` only hands the time to chronyd or ntpd
        if daemon and not (daemon == "phc2sys" and "ntpshm" in process.argv):
            found.setdefault(daemon, process)
    return {daemon: found[daemon] for daemon in dict.fromkeys(DAEMONS.values()) if daemon in found}


def guest_tools(host: Host) -> str:
    """What of the hypervisor sets this virtual machine's clock, where nothing else does; empty if nothing.

    `vmware-toolbox-cmd timesync status` prints Enabled or Disabled; VMware disables it by default.
    """
    if not any(process.name == "vmtoolsd" for process in host.processes()):
        return ""
    try:
        said = host.run("vmware-toolbox-cmd", "timesync", "status").out.strip()
    except CannotTell:
        said = ""
    return "" if said == "Disabled" else VMWARE_TOOLS


def ask(host: Host, daemon: str) -> Optional[Tracking]:
    """What a daemon says of the clock; None from one that cannot be asked, for whom the kernel's clock must answer."""
    if daemon == "chronyd":
        return parse_chronyc(_out(host, "chronyc", "-c", "-n", "tracking"))
    if daemon == "ntpd":
        return parse_ntpq(_out(host, "ntpq", "-n", "-c", "rv"))
    if daemon == "systemd-timesyncd":
        return _timesyncd(host)
    return None


def _timesyncd(host: Host) -> Optional[Tracking]:
    """Before systemd 239 timedatectl cannot tell; without D-Bus it cannot either."""
    try:
        answer = host.run("timedatectl", "timesync-status", "--no-pager")
    except ToolMissing:
        return None
    return None if answer.code else parse_timesync_status(answer.out)._replace(updated_at=_stamped_at(host))


def _stamped_at(host: Host) -> float:
    """When systemd-timesyncd last set the clock: it touches a file each time; else as the kernel reckons.

    Its packet count and last offset survive lost servers. The kernel's maximum error is 0 when the clock is set, and
    grows by 500 microseconds a second (kernel/time/ntp.c, MAXFREQ).
    """
    try:
        seen = host.touch("stat", STAMP).facts.get("mtime")
    except CannotTell:
        seen = None
    if isinstance(seen, (int, float)):
        return float(seen)
    return host.now() - host.kernel_clock().max_error_ms / ERROR_MS_PER_S


def leaves_kernel_unsynchronised(host: Host, daemon: str) -> bool:
    """Whether this daemon keeps the clock without telling the kernel: chronyd does, unless its `rtcsync` is set."""
    if daemon != "chronyd":
        return False
    texts = []
    for path in CHRONY_CONF:
        try:
            texts.append(host.read(path))
        except CannotTell:
            continue
    return not any(RTCSYNC.search(text) for text in texts)


def _out(host: Host, *argv: str) -> str:
    """What a command printed; CannotTell with its first words when it failed (ntpq fails with exit code 0)."""
    answer = host.run(*argv)
    if answer.code or not answer.out.strip():
        said = " ".join(f"{answer.err} {answer.out}".split())[:80]
        raise CannotTell(f"{argv[0]}: no reply from its daemon: {said or f'exit code {answer.code}'}")
    return answer.out


def parse_chronyc(text: str) -> Tracking:
    """7F000001,127.0.0.1,3,1795172961.373286818,3.000024080,-0.000004855,…,0.5,Normal

    Fields of `chronyc -c tracking`: reference id, name, stratum, reference time, seconds slow of NTP time, …, leap.
    """
    fields = text.strip().split("\n")[0].strip().split(",")
    if len(fields) < 14:
        raise CannotTell(f"chronyc printed {text[:40]!r}, not the 14 fields of its tracking")
    reference_id, name, leap = fields[0], fields[1], fields[-1]
    synchronised = leap in ("Normal", "Insert second", "Delete second")
    if not synchronised and leap != "Not synchronised":
        raise CannotTell(f"chronyc: unexpected leap status {leap[:40]!r}")
    offset_s = _number(fields[4], "chronyc")
    updated_at = _number(fields[3], "chronyc")
    return Tracking(synchronised, offset_s * 1e3, (name or reference_id)[:60], reference_id == "7F7F0101", updated_at)


def parse_ntpq(text: str) -> Tracking:
    """… leap=00, stratum=3, … refid=192.0.2.1, reftime=e6d2ecb6.2f1a9fbe …, offset=-0.045, … (milliseconds)"""
    given = {key: value.strip('"') for key, value in NTPQ_VARIABLE.findall(text)}
    if "leap" not in given or "stratum" not in given:
        raise CannotTell(f"ntpq printed no leap and stratum but {' '.join(text.split())[:60]!r}")
    if not given["stratum"].isdecimal():
        raise CannotTell(f"ntpq: unexpected stratum {given['stratum'][:40]!r}")
    synchronised = given["leap"] in ("00", "01", "10", "0", "1", "2") and int(given["stratum"]) < 16
    offset_ms = _number(given["offset"], "ntpq") if "offset" in given else None
    reference = given.get("refid", "")[:60]
    own_clock = reference.upper().startswith(("LOCAL", "LOCL", ".LOCL", "127.127.1."))
    return Tracking(synchronised, offset_ms, reference, own_clock, _ntp_time(given.get("reftime", "")))


def parse_timesync_status(text: str) -> Tracking:
    """Rows `Server: 192.0.2.1 (ntp1)`, `Leap: normal`, `Offset: -1.234ms`, `Packet count: 102` of timedatectl.

    An offset of the first packet was set right at once; so it is not said.
    """
    pairs = (row.strip().partition(": ") for row in text.splitlines())
    rows = {name: value for name, separator, value in pairs if separator}
    if "Server" not in rows and "Packet count" not in rows:
        raise CannotTell(f"timedatectl printed no server and no packet count but {' '.join(text.split())[:60]!r}")
    packets = rows.get("Packet count", "0").strip()
    if not packets.isdecimal():
        raise CannotTell(f"timedatectl: unexpected packet count {packets[:40]!r}")
    synchronised = int(packets) > 0 and rows.get("Leap", "normal").strip() != "not synchronized"
    offset_ms = _span_ms(rows["Offset"]) if "Offset" in rows and int(packets) > 1 else None
    server = rows.get("Server", "")[:60].strip()
    return Tracking(synchronised, offset_ms, "" if server.partition(" ")[0] in NO_SERVER else server, False, 0.0)


def _span_ms(text: str) -> float:
    """A systemd time span with its sign, in milliseconds."""
    parts: List[float] = [float(number) * UNIT_MS[unit] for number, unit in TIME_SPAN.findall(text)]
    if not parts and text.strip("+- ") != "0":
        raise CannotTell(f"timedatectl: unexpected offset {text[:40]!r}")
    return sum(parts) * (-1 if text.strip().startswith("-") else 1)


def _number(text: str, tool: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise CannotTell(f"{tool}: {text[:40]!r} is not a number")
    return number


def _ntp_time(text: str) -> float:
    """Seconds since the epoch; 0 if it never was set, or is not said."""
    try:
        return max(int(text.partition(".")[0], 16) - NTP_TO_UNIX_S, 0)
    except ValueError:
        return 0.0
