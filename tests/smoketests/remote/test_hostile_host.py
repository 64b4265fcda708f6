"""A host that lies, or was taken over, spoils its own row and nothing else, in every format."""

from __future__ import annotations

import json
import pathlib
import re
import tempfile
import threading
import time
from collections.abc import Iterable
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.report import FIELDS
from inventory.model import Host
from smoketests import show
from smoketests.remote import validation
from smoketests.remote.agent_output import AgentOutput, Hearing, Options
from smoketests.remote.bundle import Bundle
from smoketests.remote.fanout import HostReport
from smoketests.remote.outcome import Outcome
from smoketests.results.store import Keeping
from smoketests.show.fold import MOST_ROWS_OF_A_HOST
from tests.many_hosts import host_report, survey, swappiness
from tests.records import AT, finding

ESCAPES = "\x1b[2J\x1b[31m\x07\r\n\u202e\x9b\x00"
HTML = "<script>alert(1)</script>]]>&amp;"
PATH = "../../../../etc/passwd"
LIAR = Host("kafka-a02", cluster="prod-a", roles=("broker",), rack="r7")
HEADER = {"schema": 1, "kind": "header", "host": "kafka-a02", "at": AT, "guessed": [], "previous_at": ""}
LAST = finding(check="agent", item="state")
ITSELF = {"host": "kafka-a02", "cluster": "prod-a", "role": "broker", "rack": "r7"}


def rows(*findings: Any) -> list[str]:
    return [text if isinstance(text, str) else json.dumps(text) for text in [HEADER, *findings, LAST]]


def raw(record: Any) -> str:
    """As the agent writes it."""
    return json.dumps(record, separators=(",", ":"))


def lie(**fields: Any) -> dict[str, Any]:
    return finding("critical", reason="a lie", **fields)


# how many lines of the store are about the two honest hosts of `run`
HONEST = [4, 3]


def evil(words: str) -> dict[str, Any]:
    return finding("critical", item=words, reason=words, facts={words: words}, run_id=words, cluster=words, role=words)


MINE = raw(finding(**ITSELF))
AS_ANOTHER = MINE[:-1] + ',"host":"kafka-a01"}'

LIES: dict[str, list[str]] = {
    "escape sequences": rows(evil(ESCAPES)),
    "markup": rows(evil(HTML)),
    "a path": rows(evil(PATH), finding("critical", check=PATH), finding("critical", playbook=PATH)),
    "another host's name": rows(lie(host="kafka-a01"), {**HEADER, "host": "kafka-a01"}),
    "another cluster's name": rows(lie(cluster="prod-b")),
    "a wrong schema": [json.dumps({**HEADER, "schema": 2}), json.dumps({**finding(), "schema": 2})],
    "a wrong kind": rows({**finding(), "facts": []}, {**finding(), "status": "fine"}, {**finding(), "reason": None}),
    "no JSON": ["{" * 60_000, "{half", "[]", ""],
    "numbers that are none": rows(
        finding("warning", facts={"huge": 10**400, "big": 1e308, "true": True}, duration_ms=10**400),
        '{"schema":1,"status":NaN}',
        finding("warning", duration_ms=-5),
        finding("warning", item="i", facts={"nan": 1e999}),
    ),
    "the same item again and again": rows(*[finding("critical", reason=f"reason {n}") for n in range(30)]),
    # so many of a million come through the cap on output
    "a million findings": rows(*[finding("critical", item=f"i{n}", reason=f"r{n}") for n in range(7_000)]),
    "times that are none": rows(lie(at="9999", first_seen="x" * 1000)),
    "halves of surrogate pairs": rows('{"schema":1,' + json.dumps(evil("\\ud800"))[1:].replace("\\\\ud800", "\\ud800")),
    # read as one array of as many values as there are lines, the third line would stand beside an honest record
    "lines that make sense together only": rows(f"{MINE},{MINE},{MINE}", MINE[:-1] + ',"x":[1', AS_ANOTHER, "{}]}"),
    "two records on a line": rows(f"{MINE},{MINE}", MINE),
    "another's name between its own": rows(MINE[:-1] + ',"host":"kafka-a01","host":"kafka-a02"}'),
    "another's name after its own": rows(AS_ANOTHER),
    "a key twice in a header": rows(raw({**HEADER, "run_id": "r1"})[:-1] + ',"host":"kafka-a01","run_id":"r0"}'),
    "a key twice in its facts": rows(MINE.replace('"errors":2', '"errors":2,"errors":0')),
    "endless numbers": rows(MINE.replace('"errors":2', '"errors":' + "9" * 4000)),
    "deep nesting": rows('{"a":' * 5000, {**finding(), "facts": {"a": [[[[["x"]]]]]}}),
}


def told(lines: Iterable[str]) -> HostReport:
    """What the fan-out makes of these lines of the host."""
    heard = AgentOutput(list(lines), [], 0)
    kept = validation.believed(LIAR, heard.lines, "r1", AT)
    kind, verdict = validation.reach(heard, kept, 0.1)
    return HostReport(LIAR, kept.report, kept.lines, verdict, 0.1, kind)


def run(lie: HostReport, keeper: Keeping | None = None) -> Any:
    honest = [host_report("kafka-a01", swappiness(), finding()), host_report("kafka-a03", finding("critical"))]
    return survey([honest[0], lie, honest[1]], keeper=keeper)


def about_others(name: str, shown: str) -> list[str]:
    """What a format says that is not about the liar."""
    if name == "junit":
        suites = [suite for suite in ElementTree.fromstring(shown) if suite.attrib["name"] != LIAR.name]
        return [re.sub(' time="[^"]*"', "", ElementTree.tostring(suite, encoding="unicode")) for suite in suites]
    if name == "json":
        document = json.loads(shown)
        return [json.dumps({**row, "duration_ms": 0}) for row in document["findings"] if row["host"] != LIAR.name]
    if name == "table":  # the summary before and the totals behind it count the liar too
        blocks = re.split(r"\n(?=[A-Z]{2})", shown.split("\n\n")[1])
        return [" ".join(block.split()) for block in blocks if LIAR.name not in block]
    own = ("SMOKE", "smoke_duration")
    return [line for line in shown.splitlines() if LIAR.name not in line and not line.startswith(own)]


@pytest.mark.parametrize("name", show.OF_MANY)
@pytest.mark.parametrize("lie", LIES)
def test_a_lie_changes_only_the_liars_own_row(name: str, lie: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    shown = "\n".join(show.many(name, run(told(LIES[lie]))))
    honest = "\n".join(show.many(name, run(host_report(LIAR, finding(), LAST))))

    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", shown)
    assert sorted(about_others(name, honest)) == sorted(about_others(name, shown))


@pytest.mark.parametrize("lie", LIES)
def test_no_lie_is_taken_for_health(lie: str) -> None:
    seen = run(told(LIES[lie]))
    of_liar = [problem for problem in seen.problems if problem["host"] == LIAR.name]

    assert of_liar
    assert {problem["cluster"] for problem in seen.problems} == {"prod-a"}


@pytest.mark.parametrize("lie", LIES)
def test_no_lie_becomes_a_path_or_another_hosts_line_of_the_store(lie: str, tmp_path: pathlib.Path) -> None:
    keeper = Keeping(str(tmp_path / "results"), "r1", AT)
    run(told(LIES[lie]), keeper)
    keeper.end()

    (kept,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert kept.relative_to(tmp_path).as_posix() == "results/date=2026-11-20/031200-r1.jsonl"
    stored = [json.loads(line) for line in kept.read_text().splitlines()]
    assert {row["host"] for row in stored} == {"kafka-a01", "kafka-a02", "kafka-a03"}
    assert {row["run_id"] for row in stored} == {"r1"}
    assert len([row for row in stored if row["host"] == "kafka-a01"]) == HONEST[0]


@pytest.mark.parametrize("lie", LIES)
def test_what_is_stored_of_a_lie_is_our_own_encoding_of_what_was_checked(lie: str) -> None:
    heard = told(LIES[lie])
    believed = [*([heard.report.header] if heard.report.header else []), *heard.report.findings]

    assert heard.lines == [validation.ENCODE(record) for record in believed]


class Said:
    """The end of an ssh channel as paramiko gives it: these bytes in these parts, then the end. Nothing can be sent."""

    def __init__(self, parts: Iterable[bytes]) -> None:
        self._parts = iter(parts)
        self.status_event, self.exit_status = threading.Event(), 0
        self.status_event.set()

    def settimeout(self, _seconds: float) -> None: ...

    def sendall(self, _data: bytes) -> None:
        raise OSError("closed")

    def recv(self, _most: int) -> bytes:
        return next((part for part in self._parts if part), b"")


def object_of(pairs: Iterable[tuple[str, Any]]) -> str:
    return "{" + ",".join(f"{raw(key)}:{raw(value)}" for key, value in pairs) + "}"


class Late(Said):
    """Says all, and ends, in the moment in which we stopped waiting for its next word."""

    _waited = False

    def recv(self, most: int) -> bytes:
        if not self._waited:
            self._waited = True
            raise TimeoutError
        return super().recv(most)

    def exit_status_ready(self) -> bool:
        return True

    def recv_ready(self) -> bool:
        return True


def test_words_that_come_with_the_end_in_the_last_moment_are_heard() -> None:
    """Not with a real host: the moment cannot be hit at will. Seen with hosts that were silent for a second."""
    heard = Hearing(Late([b"".join(f"{row}\n".encode() for row in rows())]), Options(), Bundle(b"", "", ""), LIAR)

    assert list(heard.to_the_end(time.monotonic() + 60).lines) == rows()


NAMES = st.sampled_from(["kafka-a01", "kafka-a02", "prod-a", "prod-b", "r1", "r0"])
VALUES = NAMES | st.none() | st.integers() | st.floats() | st.text(max_size=5) | st.lists(NAMES, max_size=2)
KEYS = st.sampled_from([*FIELDS, "kind", "drawer"])
# the text of an object: keys may stand twice, and in any order
PAIRS = st.lists(st.tuples(KEYS, VALUES), max_size=4)
RECORDS = st.sampled_from([list(record.items()) for record in (finding(), finding(**ITSELF), HEADER, {})])
OBJECTS = st.builds(lambda before, record, after: object_of([*before, *record, *after]), PAIRS, RECORDS, PAIRS)
WHOLE = [MINE, AS_ANOTHER, f"{MINE},{MINE}", f"{MINE},{MINE},{MINE}", MINE[:-1] + ',"x":[1', "{}]}", "{}]"]
JOINTS = st.sampled_from([b"\n"] * 6 + [b",", b"", b"\r\n", b" ", b"\n\n", b"],[", b"\x00", b"\x0b", b"\xe2\x80\xa8"])
PIECES = (
    OBJECTS.map(str.encode)
    | st.sampled_from([line.encode() for line in WHOLE])
    | st.binary(max_size=8)
    | st.sampled_from([b"{", b"}", b"[", b"]", b'"', b"\\"])
)
BYTES = st.lists(st.tuples(PIECES, JOINTS), max_size=8).map(lambda told: b"".join(b"".join(pair) for pair in told))


@given(BYTES, st.integers(1, 2000))
def test_whatever_bytes_a_host_sends_no_line_of_the_store_says_another_host_cluster_or_run(
    said: bytes, size: int
) -> None:
    parts = [said[start : start + size] for start in range(0, len(said), size)]
    heard = Hearing(Said(parts), Options(), Bundle(b"", "", ""), LIAR).to_the_end(time.monotonic() + 60)
    with tempfile.TemporaryDirectory() as folder:
        keeper = Keeping(folder, "r1", AT)
        run(Outcome(LIAR, 0.1, heard).believed("r1"), keeper)
        keeper.end()
        (kept,) = [path for path in pathlib.Path(folder).rglob("*") if path.is_file()]
        lines = kept.read_bytes().split(b"\n")

    assert lines.pop() == b""
    records = [json.loads(line, object_pairs_hook=each_key_once, parse_constant=pytest.fail) for line in lines]
    assert {(record["host"], record["cluster"], record["run_id"]) for record in records} <= {
        (host, "prod-a", "r1") for host in ("kafka-a01", "kafka-a02", "kafka-a03")
    }
    # what an honest host said is there as often as it said it, and not once more
    assert [sum(record["host"] == host for record in records) for host in ("kafka-a01", "kafka-a03")] == HONEST


def each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


def test_a_flood_leaves_the_others_in_sight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = list(show.many("table", run(told(LIES["a million findings"]))))

    assert len(shown) < MOST_ROWS_OF_A_HOST + 40
    assert any("kafka-a03" in line for line in shown)
