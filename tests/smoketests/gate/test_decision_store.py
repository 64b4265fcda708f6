"""What the gate keeps, and finds again behind the maintenance; overrides are kept by name."""

from __future__ import annotations

import json
import pathlib
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smoketests.gate import decision_store, hold, lock, rules
from smoketests.gate.decision import ACCEPTED, CANNOT_TELL, FAILED, GO, NO_GO, PASSED, UNTOLD, Decision
from smoketests.gate.maintenance import Maintenance
from smoketests.show import gate as show
from tests.smoketests.cluster.views import said
from tests.smoketests.gate.situations import NOW, TB, decided, kafka, mount, partition, rule, situation, smart, trouble

SINGLE = kafka(partition(), partition("tmp", 0, (1,), min_isr=1))
DISK = {"kafka-a01": [smart("OLD1", "critical"), smart("D2", path="/dev/sdc"), mount("/kafka/d1", "OLD1", "critical")]}


def before(at: str = "2026-11-20T03:12:00Z", run_id: str = "r1", **given: Any) -> Decision:
    seen = situation(purpose="replace-disk", disk="OLD1", found=DISK, **given)
    return replace(decided(seen), at=at, run_id=run_id, state=decision_store.state_of(seen))


def after(disk: str = "") -> Maintenance:
    return Maintenance(("kafka-a01",), "replace-disk", "prod-a", disk, after=True)


def test_a_decision_is_one_file_whole_with_all_rules_and_evidence(tmp_path: pathlib.Path) -> None:
    decision = decision_store.kept(before(), str(tmp_path))

    (path,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    kept = json.loads(path.read_text())
    assert (path.parent.name, path.name) == ("date=2026-11-20", "031200-r1.json")
    assert kept["answer"] == decision.answer and kept["maintenance"]["disk"] == "OLD1"
    assert [rule["name"] for rule in kept["rules"]] == rules.names()
    assert kept["rules"][rules.names().index("leaders")]["evidence"]["moved"] == 1


def test_the_state_in_front_is_found_behind_it(tmp_path: pathlib.Path) -> None:
    decision_store.kept(before(), str(tmp_path))

    state = decision_store.before(str(tmp_path), after(), NOW)
    assert (state["disk"], state["mounts"]) == ("OLD1", ["/kafka/d1"])
    assert state["disk_facts"]["size_bytes"] == 8 * TB
    assert set(state["hosts"]["kafka-a01"]["disks"]) == {"OLD1", "D2"}


def test_the_newest_of_the_same_question_counts(tmp_path: pathlib.Path) -> None:
    decision_store.kept(before(at="2026-11-19T03:12:00Z", run_id="old"), str(tmp_path))
    decision_store.kept(before(run_id="new"), str(tmp_path))
    decision_store.kept(
        replace(decided(situation("kafka-a02")), at="2026-11-20T05:00:00Z", run_id="other"), str(tmp_path)
    )

    assert decision_store.before(str(tmp_path), after("OLD1"), NOW)["at"] == "2026-11-20T03:12:00Z"
    with pytest.raises(decision_store.NoRecord):
        decision_store.before(str(tmp_path), after("OTHER"), NOW)
    with pytest.raises(decision_store.NoRecord):
        decision_store.before(str(tmp_path), after("OLD1"), NOW + 62 * 86_400)


def test_who_asked_again_with_the_disk_out_already_still_finds_its_size(tmp_path: pathlib.Path) -> None:
    decision_store.kept(before(run_id="whole"), str(tmp_path))
    pulled = situation(purpose="replace-disk", disk="OLD1", found={"kafka-a01": [smart("D2")]})
    later = replace(decided(pulled), at="2026-11-20T04:00:00Z", run_id="later", state=decision_store.state_of(pulled))
    decision_store.kept(later, str(tmp_path))

    assert decision_store.before(str(tmp_path), after(), NOW)["disk_facts"]["size_bytes"] == 8 * TB


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": 1}', '{"schema": 1, "maintenance": 7, "state": {}}', "\0"])
def test_a_damaged_record_is_passed_over(tmp_path: pathlib.Path, text: str) -> None:
    decision_store.kept(before(), str(tmp_path))
    (tmp_path / "gate" / "date=2026-11-20" / "999999-broken.json").write_text(text)

    assert decision_store.before(str(tmp_path), after(), NOW)["disk"] == "OLD1"


def test_without_a_record_the_reason_names_the_store(tmp_path: pathlib.Path) -> None:
    with pytest.raises(
        decision_store.NoRecord, match="no decision of the last 60 days before replace-disk of kafka-a01"
    ):
        decision_store.before(str(tmp_path), after(), NOW)


def test_a_decision_that_cannot_be_kept_is_no_go(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("")
    kept = decision_store.kept(replace(decided(situation()), run_id="r1"), str(tmp_path / "file"))

    assert kept.answer == UNTOLD
    assert kept.rules[-1].name == "record" and "cannot store the decision" in kept.rules[-1].reason


def test_an_override_is_kept_with_its_rule_what_it_said_and_why(tmp_path: pathlib.Path) -> None:
    token = rule(situation(kafka_says=SINGLE), "unreplicated").token
    seen = situation(kafka_says=SINGLE, accept={token: "tmp is a test topic, ticket 4711"})
    decision = decision_store.kept(replace(decided(seen), run_id="r1", who="ann@bastion"), str(tmp_path))

    (path,) = (tmp_path / "gate").rglob("*.json")
    kept = json.loads(path.read_text())
    (row,) = [rule for rule in kept["rules"] if rule["name"] == "unreplicated"]
    assert decision.answer == GO
    assert (row["status"], row["because"]) == (ACCEPTED, "tmp is a test topic, ticket 4711")
    assert row["reason"].startswith("failed: ") and "tmp-0" in row["reason"]
    assert kept["maintenance"]["accept"] == {token: "tmp is a test topic, ticket 4711"}
    assert kept["who"] == "ann@bastion"


def test_an_override_accepts_its_own_rule_only(tmp_path: pathlib.Path) -> None:
    found = {"kafka-a02": [trouble("smart")]}
    token = rule(situation(kafka_says=SINGLE), "unreplicated").token
    decision = decided(situation(kafka_says=SINGLE, found=found, accept={token: "known"}))

    assert decision.answer == NO_GO
    assert [rule.name for rule in decision.with_status(FAILED)] == ["disks"]


def test_what_cannot_be_read_is_accepted_by_name_or_not_at_all() -> None:
    given: Any = {"kafka_says": kafka(throttled=None)}

    assert decided(situation(**given)).answer == UNTOLD
    assert decided(situation(**given, accept={"throttles": "an old broker"})).answer == GO


def test_an_override_of_a_rule_that_passed_changes_nothing() -> None:
    decision = decided(situation(accept={"offline": "just in case"}))

    assert {rule.name: rule.status for rule in decision.rules}["offline"] == PASSED


@pytest.mark.parametrize(
    ("accept", "why"),
    [
        ({"unreplicate": "x"}, "did you mean unreplicated"),
        ({"nonsense_at_all": "x"}, "see smoke gate rules"),
        ({"other_maintenance": "he went home"}, "cannot be accepted: release it"),
        ({"disk": "I know better"}, "cannot be accepted: a wrong serial number"),
        ({"offline": "  "}, "--accept offline requires --because"),
        ({"disks#all": "x"}, "names no finding: the decision shows each with its id, such as disks#1a2b3c"),
    ],
)
def test_what_cannot_be_accepted_is_refused_in_words(accept: dict[str, str], why: str) -> None:
    assert why in rules.unacceptable(accept)


def test_a_rule_that_breaks_is_not_passed_and_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules.load("offline"), "judge", lambda *_: 1 / 0)
    results = {rule.name: rule for rule in decided(situation()).rules}

    assert results["offline"].status == CANNOT_TELL and "ZeroDivisionError" in results["offline"].reason
    assert results["availability"].status == PASSED


def test_an_inventorys_limit_holds_for_its_cluster() -> None:
    given: Any = {"kafka_says": kafka(partition(leader=2)), "after": True}

    assert decided(situation(**given)).answer == NO_GO
    assert decided(situation(**given, limits={"gate_preferred_leaders": {"imbalance_percent": 100}})).answer == GO


def test_hold_takes_the_cluster_with_go_only(tmp_path: pathlib.Path) -> None:
    told: list[str] = []
    bad = hold.held(decided(situation(kafka_says=SINGLE)), str(tmp_path), told.append)
    assert (bad.answer, lock.held(str(tmp_path)), told) == (NO_GO, [], [])

    good = hold.held(decided(situation()), str(tmp_path), told.append)
    (ours,) = lock.held(str(tmp_path))
    assert good.answer == GO and good.rules[-1].evidence["id"] == ours.id
    assert (ours.cluster, ours.hosts, ours.purpose) == ("prod-a", ("kafka-a01",), "reboot")
    assert told == [f"afterwards: smoke gate release {ours.id} --store {tmp_path}"]


def test_who_holds_the_cluster_already_holds_it_longer(tmp_path: pathlib.Path) -> None:
    first = lock.take(str(tmp_path), ["kafka-a01"], "prod-a", "ann", "reboot", 1)
    decision = hold.held(decided(situation(lock=first.id)), str(tmp_path), print)

    (ours,) = lock.held(str(tmp_path))
    assert decision.answer == GO
    assert ours.id == first.id and ours.until > first.until + 3000


def test_go_is_no_go_where_somebody_was_quicker(tmp_path: pathlib.Path) -> None:
    lock.take(str(tmp_path), ["kafka-a02"], "prod-a", "ann", "reboot", 60)
    decision = hold.held(decided(situation()), str(tmp_path), print)

    assert (
        decision.answer == NO_GO and "another user took the lock first: prod-a is locked" in decision.rules[-1].reason
    )


RUBBISH = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from([
    "serial", "path", "size_bytes", "where", "device", "kind", "level", "state", "said", "gone", "rebuilding",
    "exposed", "mirrors", "part", "present", "faults", "healthy_others", "interface", "carrier", "is_member",
    "speed_mbps", "expected_mbps", "rx_bytes_per_s", "tx_bytes_per_s", "fstab_problem", "options_only_now",
    "synchronised", "offset_ms",
])  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["smart", "mounts", "raid", "power", "nic_link", "clock"]), st.text(max_size=5),
                       st.sampled_from(["ok", "warning", "critical", "unknown"]),
                       st.dictionaries(NAMES, RUBBISH, max_size=6)), max_size=5),
    st.sampled_from(["reboot", "replace-disk", "replace-psu"]),
    st.booleans(),
)  # fmt: skip
def test_whatever_a_machine_says_every_rule_answers(
    rows: list[tuple[str, str, str, dict[str, Any]]], purpose: str, after: bool
) -> None:
    found = {"kafka-a01": [said(check, item, status, **facts) for check, item, status, facts in rows]}
    disk = "OLD1" if purpose == "replace-disk" else ""
    before = {"disk": "OLD1", "mounts": ["/kafka/d1"], "hosts": {}} if after else {}
    seen = situation(purpose=purpose, disk=disk, after=after, before=before, found=found)
    decision = decided(seen)

    assert not [rule for rule in decision.rules if "the rule itself failed" in rule.reason]
    assert decision_store.state_of(seen)["hosts"]
    assert all(line.isprintable() for line in show.table(decision).splitlines())
