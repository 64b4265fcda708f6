"""One finding is accepted, and no other with it (W7); what is accepted is told in every later answer."""

from __future__ import annotations

import json
import pathlib
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smoketests.gate import acceptance, decision_store, rules
from smoketests.gate.acceptance import Acceptance
from smoketests.gate.decision import ACCEPTED, CANNOT_TELL, FAILED, GO, NO_GO, UNTOLD, WARNED
from tests.smoketests.cluster.views import said
from tests.smoketests.gate.situations import NOW, ORDERS, decided, kafka, partition, rule, situation, trouble

A02, A03 = "kafka-a02", "kafka-a03"
KNOWN: dict[str, Any] = {"found": {A03: [said("smart", "ZA1BC2", "critical")]}}
DAY = 86_400.0


def taken(of: str, **given_: Any) -> dict[str, str]:
    """What --accept takes for all that this rule finds now."""
    return {rule(situation(**given_), of).token: "ticket 4711"}


def test_a_known_dead_disk_is_accepted_and_a_new_one_is_not_accepted_with_it() -> None:
    accept = taken("disks", **KNOWN)
    more: dict[str, Any] = {"found": {**KNOWN["found"], A02: [said("smart", "NEW1", "critical")]}}

    assert decided(situation(**KNOWN)).answer == NO_GO
    assert decided(situation(**KNOWN, accept=accept)).answer == GO
    decision = decided(situation(**more, accept=accept))
    (disks,) = [one for one in decision.rules if one.name == "disks"]
    assert (decision.answer, disks.status) == (NO_GO, FAILED)
    assert disks.reason.startswith(f"{A02}: smart: ") and f"accepted: {A03}: smart: " in disks.reason


@pytest.mark.parametrize(
    "row",
    [said("smart", "OTHER", "critical"), said("mounts", "/kafka/d1", "critical"), said("smart", "ZA1BC2", "unknown")],
)
def test_another_disk_another_check_or_another_status_of_the_same_host_is_another_finding(row: Any) -> None:
    accept = taken("disks", **KNOWN)

    assert decided(situation(found={A03: [row]}, accept=accept)).answer != GO


def test_the_same_finding_with_other_figures_is_the_same() -> None:
    whys = ("9 pending sectors, at most 8", "80 pending sectors, at most 8", "no reply")
    rows = [{**KNOWN["found"][A03][0], "reason": why} for why in whys]
    given_: list[dict[str, Any]] = [{"found": {A03: [row]}} for row in rows]
    one, worse, dead = given_
    accept = taken("disks", **one)

    assert decided(situation(**worse, accept=accept)).answer == GO
    assert decided(situation(**dead, accept=accept)).answer == NO_GO, (
        "another fault of the same disk is another finding"
    )


def test_a_topic_is_accepted_and_a_new_topic_is_not() -> None:
    one = (*ORDERS, partition("tmp", 0, (1,), min_isr=1))
    two = (*one, partition("pay", 0, (1,), min_isr=1))
    accept = taken("unreplicated", kafka_says=kafka(*one))

    more = (*one, partition("tmp", 1, (1,), min_isr=1))
    assert decided(situation(kafka_says=kafka(*more), accept=accept)).answer == GO, "the same topic"
    seen = situation(kafka_says=kafka(*two), accept=accept)
    (single,) = [result for result in decided(seen).rules if result.name == "unreplicated"]
    assert single.status == FAILED and "pay" in single.reason.partition("accepted:")[0]
    assert "tmp" in single.reason.partition("accepted:")[2]


def test_what_is_left_is_accepted_by_the_id_that_the_answer_shows() -> None:
    given_: dict[str, Any] = {"found": {A02: [said("smart", "D2", "critical")], A03: [said("smart", "D3", "critical")]}}
    first, second = rule(situation(**given_), "disks").findings
    alone = {f"disks#{first.id('disks')}": "known"}
    (left,) = [one for one in decided(situation(**given_, accept=alone)).rules if one.name == "disks"]

    assert left.token == f"disks#{second.id('disks')}"
    assert decided(situation(**given_, accept={**alone, left.token: "known too"})).answer == GO
    assert decided(situation(**given_, accept=taken("disks", **given_))).answer == GO


def test_a_rule_by_its_name_alone_accepts_that_nothing_could_be_read_and_never_a_fault() -> None:
    blind = situation(kafka_says=kafka(throttled=None), accept={"throttles": "an old broker"})
    fault = situation(**KNOWN, accept={"disks": "known"})
    unread = situation(found={A03: [said("smart", "D3", "unknown")]}, accept={"disks": "known"})

    assert decided(blind).answer == GO
    assert decided(fault).answer == NO_GO and decided(unread).answer == UNTOLD


def test_another_reason_for_the_same_rule_is_another_finding() -> None:
    two = situation(kraft=True, kafka_says=kafka(quorum=_quorum(2)))
    headless = situation(kraft=True, kafka_says=kafka(quorum=_quorum(-1)))

    assert rule(two, "kraft_quorum").status == rule(headless, "kraft_quorum").status == FAILED
    assert rule(two, "kraft_quorum").token != rule(headless, "kraft_quorum").token


def _quorum(leader: int) -> Any:
    from tests.smoketests.gate.situations import quorum

    return quorum(leader, v1=0, v2=0)


def test_what_is_accepted_until_a_day_holds_in_later_answers_is_told_there_and_ends(tmp_path: pathlib.Path) -> None:
    seen = situation(**KNOWN, accept=taken("disks", **KNOWN), until=NOW + 7 * DAY)
    decision = replace(decided(seen), who="ann@bastion (pid 7)")
    assert acceptance.keep_all(decision, str(tmp_path)) == []

    (path,) = (tmp_path / "gate" / "accepted" / "cluster=prod-a").iterdir()
    text = json.loads(path.read_text())
    path.write_text(json.dumps({**text, "at": NOW}))
    standing = acceptance.standing(str(tmp_path), "prod-a", NOW + DAY)
    later = situation(**KNOWN, fields={"accepted": standing})
    (told,) = [one for one in decided(later).rules if one.name == "earlier_answers"]
    (disks,) = [one for one in decided(later).rules if one.name == "disks"]
    assert (decided(later).answer, disks.status, disks.because) == (GO, ACCEPTED, "ticket 4711")
    assert told.status == WARNED and "by ann@bastion" in told.reason and "ticket 4711" in told.reason
    healthy = situation(fields={"accepted": standing})
    assert rule(healthy, "earlier_answers").status == WARNED, "also when it is over"
    new: dict[str, Any] = {"found": {A02: [said("smart", "NEW1", "critical")]}}
    assert decided(situation(**new, fields={"accepted": standing})).answer == NO_GO

    assert acceptance.standing(str(tmp_path), "prod-a", NOW + 7 * DAY) == []
    assert acceptance.standing(str(tmp_path), "prod-b", NOW + DAY) == []


def test_what_is_accepted_without_a_day_is_kept_in_its_answer_only(tmp_path: pathlib.Path) -> None:
    decision = decided(situation(**KNOWN, accept=taken("disks", **KNOWN)))

    assert acceptance.keep_all(decision, str(tmp_path)) == [] and not list(tmp_path.iterdir())
    (row,) = [one for one in decision_store.as_json(decision)["rules"] if one["name"] == "disks"]
    (number,) = row["evidence"]["accepted"]
    assert row["evidence"]["accepted"][number]["because"] == "ticket 4711"


def test_what_can_never_be_accepted_is_not_accepted_by_a_file_either(tmp_path: pathlib.Path) -> None:
    given_: dict[str, Any] = {"locks": None, "unread": {"locks": "Permission denied"}}
    number = rule(situation(**given_), "other_maintenance").token.partition("#")[2]
    forged = Acceptance("other_maintenance", number, "x", "x", "x", NOW, NOW + DAY)
    results = {one.name: one for one in rules.judge_all(situation(**given_, fields={"accepted": [forged]}))}

    assert results["other_maintenance"].status == CANNOT_TELL


FIELDS = st.sampled_from(["rule", "id", "said", "because", "who", "at", "until"])
RUBBISH = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(FIELDS, inner),
    max_leaves=12,
)


@given(RUBBISH)
def test_a_damaged_file_accepts_nothing(tmp_path_factory: pytest.TempPathFactory, document: Any) -> None:
    folder = tmp_path_factory.mktemp("store")
    kept = folder / "gate" / "accepted" / "cluster=prod-a"
    kept.mkdir(parents=True)
    (kept / "disks-1a2b3c.json").write_text(json.dumps(document))

    assert acceptance.standing(str(folder), "prod-a", NOW) == []


def test_an_id_that_nothing_has_is_told() -> None:
    seen = [rules.judged(situation(**KNOWN), name) for name in rules.names()]
    (token,) = taken("disks", **KNOWN)

    assert acceptance.useless({token: "x"}, seen) == []
    assert acceptance.useless({"disks#ffffff": "x"}, seen) == ["--accept disks#ffffff: no such finding now"]


def test_the_answer_names_each_finding_with_its_id() -> None:
    seen = situation(found={A03: [trouble("smart")]})
    (row,) = [one for one in decision_store.as_json(decided(seen))["rules"] if one["name"] == "disks"]

    assert row["accept"] == f"disks#{row['findings'][0]['id']}"
    assert (row["findings"][0]["host"], row["findings"][0]["item"]) == (A03, "smart it")
