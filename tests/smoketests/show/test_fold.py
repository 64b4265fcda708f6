"""Many rows in few: only what is truly the same is folded, and nothing is lost."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.names import ranges
from inventory.ranges import expand, split
from smoketests.show.fold import MOST_ROWS_OF_A_HOST, Row, fold
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
        (["zk", "zk1", "zk2"], "zk,zk[1-2]"),
        ([f"a{number}" for number in range(11)], "a[0-10]"),
        (["r1n1", "r1n2", "r2n7"], "r1n[1-2],r2n7"),
    ],
)
def test_names_are_folded_as_clustershell_writes_them(names: list[str], short: str) -> None:
    assert sorted(ranges(names).split(",")) == sorted(short.split(","))


@given(st.lists(NAME))
def test_no_name_is_lost_and_none_is_made_up(names: list[str]) -> None:
    assert sorted(name for part in split(ranges(names)) for name in expand(part)) == sorted(set(names))


def of(host: str, **fields: Any) -> dict[str, Any]:
    reason = fields.pop("reason", "vm.swappiness is 60, limit 1")
    status = fields.pop("status", "warning")
    return finding(status, **{"host": host, "check": "swappiness", "item": "-", "reason": reason, **fields})


def test_the_same_finding_of_many_hosts_is_one_row() -> None:
    (row,) = fold([of(f"kafka-a{number:02d}", playbook="tune-os") for number in range(14)])

    assert ranges(row.hosts) == "kafka-a[00-13]"
    assert row == Row("warning", row.hosts, "swappiness", ("-",), "vm.swappiness is 60, limit 1", "tune-os")


@pytest.mark.parametrize(
    "other",
    [{"reason": "vm.swappiness is 61, limit 1"}, {"status": "critical"}, {"check": "cpu"},
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

    assert len([row for row in rows if row.hosts == ("kafka-a01",)]) == 21, "twenty, and one that counts the others"
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


@pytest.mark.parametrize(
    ("item", "reason", "sentence"),
    [
        ("sda", "3 sectors cannot be read", "sda: 3 sectors cannot be read"),
        ("sda", "sda cannot be read", "sda cannot be read"),
        ("-", "not synchronised", "not synchronised"),
        # a name without a letter, that the sentence has by chance or not
        ("2", "2 sectors cannot be read", "2 sectors cannot be read"),
        ("3", "2 sectors cannot be read", "3: 2 sectors cannot be read"),
    ],
)
def test_the_item_leads_a_sentence_that_does_not_name_it(item: str, reason: str, sentence: str) -> None:
    assert [row.sentence for row in fold([of("kafka-a01", item=item, reason=reason)])] == [sentence]


def test_several_items_lead_the_sentence_that_is_true_of_each() -> None:
    (row,) = fold([of("kafka-a01", item=item, reason="3 sectors cannot be read") for item in ("sdb", "sda")])

    assert row.sentence == "sda,sdb: 3 sectors cannot be read"


@pytest.mark.parametrize(("names", "rows"), [(("d", "e"), 2), (("d1", "d2"), 1), (("ab", "cd"), 1), (("17", "18"), 2)])
def test_a_name_of_one_letter_or_of_digits_alone_is_no_mark_in_a_sentence(names: tuple[str, str], rows: int) -> None:
    folded = fold(of(host, item=name, reason=f"{name} is worn") for host, name in zip(("h-a", "h-b"), names))

    assert len(folded) == rows or {row.items for row in folded} == {(name,) for name in names}
    assert len({row.sentence for row in folded}) == 2


def test_six_groups_of_names_are_all_named_and_the_seventh_is_not() -> None:
    def named(names: str) -> str:
        (row,) = fold([of("kafka-a01", item=f"vol-{name}", reason="worn") for name in names])
        return row.sentence

    assert named("abcdef") == "vol-a,vol-b,vol-c,vol-d,vol-e,vol-f: worn"
    assert named("abcdefg") == "vol-a,vol-b,vol-c,vol-d,vol-e,vol-f,… (7 in all): worn"


def cause(status: str = "critical", **fields: Any) -> dict[str, Any]:
    """One controller for what two checks see of two disks."""
    facts = {"seen_by": [["smart", "sda"], ["mounts", "/kafka/d1"]]}
    given = {"host": "kafka-a01", "check": "shared_fate", "item": "controller", "reason": "it died", "facts": facts}
    return of(**{**given, "status": status, **fields})


def effect(status: str = "critical", **fields: Any) -> dict[str, Any]:
    return of("kafka-a01", status=status, **{"check": "smart", "item": "sda", "reason": "does not answer", **fields})


def test_what_has_a_cause_stands_behind_the_row_of_the_cause() -> None:
    rows = fold([effect(), effect(check="mounts", item="/kafka/d1"), cause(), effect(item="sdb"), effect(check="raid")])

    assert {(row.check, row.items) for row in rows} == {
        ("shared_fate", ("controller",)), ("smart", ("sdb",)), ("raid", ("sda",))}  # fmt: skip


@pytest.mark.parametrize(
    ("of_cause", "of_effect", "shown"),
    [("critical", "critical", False), ("critical", "warning", False), ("warning", "critical", True),
     ("unknown", "critical", True), ("warning", "unknown", True)],
)  # fmt: skip
def test_a_cause_hides_nothing_that_is_worse_than_itself(of_cause: str, of_effect: str, shown: bool) -> None:
    rows = fold([cause(of_cause), effect(of_effect)])

    assert ("smart" in {row.check for row in rows}) is shown
    assert "shared_fate" in {row.check for row in rows}


@pytest.mark.parametrize(
    "other",
    [
        cause(host="kafka-a02"),
        cause(host=""),
        cause(check="smart", item="sdb"),
        cause(facts={}),
        cause(facts={"seen_by": None}),
        cause(facts={"seen_by": "smart"}),
        cause(facts={"seen_by": {"smart": "sda"}}),
        cause(facts={"seen_by": ["ab", ["smart"], ["smart", "sda", "x"], ("smart", "sda"), 7, None]}),
        cause(facts={"seen_by": [["smart", "sdb"], ["raid", "sda"]]}),
        cause(facts=["smart", "sda"]),
        cause(facts=None),
    ],
)
def test_only_a_cause_on_the_same_host_that_names_check_and_item_hides_a_finding(other: dict[str, Any]) -> None:
    rows = fold([effect(), other])

    assert ("smart", ("sda",)) in {(row.check, row.items) for row in rows}
    assert len(rows) == 2


@pytest.mark.parametrize("status", ["ok", "skipped"])
def test_no_finding_is_lost_though_its_status_is_the_mildest(status: str) -> None:
    assert len(fold([effect(status)])) == 1


def test_a_cause_that_another_cause_names_stays_in_sight() -> None:
    first = cause("warning", item="bus", facts={"seen_by": [["shared_fate", "controller"]]})

    assert [row.items for row in fold([first, cause("warning")])] == [("bus", "controller")]


def test_a_row_is_as_old_as_the_oldest_of_its_findings_and_says_so_only_if_it_is_older_than_this_run() -> None:
    old, older = "2026-11-19T00:00:00Z", "2026-11-18T00:00:00Z"

    def since(*moments: str) -> str:
        (row,) = fold([of(f"kafka-a0{number}", first_seen=moment) for number, moment in enumerate(moments)])
        return row.since

    assert (since(old, older, AT), since(old, AT), since(AT, AT)) == (older, old, "")


def test_a_row_is_as_old_as_the_oldest_though_each_host_has_a_clock_of_its_own() -> None:
    early, late = "2026-11-20T03:10:00Z", "2026-11-20T03:14:00Z"
    (row,) = fold([of("kafka-a01", at=early, first_seen=early), of("kafka-a02", at=late, first_seen=late)])

    assert row.since == early


def test_what_was_first_seen_by_the_run_before_is_not_new() -> None:
    before, after = "2026-11-19T00:00:00Z", "2026-11-19T00:00:01Z"
    findings = [of("kafka-a01", first_seen=before), of("kafka-a02", first_seen=after), of("kafka-a03", first_seen=AT)]

    assert [row.new for row in fold(findings, previous_at=before)] == [2]
    assert [row.new for row in fold(findings)] == [0], "without a run before nothing is called new"


def test_rows_of_several_hosts_stand_by_the_name_of_the_first() -> None:
    rows = fold([of("kafka-a01", reason="x"), of("kafka-a10", reason="x"), of("kafka-a2", reason="y")])

    assert [row.hosts for row in rows] == [("kafka-a01", "kafka-a10"), ("kafka-a2",)]


def test_rows_of_one_host_stand_by_check_and_item() -> None:
    rows = fold([of("kafka-a01", check=check, item=item, reason=f"reason {check} {item}")
                 for check, item in (("smart", "x"), ("cpu", "z"), ("cpu", "y"))])  # fmt: skip

    assert [(row.check, row.items) for row in rows] == [("cpu", ("y",)), ("cpu", ("z",)), ("smart", ("x",))]


def letters(number: int) -> str:
    return chr(ord("a") + number // 26) + chr(ord("a") + number % 26)


def flood(count: int, status: str, host: str = "kafka-a01") -> list[dict[str, Any]]:
    """Findings of one host that do not fold, in the order of their names."""
    return [of(host, status=status, item=letters(n), reason=f"odd {letters(n)}{letters(n)}") for n in range(count)]


def test_twenty_rows_of_a_host_are_shown_and_no_row_counts_others() -> None:
    rows = fold(flood(20, "warning"))

    assert len(rows) == 20 and all(row.check == "swappiness" for row in rows)


def test_the_row_that_counts_the_others_is_as_severe_as_the_worst_of_them_and_stands_with_its_kind() -> None:
    rows = fold(
        [*flood(22, "critical"), *flood(3, "warning"), of("kafka-a02", status="critical", reason="v")],
        previous_at="2026-11-19T00:00:00Z",
    )
    more = rows[21]

    assert (more.status, more.hosts, more.check, more.items) == ("critical", ("kafka-a01",), "…", ("-",))
    assert "5 more findings" in more.sentence and (more.playbook, more.since, more.new) == ("", "", 5)
    assert [row.hosts[0] for row in rows] == ["kafka-a01"] * 20 + ["kafka-a02", "kafka-a01"]


def test_what_several_hosts_share_is_shown_however_much_each_of_them_says() -> None:
    shared = [of(host, status="warning", reason="shared") for host in ("kafka-a01", "kafka-a02")]
    rows = fold([*flood(30, "critical"), *shared])

    assert ("kafka-a01", "kafka-a02") in [row.hosts for row in rows]


def test_a_row_has_as_many_findings_as_hosts_and_items_together() -> None:
    assert Row("warning", ("a", "b"), "smart", ("x", "y", "z"), "worn").findings == 6
