"""The BMC's event log: rows of several vendors and versions, what is new in it, and rubbish."""

from __future__ import annotations

import calendar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.host import CannotTell
from agent.sources.bmc import event_log
from agent.sources.bmc.event_log import parse_events, parse_info
from tests.agent.sources.bmc.handmade_bmc import OLD_ROW, SEL_INFO, commands, later, machine
from tests.machine import FakeHost, next_run

# All hand-made, as ipmitool 1.8.18 and 1.8.19 print them.
ROWS = [
    "   1 |  Pre-Init  |0000001554| Power Supply #0x01 | Failure detected | Asserted",
    " 532 | 08/14/2023 | 11:25:39 | Power Supply #0x3c | Power Supply AC lost | Deasserted",
    "  3a | 12/14/22 | 23:09:44 CET | Memory #0x88 | Correctable ECC (CPU0_G1) | Asserted",
    "  18 | 01/27/2015 | 11:41:08 | Memory | Correctable ECC | Asserted | CPU 0 DIMM 8",
    "  34 | 02/25/2025 | 04:50:09 PM EST | Memory #0x02 | Uncorrectable ECC (UnCorrectable ECC |  DIMMD7) | Asserted",
    "fe3c | 04/10/2008 | 14:50:13 | Power Unit Power Redundancy | Fully Redundant",
    "   1 | 04/12/2026 | 09:12:44 | Temperature T1 | Upper Critical going high | Asserted | Reading 96 > Threshold 90",
]


def test_the_rows_of_versions_and_vendors() -> None:
    found = parse_events("\n".join(ROWS))

    assert [event.record for event in found] == [1, 0x532, 0x3A, 0x18, 0x34, 0xFE3C, 1]
    assert [event.asserted for event in found] == [True, False, True, True, True, True, True]
    assert found[0].at is None
    assert found[1].at == calendar.timegm((2023, 8, 14, 11, 25, 39))
    assert found[2].at == calendar.timegm((2022, 12, 14, 23, 9, 44))
    assert found[4].at == calendar.timegm((2025, 2, 25, 16, 50, 9))
    assert (found[0].type, found[0].sensor_number, found[0].text) == ("Power Supply", 1, "Failure detected")


@pytest.mark.parametrize(
    ("row", "dimm", "kind"),
    [
        (ROWS[2], "CPU0_G1", "correctable"),
        (ROWS[3], "CPU 0 DIMM 8", "correctable"),
        (ROWS[4], "DIMMD7", "uncorrectable"),
        ("1 | 01/01/24 | 10:00:00 | Memory #0x53 | Uncorrectable ECC | Asserted", "Memory #0x53", "uncorrectable"),
        ("1 | 01/01/24 | 10:00:00 | Memory #0x5 | Correctable ECC (P1-DIMMA2) | Asserted", "P1-DIMMA2", "correctable"),
        (
            "1 | 01/01/24 | 10:00:00 | Event Logging Disabled #0x06 | Correctable memory error logging disabled",
            "Event Logging Disabled #0x06",
            "correctable_limit",
        ),
        ("1 | 01/01/24 | 10:00:00 | Memory #0x87 | Configuration Error | Asserted", "Memory #0x87", ""),
        (ROWS[0], "Power Supply #0x01", ""),
    ],
)
def test_the_module_and_the_kind_of_memory_errors(row: str, dimm: str, kind: str) -> None:
    (event,) = parse_events(row)

    assert (event_log.dimm(event), event_log.memory_kind(event)) == (dimm, kind)


def test_how_full_the_log_is() -> None:
    log = parse_info(SEL_INFO.format(entries=512, percent="98%", added="11/18/26 10:00:00 UTC", overflow="true"))

    assert (log.entries, log.used_percent, log.overflow) == (512, 98, True)


@pytest.mark.parametrize("percent", ["unknown", "", "nan"])
def test_a_log_that_does_not_say_how_full_it_is(percent: str) -> None:
    text = SEL_INFO.format(entries=3, percent=percent, added="Not Available", overflow="false")

    assert parse_info(text).used_percent == -1


ECC = "{record:4x} | 11/18/26 | 10:{minute:02d}:00 UTC | Memory #0x02 | Correctable ECC ( DIMM{name}) | Asserted"


def ecc(record: int, minute: int, name: str = "A1") -> str:
    return ECC.format(record=record, minute=minute, name=name)


def count(host: FakeHost) -> int:
    return len(event_log.memory_incidents(host))


def test_each_record_is_told_once_over_runs_and_reboots() -> None:
    first = machine(log=[OLD_ROW, ecc(2, 1)])
    assert count(first) == 1
    same = later(first)
    assert count(same) == 1
    more = later(same, asked=commands(log=[OLD_ROW, ecc(2, 1), ecc(3, 2, "B1")]))
    assert [item for item, _incident in event_log.memory_incidents(more)] == ["DIMMA1", "DIMMB1"]
    rebooted = next_run(more, boot_id="00000000-0000-4000-8000-000000000002")
    assert count(rebooted) == 0


def test_a_record_of_before_the_reboot_that_no_run_saw_is_told_after_it() -> None:
    first = machine(log=[OLD_ROW])
    assert count(first) == 0
    rebooted = next_run(
        first, boot_id="00000000-0000-4000-8000-000000000002", commands=commands(log=[OLD_ROW, ecc(2, 1)])
    )

    assert count(rebooted) == 1


def test_a_log_that_was_cleared_is_read_from_its_beginning() -> None:
    first = machine(log=[OLD_ROW, ecc(2, 1), ecc(3, 2)])
    assert count(first) == 2
    cleared = later(first, asked=commands(log=[ecc(1, 30)]))

    assert count(cleared) == 3


def test_a_log_that_wraps_round_is_read_from_where_we_stopped() -> None:
    first = machine(log=[ecc(1, 1), ecc(2, 2), ecc(3, 3)])
    assert count(first) == 3
    wrapped = later(first, asked=commands(log=[ecc(2, 2), ecc(3, 3), ecc(4, 4)]))

    assert count(wrapped) == 4


def test_old_records_of_before_the_first_run_and_those_of_a_wrong_clock_are_no_news() -> None:
    log = [ecc(1, 1).replace("11/18/26", date) for date in ("11/01/26", "01/01/70", "11/18/31")]

    assert count(machine(log=log)) == 0


def test_a_new_record_with_a_wrong_clock_happened_between_the_runs() -> None:
    first = machine()
    count(first)
    second = later(first, asked=commands(log=[OLD_ROW, ecc(2, 1).replace("11/18/26", "01/01/99")]))
    ((_item, incident),) = event_log.memory_incidents(second)

    assert first.now() <= incident.at <= second.now()


def test_more_new_records_than_are_read_at_once_are_counted() -> None:
    first = machine()
    event_log.note_new(first)
    many = later(first, asked=commands(log=[OLD_ROW, *(ecc(number, 1) for number in range(2, 260))]))

    assert event_log.note_new(many).missed == 58


cut_rows = st.tuples(st.sampled_from(ROWS), st.integers(0, 80)).map(lambda cut: cut[0][: cut[1]] + cut[0][cut[1] + 3 :])
lines = st.one_of(st.text(max_size=80), cut_rows)


@given(st.lists(lines, max_size=20).map("\n".join))
def test_rubbish_gives_only_well_typed_records(text: str) -> None:
    for event in parse_events(text):
        assert event.record >= 0 and len(event.text) <= 100 and len(event.row) <= 400
        assert event.at is None or event.at > 0
        event_log.dimm(event)


@given(st.one_of(st.text(max_size=200), st.integers(0, 300).map(lambda n: SEL_INFO[:n])))
def test_rubbish_in_place_of_the_logs_size_cannot_be_told(text: str) -> None:
    try:
        assert parse_info(text).entries >= 0
    except CannotTell as error:
        assert "the number of records" in str(error)
