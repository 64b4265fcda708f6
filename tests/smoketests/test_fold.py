"""Many rows in few: only what is truly the same is folded, and nothing is lost."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.ranges import expand, split
from smoketests.show.fold import MOST_ROWS_OF_A_HOST, Row, fold, ranges
from tests.records import AT, finding

NUMBER = st.from_regex(r"\A[0-9]{1,3}\Z")
NAME = st.tuples(st.sampled_from(["kafka-a", "zk", "r"]), NUMBER, st.sampled_from(["", ".dc1", "n7", "-b"])).map(
    "".join
)


@pytest.mark.parametrize(
    ("names", "short"),
    [
        ([f"kafka-a{number:02d}" for number in range(1, 15)], "kafka-a[01-14]"),
        (["kafka-a01", "kafka-a03", "kafka-a02", "kafka-a07"], "kafka-a[01-03,07]"),
        (["kafka-a01", "kafka-b01", "zk"], "kafka-a01,kafka-b01,zk"),
        (["a8", "a9", "a10"], "a[8-10]"),
        (["a08", "a09", "a10"], "a[08-10]"),
        (["a1", "a01"], "a1,a01"),
        (["kafka1.dc2.example.com", "kafka2.dc2.example.com"], "kafka[1-2].dc2.example.com"),
        (["r1n1", "r2n1", "r3n1"], "r[1-3]n1"),
        ([], ""),
        (["a1", "a1"], "a1"),
    ],
)
def test_names_are_folded_as_clustershell_writes_them(names: list[str], short: str) -> None:
    assert sorted(ranges(names).split(",")) == sorted(short.split(","))


@given(st.lists(NAME))
def test_no_name_is_lost_and_none_is_made_up(names: list[str]) -> None:
    assert sorted(name for part in split(ranges(names)) for name in expand(part)) == sorted(set(names))


def of(host: str, **fields: Any) -> dict[str, Any]:
    reason = fields.pop("reason", "vm.swappiness is 60, should be at most 1")
    status = fields.pop("status", "warning")
    return finding(status, **{"host": host, "check": "swappiness", "item": "-", "reason": reason, **fields})


def test_the_same_finding_of_many_hosts_is_one_row() -> None:
    (row,) = fold([of(f"kafka-a{number:02d}", playbook="tune-os") for number in range(14)])

    assert ranges(row.hosts) == "kafka-a[00-13]"
    assert row == Row("warning", row.hosts, "swappiness", ("-",), "vm.swappiness is 60, should be at most 1", "tune-os")


@pytest.mark.parametrize(
    "other",
    [{"reason": "vm.swappiness is 61, should be at most 1"}, {"status": "critical"}, {"check": "cpu"},
     {"playbook": "clock"}],
)  # fmt: skip
def test_what_differs_in_anything_but_the_host_stays_apart(other: dict[str, str]) -> None:
    assert len(fold([of("kafka-a01"), of("kafka-a02", **other)])) == 2


def test_a_hosts_own_name_and_a_findings_own_item_do_not_keep_rows_apart() -> None:
    rows = fold(
        of(host, item=item, reason=f"{item} of {host}: scheduler is bfq, should be none")
        for host in ("kafka-a01", "kafka-a02")
        for item in ("sda", "sdb")
    )

    (row,) = rows
    assert row.sentence == "sda,sdb of kafka-a[01-02]: scheduler is bfq, should be none"
    assert (row.hosts, row.items, row.findings) == (("kafka-a01", "kafka-a02"), ("sda", "sdb"), 4)


def test_a_row_is_true_of_each_of_its_hosts_and_items() -> None:
    rows = fold([of("kafka-a01", item="sda"), of("kafka-a01", item="sdb"), of("kafka-a02", item="sda")])

    assert {(row.hosts, row.items) for row in rows} == {(("kafka-a01",), ("sda", "sdb")), (("kafka-a02",), ("sda",))}


@pytest.mark.parametrize(
    ("items", "reasons"),
    [
        (("1", "2"), ("1 errors", "2 errors")),
        (("d1", "d2"), ("d1 and d2 differ", "d1 and d2 differ")),
        (("/kafka/d1", "/kafka/d2"), ("/kafka/d11 is full", "/kafka/d21 is full")),
    ],
)
def test_an_item_within_other_words_is_no_item(items: tuple[str, str], reasons: tuple[str, str]) -> None:
    rows = fold(of(host, item=item, reason=reason) for host, item, reason in zip("ab", items, reasons))

    assert len(rows) == 2


def test_worst_first_then_what_is_new_then_by_name() -> None:
    old, new = "2026-11-01T00:00:00Z", AT
    rows = fold(
        [of("kafka-a02", first_seen=old), of("kafka-a10", reason="x", first_seen=new),
         of("kafka-a01", status="unknown"), of("kafka-a09", status="critical", reason="y", first_seen=old)],
        previous_at="2026-11-19T00:00:00Z",
    )  # fmt: skip

    assert [row.hosts[0] for row in rows] == ["kafka-a09", "kafka-a01", "kafka-a10", "kafka-a02"]
    assert [row.new for row in rows] == [0, 1, 1, 0]


def test_what_is_said_of_a_cluster_stands_by_its_name() -> None:
    (row,) = fold([of("", check="partitions", item="-", reason="3 partitions have no leader")])

    assert row.hosts == ("prod-a",)


def test_what_several_questions_about_a_cluster_cannot_tell_for_one_reason_is_one_row() -> None:
    why = "cannot tell for kafka-a02: it did not answer in 10 s"
    checks = ("clock_skew", "drift", "slow_disk")
    silent = [of("", check=check, status="unknown", item=check, reason=why) for check in checks]
    (row, other) = fold([*silent, of("", check="ports", status="unknown", reason="no broker tells")])

    assert (row.check, row.items, row.findings) == ("3 checks", checks, 3)
    assert row.sentence == f"{why} (clock_skew, drift, slow_disk)"
    assert other.check == "ports"


def test_problems_of_several_checks_stay_apart_though_the_words_are_the_same() -> None:
    assert len(fold(of("", check=check, reason="2 differ") for check in ("drift", "ports"))) == 2


def test_many_items_are_counted_not_all_named() -> None:
    names = [f"serial-{letter}" for letter in "abcdefghij"]
    (row,) = fold([of("kafka-a01", item=name, reason=f"{name} is worn") for name in names])

    assert row.sentence == "serial-a,serial-b,serial-c,serial-d,serial-e,serial-f,… (10 in all) is worn"


def test_one_host_cannot_fill_the_table() -> None:
    flood = [of("kafka-a01", status="critical", reason=f"reason {letter * 3}", item=str(n)) for n, letter in
             enumerate("abcdefghijklmnopqrstuvwxyz" * 100)]  # fmt: skip
    rows = fold([*flood, *(of("kafka-a02", item=str(n), reason=f"v{n}") for n in range(3))])

    assert len([row for row in rows if row.hosts == ("kafka-a01",)]) == MOST_ROWS_OF_A_HOST + 1
    assert [row.hosts for row in rows[-3:]] == [("kafka-a02",)] * 3
    assert "more findings of kafka-a01 alone" in rows[MOST_ROWS_OF_A_HOST].sentence
    assert sum(row.findings for row in rows[:MOST_ROWS_OF_A_HOST]) < len(flood)


@given(st.lists(st.builds(of, st.sampled_from(["a1", "a2"]), item=st.text(max_size=5), reason=st.text(max_size=20))))
def test_whatever_hosts_say_no_finding_is_lost(findings: list[dict[str, Any]]) -> None:
    rows = fold(findings)

    assert {row.hosts[0] for row in rows} | {host for row in rows for host in row.hosts} == {
        f["host"] for f in findings
    }
    assert all(row.sentence.isprintable() for row in rows)


def test_an_item_that_only_repeats_the_host_or_the_check_does_not_lead_the_sentence() -> None:
    silent = finding("unknown", check="reach", host="kafka-a02", item="kafka-a02", reason="refuses connections")
    clock = finding("critical", check="clock", item="clock", reason="not synchronised")

    assert [row.sentence for row in fold([silent, clock])] == ["not synchronised", "refuses connections"]
