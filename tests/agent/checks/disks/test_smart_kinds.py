"""smart: each disk by what it is. The attribute rows are written by hand after real drives of the models named."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.checks.disks import smart
from agent.host import Answer, CannotTell
from agent.sources.smart import attributes as smart_attributes
from agent.sources.smart import quirks, text_report
from agent.sources.smart import report as smart_report
from agent.sources.smart.attributes import slow_commands, unpacked
from agent.sources.smart.report import Facts
from agent.sources.smart.smartctl import parse
from agent.status import Verdict

HEAD = """\
smartctl 7.2 2020-12-30 r5155 [x86_64-linux-5.10.0] (local build)

=== START OF INFORMATION SECTION ===
Device Model:     {model}
Serial Number:    CVWL0000
User Capacity:    {size}
{rotation}ATA Version is:   ATA8-ACS, ACS-2 T13/2015-D revision 3
SMART support is: Available - device has SMART capability.
SMART support is: Enabled

=== START OF READ SMART DATA SECTION ===
SMART overall-health self-assessment test result: {health}
Self-test execution status:      ({status:>4})\tThe previous self-test completed having
\t\t\t\t\tthe read element of the test failed.

SMART Attributes Data Structure revision number: 10
Vendor Specific SMART Attributes with Thresholds:
ID# ATTRIBUTE_NAME          FLAGS    VALUE WORST THRESH FAIL RAW_VALUE
  9 Power_On_Hours          -O--CK   099   099   000    -    {hours}
{rows}

{log}
Device Statistics (GP Log 0x04)
Page  Offset Size        Value Flags Description
{statistics}

"""
SSD_SIZE, HDD_SIZE = "240,057,409,536 bytes [240 GB]", "4,000,787,030,016 bytes [4.00 TB]"
SSD, HDD = "Rotation Rate:    Solid State Device\n", "Rotation Rate:    7200 rpm\n"


def report(
    model: str,
    *rows: str,
    size: str = SSD_SIZE,
    rotation: str = SSD,
    health: str = "PASSED",
    status: int = 0,
    hours: str = "20000",
    log: str = "",
    statistics: str = "",
) -> Facts:
    """A drive that prints these attribute rows."""
    given = {"model": model, "size": size, "rotation": rotation, "health": health, "status": status, "hours": hours}
    text = HEAD.format(rows="\n".join(rows), log=log, statistics=statistics, **given)
    return text_report.read(Answer(0, text, ""))


def verdict(facts: Facts) -> Verdict:
    return smart.judge(facts, smart.LIMITS)


USED_255 = "0x07  0x008  1             255  ---  Percentage Used Endurance Indicator"
USED_97 = "0x07  0x008  1              97  ---  Percentage Used Endurance Indicator"


def test_255_percent_of_its_rated_writes_means_that_a_drive_does_not_tell() -> None:
    row = "233 Media_Wearout_Indicator -O--CK   073   073   000    -    0"
    facts = report("INTEL SSDSC2CW240A3", row, statistics=USED_255)

    assert (facts.wear_percent, verdict(facts).status) == (27, "ok")
    assert report("OTHER SSD 240", row, statistics=USED_255).wear_percent == 27
    assert report("OTHER SSD 240", row, statistics=USED_97).wear_percent == 97


def test_blocks_that_an_ssd_retired_are_not_sectors_of_a_hard_disk() -> None:
    facts = report("KINGSTON SV300S37A240G", "  5 Retired_Block_Count     PO--CK   100   100   003    -    8192")

    assert verdict(facts).status == "ok"


def test_a_count_above_the_sectors_of_the_drive_is_not_a_fact() -> None:
    rows = (
        "187 Reported_Uncorrect      -O--CK   100   100   000    -    210455494656",
        "198 Offline_Uncorrectable   ----CK   100   100   000    -    19705309954048",
    )
    facts = report("SATA 240GB", *rows)

    assert (facts.reported_uncorrectable, facts.offline_uncorrectable) == (None, None)
    assert facts.implausible == ("attribute 187: 210455494656", "attribute 198: 19705309954048")
    assert verdict(facts).status == "ok"


def test_an_ssd_with_its_spare_at_the_threshold_is_critical_and_with_little_of_it_is_warned_of() -> None:
    low = report("INTEL SSDSC2BW240A4", "232 Available_Reservd_Space PO--CK   018   018   010    -    0")
    gone = report("INTEL SSDSC2BW240A4", "232 Available_Reservd_Space PO--CK   002   002   010    NOW  0")

    assert verdict(low).status == "warning" and "18 % of spare blocks left" in verdict(low).reason
    assert verdict(gone).status == "critical" and "the drive's threshold is 10 %" in verdict(gone).reason


def test_an_ssd_that_tells_its_spare_only_by_what_it_retired_is_judged_by_that() -> None:
    few = report("SATA SSD", "  5 Reallocated_Sector_Ct   PO--CK   019   019   010    -    700")
    many = report("SATA SSD", "  5 Reallocated_Sector_Ct   PO--CK   098   098   010    -    700")

    assert (verdict(few).status, verdict(many).status) == ("warning", "ok")


def test_hours_and_counts_that_no_disk_can_have_are_no_facts() -> None:
    from tests.agent.sources.smart import made_reports as reports

    hours = parse(reports.printed(reports.ata(power_on_time={"hours": 894169})), "sdb")
    defects = parse(reports.printed(reports.sas(scsi_grown_defect_list=1 << 50)), "sdc")
    spare = parse(reports.printed(reports.nvme(available_spare=255)), "nvme0")

    assert (hours.power_on_hours, verdict(hours).status) == (None, "ok")
    assert (defects.grown_defects, defects.implausible) == (None, ("grown defects: 1125899906842624",))
    assert (spare.spare_percent, verdict(spare).status) == (None, "unknown")


def test_a_hard_disk_has_no_rated_writes_whatever_it_prints() -> None:
    facts = report("TOSHIBA MG03ACA400", size=HDD_SIZE, rotation=HDD, statistics=USED_97)
    unsaid = report("TOSHIBA MG03ACA400", size=HDD_SIZE, rotation="", statistics=USED_97)

    assert (facts.wear_percent, unsaid.wear_percent, verdict(facts).status) == (None, None, "ok")


@pytest.mark.parametrize(
    ("row", "worn"),
    [
        ("233 Media_Wearout_Indicator -O--CK   000   000   000    -    34404", None),
        ("233 Media_Wearout_Indicator -O--CK   ---   ---   000    -    34404", None),
        ("202 Percent_Lifetime_Remain P---CK   000   000   001    NOW  100", 100),
        ("202 Percent_Lifetime_Remain ----CK   240   240   001    -    116", None),
        ("233 Media_Wearout_Indicator -O--CK   001   001   000    -    0", 99),
        ("169 Remaining_Lifetime_Perc PO--C-   000   000   000    -    6619229", None),
        ("169 Remaining_Lifetime_Perc PO--C-   007   007   000    -    6619229", None),
        ("169 Percent_Lifetime_Remain PO--C-   007   007   000    -    6619229", None),
    ],
)
def test_a_value_that_the_drive_does_not_keep_is_no_wear(row: str, worn: Optional[int]) -> None:
    assert report("SATA SSD", row).wear_percent == worn


def test_attribute_rows_whose_flags_end_in_a_plus_are_read() -> None:
    rows = [
        "  5 Reallocated_Sector_Ct   PO--CK+  100   100   010    -    40",
        "197 Current_Pending_Sector  -O--CK+  100   100   000    -    48",
    ]
    facts = report("ST8000NM0055", *rows, size=HDD_SIZE, rotation=HDD)

    assert (facts.reallocated_sectors, facts.pending_sectors) == (40, 48)


def test_a_temperature_that_stands_as_the_value_of_an_attribute_is_not_too_hot() -> None:
    rows = (
        "190 Airflow_Temperature_Cel -O---K   018   018   045    NOW  18",
        "194 Temperature_Internal    -O---K   018   018   000    -    18",
    )
    facts = report("INTEL SSDSC2BX480G4", *rows)

    assert (facts.too_hot, facts.was_too_hot, verdict(facts).status) == (False, False, "ok")


def test_an_airflow_that_was_too_hot_is_told_as_before() -> None:
    rows = (
        "190 Airflow_Temperature_Cel -O---K   040   040   045    NOW  60",
        "194 Temperature_Celsius     -O---K   060   060   000    -    60",
    )
    facts = report("ST8000NM0055", *rows, size=HDD_SIZE, rotation=HDD)

    assert facts.too_hot and verdict(facts).status == "warning"


LOG = """\
SMART Extended Self-test Log Version: 1 (2 sectors)
Num  Test_Description    Status                  Remaining  LifeTime(hours)  LBA_of_first_error
{row}
"""
RUBBISH_TESTS = (
    "# 1  Vendor (0xea)       Completed: electrical failure 40%     65280         65535",
    "# 1  Reserved (0x15)     Completed: electrical failure 00%     10000         65535",
    "# 1  Short offline       Completed: read failure       90%     65280         65535",
)


@pytest.mark.parametrize("row", RUBBISH_TESTS)
def test_a_self_test_of_a_reserved_type_or_from_the_future_is_not_a_fact(row: str) -> None:
    facts = report("SATA SSD", log=LOG.format(row=row))

    assert (facts.self_tests_failed, verdict(facts).status) == (0, "ok")


def test_a_real_self_test_that_failed_is_critical_and_one_of_a_model_that_logs_rubbish_is_not() -> None:
    log = LOG.format(row="# 1  Short offline       Completed: read failure       90%     19900         65535")

    assert verdict(report("ST8000NM0055", log=log, size=HDD_SIZE, rotation=HDD)).status == "critical"
    assert verdict(report("INTEL SSDSA2CW120G3", log=log)).status == "ok"


def test_a_last_self_test_that_failed_without_a_log_of_it_is_critical() -> None:
    facts = report("ST8000NM0055", size=HDD_SIZE, rotation=HDD, status=121)

    assert "self-test failed (the last one: The previous self-test completed having the read" in verdict(facts).reason
    assert verdict(facts).status == "critical"


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ({"value": 121, "string": "completed having the read element of the test failed", "passed": False}, "critical"),
        ({"passed": False}, "critical"),
        ({"value": 0, "string": "completed without error", "passed": True}, "ok"),
        ({"value": 241, "string": "in progress, 10% remaining", "remaining_percent": 10}, "ok"),
        ({"value": 25, "string": "was aborted by the host"}, "ok"),
        ({"value": "x", "passed": 7, "string": ["y"]}, "ok"),
        (None, "ok"),
    ],
)
def test_both_readers_take_the_status_of_the_last_self_test(status: Any, told: str) -> None:
    from tests.agent.sources.smart import made_reports as reports

    tree = reports.ata(ata_smart_data={"self_test": {"status": status}}, ata_smart_self_test_log={"standard": {}})
    facts = parse(reports.printed(tree), "sdb")

    assert verdict(facts).status == told


def test_a_disk_that_fails_its_own_judgement_has_all_its_evidence_in_one_row() -> None:
    rows = (
        "  5 Reallocated_Sector_Ct   PO--CK   001   001   010    NOW  7",
        "187 Reported_Uncorrect      -O--CK   099   099   000    -    1",
        "197 Current_Pending_Sector  -O--CK   100   100   000    -    3",
    )
    said = verdict(report("ST8000NM0055", *rows, size=HDD_SIZE, rotation=HDD, health="FAILED!"))

    assert said.status == "critical"
    for words in (
        "failed its SMART self-assessment",
        "7 reallocated",
        "3 pending",
        "1 uncorrectable",
        "5 Reallocated_Sector_Ct",
    ):
        assert words in said.reason


def test_a_disk_that_failed_is_critical_though_smartctl_could_not_open_it_for_all_its_questions() -> None:
    from agent.sources.smart import smartctl
    from tests.agent.sources.smart import made_reports as reports
    from tests.machine import FakeHost

    answer = reports.printed(reports.ata(passed=False, exit_status=10))
    host = FakeHost(commands={**reports.scan("/dev/sdb scsi"), reports.asked("/dev/sdb"): answer})

    assert smartctl.read(host, "/dev/sdb", "").passed is False


@pytest.mark.parametrize(
    ("raw", "timeouts", "slow"),
    [("30065360916", 20, 7), ("7 9 20", 20, 7), ("33", 33, None), ("0", 0, None), ("70000 1 2", 70000 & 0xFFFF, 0)],
)
def test_the_words_of_attribute_188_are_told_apart(raw: str, timeouts: int, slow: Optional[int]) -> None:
    assert (unpacked(raw), slow_commands(raw)) == (timeouts, slow)


def test_every_quirk_has_a_source_and_a_pattern_that_compiles() -> None:
    for quirk in quirks.QUIRKS:
        assert quirk.source and quirk.untrue and re.compile(quirk.models)
    assert quirks.untrue("INTEL SSDSA2CW120G3") == {quirks.SELF_TESTS}
    assert quirks.untrue("ST8000NM0055-1RM112") == frozenset()


WORDS = st.text(max_size=24) | st.integers(-9, 1 << 64).map(str)
ROWS: st.SearchStrategy[List[smart_attributes.Attribute]] = st.lists(
    st.builds(
        smart_attributes.Attribute,
        st.integers(0, 300),
        st.sampled_from(["", "Media_Wearout_Indicator", "Temperature_Celsius", "Available_Reservd_Space"]) | WORDS,
        st.none() | st.integers(0, 300),
        st.none() | st.integers(0, 300),
        st.sampled_from(["", "now", "past"]),
        st.booleans(),
        WORDS,
    ),
    max_size=12,
)


@given(ROWS, st.sampled_from([None, 0, 7200]), st.text(max_size=20), st.none() | st.integers(0, 1 << 50))
def test_any_table_of_attributes_gives_facts_that_can_be_judged(
    rows: List[smart_attributes.Attribute], rotation: Optional[int], model: str, size: Optional[int]
) -> None:
    facts = Facts(kind="ata", passed=True, model=model, rotation_rpm=rotation, size_bytes=size)
    given_facts: Dict[str, Any] = smart_attributes.with_attributes(facts, rows)._asdict()
    judged = smart.judge(Facts(**given_facts), smart.LIMITS)

    assert judged.status in ("ok", "warning", "critical", "unknown") and judged.reason
    for name in ("reallocated_sectors", "pending_sectors", "offline_uncorrectable", "reported_uncorrectable"):
        assert given_facts[name] is None or given_facts[name] <= smart_report.HIGHEST_COUNT


@given(st.text(max_size=60))
def test_any_text_is_a_last_self_test_or_none(words: str) -> None:
    try:
        facts = report("SATA SSD", log=f"Self-test execution status:      ( {words}")
    except CannotTell:
        return
    assert facts.self_tests_failed in (None, 0, 1)
