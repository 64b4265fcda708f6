"""Machines for tests: recorded ones, ones written by hand in a test, and this very one."""

from __future__ import annotations

import pathlib
from typing import Any, Dict, List, Mapping, Optional, Sequence

from agent import engine
from agent.expected import Expected
from agent.host import Answer, CannotTell, Host, Missing, ToolMissing, Touched
from agent.recording.recorded_host import ReplayHost
from agent.state import State
from agent.status import Finding

STORIES = pathlib.Path(__file__).parent / "machines"

NOW = 1_795_000_000.0  # 2026-11-18T11:06:40Z
BOOT_ID = "/proc/sys/kernel/random/boot_id"
BOOT = "00000000-0000-4000-8000-000000000001"


class FakeHost(Host):
    """A machine written by hand in a test: files, commands and answers as given, nothing else exists.

    files: path -> text, or an exception to raise. commands: "smartctl --scan" -> Answer or exception.
    answers: a method's name, or "touch stat /kafka/d1" and "exchange 127.0.0.1 2181 ruok", -> value or exception.
    """

    def __init__(
        self,
        files: Optional[Mapping[str, Any]] = None,
        commands: Optional[Mapping[str, Any]] = None,
        answers: Optional[Mapping[str, Any]] = None,
        expected: Optional[Expected] = None,
        state: str = "",
        now: float = NOW,
        boot_id: str = BOOT,
    ) -> None:
        super().__init__(expected)
        self.files: Dict[str, Any] = {BOOT_ID: boot_id + "\n", **(files or {})}
        self.commands: Dict[str, Any] = dict(commands or {})
        self.answers: Dict[str, Any] = {"is_root": True, "uptime_s": 86400.0, "kernel_records": [], **(answers or {})}
        self._now = now
        self.state = State(boot_id, now, state)

    def _given(self, key: str) -> Any:
        if key not in self.answers:
            raise CannotTell(f"the hand-made machine has no {key!r}")
        return _value(self.answers[key])

    def now(self) -> float:
        return self._now

    def read(self, path: str, limit: int = 1 << 22) -> str:
        if path in self.files:
            return str(_value(self.files[path]))[:limit]
        raise Missing(f"{path} does not exist")

    def list_dir(self, path: str) -> List[str]:
        prefix = path.rstrip("/") + "/"
        names = {name[len(prefix) :].split("/")[0] for name in self.files if name.startswith(prefix)}
        if not names:
            raise Missing(f"{path} does not exist")
        return sorted(names)

    def link(self, path: str) -> str:
        key = f"link {path}"
        if key not in self.answers:
            raise Missing(f"{path} does not exist")
        return str(_value(self.answers[key]))

    def run(self, *argv: str, deadline_s: float = 8.0, secret_env: str = "", secret_from: str = "") -> Answer:
        if " ".join(argv) in self.commands:
            answer: Answer = _value(self.commands[" ".join(argv)])
            return answer
        if any(command.split(" ")[0] == argv[0] for command in self.commands):
            raise AssertionError(f"the hand-made machine has no command {' '.join(argv)!r}")
        raise ToolMissing(f"{argv[0]} is not installed")

    def touch(self, kind: str, path: str, *arguments: Any, deadline_s: float = 5.0, named_by: int = 0) -> Touched:
        touched: Touched = self._given(f"touch {kind} {path}")
        return touched

    def exchange(self, address: str, port: int, words: str, deadline_s: float = 4.0) -> str:
        return str(self._given(f"exchange {address} {port} {words}"))

    def connect(self, *targets: str, deadline_s: float = 3.0) -> Dict[str, str]:
        """answers["connect"]: target -> why not; what is not named there lets us in."""
        whys: Dict[str, str] = self._given("connect")
        return {target: whys.get(target, "") for target in targets}

    def process_use(self, pid: int) -> Any:
        return self._given(f"process_use {pid}")

    def descriptors(self, target: str) -> Any:
        return self._given(f"descriptors {target}")


def _answers(name: str) -> Any:
    return lambda host: host._given(name)


for _name in ("uptime_s", "is_root", "processes", "disks", "interfaces", "memory", "cpu_times", "load"):
    setattr(FakeHost, _name, _answers(_name))
for _name in ("kernel_clock", "kernel_records"):
    setattr(FakeHost, _name, _answers(_name))


def _value(given: Any) -> Any:
    if isinstance(given, Exception):
        raise given
    return given


def story(name: str) -> ReplayHost:
    """A recorded machine of tests/machines."""
    return ReplayHost(str(STORIES / name))


def run_checks(host: Host, *names: str, deadline_s: float = 20.0) -> List[Finding]:
    """The findings of these checks (all, if none is named), as the agent would give them."""
    return list(engine.run(host, names or None, deadline_s))


def by_item(findings: Sequence[Finding]) -> Dict[str, Finding]:
    """Findings of one check by their item; every item must be there once."""
    items = {finding.item: finding for finding in findings}
    assert len(items) == len(findings), [finding.item for finding in findings]
    return items


def next_run(host: FakeHost, after_s: float = 600.0, **changes: Any) -> FakeHost:
    """The same machine some time later, with the memory that the run before left; `changes` as for FakeHost."""
    given: Dict[str, Any] = {
        "files": {path: text for path, text in host.files.items() if path != BOOT_ID},
        "commands": host.commands,
        "answers": host.answers,
        "expected": host.expected,
        "boot_id": host.boot_id(),
    }
    for name, change in changes.items():
        given[name] = {**given[name], **change} if isinstance(given.get(name), dict) else change
    return FakeHost(state=host.state.dump(), now=host.now() + after_s, **given)
