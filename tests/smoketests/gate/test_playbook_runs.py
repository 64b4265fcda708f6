"""What playbooks left behind in a cluster, read from their journals."""

from __future__ import annotations

import fcntl
import json
import pathlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smoketests.gate import playbook_runs

NOW = 1_795_000_000.0  # 2026-11-18
PLAN = {"playbook": "reboot-broker", "host": "kafka-a01", "cluster": "prod-a", "source": "steps:\n  - gate: reboot\n"}
MOVED = {"kind": "replica order", "item": "orders-0", "before": [1, 2, 3], "after": [2, 3, 1]}
DISABLED = {"kind": "unit disabled", "item": "kafka.service", "before": None, "after": None}


def write(
    store: pathlib.Path, *rows: dict[str, Any], run_id: str = "20261117-031200-3f2a", **plan: str
) -> pathlib.Path:
    path = store / "playbooks" / f"{run_id}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    first: dict[str, Any] = {"event": "planned", "at": "2026-11-17T03:12:00Z", "plan": {**PLAN, **plan}}
    began = {"event": "began", "at": "2026-11-17T03:12:01Z", "who": "ann@bastion (pid 7)"}
    lines = [json.dumps({"at": "2026-11-17T03:13:00Z", **row}) for row in (first, began, *rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def left(store: pathlib.Path, *hosts: str) -> list[tuple[str, list[tuple[str, str]]]]:
    found = playbook_runs.unfinished(str(store), "prod-a", hosts, NOW)
    return [(run.state, [(change.kind, change.item) for change in run.changes]) for run in found]


def test_a_run_that_nobody_ended_is_found_with_what_it_changed(tmp_path: pathlib.Path) -> None:
    write(tmp_path, {"event": "started", "step": "3", "changes": [MOVED, DISABLED]})

    (run,) = playbook_runs.unfinished(str(tmp_path), "prod-a", ["kafka-a01"], NOW)

    assert run.abandoned and run.last == "3" and run.who == "ann@bastion (pid 7)" and run.purposes == ("reboot",)
    assert [(one.item, one.before, one.after) for one in run.changes] == [
        ("orders-0", [1, 2, 3], [2, 3, 1]), ("kafka.service", None, None)]  # fmt: skip


def test_what_was_put_back_is_no_change_any_more(tmp_path: pathlib.Path) -> None:
    write(
        tmp_path, {"event": "started", "step": "3", "changes": [MOVED, DISABLED]},
        {"event": "ended", "restores": [["replica order", "orders-0"], ["unit disabled", "kafka.service"]]},
        {"event": "finished"},
    )  # fmt: skip

    assert left(tmp_path) == []


def test_a_run_that_ended_without_putting_something_back_is_found(tmp_path: pathlib.Path) -> None:
    write(tmp_path, {"event": "started", "step": "3", "changes": [MOVED]}, {"event": "finished"})

    assert left(tmp_path) == [("finished", [("replica order", "orders-0")])]


def test_a_broker_that_left_for_good_is_meant_to_stay_stopped(tmp_path: pathlib.Path) -> None:
    rows: list[dict[str, Any]] = [{"event": "started", "step": "5", "changes": [DISABLED]}, {"event": "finished"}]
    write(tmp_path, *rows, source="steps:\n  - gate: decommission\n")
    write(tmp_path, *rows[:1], source="steps:\n  - gate: decommission\n", run_id="20261117-031200-0002")

    assert left(tmp_path) == [("stopped", [("unit disabled", "kafka.service")])], "one that did not end is told"


def test_an_order_that_was_changed_twice_is_known_as_it_was_at_first(tmp_path: pathlib.Path) -> None:
    again = {**MOVED, "before": [2, 3, 1], "after": [3, 2, 1]}
    write(tmp_path, {"event": "started", "changes": [MOVED]}, {"event": "started", "changes": [again]})

    ((change,),) = [run.changes for run in playbook_runs.unfinished(str(tmp_path), "prod-a", (), NOW)]
    assert (change.before, change.after) == ([1, 2, 3], [3, 2, 1])


def test_a_run_that_is_carried_out_now_is_told_as_such(tmp_path: pathlib.Path) -> None:
    path = write(tmp_path, {"event": "started", "step": "3", "changes": [MOVED]})
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert [state for state, _changes in left(tmp_path)] == ["running"]


def test_runs_of_other_hosts_clusters_and_times_do_not_count(tmp_path: pathlib.Path) -> None:
    write(tmp_path, run_id="20261117-031200-0001", host="kafka-a02")
    write(tmp_path, run_id="20261117-031200-0002", cluster="prod-b")
    write(tmp_path, run_id="20260101-031200-0003")

    assert left(tmp_path, "kafka-a01") == [] and len(left(tmp_path)) == 1


def test_a_line_that_was_cut_short_hides_no_other(tmp_path: pathlib.Path) -> None:
    path = write(tmp_path, {"event": "started", "changes": [MOVED]})
    path.write_text(path.read_text() + '{"event":"ended","restor')

    assert left(tmp_path) == [("stopped", [("replica order", "orders-0")])]


def test_no_store_is_no_run_and_a_folder_that_cannot_be_read_is_told(tmp_path: pathlib.Path) -> None:
    assert left(tmp_path / "none") == []
    (tmp_path / "playbooks").write_text("")
    with pytest.raises(playbook_runs.UnreadableRuns):
        left(tmp_path)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["kind", "item", "before", "after", "event", "changes", "restores"]) | st.text(max_size=3),
        inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(st.lists(st.dictionaries(st.sampled_from(["event", "changes", "restores", "at", "step", "who"]), json_values)))
def test_rubbish_in_a_journal_is_no_change(rows: list[dict[str, Any]]) -> None:
    for change in playbook_runs.left(rows):
        assert change.kind in playbook_runs.KINDS and isinstance(change.item, str)
