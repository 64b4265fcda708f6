"""A machine in a folder: RecordingHost writes what a real one answers, ReplayHost reads it back.

root/<path>      files that were read
run/<command>    commands, named by their words; first line: the exit code, a line `--stderr--` before error output
machine.json     everything else: time, processes, disks, interfaces, memory, touches, kernel records; `absent`: the
                 files that were looked for and not there, which recordings of earlier versions do not list
expected.json    what the machine should be; state.txt: what an earlier run left (both may be absent)
removed.txt      what was left out because it is, or may be, a secret (see allowed.py)
"""

from __future__ import annotations

import json
import os
import re
from typing import Any, Callable, Dict, List, Mapping, Sequence, Set, Tuple

from agent import expected as expectations
from agent.expected import Expected
from agent.host import (
    COMMAND_DEADLINE_S,
    READ_LIMIT,
    Answer,
    CannotTell,
    CpuTimes,
    Descriptors,
    Disk,
    Host,
    Interface,
    KernelClock,
    Load,
    Memory,
    Missing,
    NoPermission,
    NotApplicable,
    Process,
    ProcessUse,
    Refused,
    Stuck,
    ToolMissing,
    Touched,
)
from agent.recording import allowed
from agent.recording.redaction import Redaction
from agent.state import State

ERRORS = {kind.__name__: kind for kind in (CannotTell, Missing, NoPermission, ToolMissing, Refused, Stuck)}
STDERR_MARK = "--stderr--\n"
ABSENT = "absent"  # the key in machine.json of what was looked for and not there

Words = Tuple[Any, ...]


def command_file(argv: Sequence[str]) -> str:
    """The name of the file that holds a command's answer."""
    return re.sub(r"[^\w.,=:@+ -]", "_", " ".join(argv))[:200]


def _key(method: str, arguments: Words) -> str:
    return " ".join([method, *map(str, arguments)])


class RecordingHost(Host):
    """Asks another host, and writes down of every answer what a recording may hold.

    Names of the machine are replaced in `write`, over all texts at once.
    """

    def __init__(self, machine: Host) -> None:
        super().__init__(machine.expected)
        self._keep = allowed.Keeper()
        self._machine = machine
        self.state = machine.state
        self._memory = machine.state.given
        self._answers: Dict[str, Any] = {}
        self._files: Dict[str, str] = {}
        self._commands: Dict[str, str] = {}
        self._absent: Set[str] = set()

    def _ask(self, method: str, *arguments: Any, **options: Any) -> Any:
        key = _key(method, arguments)
        try:
            value = getattr(self._machine, method)(*arguments, **options)
        except CannotTell as error:
            self._answers[key] = self._raised(key, error)
            raise
        self._answers[key] = {"value": self._keep.every(key[:300], self._keep.answer(method, arguments, value))}
        return value

    def _raised(self, where: str, error: CannotTell) -> Dict[str, str]:
        return {"raises": type(error).__name__, "reason": self._keep.text(where[:300], str(error))}

    def read(self, path: str, limit: int = READ_LIMIT) -> str:
        try:
            text = self._machine.read(path, limit)
        except Missing:
            self._absent.add(path)
            raise
        except CannotTell as error:
            self._answers[_key("read", (path,))] = self._raised(path, error)
            raise
        if limit:
            self._files[path] = self._keep.file(path, _listening(text) if SOCKET_TABLE.search(path) else text)
        else:
            self._answers[_key("exists", (path,))] = {"value": True}
        return text

    def run(
        self, *argv: str, deadline_s: float = COMMAND_DEADLINE_S, secret_env: str = "", secret_from: str = ""
    ) -> Answer:
        try:
            answer = self._machine.run(*argv, deadline_s=deadline_s, secret_env=secret_env, secret_from=secret_from)
        except CannotTell as error:
            self._answers[_key("run", argv)] = self._raised(argv[0], error)
            raise
        out, err = self._keep.command(argv, answer.out), self._keep.command(argv, answer.err)
        self._commands[command_file(argv)] = f"{answer.code}\n{out}" + (f"{STDERR_MARK}{err}" if err else "")
        return answer

    def processes(self) -> List[Process]:
        seen = self._machine.processes()
        if "processes" not in self._answers:
            self._answers["processes"] = {"value": [self._keep.process(process) for process in seen]}
        return seen

    def write(self, folder: str) -> None:
        """Write the redacted machine into a new folder."""
        self.boot_id()
        self.now()
        answers = {
            key: {**answer, **({"value": _plain(answer["value"])} if "value" in answer else {})}
            for key, answer in self._answers.items()
        }
        answers[ABSENT] = {"value": self._keep.every(ABSENT, sorted(self._absent))}
        texts = {f"root{path}": text for path, text in self._files.items()}
        texts.update({f"run/{name}": text for name, text in self._commands.items()})
        texts["machine.json"] = json.dumps(answers, indent=1, sort_keys=True) + "\n"
        expected = self._keep.every("expected", _plain(self.expected))
        texts["expected.json"] = json.dumps(expected, indent=1) + "\n"
        texts["state.txt"] = self._keep.json("state", self._memory)
        texts["removed.txt"] = self._keep.summary()
        redact = Redaction(texts)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        os.chmod(folder, 0o700)
        for name, text in texts.items():
            _write(folder, redact(name), redact(text))


def _write(folder: str, name: str, text: str) -> None:
    """For our own eyes alone, and never over or through a file that is there."""
    path = folder
    for part in name.split("/")[:-1]:
        path = os.path.join(path, part)
        if not os.path.isdir(path):
            os.mkdir(path, 0o700)
    handle = os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with open(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)


def _listening(table: str) -> str:
    """The table of sockets with its listening ports alone: the others tell who talks with whom."""
    header, *rows = table.split("\n")
    found = (LISTENING_SOCKET.fullmatch(row) for row in rows)
    ports = [
        f"{row[1]}{'0' * len(row[2])}:{row[3]} {'0' * len(row[2])}:0000 0A 0:0 00:0 0 0 0 1" for row in found if row
    ]
    return "\n".join([header, *ports, ""])


def _plain(value: Any) -> Any:
    """NamedTuples as objects, so that a person can read and change a recording."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if hasattr(value, "_asdict"):
        return _plain(value._asdict())
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return value


# /proc/4242/net/tcp6
SOCKET_TABLE = re.compile(r"^/proc/.*net/tcp6?$")
#    0: 0100007F:2384 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0  0 1472 1 0000000055c80193 100 0 0 10 0
LISTENING_SOCKET = re.compile(r"(\s*\d+: )([0-9A-F]{8,32}):([0-9A-F]{4}) [0-9A-F]{8,32}:0000 0A .*")


class RecordingGap(AssertionError):
    """A test asked a recorded machine for something that its folder does not hold; the message names the file."""


class ReplayHost(Host):
    """A recorded machine. What was not there when it was recorded is not there now."""

    def __init__(self, folder: str) -> None:
        super().__init__(Expected())
        self._folder = folder
        with open(os.path.join(folder, "machine.json"), encoding="utf-8") as file:
            self._answers: Dict[str, Any] = json.load(file)
        self._absent = frozenset(self._answers.get(ABSENT, {"value": ()})["value"])
        self.expected = expectations.from_json(self._text("expected.json") or "{}")
        self.state = State(self.boot_id(), self.now(), self._text("state.txt"))

    def _text(self, name: str) -> str:
        path = os.path.join(self._folder, name)
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()

    def _answer(self, method: str, *arguments: Any) -> Any:
        key = _key(method, arguments)
        if key not in self._answers:
            raise RecordingGap(f"{self._folder}/machine.json has no {key!r}")
        answer = self._answers[key]
        if "raises" in answer:
            raise _error(answer)
        return answer["value"]

    def read(self, path: str, limit: int = READ_LIMIT) -> str:
        answer = self._answers.get(_key("read", (path,)))
        if answer:
            raise _error(answer)
        file = os.path.join(self._folder, "root" + path)
        if os.path.isdir(file) or not os.path.exists(file):
            if limit == 0 and (os.path.isdir(file) or _key("exists", (path,)) in self._answers):
                return ""
            raise self._missing(path, "read")
        with open(file, encoding="utf-8", newline="") as text:
            return text.read(limit)

    def list_dir(self, path: str) -> List[str]:
        if _key("list_dir", (path,)) in self._answers:
            return [str(name) for name in self._answer("list_dir", path)]
        folder = os.path.join(self._folder, "root" + path)
        if not os.path.isdir(folder):
            raise self._missing(path, "list_dir")
        return sorted(os.listdir(folder))

    def link(self, path: str) -> str:
        if _key("link", (path,)) not in self._answers:
            raise self._missing(path, "link")
        return str(self._answer("link", path))

    def _missing(self, path: str, method: str) -> Exception:
        """Missing where the machine had no such file; RecordingGap where it was never asked for it."""
        if ABSENT not in self._answers or self._is_absent(path):
            return Missing(f"{path} does not exist")
        return RecordingGap(f"{self._folder} has neither root{path} nor an answer to {method!r} of it")

    def _is_absent(self, path: str) -> bool:
        """Whether it was looked for in vain, or its folder is known and does not hold it."""
        if path in self._absent:
            return True
        parent, name = os.path.split(path)
        listed = self._answers.get(_key("list_dir", (parent,)))
        if listed:
            return name not in listed["value"] if "value" in listed else listed["raises"] == "Missing"
        if parent == path or os.path.exists(os.path.join(self._folder, "root" + parent)):
            return False
        return self._is_absent(parent)

    def run(
        self, *argv: str, deadline_s: float = COMMAND_DEADLINE_S, secret_env: str = "", secret_from: str = ""
    ) -> Answer:
        if _key("run", argv) in self._answers:
            raise _error(self._answers[_key("run", argv)])
        name = command_file(argv)
        text = self._text(f"run/{name}")
        if not text:
            recorded = os.path.join(self._folder, "run")
            if os.path.isdir(recorded) and any(file.split(" ")[0] == argv[0] for file in os.listdir(recorded)):
                raise RecordingGap(f"{self._folder}/run/ has no {name!r}")
            if ABSENT in self._answers and not self._lacks(argv[0]):
                raise RecordingGap(f"{self._folder}/run/ has no {name!r}, and no run said that {argv[0]} is missing")
            raise ToolMissing(f"{argv[0]} is not installed")
        code, _, rest = text.partition("\n")
        out, _, err = rest.partition(STDERR_MARK)
        return Answer(int(code), out, err)

    def _lacks(self, program: str) -> bool:
        """Whether another use of the program found that it is not installed."""
        return any(
            answer.get("raises") == "ToolMissing" and key.split(" ")[:2] == ["run", program]
            for key, answer in self._answers.items()
        )


def _process(row: Dict[str, Any]) -> Process:
    return Process(**{**row, "argv": tuple(row["argv"])})


def _descriptors(answer: Dict[str, Any]) -> Descriptors:
    return Descriptors(tuple((pid, number) for pid, number in answer["seen"]), tuple(answer["hidden"]))


# The methods of Host that are recorded and replayed by their name and arguments, each with how an answer is rebuilt
# from its JSON. A method that a class defines itself stays as it is there.
ANSWERS: Mapping[str, Callable[[Any], Any]] = {
    "now": float,
    "uptime_s": float,
    "is_root": bool,
    "list_dir": list,
    "link": str,
    "touch": lambda row: Touched(**row),
    "exchange": str,
    "connect": dict,
    "processes": lambda rows: [_process(row) for row in rows],
    "process_use": lambda row: ProcessUse(**row),
    "descriptors": _descriptors,
    "disks": lambda rows: [Disk(**row) for row in rows],
    "interfaces": lambda rows: [Interface(**row) for row in rows],
    "memory": lambda row: Memory(**row),
    "cpu_times": lambda row: CpuTimes(**row),
    "load": lambda row: Load(**row),
    "kernel_clock": lambda row: KernelClock(**row),
    "kernel_records": list,
}


def _recorded(method: str) -> Callable[..., Any]:
    def ask(host: RecordingHost, *arguments: Any, **options: Any) -> Any:
        return host._ask(method, *arguments, **options)

    return ask


def _replayed(method: str, rebuilt: Callable[[Any], Any]) -> Callable[..., Any]:
    def answer(host: ReplayHost, *arguments: Any, **options: Any) -> Any:
        return rebuilt(host._answer(method, *arguments))

    return answer


for _method, _rebuilt in ANSWERS.items():
    if _method not in vars(RecordingHost):
        setattr(RecordingHost, _method, _recorded(_method))
    if _method not in vars(ReplayHost):
        setattr(ReplayHost, _method, _replayed(_method, _rebuilt))


def _error(answer: Mapping[str, Any]) -> Exception:
    if answer["raises"] == "NotApplicable":
        return NotApplicable(answer["reason"])
    error = ERRORS[answer["raises"]].__new__(ERRORS[answer["raises"]])
    error.args = (answer["reason"],)
    return error
