"""oom_lines: the kernel's and Java's words for memory that ran out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.sources.kernel import oom_lines

# mm/oom_kill.c: Linux 6.1; a memory cgroup; 4.18 of RHEL 8; 3.10 of RHEL 7; a name with brackets
KILLS = [
    "Out of memory: Killed process 4242 (java) total-vm:33554432kB, anon-rss:31457280kB, file-rss:0kB, shmem-rss:0kB,"
    " UID:993 pgtables:62000kB oom_score_adj:0",
    "Memory cgroup out of memory: Killed process 4242 (java) total-vm:1048576kB, anon-rss:1040000kB, file-rss:0kB",
    "Killed process 4242 (java), UID 993, total-vm:33554432kB, anon-rss:31457280kB, file-rss:0kB, shmem-rss:0kB",
]


@pytest.mark.parametrize("text", KILLS)
def test_the_killed_process_is_named(text: str) -> None:
    assert oom_lines.killed_process(text) == oom_lines.Killed(4242, "java")


def test_a_name_with_brackets_is_whole() -> None:
    assert oom_lines.killed_process(KILLS[0].replace("java", "(sd-pam)")) == oom_lines.Killed(4242, "(sd-pam)")


@pytest.mark.parametrize(
    "text",
    [
        "java invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0",
        "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,task=java,pid=4242,uid=993",
        "oom_reaper: reaped process 4242 (java), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB",
        "Out of memory: Kill process 4242 (java) score 900 or sacrifice child",
        "",
    ],
)
def test_other_lines_of_the_same_kill_are_not_a_second_one(text: str) -> None:
    assert oom_lines.killed_process(text) is None


STAMPED = """\
[2026-11-18 10:47:22,123] ERROR Uncaught exception in thread 'kafka-request-handler-3': (o.a.k.c.utils.KafkaThread)
java.lang.OutOfMemoryError: Java heap space
[2026-11-18 10:48:00,001] ERROR Error while mapping (kafka.log.LogManager)
java.lang.OutOfMemoryError: Map failed
[2026-11-18 10:49:00,001] FATAL (kafka.Kafka$) java.lang.OutOfMemoryError: Java heap space
"""


def test_errors_of_a_log_are_counted_by_kind_and_dated_by_the_line_before() -> None:
    assert oom_lines.errors(STAMPED, "+0100") == [
        oom_lines.JavaError("java.lang.OutOfMemoryError: Java heap space", 1_794_995_340.0, 2),
        oom_lines.JavaError("java.lang.OutOfMemoryError: Map failed", 1_794_995_280.0, 1),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "java.lang.OutOfMemoryError: Java heap space",
        "Terminating due to java.lang.OutOfMemoryError: Java heap space",
        'Exception in thread "main" java.lang.OutOfMemoryError: Java heap space',
        "# java.lang.OutOfMemoryError: Java heap space",
        "Caused by: java.lang.OutOfMemoryError: Java heap space\r\n\tat kafka.Kafka.main(Kafka.scala)",
    ],
)
def test_an_undated_error_is_found_in_any_wording(text: str) -> None:
    assert oom_lines.errors(text, "") == [oom_lines.JavaError("java.lang.OutOfMemoryError: Java heap space", None, 1)]


@pytest.mark.parametrize(
    ("row", "zone", "at"),
    [
        ("[2026-11-18 11:06:40,123] INFO", "+0000", 1_795_000_000.0),
        ("[2026-11-18 12:36:40,123] INFO", "+0130", 1_795_000_000.0),
        ("2026-11-18 06:06:40,123 [myid:1] - WARN", "-0500", 1_795_000_000.0),
        ("2026-11-18T11:06:40.123Z", "rubbish", 1_795_000_000.0),
        ("1795000000.123456 kafka-a01 java[4242]: x", "+0100", 1_795_000_000.123456),
        ("[2026-13-18 11:06:40,123] INFO", "", None),
        ("at 2026-11-18 11:06:40,123", "", None),
    ],
)
def test_the_date_of_a_line(row: str, zone: str, at: float | None) -> None:
    got = oom_lines.stamp(row, zone)
    assert got is None if at is None else got is not None and int(got) == int(at)


@given(
    st.text() | st.builds(lambda cut, more: STAMPED[:cut] + more, st.integers(0, len(STAMPED)), st.text()), st.text()
)
def test_rubbish_gives_short_errors_or_none(text: str, zone: str) -> None:
    for error in oom_lines.errors(text, zone):
        assert error.words.startswith("java.lang.OutOfMemoryError") and len(error.words) < 100
        assert error.times >= 1 and "\n" not in error.words
    killed = oom_lines.killed_process(text)
    assert killed is None or killed.pid >= 0


@given(st.from_regex(r"\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[,.]\d", fullmatch=True))
def test_no_date_however_odd_is_an_error(row: str) -> None:
    assert oom_lines.stamp(row, "+9999") is None or isinstance(oom_lines.stamp(row, "-0100"), float)
