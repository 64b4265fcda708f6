"""The sentences that kafka_log looks for against the jars of real Kafkas: a version that words one anew is noticed."""

from __future__ import annotations

import pathlib
import re
import zipfile
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from agent.sources.kafka import log_events as lines
from tests.real.parts import kafka_servers

pytestmark = pytest.mark.slow

CI = ("2.8.2", "3.6.2", "3.9.1", "4.1.1")
OTHERS = ("2.4.1", "3.0.2", "3.3.2", "3.7.2")
JARS = ("kafka_2.*.jar", "kafka-metadata-*.jar", "kafka-storage-*.jar")
# What stands for a value: \x01 of javac, {} of SLF4J, %s and %d
PLACE = re.compile(r"\x01|\{\}|%[sd]")


class Sentence(NamedTuple):
    """words: what each form of it holds. before: what the logger puts in front. values: fill its places, the last one
    those that are left. since: the first version that says it in one piece.
    """

    kind: str
    words: str
    before: str
    values: tuple[str, ...]
    since: tuple[int, int]


SENTENCES = (
    Sentence(lines.FENCED, "because its session has timed out", "[QuorumController id=1] ", ("3",), (2, 8)),
    Sentence(
        lines.UNCLEAN,
        "UNCLEAN partition change for ",
        "[QuorumController id=1] ",
        ("dirty-0 with topic ID 4OgV0-SUQhGYD7aDSs50Nw", "isr: [2] -> [3], leader: -1 -> 3, leaderEpoch: 2 -> 3"),
        (3, 0),
    ),
    Sentence(lines.UNCLEAN, " was marked as RECOVERING", "[Broker id=3] ", ("dirty-1",), (4, 0)),
    Sentence(lines.SHRINK, "Shrinking ISR from ", "[Partition safe-5 broker=1] ", ("1,2,3", "1,2", "7"), (4, 0)),
    Sentence(lines.EXPAND, "ISR updated to ", "[Partition safe-5 broker=1] ", ("1,2,3", "", "4"), (4, 0)),
    Sentence(lines.MOVED, "Stopped fetchers as part of become-follower ", "[Broker id=3] ", ("3",), (4, 0)),
    Sentence(lines.LOG_DIR, "Stopping serving logs in dir ", "", ("/kafka/d2",), (4, 0)),
    Sentence(
        lines.TRUNCATED, "Truncating to offset ", "[UnifiedLog partition=safe-5, dir=/kafka/d1] ", ("27",), (4, 0)
    ),
    Sentence(
        lines.CORRUPT, "Corruption found in segment ", "[LogLoader partition=safe-5, dir=/kafka/d1] ", ("27",), (4, 0)
    ),
    Sentence(lines.EXPIRED, "Session expired.", "[ZooKeeperClient Kafka server] ", (), (2, 4)),
)


@pytest.mark.parametrize("version", [*CI, *(pytest.param(one, marks=pytest.mark.kafka) for one in OTHERS)])
def test_each_sentence_that_a_kafka_can_log_is_understood(version: str) -> None:
    kafka_servers.classpath(version)  # skips without the jars
    numbers = tuple(int(number) for number in version.split(".")[:2])
    sentences = [sentence for sentence in SENTENCES if numbers >= sentence.since]
    if numbers >= (4, 0):
        sentences = [sentence for sentence in sentences if sentence.kind != lines.EXPIRED]  # no ZooKeeper any more
    found = constants(version, [sentence.words for sentence in sentences])

    for sentence in sentences:
        said = [text for text in found if is_whole(sentence, text)]
        assert said, f"Kafka {version} says {sentence.words!r} no more"
        for text in said:
            line = f"[2026-11-21 20:55:11,887] INFO {sentence.before}{filled(text, sentence.values)} (kafka.some.Class)"
            assert [event.kind for event in lines.events(line, "UTC")] == [sentence.kind], line


def is_whole(sentence: Sentence, text: str) -> bool:
    return sentence.words in text and (not sentence.values or PLACE.search(text) is not None)


def filled(text: str, values: tuple[str, ...]) -> str:
    left = iter(values)
    return PLACE.sub(lambda _match: next(left, values[-1]), text)


def constants(version: str, words: list[str]) -> set[str]:
    """The texts in the classes of the broker that hold one of these words."""
    folder = pathlib.Path(kafka_servers.CACHE, version)
    needles = [word.encode() for word in words]
    found: set[str] = set()
    for jar in (jar for name in JARS for jar in folder.glob(name)):
        with zipfile.ZipFile(jar) as classes:
            for name in classes.namelist():
                body = classes.read(name) if name.endswith(".class") else b""
                for needle in needles:
                    found.update(around(body, needle) if needle in body else ())
    return found


def around(body: bytes, needle: bytes) -> Iterator[str]:
    """The constants of a class file that hold this: each is 1, its length in two bytes, and its text (JVMS 4.4.7)."""
    for match in re.finditer(re.escape(needle), body):
        for start in range(match.start(), max(match.start() - 2000, 2), -1):
            length = int.from_bytes(body[start - 2 : start], "big")
            if body[start - 3] == 1 and start + length >= match.end() and length < 2000:
                yield body[start : start + length].decode("utf-8", "replace")
                break
