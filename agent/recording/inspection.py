"""An existing recording compared with what a recording may contain: made by an older version, or by hand."""

from __future__ import annotations

import json
import os
import stat
from typing import Any, Dict, List

from agent.host import Process, Touched
from agent.recording.allowed import Keeper
from agent.recording.recorded_host import STDERR_MARK

WRITTEN_BY_US = ("removed.txt",)


class NoRecording(Exception):
    """The folder is not a recorded machine."""


def check(folder: str) -> List[str]:
    """One sentence for each thing that should not be there; what it holds is not told. NoRecording, OSError."""
    if not os.path.isfile(os.path.join(folder, "machine.json")):
        raise NoRecording(f"{folder} has no machine.json, so it is no recorded machine")
    keep = Keeper()
    for path in sorted(_files(folder)):
        _look(keep, folder, os.path.relpath(path, folder))
    return [f"{what}{f' ({times} times)' if times > 1 else ''}" for what, times in sorted(keep.removed.items())]


def open_to_others(folder: str) -> List[str]:
    """What other users of this machine can read or change: folders that are not 0700, files that are not 0600."""
    found = []
    for path in sorted([folder, *(os.path.join(at, name) for at, names, _ in os.walk(folder) for name in names),
                        *_files(folder)]):  # fmt: skip
        mode = stat.S_IMODE(os.lstat(path).st_mode)
        if mode & 0o077:
            found.append(f"{path}: mode {mode:04o}, others can read it")
    return found


def _files(folder: str) -> List[str]:
    return [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names]


def _look(keep: Keeper, folder: str, name: str) -> None:
    """Let the keeper clean one file; what it would remove is counted there."""
    with open(os.path.join(folder, name), encoding="utf-8", errors="replace", newline="") as file:
        text = file.read()
    if name == "machine.json":
        _look_at_answers(keep, json.loads(text))
    elif name in ("expected.json", "state.txt"):
        keep.json(name, text)
    elif name.startswith("root/"):
        keep.file(name[len("root") :], text)
    elif name.startswith("run/journalctl "):  # its name is cut: what was searched for cannot be told
        keep.text(name, text)
    elif name.startswith("run/"):
        keep.command(name[len("run/") :].split(" "), text.partition("\n")[2].replace(STDERR_MARK, ""))
    elif name not in WRITTEN_BY_US:
        keep.text(name, text)


def _look_at_answers(keep: Keeper, answers: Dict[str, Any]) -> None:
    for key, answer in answers.items():
        method, _, rest = key.partition(" ")
        value = answer.get("value", answer.get("reason"))
        if method == "processes":
            for row in value or ():
                keep.process(Process(**{**row, "argv": tuple(row["argv"])}))
        elif method == "touch" and isinstance(value, dict):
            kind, _, path = rest.partition(" ")
            words = path.split(" ", 4) if kind == "search" else [path]
            keep.answer("touch", [kind, words[0], *words[1:]], Touched(value.get("error", ""), value.get("facts", {})))
        elif method == "exchange":
            keep.answer(method, rest.split(" ", 2), value)
        elif method == "kernel_records":
            keep.answer(method, (), value if isinstance(value, list) else [])
        keep.every(key[:300], value)
