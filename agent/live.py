"""The machine this program runs on."""

from __future__ import annotations

import ctypes
import errno
import io
import itertools
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from agent import prober
from agent.expected import Expected
from agent.host import (
    COMMAND_DEADLINE_S,
    READ_LIMIT,
    TOUCH_DEADLINE_S,
    Answer,
    CannotTell,
    CpuTimes,
    Descriptors,
    Disk,
    DiskIO,
    Host,
    Interface,
    KernelClock,
    Load,
    Memory,
    Missing,
    NoPermission,
    Process,
    ProcessUse,
    Refused,
    Stuck,
    ToolMissing,
    Touched,
)

OUTPUT_LIMIT = 8 << 20
NO_ANSWER = "no answer"
CONNECT_AT_ONCE = 64
# A broker has 100,000 open files and more; what listens to the kernel is opened early, with a small number.
DESCRIPTORS_PER_PROCESS = 4096

# The Debian package of each tool; RHEL's name where it differs.
PACKAGES = {
    "smartctl": "smartmontools",
    "ipmitool": "ipmitool",
    "ethtool": "ethtool",
    "mdadm": "mdadm",
    "nft": "nftables",
    "iptables-save": "iptables",
    "chronyc": "chrony",
    "ntpq": "ntp",
    "dmidecode": "dmidecode",
    "storcli": "storcli (from the controller's vendor)",
    "perccli": "perccli (from Dell)",
    "ssacli": "ssacli (from HPE)",
    "systemctl": "systemd",
    "timedatectl": "systemd",
}


def explain(error: OSError, path: str) -> CannotTell:
    """An operating-system error as the CannotTell that fits it."""
    if isinstance(error, (FileNotFoundError, NotADirectoryError)) or error.errno == errno.ESRCH:
        return Missing(f"{path} does not exist")
    if error.errno in (errno.EACCES, errno.EPERM):
        return NoPermission(f"needs root: {path}")
    return CannotTell(f"{path}: {error.strerror or error}")


class LiveHost(Host):
    """The machine this program runs on."""

    def __init__(self, expected: Optional[Expected] = None) -> None:
        super().__init__(expected)
        ours, theirs = socket.socketpair()
        self._prober = ours
        root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        program = (
            "import sys, socket; sys.path.insert(0, sys.argv[2]); from agent import prober; "
            "prober.serve(socket.socket(fileno=int(sys.argv[1])))"
        )
        # Not waited for: it ends when our end of the socket closes, whatever its children hang on.
        self._prober_process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", program, str(theirs.fileno()), root],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
        )
        theirs.close()
        self._running: Set[subprocess.Popen[bytes]] = set()

    def close(self) -> None:
        """Let the prober end, and whatever tools are still running."""
        for process in list(self._running):
            _kill(process)
        self._prober.close()

    def now(self) -> float:
        return time.time()

    def uptime_s(self) -> float:
        return time.clock_gettime(time.CLOCK_MONOTONIC)

    def is_root(self) -> bool:
        return os.geteuid() == 0

    def read(self, path: str, limit: int = READ_LIMIT) -> str:
        try:
            with open(path, "rb", buffering=0) as file:
                return _read_all(file, limit).decode("utf-8", "replace")
        except IsADirectoryError:
            return ""
        except OSError as error:
            raise explain(error, path) from error

    def list_dir(self, path: str) -> List[str]:
        try:
            return sorted(os.listdir(path))
        except OSError as error:
            raise explain(error, path) from error

    def link(self, path: str) -> str:
        if not os.path.lexists(path):
            raise Missing(f"{path} does not exist")
        return os.path.realpath(path)

    def run(
        self, *argv: str, deadline_s: float = COMMAND_DEADLINE_S, secret_env: str = "", secret_from: str = ""
    ) -> Answer:
        environment = {"PATH": search_path(), "LC_ALL": "C", "TZ": "UTC"}
        if secret_env:
            environment[secret_env] = _secret(secret_from or secret_env)
        try:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                start_new_session=True,
                cwd="/",
            )
        except FileNotFoundError:
            package = PACKAGES.get(argv[0])
            raise ToolMissing(f"{argv[0]} is not installed" + (f" (package {package})" if package else "")) from None
        except OSError as error:
            raise explain(error, argv[0]) from error
        self._running.add(process)
        try:
            return _collect(process, argv, time.monotonic() + deadline_s, deadline_s)
        finally:
            self._running.discard(process)

    def touch(self, kind: str, path: str, *arguments: Any, deadline_s: float = TOUCH_DEADLINE_S) -> Touched:
        ours, theirs = socket.socketpair()
        with ours:
            try:
                with theirs:
                    socket.send_fds(self._prober, [b"t"], [theirs.fileno()])
            except OSError as error:
                raise CannotTell(f"{kind} of {path}: the prober died ({error.strerror})") from error
            request = {"touch": kind, "arguments": [path, *arguments], "deadline_s": deadline_s}
            ours.sendall(json.dumps(request).encode())
            ours.shutdown(socket.SHUT_WR)
            ours.settimeout(deadline_s)
            pid = 0
            try:
                pid = int.from_bytes(ours.recv(prober.PID_BYTES), "little")
                reply = json.loads(prober.receive(ours))
            except socket.timeout:
                if not pid:  # says nothing of the path
                    raise CannotTell(f"{kind} of {path}: no process began within {deadline_s:.0f} s") from None
                raise Stuck(f"{kind} of {path}", deadline_s, _whereabouts(pid), pid) from None
            except ValueError:
                raise CannotTell(f"{kind} of {path}: the probing process died") from None
        return Touched(reply.pop("errno", ""), reply)

    def exchange(self, address: str, port: int, words: str, deadline_s: float = 4.0) -> str:
        try:
            with socket.create_connection((address, port), timeout=deadline_s) as connection:
                connection.sendall(words.encode())
                return _receive_until(connection, time.monotonic() + deadline_s).decode("utf-8", "replace")
        except (UnicodeError, OverflowError) as error:
            raise CannotTell(f"{address}:{port} is no address: {error}") from None
        except (ConnectionResetError, BrokenPipeError):
            return ""  # it closed as soon as it had let us in
        except ConnectionRefusedError:
            raise Refused(f"{address}:{port}: Connection refused") from None
        except socket.timeout:
            raise Stuck(f"{address}:{port}", deadline_s) from None
        except OSError as error:
            raise CannotTell(f"{address}:{port}: {error.strerror or error}") from error

    def connect(self, *targets: str, deadline_s: float = 3.0) -> Dict[str, str]:
        answers = dict.fromkeys(targets, NO_ANSWER)
        for start in range(0, len(targets), CONNECT_AT_ONCE):
            answers.update(_connect_all(targets[start : start + CONNECT_AT_ONCE], deadline_s))
        return answers

    def processes(self) -> List[Process]:
        import psutil

        found = []
        for process in psutil.process_iter():
            try:
                with process.oneshot():
                    found.append(
                        Process(
                            process.pid, process.name(), tuple(process.cmdline()), _user(process), process.create_time()
                        )
                    )
            except psutil.NoSuchProcess:
                continue  # it ended while we listed: it is not there
            except psutil.AccessDenied:
                found.append(Process(process.pid, process.name(), (), "", 0.0))
        return found

    def process_use(self, pid: int) -> ProcessUse:
        import psutil

        try:
            process = psutil.Process(pid)
            soft, _hard = process.rlimit(psutil.RLIMIT_NOFILE)
            return ProcessUse(process.num_fds(), soft, self.read(f"/proc/{pid}/maps", 64 << 20).count("\n"))
        except psutil.AccessDenied:
            raise NoPermission(f"needs root: open files and memory mappings of process {pid}") from None
        except psutil.NoSuchProcess:
            raise Missing(f"process {pid} ended") from None

    def descriptors(self, target: str) -> Descriptors:
        seen = []
        hidden = []
        for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
            try:
                seen += [(pid, number) for number in _descriptors_of(pid, target)]
            except PermissionError:
                hidden.append(pid)
            except OSError:
                continue  # it ended while we listed
        return Descriptors(tuple(seen), tuple(hidden))

    def disks(self) -> List[Disk]:
        devices = _udev().list_devices(subsystem="block", DEVTYPE="disk")
        return sorted(_disk(self, device.sys_name, dict(device.properties)) for device in devices)

    def interfaces(self) -> List[Interface]:
        devices = _udev().list_devices(subsystem="net")
        return sorted(_interface(self, device.sys_name) for device in devices)

    def memory(self) -> Memory:
        import psutil

        ram, swap = psutil.virtual_memory(), psutil.swap_memory()
        return Memory(ram.total, ram.available, swap.total, swap.used)

    def disk_io(self) -> Dict[str, DiskIO]:
        import psutil

        counters = psutil.disk_io_counters(perdisk=True, nowrap=False)
        return {
            name: DiskIO(seen.read_count, seen.write_count, seen.read_time, seen.write_time, seen.busy_time)
            for name, seen in counters.items()
        }

    def cpu_times(self) -> CpuTimes:
        import psutil

        seen = psutil.cpu_times()
        # guest time is already counted in user time
        total = sum(seen) - getattr(seen, "guest", 0.0) - getattr(seen, "guest_nice", 0.0)
        return CpuTimes(seen.user + seen.nice, seen.system, seen.iowait, seen.softirq, total)

    def load(self) -> Load:
        import psutil

        return Load(*os.getloadavg(), psutil.cpu_count() or 1)

    def kernel_clock(self) -> KernelClock:
        return _adjtimex()

    def kernel_records(self) -> List[str]:
        try:
            handle = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        except OSError as error:
            raise explain(error, "/dev/kmsg") from error
        records = []
        try:
            while True:
                try:
                    records.append(os.read(handle, 16384).decode("utf-8", "replace"))
                except BlockingIOError:
                    return records
                except BrokenPipeError:
                    continue  # overwritten while we read: the gap shows in the sequence numbers
                except OSError as error:
                    raise explain(error, "/dev/kmsg") from error
        finally:
            os.close(handle)


def _udev() -> Any:
    """udev's database; pyudev loads its C library only now."""
    import pyudev

    try:
        return pyudev.Context()
    except (ImportError, OSError) as error:
        raise CannotTell(f"devices cannot be listed: {error} (package libudev1, found with ldconfig)") from None


def _secret(name: str) -> str:
    if not os.environ.get(name):
        raise CannotTell(f"the environment variable {name} is not set")
    return os.environ[name]


def search_path() -> str:
    """The caller's PATH, and the system's own folders, which cron and sudo often leave out."""
    folders = os.environ.get("PATH", "").split(":")
    return ":".join(
        dict.fromkeys([*filter(None, folders), "/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin"])
    )


def _collect(process: subprocess.Popen[bytes], argv: Tuple[str, ...], until: float, deadline_s: float) -> Answer:
    """Wait for a command, keeping at most OUTPUT_LIMIT bytes; kill its group and leave it behind when it is late."""
    assert process.stdout and process.stderr
    parts: Dict[int, List[bytes]] = {process.stdout.fileno(): [], process.stderr.fileno(): []}
    size = 0
    with selectors.DefaultSelector() as selector, process.stdout, process.stderr:
        for stream in (process.stdout, process.stderr):
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(max(until - time.monotonic(), 0))
            if not ready:
                raise _abandon(process, argv, deadline_s)
            for key, _events in ready:
                part = os.read(key.fd, 1 << 16)
                if not part:
                    selector.unregister(key.fileobj)
                size += len(part)
                if size > OUTPUT_LIMIT:
                    _abandon(process, argv, deadline_s)
                    raise CannotTell(f"{argv[0]} printed more than {OUTPUT_LIMIT >> 20} MB")
                parts[key.fd].append(part)
        out, err = (b"".join(chunks).decode("utf-8", "replace") for chunks in parts.values())
    try:
        return Answer(process.wait(max(until - time.monotonic(), 0.1)), out, err)
    except subprocess.TimeoutExpired:
        raise _abandon(process, argv, deadline_s) from None


def _abandon(process: subprocess.Popen[bytes], argv: Tuple[str, ...], deadline_s: float) -> Stuck:
    where = _whereabouts(process.pid)
    _kill(process)
    # Popen would complain of, and later wait for, a child that nobody may wait for.
    process.returncode = -signal.SIGKILL
    return Stuck(" ".join(argv), deadline_s, where, process.pid)


def _whereabouts(pid: int) -> str:
    """What a process that does not answer is doing: ` (process 311 in state D, folio_wait_bit)`."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            state = file.read().rpartition(")")[2].split()[0]
        with open(f"/proc/{pid}/wchan", encoding="utf-8", errors="replace") as file:
            return f" (process {pid} in state {state}, {file.read() or 'no wait channel'})"
    except (OSError, IndexError):
        return ""


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a tool and its children; one in uninterruptible sleep stays, and is not waited for."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        process.poll()


def _connect_all(targets: Sequence[str], deadline_s: float) -> Dict[str, str]:
    """Each in a thread of its own: looking up a name cannot be interrupted, so nobody waits for one that hangs."""
    answers: Dict[str, str] = {}
    until = time.monotonic() + deadline_s
    threads = [
        threading.Thread(target=lambda where: answers.update({where: _connect(where, deadline_s)}), args=(target,),
                         daemon=True) for target in targets
    ]  # fmt: skip
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(until + 0.2 - time.monotonic(), 0))
    return dict(answers)


def _connect(target: str, deadline_s: float) -> str:
    """Why this `host:port` does not let us in; empty if it does."""
    address, _, port = target.rpartition(":")
    try:
        socket.create_connection((address.strip("[]"), int(port)), timeout=deadline_s).close()
        return ""
    except ConnectionRefusedError:
        return "refused"
    except socket.timeout:
        return NO_ANSWER
    except socket.gaierror:
        return "unknown name"
    except OSError as error:
        return str(error.strerror or error)
    except (ValueError, OverflowError):
        return "no address"


def _receive_until(connection: socket.socket, until: float) -> bytes:
    parts: List[bytes] = []
    size = 0
    while size < READ_LIMIT:
        connection.settimeout(max(until - time.monotonic(), 0.001))
        try:
            part = connection.recv(1 << 16)
        except (ConnectionResetError, BrokenPipeError):
            break  # a server that closes before it has read our words: what came is all there is
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _read_all(file: io.FileIO, limit: int) -> bytes:
    """Up to `limit` bytes in small reads: the kernel allocates as much as one read asks of a file below /proc/sys."""
    parts: List[bytes] = []
    size = 0
    while size < limit:
        part = file.read(min(1 << 16, limit - size))
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _descriptors_of(pid: int, target: str) -> List[int]:
    """The descriptors of a process that point at `target`, among its lowest DESCRIPTORS_PER_PROCESS."""
    folder = f"/proc/{pid}/fd"
    numbers = []
    with os.scandir(folder) as entries:
        for entry in itertools.islice(entries, DESCRIPTORS_PER_PROCESS):
            try:
                if os.readlink(entry.path) == target:
                    numbers.append(int(entry.name))
            except FileNotFoundError:
                continue  # closed while we listed
    return numbers


def _user(process: Any) -> str:
    try:
        return str(process.username())
    except KeyError:
        return str(process.uids().real)


def _sysfs(host: Host, path: str) -> str:
    """A sysfs attribute, or nothing where the driver has none or will not say."""
    try:
        return host.read(path, 4096).strip("\0\n ")
    except CannotTell:
        return ""


def _disk(host: Host, name: str, udev: Mapping[str, str]) -> Disk:
    """One disk from udev's database, and from sysfs where no udev daemon runs (containers)."""
    device = f"/sys/block/{name}/device"
    if name.startswith(("md", "dm-")):
        kind = name[:2]
    else:
        kind = (
            "physical"
            if host.exists(device) and not name.startswith(("loop", "ram", "zram", "nbd", "sr"))
            else "virtual"
        )
    sectors = _sysfs(host, f"/sys/block/{name}/size")
    return Disk(
        name=name,
        kind=kind,
        model=udev.get("ID_MODEL", "").replace("_", " ").strip() or _sysfs(host, f"{device}/model"),
        # Of a SAS disk ID_SERIAL_SHORT is the worldwide name; what is printed on its label is the SCSI serial.
        serial=(
            udev.get("ID_SCSI_SERIAL")
            or udev.get("ID_SERIAL_SHORT")
            or udev.get("SCSI_IDENT_SERIAL")
            or _sysfs(host, f"{device}/serial")
        ),
        wwn=(
            udev.get("ID_WWN_WITH_EXTENSION")
            or udev.get("ID_WWN")
            or _sysfs(host, f"/sys/block/{name}/wwid")
            or _sysfs(host, f"{device}/wwid")
        ),
        size_bytes=int(sectors) * 512 if sectors.isdigit() else 0,
        rotational=_sysfs(host, f"/sys/block/{name}/queue/rotational") == "1",
        bus=udev.get("ID_BUS", "") or ("nvme" if name.startswith("nvme") else ""),
        slot=udev.get("ID_SAS_PATH") or udev.get("ID_PATH", ""),
        dev=_sysfs(host, f"/sys/block/{name}/dev"),
    )


def _interface(host: Host, name: str) -> Interface:
    base = f"/sys/class/net/{name}"
    bus = _sysfs_link(host, f"{base}/device")
    kind = "bond" if host.exists(f"{base}/bonding") else "physical" if bus else "virtual"
    return Interface(
        name=name,
        kind=kind,
        driver=os.path.basename(_sysfs_link(host, f"{base}/device/driver")),
        mac=_sysfs(host, f"{base}/address"),
        pci=os.path.basename(bus),
        bond=os.path.basename(_sysfs_link(host, f"{base}/master")),
    )


def _sysfs_link(host: Host, path: str) -> str:
    try:
        return host.link(path)
    except CannotTell:
        return ""


class _Timex(ctypes.Structure):
    """struct timex of <sys/timex.h> on 64-bit Linux."""

    _fields_ = [
        (name, ctypes.c_long if kind == "l" else ctypes.c_int)
        for name, kind in (
            ("modes", "i"),
            ("offset", "l"),
            ("freq", "l"),
            ("maxerror", "l"),
            ("esterror", "l"),
            ("status", "i"),
            ("constant", "l"),
            ("precision", "l"),
            ("tolerance", "l"),
            ("time_sec", "l"),
            ("time_usec", "l"),
            ("tick", "l"),
            ("ppsfreq", "l"),
            ("jitter", "l"),
            ("shift", "i"),
            ("stabil", "l"),
            ("jitcnt", "l"),
            ("calcnt", "l"),
            ("errcnt", "l"),
            ("stbcnt", "l"),
            ("tai", "i"),
        )
    ] + [("padding", ctypes.c_int * 11)]


STA_UNSYNC = 0x40
STA_NANO = 0x2000
TIME_ERROR = 5


def _adjtimex() -> KernelClock:
    libc = ctypes.CDLL(None, use_errno=True)
    timex = _Timex()  # modes 0: only asks
    code = libc.adjtimex(ctypes.byref(timex))
    if code < 0:
        raise CannotTell(f"adjtimex: {os.strerror(ctypes.get_errno())}")
    unit_ms = 1e-6 if timex.status & STA_NANO else 1e-3
    return KernelClock(
        code != TIME_ERROR and not timex.status & STA_UNSYNC, timex.offset * unit_ms, timex.maxerror * 1e-3
    )
