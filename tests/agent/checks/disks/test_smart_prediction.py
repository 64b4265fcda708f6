"""smart: what the counters of a disk foretell, over days. The disks are made up after real ones."""

from __future__ import annotations

import datetime
import json
import re
from typing import Any, List, Mapping, Optional, Sequence, Tuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.checks.disks import smart
from agent.sources.smart import history as smart_history
from agent.sources.smart import prediction as smart_prediction
from agent.sources.smart.attributes import Attribute, with_attributes
from agent.sources.smart.report import Facts
from agent.state import DAY_S, HISTORY_ROWS
from tests.machine import FakeHost

SEAGATE, HGST = "ST8000NM0055-1RM112", "HGST HMS5C4040BLE640"
START = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc).timestamp()
NAMES = {5: "Reallocated_Sector_Ct", 10: "Spin_Retry_Count", 187: "Reported_Uncorrect", 197: "Current_Pending_Sector"}

Counts = Mapping[int, Any]


def disk(model: str, counts: Counts, size_bytes: Optional[int] = 4 * 10**12) -> Facts:
    rows = [Attribute(number, NAMES.get(number, ""), 100, 0, "", False, str(raw)) for number, raw in counts.items()]
    given_facts = Facts(kind="ata", model=model, serial="S1", passed=True, size_bytes=size_bytes, rotation_rpm=7200)
    return with_attributes(given_facts, rows)


def over_days(model: str, days: Sequence[Counts], size_bytes: Optional[int] = 4 * 10**12) -> Tuple[List[str], str]:
    """What is said on each day, and the agent's memory at the end."""
    said, memory = [], ""
    for day, counts in enumerate(days):
        now = START + day * DAY_S
        host = FakeHost(state=memory, now=now)
        verdict = smart.judge(smart_history.with_growth(host, disk(model, counts, size_bytes)), smart.LIMITS)
        said.append(f"{verdict.status}: {verdict.reason}")
        memory = host.state.dump()
    return said, memory


@pytest.mark.parametrize("model", [HGST, "HMS5C4040BLE640", "Hitachi HDS5C4040ALE630", "HUH721212ALE600"])
def test_nine_reallocated_sectors_are_warned_of_on_a_model_that_rarely_has_any(model: str) -> None:
    (said,), _ = over_days(model, [{5: 9}])

    assert said.startswith("warning") and "9 reallocated sectors (attribute 5), limit 8" in said


@pytest.mark.parametrize("model", [SEAGATE, "TOSHIBA MG07ACA14TE", "WDC WD40EFRX", "", "XHGST H1"])
def test_nine_reallocated_sectors_are_no_prediction_on_other_models(model: str) -> None:
    (said,), _ = over_days(model, [{5: 9}])

    assert said.startswith("ok")


def test_reallocated_sectors_that_stood_still_for_a_month_are_no_prediction_on_any_model() -> None:
    for model, count in ((HGST, 9), (SEAGATE, 900)):
        said, _ = over_days(model, [{5: count}] * 32)

        assert said[0].startswith("warning") and said[29].startswith("warning")
        assert said[-1].startswith("ok")


def test_a_small_disk_of_a_model_that_rarely_reallocates_is_warned_of_when_its_count_moves() -> None:
    said, _ = over_days("Hitachi HDS722020ALA330", [{5: 44}] * 3 + [{5: 45}], 2 * 10**12)
    other, _ = over_days("ST31500541AS", [{5: 44}] * 3 + [{5: 45}], 15 * 10**11)

    assert [row.split(":")[0] for row in said] == ["ok", "ok", "ok", "warning"]
    assert "45 reallocated sectors (attribute 5), 1 of them in 7 days, limit 8" in said[-1]
    assert all(row.startswith("ok") for row in other)


def test_sectors_reallocated_one_by_one_are_warned_of_when_a_month_adds_up_to_more_than_thirty() -> None:
    said, _ = over_days("ST31500541AS", [{5: 360 + 2 * day} for day in range(18)], 15 * 10**11)

    assert said[15].startswith("ok")
    assert said[16].startswith("warning") and "32 of them in 30 days, limit 30" in said[16]


def test_a_disk_that_loses_more_than_thirty_sectors_in_a_week_is_critical() -> None:
    said, _ = over_days("ST31500541AS", [{5: 360}, {5: 391}], 15 * 10**11)

    assert said[0].startswith("ok") and said[1].startswith("critical")


@pytest.mark.parametrize(("raw", "status"), [("131072", "ok"), ("0", "ok"), ("65537", "warning"), ("2", "warning")])
def test_spin_retries_are_the_lowest_word_of_the_attribute(raw: str, status: str) -> None:
    (said,), _ = over_days(HGST, [{10: raw}])

    assert said.startswith(status)
    assert status == "ok" or "spin-up retr" in said


def test_a_limit_of_the_inventory_holds_for_models_that_rarely_reallocate_too() -> None:
    limits = {**smart.LIMITS, "reallocated_where_rare_warning": 40}

    assert smart.judge(disk(HGST, {5: 9}), limits).status == "ok"
    assert smart.judge(disk(HGST, {5: 41}), limits).status == "warning"


def test_the_memory_of_a_disk_whose_counters_move_at_each_run_stays_bounded() -> None:
    memory, now = "", START
    for run in range(400):
        now = START + run * DAY_S / 8
        host = FakeHost(state=memory, now=now)
        smart_history.with_growth(host, disk(SEAGATE, {5: run, 187: run, 197: run % 7}))
        memory = host.state.dump()

    assert len(memory) < 3 * HISTORY_ROWS * 40 + 500


def test_explaining_smart_says_how_good_a_warning_is_and_by_what() -> None:
    words = " ".join((smart.__doc__ or "").split())

    assert " ".join(smart_prediction.WORTH.split()) in words
    assert f"about {smart_prediction.MEASURED.came_true} failed within 30 days" in words
    assert "Backblaze's drive statistics" in words


def test_every_family_has_a_source_and_a_pattern_that_compiles() -> None:
    for family in smart_prediction.RARELY_REALLOCATE:
        assert family.source and re.compile(family.models)


RUBBISH = st.text(max_size=24) | st.integers(-9, 1 << 70).map(str)
DAYS = st.lists(st.dictionaries(st.sampled_from([5, 10, 184, 187, 188, 197, 198, 199]), RUBBISH), max_size=5)


@given(DAYS, st.text(max_size=20) | st.sampled_from([SEAGATE, HGST]), st.none() | st.integers(0, 1 << 50))
def test_any_history_of_counters_is_judged(days: List[Counts], model: str, size_bytes: Optional[int]) -> None:
    said, _ = over_days(model, days, size_bytes)

    assert all(row.split(":")[0] in ("ok", "warning", "critical", "unknown") for row in said)


ROWS = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5), st.lists, max_leaves=9
)


@given(ROWS)
def test_a_damaged_memory_of_a_counter_is_survived(rows: Any) -> None:
    host = FakeHost(now=START)
    smart_history.with_growth(host, disk(SEAGATE, {5: 1}))
    memory = json.loads(host.state.dump())
    memory["history"] = dict.fromkeys(memory["history"], rows)
    later = FakeHost(state=json.dumps(memory), now=START + DAY_S)

    assert smart.judge(smart_history.with_growth(later, disk(SEAGATE, {5: 2})), smart.LIMITS).status in (
        "ok",
        "warning",
    )
