"""What the readers of RAID controllers share: which tool is installed, whether its answer is whole, words of sysfs."""

from __future__ import annotations

from typing import List, Tuple

from agent.host import Answer, CannotTell, Host, Missing, ToolMissing

TOOL_DEADLINE_S = 20.0


def first_tool(host: Host, tools: Tuple[str, ...], package: str, *arguments: str) -> Tuple[str, Answer]:
    """The answer of the first of these tools that is installed, and which it was; ToolMissing names the package."""
    for name in tools:
        try:
            return name, host.run(name, *arguments, deadline_s=TOOL_DEADLINE_S)
        except ToolMissing:
            continue
    raise ToolMissing(f"{tools[0]} is not installed (package {package})")


def whole(tool: str, answer: Answer) -> str:
    """The output of a tool that came to its end; text cut short would look like fewer arrays."""
    if answer.code:
        said = " ".join((answer.out + answer.err).split())[-120:]
        raise CannotTell(f"{tool} failed with exit code {answer.code}: {said or 'no output'}")
    return answer.out


def names(host: Host, path: str) -> List[str]:
    try:
        return host.list_dir(path)
    except Missing:
        return []


def text(host: Host, path: str) -> str:
    try:
        return host.read(path, 64).strip()
    except CannotTell:
        return ""


def link(host: Host, path: str) -> str:
    try:
        return host.link(path)
    except CannotTell:
        return ""
