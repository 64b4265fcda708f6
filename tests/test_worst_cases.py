"""No text can hang us: every regular expression of the project takes time in proportion to its text, whatever it is."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Callable

import pytest

from agent.host import CannotTell
from agent.machine import fs_worker
from agent.recording.allowed import Keeper
from agent.sources.bmc import event_log
from agent.sources.kafka import log_events
from agent.sources.network import ethtool
from agent.sources.raid import arcconf, mdstat, megacli, ssacli
from tests import worst_cases
from tests.worst_cases import Found

MOST = 45
PATTERNS = worst_cases.patterns()
GROUPS = 8


def test_the_expressions_of_the_project_are_found() -> None:
    assert len(PATTERNS) > 250
    by_place = {found.where.partition(":")[0] for found in PATTERNS}
    assert {
        "agent/sources/kafka/log_events.py",
        "agent/recording/allowed.py",
        "fleet/spark/spark_errors.py",
    } <= by_place


@pytest.mark.parametrize("group", range(GROUPS))
def test_no_expression_takes_more_than_its_share_of_time(group: int) -> None:
    told = [words for found in PATTERNS[group::GROUPS] for words in worst_cases.superlinear(found, MOST)]

    assert told == []


@pytest.mark.parametrize(
    ("text", "method"),
    [
        (r"(?:ERROR|FATAL) (.{0,200}?(/[^\s,]+).{0,200}) \([\w.]{0,80}LogDirFailureChannel\)", "search"),
        (r"\s+([\w/()' .-]+?): *(.*)$", "match"),
        (r"([\w./ '()-]+?) *: ?(.*)", "match"),
        (r"\((?:[^()|]*\|)?\s*([\w .#-]{2,30}?)\s*\)", "search"),
        (r"([^=]*(?:pass|secret|token|credential|key)[^=]*)=.*", "sub"),
        (r"(\w+)=x", "findall"),
        (r"(a+)+$", "match"),
    ],
)
def test_expressions_that_did_hang_the_agent_would_be_found(text: str, method: str) -> None:
    assert worst_cases.superlinear(Found("before", text, 0, frozenset((method,))), MOST)


def one_line(words: str, length: int = 1 << 20) -> str:
    return words * (length // len(words)) + "\n"


LINES = [
    "ERROR x /a/a/a",
    "ERROR /a (",
    " ",
    "a ",
    "( ",
    "((a|",
    "Segment 0 : ",
    "a: ",
    "md/",
    "-",
    "9:",
    "x=",
    "\t:",
    "[",
    "|",
]


@pytest.mark.parametrize("line", LINES)
def test_a_line_of_a_megabyte_holds_no_parser(line: str, tmp_path: pathlib.Path) -> None:
    """The processor time that each may take at most is a hundred times what they take."""
    text = one_line(line)
    ended = "[2026-11-18 10:00:00,000] ERROR x /a No space left on device (x.LogDirFailureChannel)\n"
    (tmp_path / "server.log").write_text(text + text[:-1] + ended)
    parsers: list[Callable[[str], object]] = [
        lambda text: log_events.events(text, "+0000"),
        lambda text: arcconf.parse("1", f"Controller Status : Optimal\n{text}"),
        lambda text: ssacli.read(f"Smart Array P410i in Slot 0\n   Array A\n {text}"),
        lambda text: megacli.parse(f"Adapter #0\nVirtual Drive: 0\n{text}"),
        lambda text: event_log.parse_events(text) + event_log.parse_events(f"1 | 2 | 3 | 4 | {text}"),
        lambda text: mdstat.parse(f"md0 : active raid1 {text}"),
        lambda text: ethtool.parse_link(text),
        lambda text: Keeper().text("x", text),
        lambda _text: fs_worker.touch_search(str(tmp_path / "server.log"), 0, 0, 8 << 20, "LogDirFailureChannel"),
    ]
    for parse in parsers:
        with contextlib.suppress(CannotTell):
            worst_cases.seconds(parse, text, 10.0)


def test_the_lines_that_were_searched_for_are_cut(tmp_path: pathlib.Path) -> None:
    (tmp_path / "log").write_bytes(b"b" * 9000 + b"\n" + b"x" * 5000 + b"needle\n" + b"short needle\nnone\n")

    lines = fs_worker.touch_search(str(tmp_path / "log"), 0, 0, 1 << 20, "needle")["text"].splitlines()
    assert [len(line) for line in lines] == [fs_worker.LONGEST_LINE - 1] * 2 + [len("short needle")]
