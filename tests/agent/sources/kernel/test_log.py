"""kernel_log: each record once, the kernel's own words only, and what was lost is counted."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.sources.kernel import incidents
from agent.sources.kernel import log as kernel_log
from agent.sources.kernel.log import Record, Sighting
from agent.state import Incident
from tests.machine import NOW, FakeHost, next_run

BOOTED = NOW - 86400


def test_a_record_of_dev_kmsg_is_read() -> None:
    raw = "3,1042,5140900,-;sd 2:0:0:0: [sdc] rejecting I/O\n SUBSYSTEM=scsi\n DEVICE=+scsi:2:0:0:0\n"

    record = kernel_log.parse(raw, BOOTED)

    assert record == Record(1042, 0, 3, BOOTED + 5.1409, "sd 2:0:0:0: [sdc] rejecting I/O", "+scsi:2:0:0:0", 5.1409)


@pytest.mark.parametrize(
    ("raw", "facility", "level"),
    [
        ("6,339,5140900;before Linux 3.7 there were no flags\n", 0, 6),
        ("4,2201,981234567,-,caller=T714;with CONFIG_PRINTK_CALLER\n", 0, 4),
        ("12,1,5,c;from user space\n", 1, 4),
        ("30,18446744073709551615,99,-;systemd[1]: Started.\n", 3, 6),
    ],
)
def test_the_forms_of_the_prefix(raw: str, facility: int, level: int) -> None:
    record = kernel_log.parse(raw, BOOTED)

    assert record and (record.facility, record.level) == (facility, level)


@pytest.mark.parametrize(
    "raw", ["", "\n", " DEVICE=b8:0", "3,1042", "a,b,c,-;x", "-3,1,1,-;x", "3,1,1,-", "3,1,-1,-;x"]
)
def test_what_is_no_record_is_left_out(raw: str) -> None:
    assert kernel_log.parse(raw, BOOTED) is None


def test_escaped_bytes_are_read_as_utf_8() -> None:
    record = kernel_log.parse(r"3,1,1,-;first\x0asecond caf\xc3\xa9 back\x5cslash broken\xff", BOOTED)

    assert record and record.text == "first\nsecond café back\\slash broken\ufffd"


def test_a_record_is_never_ahead_of_now() -> None:
    record = kernel_log.parse("3,1,999999999999,-;the clocks drift", BOOTED, NOW)

    assert record and record.at == NOW


def everything(record: Record) -> Any:
    return [("item", kernel_log.incident("seen", record))]


def lines(*records: str, **options: Any) -> FakeHost:
    return FakeHost(answers={"kernel_records": list(records)}, **options)


def texts(host: FakeHost) -> list[str]:
    return [seen.text for seen in host.state.incidents("subject", "item")]


def test_each_record_is_told_once_and_only_the_kernels() -> None:
    first = lines("3,1,1000000,-;one", "11,2,2000000,-;forged by a user", "3,3,3000000,-;two")

    kernel_log.note_new(first, "subject", everything)
    kernel_log.note_new(first, "subject", everything)
    second = next_run(first, answers={"kernel_records": [*first.answers["kernel_records"], "3,4,4000000,-;three"]})
    news = kernel_log.note_new(second, "subject", everything)

    assert texts(first) == ["one", "two"]
    assert texts(second) == ["one", "two", "three"]
    assert [seen.text for seen in news.incidents["item"]] == ["three"]


def test_a_reboot_begins_anew() -> None:
    first = lines("3,500,1000000,-;before")
    kernel_log.note_new(first, "subject", everything)

    second = next_run(first, boot_id="another", answers={"kernel_records": ["3,1,1000000,-;after"]})
    news = kernel_log.note_new(second, "subject", everything)

    assert (texts(second), news.lost, news.first) == (["after"], 0, True)


def test_a_buffer_that_starts_anew_in_the_same_boot_is_read_from_its_start() -> None:
    first = lines("3,500,1000000,-;before")
    kernel_log.note_new(first, "subject", everything)

    second = next_run(first, answers={"kernel_records": ["3,7,1000000,-;numbers fell"]})
    kernel_log.note_new(second, "subject", everything)

    assert texts(second) == ["before", "numbers fell"]


def test_an_empty_buffer_forgets_nothing() -> None:
    first = lines("3,5,1000000,-;before")
    kernel_log.note_new(first, "subject", everything)
    second = next_run(first, answers={"kernel_records": []})
    kernel_log.note_new(second, "subject", everything)
    third = next_run(second, answers={"kernel_records": ["3,5,1000000,-;before"]})
    kernel_log.note_new(third, "subject", everything)

    assert texts(third) == ["before"]


@pytest.mark.parametrize(
    ("numbers", "last", "lost"),
    [
        ([], None, 0),
        ([], 7, 0),
        ([7], None, 0),
        ([1000, 1001], None, 0),
        ([1000, 1003], None, 2),
        ([8, 9], 7, 0),
        ([10, 11], 7, 2),
        ([5, 7, 9], 7, 1),
        ([5, 6, 7], 7, 0),
        ([2**64 - 1], 2**64 - 3, 1),
    ],
)
def test_gaps_in_the_numbers_are_lost_records(numbers: list[int], last: Any, lost: int) -> None:
    assert kernel_log.lost_between(numbers, last) == lost


def test_records_of_user_space_are_no_gap() -> None:
    first = lines("3,1,1000000,-;one", "30,2,2000000,-;systemd", "3,3,3000000,-;two")

    assert kernel_log.note_new(first, "subject", everything).lost == 0


def sighting(at: float, form: str = "a", each: bool = True, times: int = 1, item: str = "sdd") -> Sighting:
    import re

    return Sighting(item, "medium error", Record(1, 0, 6, at, f"line {form}", "", at), re.compile(form), each, times)


def test_several_forms_of_line_of_one_event_count_once() -> None:
    told = [sighting(0, "a"), sighting(0.1, "b"), sighting(1, "a"), sighting(1.1, "b"), sighting(1.2, "b")]

    assert kernel_log.gather(told) == [("sdd", Incident("medium error", 1.2, 3, "line b"))]


def test_a_form_that_repeats_within_an_event_counts_once_a_minute() -> None:
    told = [sighting(at, each=False) for at in (0, 2, 4, 59, 61, 63)]

    assert [(seen.at, seen.times) for _item, seen in kernel_log.gather(told)] == [(59, 1), (63, 1)]


def test_items_are_told_apart() -> None:
    assert len(kernel_log.gather([sighting(0), sighting(0, item="sde")])) == 2


@given(st.lists(st.tuples(st.floats(0, 1e6), st.sampled_from("abc"), st.booleans(), st.integers(1, 9))))
def test_gathering_never_counts_more_than_was_told_nor_loses_a_moment(rows: Any) -> None:
    told = [sighting(at, form, each, times) for at, form, each, times in sorted(rows)]

    gathered = [seen for _item, seen in kernel_log.gather(told)]

    assert sum(seen.times for seen in gathered) <= sum(seen.times for seen in told)
    assert bool(gathered) == bool(told)
    assert all(any(seen.at - 60 <= one.record.at <= seen.at for seen in gathered) for one in told)


@pytest.mark.parametrize(
    ("moments", "most"),
    [([], 0), ([0], 1), ([0, 3599.9], 2), ([0, 3600], 1), ([0, 1000, 2000, 3600, 4000], 4)],
)
def test_the_busiest_hour(moments: list[float], most: int) -> None:
    assert incidents.busiest([Incident("reset", at) for at in moments], 3600) == most


@given(st.integers(1, 10**6), st.floats(0, 1e7))
def test_spreading_keeps_the_sum_and_stays_within_the_time(times: int, seconds: float) -> None:
    spread = incidents.spread("reset", NOW, seconds, times, "grew")

    assert sum(seen.times for seen in spread) == times
    assert all(NOW - seconds <= seen.at <= NOW and seen.times > 0 for seen in spread)


def test_moments_for_sentences() -> None:
    assert incidents.clock(NOW - 60, NOW) == "11:05Z"
    assert incidents.clock(NOW - 86400, NOW) == "2026-11-17T11:06Z"
    assert incidents.when(incidents.IncidentSummary("", 1, NOW, NOW, ""), NOW) == "at 11:06Z"
    assert incidents.when(incidents.IncidentSummary("", 2, NOW - 120, NOW, ""), NOW) == "since 11:04Z, last 11:06Z"


def test_a_text_in_a_sentence_is_one_short_printable_line() -> None:
    assert kernel_log.one_line("a\n  b\x1b[31m \x00c" + "d" * 999) == ("a b [31m  c" + "d" * 999)[:200]


@given(st.lists(st.one_of(st.text(), st.from_regex(r"\d{1,3},\d{1,22},\d{1,22},[-c];.*", fullmatch=True))))
def test_rubbish_never_fails(raw: list[str]) -> None:
    host = lines(*raw)

    news = kernel_log.note_new(host, "subject", everything)

    assert news.lost >= 0
    assert all(record.facility == 0 and record.at <= NOW for record in kernel_log.records(host))
