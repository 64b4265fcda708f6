"""The one door to the machine: read, list, run, touch; processes, disks, interfaces.

Every answer is a plain value or a NamedTuple, so that a machine can be recorded and replayed. What cannot be
answered raises CannotTell with a sentence for a person; nothing here judges.
"""

from __future__ import annotations

import _thread
import errno
import functools
import threading
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, TypeVar

from agent.expected import Expected
from agent.named_tuples import NamedTuple
from agent.state import State

READ_LIMIT = 4 << 20
COMMAND_DEADLINE_S = 8.0
TOUCH_DEADLINE_S = 5.0


class CannotTell(Exception):
    """The question could not be answered; the reason is the finding's sentence and its status `unknown`."""


class Missing(CannotTell):
    """No such file."""


class NoPermission(CannotTell):
    """Only root may ask that."""


class ToolMissing(CannotTell):
    """A program that the question needs is not installed."""


class Refused(CannotTell):
    """Nothing listens on that port."""


class Stuck(CannotTell):
    """No answer within the deadline. What did not answer was left behind: process `pid`, 0 if not known."""

    waited_s = 0.0
    pid = 0

    def __init__(self, what: str, waited_s: float, where: str = "", pid: int = 0) -> None:
        super().__init__(f"{what} timed out after {waited_s:.0f} s{where}")
        self.waited_s = waited_s
        self.pid = pid


class NotApplicable(Exception):
    """The question has no sense on this machine; the reason is the finding's sentence and its status `skipped`."""


def explain(error: OSError, path: str) -> CannotTell:
    """An operating-system error as the CannotTell that fits it."""
    if isinstance(error, (FileNotFoundError, NotADirectoryError)) or error.errno == errno.ESRCH:
        return Missing(f"{path} does not exist")
    if error.errno in (errno.EACCES, errno.EPERM):
        return NoPermission(f"needs root: {path}")
    return CannotTell(f"{path}: {error.strerror or error}")


class Answer(NamedTuple):
    """A finished command: exit code, and its output with undecodable bytes replaced."""

    code: int
    out: str
    err: str


class Touched(NamedTuple):
    """The result of one file-system touch: `error` is an errno name such as EROFS, or empty."""

    error: str
    facts: Mapping[str, Any]


class Process(NamedTuple):
    """A process. argv: empty of a kernel thread, and of one that may not be seen. user: a name, a number, or empty.

    Names are those of /etc/passwd: to ask a directory service, as psutil does, may hang.
    """

    pid: int
    name: str
    argv: Tuple[str, ...]
    user: str
    started_at: float


class Descriptors(NamedTuple):
    """Open file descriptors as (process, number); hidden: processes whose descriptors may not be seen."""

    seen: Tuple[Tuple[int, int], ...]
    hidden: Tuple[int, ...]


class ProcessUse(NamedTuple):
    """What one process uses of its own limits; `maps` counts memory mappings, limits of -1 are unlimited."""

    open_files: int
    open_files_limit: int
    maps: int


class Disk(NamedTuple):
    """A block device that is a whole disk. kind: physical, md, dm or virtual (loop, ram, zram). slot: where it sits."""

    name: str
    kind: str
    model: str
    serial: str
    wwn: str
    size_bytes: int
    rotational: bool
    bus: str
    slot: str
    dev: str

    @property
    def path(self) -> str:
        return f"/dev/{self.name}"


class Interface(NamedTuple):
    """A network interface. kind: physical, bond or virtual. pci: bus address of its card, empty when it has none."""

    name: str
    kind: str
    driver: str
    mac: str
    pci: str
    bond: str


class Memory(NamedTuple):
    total_bytes: int
    available_bytes: int
    swap_total_bytes: int
    swap_used_bytes: int


class CpuTimes(NamedTuple):
    """Seconds since boot, all processors together."""

    user: float
    system: float
    iowait: float
    softirq: float
    total: float


class Load(NamedTuple):
    """Load averages and the number of processors."""

    one: float
    five: float
    fifteen: float
    processors: int


class KernelClock(NamedTuple):
    """The kernel's own idea of its clock (adjtimex)."""

    synchronised: bool
    offset_ms: float
    max_error_ms: float


Value = TypeVar("Value")


class Host:
    """What checks see of a machine. Subclasses answer from the live machine or from a recording."""

    def __init__(self, expected: Optional[Expected] = None) -> None:
        self.expected = expected or Expected()
        self.state = State("", 0.0)
        self._shared: Dict[Any, Any] = {}
        self._locks: Dict[Any, threading.Lock] = {}
        self._lock = threading.Lock()

    def once(self, key: Any, ask: Callable[[], Value]) -> Value:
        """The answer of `ask`, asked once per run and kept for every check; errors are kept too."""
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._shared:
                try:
                    self._shared[key] = (ask(), None)
                except (CannotTell, NotApplicable) as error:
                    self._shared[key] = (None, error)
        value, problem = self._shared[key]
        if problem is not None:
            raise problem
        return value  # type: ignore[no-any-return]

    def limits(self, check: str, defaults: Mapping[str, Any], item: str = "") -> Dict[str, Any]:
        """The limits for one item of a check: its defaults, under the inventory's for this machine and this item.

        The only place that merges them, so that all checks that look at one disk judge it by the same limits.
        """
        of_machine = dict(self.expected.limits.get(check, {}))
        of_items = of_machine.pop("items", {})
        return {**defaults, **of_machine, **of_items.get(item, {})}

    def now(self) -> float:
        """Seconds since the epoch, UTC."""
        raise NotImplementedError

    def hours_since(self, at: float) -> float:
        """From that moment (epoch) to now, rounded to a third of a second."""
        return round((self.now() - at) / 3600, 4)

    def uptime_s(self) -> float:
        raise NotImplementedError

    def is_root(self) -> bool:
        raise NotImplementedError

    def read(self, path: str, limit: int = READ_LIMIT) -> str:
        """Text of a file below /proc, /sys or /etc; for anything on a data disk use `touch`."""
        raise NotImplementedError

    def list_dir(self, path: str) -> List[str]:
        """Sorted names in a directory; Missing if there is none."""
        raise NotImplementedError

    def link(self, path: str) -> str:
        """Where a symbolic link points, resolved."""
        raise NotImplementedError

    def run(
        self, *argv: str, deadline_s: float = COMMAND_DEADLINE_S, secret_env: str = "", secret_from: str = ""
    ) -> Answer:
        """Run a program. ToolMissing, NoPermission or Stuck; any exit code is an answer.

        The program sees only PATH, LC_ALL=C, TZ=UTC and the variable `secret_env`, whose value is that of our own
        variable `secret_from` (the same name if not given); CannotTell when we have no such variable.
        """
        raise NotImplementedError

    def touch(
        self, kind: str, path: str, *arguments: Any, deadline_s: float = TOUCH_DEADLINE_S, named_by: int = 0
    ) -> Touched:
        """Touch a file system in a process that can be abandoned (see fs_worker.py for the kinds); Stuck if it hangs.

        named_by: the process that names the file; it is read with the rights of that process, not with ours.
        """
        raise NotImplementedError

    def exchange(self, address: str, port: int, words: str, deadline_s: float = 4.0) -> str:
        """Send `words` over TCP and give all that comes back until the other side closes or resets; Refused."""
        raise NotImplementedError

    def connect(self, *targets: str, deadline_s: float = 3.0) -> Dict[str, str]:
        """For each `host:port` why it does not let us in over TCP, empty if it does. Nothing is sent.

        "refused", "no answer" (in so many seconds), "unknown name", or what the system says; tried at the same time.
        """
        raise NotImplementedError

    def processes(self) -> List[Process]:
        raise NotImplementedError

    def process_use(self, pid: int) -> ProcessUse:
        raise NotImplementedError

    def descriptors(self, target: str) -> Descriptors:
        """Those of all processes that point at `target`, such as `anon_inode:[fanotify]`."""
        raise NotImplementedError

    def disks(self) -> List[Disk]:
        raise NotImplementedError

    def interfaces(self) -> List[Interface]:
        raise NotImplementedError

    def memory(self) -> Memory:
        raise NotImplementedError

    def cpu_times(self) -> CpuTimes:
        raise NotImplementedError

    def load(self) -> Load:
        raise NotImplementedError

    def kernel_clock(self) -> KernelClock:
        raise NotImplementedError

    def kernel_records(self) -> List[str]:
        """All records of the kernel's ring buffer, as /dev/kmsg gives them, oldest first."""
        raise NotImplementedError

    def exists(self, path: str) -> bool:
        try:
            self.read(path, 0)
        except Missing:
            try:
                self.list_dir(path)
            except Missing:
                return False
        return True

    def read_int(self, path: str) -> int:
        """A file that holds one number; CannotTell when it holds something else."""
        text = self.read(path).strip()
        try:
            return int(text, 0)
        except ValueError:
            raise CannotTell(f"{path} contains {text[:40]!r}, not a number") from None

    def boot_id(self) -> str:
        return self.read("/proc/sys/kernel/random/boot_id").strip()


def unless_unsure(host: Host, why: str) -> Exception:
    """NotApplicable: `why`; CannotTell where what this machine is could not be guessed: nothing is skipped then."""
    if host.expected.unsure and not host.expected.roles:
        return CannotTell(f"role of this machine unknown: {host.expected.unsure}")
    return NotApplicable(why)


def cached_per_run(ask: Callable[..., Value]) -> Callable[..., Value]:
    """Decorator for a source: asked once per run and arguments, then shared by every check."""

    @functools.wraps(ask)
    def answer(host: Host, *arguments: Any) -> Value:
        return host.once((ask.__module__, ask.__qualname__, *arguments), lambda: ask(host, *arguments))

    return answer


def in_background(work: Callable[[], None], name: str) -> threading.Thread:
    """Start `work` in a daemon thread, for whose end nobody waits.

    Where no more threads can be had (a broker has used up the machine's), it is done here and now.
    """
    thread = threading.Thread(target=work, daemon=True, name=name)
    try:
        thread.start()
    except (RuntimeError, MemoryError):  # can't start new thread
        work()
    return thread


def unwaited(work: Callable[[], None]) -> None:
    """The same for work that nobody joins: a fifth of the price of a Thread, whose start waits for it to run."""
    try:
        _thread.start_new_thread(work, ())
    except (RuntimeError, MemoryError):  # can't start new thread
        work()


def run_concurrently(asks: Mapping[str, Callable[[], Any]], patience_s: Mapping[str, float]) -> Dict[str, Any]:
    """The answers, or the exceptions, of several questions asked at once; the slowest sets the time.

    One that does not answer within its patience is Stuck and left behind: its thread is a daemon that nobody joins.
    """
    answers: Dict[str, Any] = {}

    def work(name: str, ask: Callable[[], Any]) -> None:
        try:
            answers[name] = ask()
        except Exception as error:  # handed to the caller as the answer
            answers[name] = error

    start = time.monotonic()
    threads = {name: in_background(functools.partial(work, name, ask), name) for name, ask in asks.items()}
    for name, thread in threads.items():
        if name not in answers:
            thread.join(max(start + patience_s[name] - time.monotonic(), 0))
        answers.setdefault(name, Stuck(name, patience_s[name]))
    return dict(answers)
