"""memory_errors: counters measure, lines detect, and each error counts once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.checks.hardware import memory_errors
from agent.checks.hardware.memory_errors import LIMITS, judge
from agent.host import Answer, Missing
from agent.status import Finding
from tests.agent.sources.kernel.test_line_patterns import QUIET, damaged
from tests.machine import FakeHost, by_item, next_run, run_checks

MC = "/sys/devices/system/edac/mc"
A1, B1 = "CPU_SrcID#0_MC#0_Chan#0_DIMM#0", "CPU_SrcID#0_MC#0_Chan#1_DIMM#0"
CPUINFO = {"/proc/cpuinfo": "processor\t: 0\nflags\t\t: fpu vme sse2\n"}


def edac(ce: Any = 0, ue: Any = 0, **more: Any) -> dict[str, Any]:
    """A controller with two DIMMs in today's layout; counts are of the first."""
    return {
        f"{MC}/mc0/ce_count": f"{ce}\n",
        f"{MC}/mc0/ue_count": f"{ue}\n",
        f"{MC}/mc0/ce_noinfo_count": f"{more.get('ce_noinfo', 0)}\n",
        f"{MC}/mc0/ue_noinfo_count": f"{more.get('ue_noinfo', 0)}\n",
        f"{MC}/mc0/dimm0/dimm_label": f"{A1}\n",
        f"{MC}/mc0/dimm0/dimm_location": "channel 0 slot 0 \n",
        f"{MC}/mc0/dimm0/dimm_ce_count": f"{ce}\n",
        f"{MC}/mc0/dimm0/dimm_ue_count": f"{ue}\n",
        f"{MC}/mc0/dimm3/dimm_label": f"{B1}\n",
        f"{MC}/mc0/dimm3/dimm_location": "channel 1 slot 0 \n",
        f"{MC}/mc0/dimm3/dimm_ce_count": "0\n",
        f"{MC}/mc0/dimm3/dimm_ue_count": "0\n",
        **CPUINFO,
    }


def ce_line(count: int = 1, label: str = A1) -> str:
    return f"EDAC MC0: {count} CE memory read error on {label} (channel:0 slot:0 page:0x1 grain:32 syndrome:0x0)"


UE_LINE = f"EDAC MC0: 1 UE memory read error on {A1} (channel:0 slot:0 page:0x1 offset:0x0 grain:32)"


def records(*texts: str, first: int = 100, at: float = 80_000.0, step: float = 1.0) -> list[str]:
    return [f"4,{first + number},{int((at + number * step) * 1e6)},-;{text}" for number, text in enumerate(texts)]


def machine(files: Any = None, lines: Any = ()) -> FakeHost:
    return FakeHost(files=edac() if files is None else files, answers={"kernel_records": list(lines)})


def look(host: FakeHost) -> dict[str, Finding]:
    return by_item(run_checks(host, "memory_errors"))


def statuses(host: FakeHost) -> dict[str, str]:
    return {item: finding.status for item, finding in look(host).items()}


def test_healthy_dimms_are_ok_each() -> None:
    assert statuses(machine(lines=records(*QUIET))) == {A1: "ok", B1: "ok"}


def test_an_uncorrected_error_is_critical_ever_since_boot() -> None:
    first = machine(edac(ue=1))
    month = next_run(first, after_s=30 * 86400) if look(first)[A1].status == "critical" else first

    finding = look(month)[A1]

    assert (finding.status, finding.verdict.playbook) == ("critical", "replace-dimm")
    assert finding.verdict.reason == "1 uncorrected error at mc0 channel 0 slot 0 since boot"


def test_a_line_of_an_uncorrected_error_is_critical_until_the_reboot() -> None:
    first = machine(lines=records(UE_LINE))
    look(first)
    month = next_run(first, after_s=30 * 86400, answers={"uptime_s": 31 * 86400.0})
    late = look(month)[A1]

    assert late.status == "critical"
    assert "since 2026-11-18T09:20Z: EDAC MC0: 1 UE memory read error" in late.verdict.reason
    assert statuses(next_run(month, boot_id="another", answers={"kernel_records": []})) == {A1: "ok", B1: "ok"}


def test_old_corrected_errors_at_the_first_look_are_a_number_only() -> None:
    finding = look(machine(edac(ce=5000)))[A1]

    assert (finding.status, finding.verdict.reason) == ("ok", "5000 corrected errors since boot, 0 new")


@pytest.mark.parametrize(("grown", "status"), [(9, "ok"), (10, "warning"), (99, "warning"), (100, "critical")])
def test_a_burst_seen_by_the_counter(grown: int, status: str) -> None:
    first = machine(edac(ce=7))
    look(first)

    assert statuses(next_run(first, files=edac(ce=7 + grown))) == {A1: status, B1: "ok"}


@pytest.mark.parametrize(("count", "status"), [(9, "ok"), (10, "warning"), (100, "critical")])
def test_a_burst_told_by_lines_alone(count: int, status: str) -> None:
    files = {**CPUINFO, f"{MC}/mc0/dimm0/dimm_label": A1, f"{MC}/mc0/dimm0/size": "1"}

    assert statuses(machine(files, records(ce_line(count))))[A1] == ("unknown" if not count else status)


def test_a_days_errors_are_not_those_of_a_quarter_of_an_hour() -> None:
    first = machine(edac(ce=0))
    look(first)

    finding = look(next_run(first, after_s=86400, files=edac(ce=96)))[A1]

    assert (finding.status, finding.facts["busiest"], finding.facts["growth"]) == ("ok", 1, 96)


def test_errors_told_by_line_and_counter_count_once() -> None:
    first = machine(edac(ce=0))
    look(first)

    lines = records(ce_line(5), ce_line(2), at=86_300.0)
    finding = look(next_run(first, files=edac(ce=8), answers={"kernel_records": lines}))[A1]

    assert (finding.facts["growth"], finding.facts["busiest"]) == (8, 8)


def test_growth_in_two_runs_in_a_row_is_a_warning_and_goes_with_a_quiet_run() -> None:
    runs = [machine(edac(ce=0))]
    seen = [look(runs[0])[A1].status]
    for ce in (1, 2, 3, 3, 4):
        runs.append(next_run(runs[-1], after_s=3600, files=edac(ce=ce)))
        seen.append(look(runs[-1])[A1].status)

    assert seen == ["ok", "ok", "warning", "warning", "ok", "ok"]


def test_a_burst_is_ok_again_after_a_day() -> None:
    first = machine(edac(ce=0))
    look(first)
    second = next_run(first, files=edac(ce=50))
    look(second)
    third = next_run(second, after_s=23 * 3600)
    look(third)

    assert look(third)[A1].status == "warning"
    assert look(next_run(third, after_s=2 * 3600))[A1].status == "ok"


def test_without_an_edac_driver_it_is_unknown_once_but_lines_are_told() -> None:
    corrected = "{1}[Hardware Error]: "
    block = [corrected + text for text in (
        "Hardware error from APEI Generic Hardware Error Source: 4", "event severity: recoverable",
        " Error 0, type: recoverable", "  fru_text: B1", "  section_type: memory error",
        "   node:0 card:3 module:1 rank:0 bank:2 row:1234", "   error_type: 3, multi-bit ECC")]  # fmt: skip

    found = look(machine(CPUINFO, records(*block)))

    assert {item: finding.status for item, finding in found.items()} == {"EDAC": "unknown", "B1": "critical"}
    assert found["EDAC"].verdict.reason.startswith("no EDAC driver")
    assert "recoverable memory error reported by the firmware (APEI) at B1" in found["B1"].verdict.reason


@pytest.mark.parametrize(
    "files",
    [
        {"/proc/cpuinfo": "flags\t\t: fpu hypervisor lahf_lm\n"},
        {**CPUINFO, "/sys/class/dmi/id/sys_vendor": "QEMU\n"},
        {**CPUINFO, "/sys/class/dmi/id/sys_vendor": "Microsoft Corporation\n",
         "/sys/class/dmi/id/product_name": "Virtual Machine\n"},
        {"/sys/hypervisor/uuid": "4c4c4544-0000-4000-8000-000000000001\n"},
    ],
)  # fmt: skip
def test_a_virtual_machine_is_skipped(files: dict[str, str]) -> None:
    assert statuses(machine(files)) == {"EDAC": "skipped"}


@pytest.mark.parametrize(
    "files",
    [
        {},
        CPUINFO,
        {**CPUINFO, "/sys/class/dmi/id/sys_vendor": "Dell Inc.\n", f"{MC}/power/control": "auto"},
        {"/sys/hypervisor/uuid": "00000000-0000-0000-0000-000000000000\n"},
        {"/proc/cpuinfo": "model name : hypervisor\nflags : hypervisorish\n"},
    ],
)
def test_without_proof_of_a_virtual_machine_it_is_unknown(files: dict[str, str]) -> None:
    assert statuses(machine(files)) == {"EDAC": "unknown"}


def test_the_layout_of_rhel_7_with_rows_and_channels() -> None:
    row = f"{MC}/mc0/csrow0"
    files = {
        **CPUINFO, f"{MC}/mc0/ce_count": "3", f"{MC}/mc0/ue_count": "1",
        f"{MC}/mc0/dimm0/dimm_label": "DIMM_A1", f"{row}/ce_count": "3", f"{row}/ue_count": "1",
        f"{row}/ch0_ce_count": "3", f"{row}/ch0_dimm_label": "DIMM_A1",
        f"{row}/ch1_ce_count": "0", f"{row}/ch1_dimm_label": "DIMM_B1",
    }  # fmt: skip

    found = look(machine(files))

    assert {item: finding.status for item, finding in found.items()} == {
        "DIMM_A1": "ok", "DIMM_B1": "ok", "mc0, unknown slot": "critical",
    }  # fmt: skip
    assert found["DIMM_A1"].facts["corrected"] == 3


def test_errors_of_no_known_slot_are_an_item_of_their_own() -> None:
    assert statuses(machine(edac(ue_noinfo=1)))["mc0, unknown slot"] == "critical"
    assert statuses(machine(edac(ce_noinfo=3)))["mc0, unknown slot"] == "ok"


def test_equal_labels_are_told_apart_by_their_place() -> None:
    files = edac()
    files[f"{MC}/mc0/dimm3/dimm_label"] = A1

    assert set(statuses(machine(files))) == {f"{A1} (mc0 channel 0 slot 0)", f"{A1} (mc0 channel 1 slot 0)"}


def test_a_dimm_without_counters_is_unknown() -> None:
    files = {path: text for path, text in edac().items() if not path.endswith("_count")}

    assert statuses(machine(files)) == {A1: "unknown", B1: "unknown"}


@pytest.mark.parametrize(
    ("text", "item", "status"),
    [
        ("mce: [Hardware Error]: CPU 4: Machine Check: 0 Bank 7: 8c00004000010091", "memory of processor 4 bank 7",
         "ok"),
        ("mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 4: 9c00000000000136", "processor 0 bank 4", "ok"),
        ("mce: [Hardware Error]: CPU 2: Machine Check Exception: 5 Bank 3: be00000000800400", "processor 2 bank 3",
         "critical"),
        ("[Hardware Error]: CPU:2 (17:31:0) MC18_STATUS[-|UE|MiscV|AddrV|-]: 0xbc2040000000011b", "processor 2 bank 18",
         "critical"),
        ("[Hardware Error]: Uncorrected, software restartable error.", "memory, unknown slot", "critical"),
        ("[Hardware Error]: Corrected error, no action required.", "memory, unknown slot", "ok"),
        ("mce: Uncorrected hardware memory error in user-access at 1f3a2c000", "memory, unknown slot", "critical"),
        ("Memory failure: 0x123456: recovery action for dirty LRU page: Recovered", "memory, unknown slot",
         "critical"),
        ("BERT: Error records from previous boot:", "previous boot", "warning"),
        ("EDAC MC0: 1 UE Multi-bit ECC on unknown memory ( page:0x1 offset:0x0 grain:1)", "mc0, unknown slot",
         "critical"),
    ],
)  # fmt: skip
def test_lines_without_a_dimm(text: str, item: str, status: str) -> None:
    found = statuses(machine(lines=records(text)))

    assert found == {A1: "ok", B1: "ok", item: status}


def test_a_corrected_machine_check_at_emergency_level_does_not_alarm() -> None:
    line = "0,100,80000000000,-;mce: [Hardware Error]: CPU 4: Machine Check: 0 Bank 7: 8c00004000010091"

    assert set(statuses(machine(lines=[line])).values()) == {"ok"}


def test_one_error_told_by_several_subsystems_counts_once_for_its_dimm() -> None:
    lines = records(
        "mce: [Hardware Error]: Machine check events logged",
        "EDAC skx MC0: HANDLING MCE MEMORY ERROR",
        "EDAC skx MC0: CPU 0: Machine Check Event: 0x0 Bank 13: 0x8c00004200800090",
        ce_line(12),
        step=0.1,
    )

    found = look(machine(lines=lines))

    assert set(found) == {A1, B1}
    assert found[A1].facts["busiest"] == 12


@pytest.mark.parametrize("section", ["PCIe error", "general processor error"])
def test_firmware_errors_of_other_parts(section: str) -> None:
    texts = [f"{{2}}[Hardware Error]: {text}" for text in ("event severity: corrected", f"section_type: {section}")]

    assert "critical" not in statuses(machine(lines=records(*texts))).values()


def test_an_uncorrected_error_of_an_old_boot_is_none_of_this() -> None:
    first = machine(lines=records(UE_LINE))
    look(first)
    again = next_run(first, boot_id="another", answers={"kernel_records": []})

    assert statuses(again) == {A1: "ok", B1: "ok"}


def with_bmc(*rows: str) -> FakeHost:
    """A machine with a BMC, whose event log holds these rows."""
    info = f"Version          : 1.5 (v1.5, v2 compliant)\nEntries          : {len(rows)}\n"
    answers = {
        "chassis status": "System Power         : on\n",
        "sel info": info,
        "sdr elist": "PS1 Status       | C8h | ok  | 10.1 | Presence detected\n",
        "sel list last 200": "".join(f"{row}\n" for row in rows),
    }
    return FakeHost(
        files={**edac(), "/dev/ipmi0": ""},
        commands={f"ipmitool {words}": Answer(0, out, "") for words, out in answers.items()},
    )


@pytest.mark.parametrize(
    ("event", "status"),
    [
        ("Uncorrectable ECC", "critical"),
        ("Correctable ECC", "ok"),
        ("Correctable ECC logging limit reached", "warning"),
        ("Memory Device Disabled", "warning"),
    ],
)
def test_the_bmcs_event_log(event: str, status: str) -> None:
    finding = look(with_bmc(f"   1 | 11/18/2026 | 10:00:00 | Memory #0x53 | {event} | Asserted"))["event log"]

    assert finding.status == status, finding.verdict
    assert status == "ok" or "Memory #0x53" in finding.verdict.reason


def test_a_bmc_that_does_not_answer_is_left_to_the_chassis_check() -> None:
    found = statuses(machine({**edac(), "/dev/ipmi0": ""}))

    assert found == {A1: "ok", B1: "ok", "event log": "skipped"}


FACTS = memory_errors.Facts("mc0", 0, 0, 0, 0, 0, None, "", 0, "", "", 0, None, "replace-dimm", 0)


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({}, "ok"),
        ({"uncorrected": 1}, "critical"),
        ({"uncorrected_lines": 1}, "critical"),
        ({"busiest": 9, "corrected_hours_ago": 0.0}, "ok"),
        ({"busiest": 10, "corrected_hours_ago": 23.9}, "warning"),
        ({"busiest": 10, "corrected_hours_ago": 24.0}, "ok"),
        ({"busiest": 99, "corrected_hours_ago": 0.0}, "warning"),
        ({"busiest": 100, "corrected_hours_ago": 0.0}, "critical"),
        ({"growing_runs": 1, "growth": 5}, "ok"),
        ({"growing_runs": 2, "growth": 5}, "warning"),
        ({"crash_records": 1, "crash_hours_ago": 1.0}, "warning"),
        ({"crash_records": 1, "crash_hours_ago": 24.0}, "ok"),
        ({"logging_stopped": 1, "stopped_hours_ago": 23.9}, "warning"),
        ({"logging_stopped": 1, "stopped_hours_ago": 24.0}, "ok"),
        ({"corrected": None, "uncorrected": None}, "unknown"),
        ({"corrected": None}, "ok"),
    ],
)
def test_the_edges_of_the_limits(changes: dict[str, Any], status: str) -> None:
    assert judge(FACTS._replace(**changes), LIMITS).status == status


@given(
    st.dictionaries(
        st.sampled_from(sorted(edac())),
        st.one_of(st.text(max_size=8), st.integers().map(str), st.just(Missing("gone"))),
    ),
    st.lists(damaged(), max_size=5),
)
@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=80)
def test_rubbish_in_the_counters_and_the_log_never_fails(changes: dict[str, Any], texts: list[str]) -> None:
    host = machine({**edac(), **changes}, records(*texts))

    for finding in run_checks(host, "memory_errors"):
        assert "the check failed" not in finding.verdict.reason
    assert judge(FACTS, LIMITS).status == "ok"


@pytest.mark.parametrize("count", ["", "many", "-1", "\x00"])
def test_a_count_that_is_no_number_is_never_ok(count: str) -> None:
    files = {**edac(), f"{MC}/mc0/dimm0/dimm_ce_count": count, f"{MC}/mc0/dimm0/dimm_ue_count": count}

    assert statuses(machine(files)) == {A1: "unknown", B1: "ok"}


# Forms that were silent


@pytest.mark.parametrize(
    ("line", "item", "status"),
    [
        ("EDAC DEVICE0: UE: cortex_arm64_edac instance: cpu0 block: L1 count: 1 'x'", "EDAC device0", "critical"),
        ("mce: CMCI storm detected: switching to poll mode", "memory, unknown slot", "warning"),
        ("mce: CPU3 BANK7 CMCI storm detected", "memory, unknown slot", "warning"),
        ('EDAC MC0: UE row 1, channel-a= 0 channel-b= 1 labels "DIMM_A1:DIMM_B1": i5000 UE', "DIMM_A1:DIMM_B1",
         "critical"),
        ("core: [Hardware Error]: CPU 2: Machine Check Exception: 5 Bank 7: be00000000800090",
         "memory of processor 2 bank 7", "critical"),
    ],
)  # fmt: skip
def test_old_and_rare_forms_are_told(line: str, item: str, status: str) -> None:
    assert look(machine(lines=records(line)))[item].status == status


def test_old_i7core_lines_name_the_dimm() -> None:
    line = 'EDAC MC1: CE row 2, channel 0, label "CPU_SrcID#1_Channel#2_DIMM#0": 1 Unknown error(s): memory read on'
    found = look(machine(lines=records(*[line] * 12)))

    assert found["CPU_SrcID#1_Channel#2_DIMM#0"].status == "warning"
