"""One run over many hosts: nobody is passed over, nothing is hidden, and the formats say the same."""

from __future__ import annotations

import io
import json
import pathlib
import re
from xml.etree import ElementTree

import pytest

from agent.state import State
from agent.status import unknown
from inventory.model import Cluster, Host
from smoketests import show
from smoketests.cluster.view import ClusterView
from smoketests.results.progress import Progress
from smoketests.results.run_results import Survey
from smoketests.results.store import Keeping
from smoketests.show import many_hosts
from tests.many_hosts import NOW, host_report, survey, swappiness
from tests.records import AT, finding

SILENT = unknown("10.0.0.3:22 refuses connections: no sshd is listening")
OLD = "2026-11-01T00:00:00Z"


@pytest.fixture(autouse=True)
def _eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def fleet() -> list[object]:
    brokers = [
        host_report(Host(f"kafka-a{number:02d}", cluster="prod-a"), swappiness(), finding()) for number in range(1, 15)
    ]
    broken = host_report(Host("kafka-b03", cluster="prod-b"), finding("critical", playbook="hidden-readonly"))
    well = [host_report(Host(f"kafka-c{n}", cluster=f"prod-c{n}"), finding()) for n in range(3)]
    return [*brokers, broken, *well, host_report(Host("kafka-d02", cluster="prod-d"), reach=SILENT)]


def run() -> Survey:
    return survey(fleet())  # type: ignore[arg-type]


def table(seen: Survey) -> list[str]:
    return list(show.many("table", seen))


def test_clusters_first_then_the_worst_then_the_totals() -> None:
    shown = table(run())

    assert shown[:4] == [
        "prod-a    14 hosts  14 warning",
        "prod-b     1 hosts  1 critical",
        "prod-d     1 hosts  1 unknown  1 silent",
        "prod-c[0-2]  3 hosts  no problem",
    ]
    assert [line.split()[0] for line in shown[5:] if line and line[0].isupper()] == ["CRITICAL", "UNKNOWN", "WARNING"]
    assert shown[-1] == "19 hosts, 3 checks: 1 critical, 1 unknown, 14 warning in 0.0 s; exit 2"


def test_fourteen_hosts_with_one_finding_take_one_row() -> None:
    (row,) = [line for line in table(run()) if line.startswith("WARNING")]

    assert row.startswith("WARNING  kafka-a[01-14] swappiness")
    assert "(14 hosts)" in " ".join(table(run()))


def test_eighty_columns_and_no_word_lost() -> None:
    reason = "md0: sdc2 failed and its mirror sdd2 has 8 pending sectors: one failure from data loss " * 3
    names = [f"broker-{letter}-{letter}.example.com" for letter in "abcdefg"]
    seen = survey(
        [host_report(name, finding("critical", reason=reason, item="md0", playbook="raid")) for name in names]
    )
    shown = table(seen)
    words = " ".join(" ".join(shown).split())

    assert max(map(len, shown)) <= 80
    assert words.count("one failure from data loss") == 3
    assert all(name in words for name in names)
    assert "> raid" in "\n".join(shown), "the arrow and its playbook stay on one line"


def test_a_run_that_found_nothing_wrong_says_so() -> None:
    seen = survey([host_report("kafka-a01", finding()), host_report("kafka-a02", finding())])

    assert table(seen) == ["prod-a  2 hosts  no problem", "", "2 hosts, 2 checks: no problem in 0.0 s; exit 0"]


def test_colour_only_on_a_terminal_and_never_against_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in "".join(table(run()))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[1;31mCRITICAL" in "".join(table(run()))
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in "".join(table(run()))


def test_hosts_that_never_answered_are_rows_and_the_run_is_not_ok() -> None:
    seen = survey([host_report("kafka-a01", finding()), host_report("kafka-a02", reach=unknown("no reply: stopped"))])

    assert seen.exit_code == 3
    assert "UNKNOWN  kafka-a02 reach" in "\n".join(table(seen))
    assert seen.tallies["prod-a"].silent == 1


def test_a_cluster_is_judged_when_its_last_host_is_heard_and_its_reports_are_let_go() -> None:
    late = Host("kafka-a02", cluster="prod-a")
    seen = survey([host_report("kafka-a01", finding())], silent=[late])
    assert seen.waiting() == [late]
    assert "reach" not in seen.checks

    seen.hear(host_report(late, finding()))

    assert "reach" in seen.checks
    assert not seen._heard and not seen._windows


def test_a_slow_zookeeper_holds_up_its_own_cluster_and_only_at_the_end() -> None:
    answers: dict[str, ClusterView | None] = {"prod-a": None, "prod-b": ClusterView(Cluster("prod-b"), {})}
    waited: list[str] = []

    def outside(cluster: Cluster, wait: bool) -> ClusterView | None:
        if wait:
            waited.append(cluster.name)
            return ClusterView(cluster, {})
        return answers[cluster.name] and ClusterView(cluster, {})

    hosts = [Host("kafka-a01", cluster="prod-a"), Host("kafka-b01", cluster="prod-b")]
    clusters = [Cluster(host.cluster, (host,)) for host in hosts]
    seen = Survey(clusters, hosts, "r1", AT, ["reach"], State("", NOW), outside=outside)
    for host in hosts:
        seen.hear(host_report(host, finding()))
    assert [tally.statuses["ok"] for tally in seen.tallies.values()] == [1, 2]

    seen.end()

    assert waited == ["prod-a"]
    assert [tally.statuses["ok"] for tally in seen.tallies.values()] == [2, 2]


def test_a_host_counts_once_however_often_it_is_heard() -> None:
    late = Host("kafka-a02", cluster="prod-a")
    seen = survey([host_report("kafka-a01", swappiness())], silent=[late])
    seen.hear(host_report("kafka-a01", swappiness()))

    assert len(seen.problems) == 1


def test_what_is_new_since_the_run_before_is_counted_and_old_rows_say_since_when() -> None:
    before = State("", NOW - 3600)
    reports = [host_report("kafka-a01", swappiness(first_seen=OLD)), host_report("kafka-a02", reach=SILENT)]
    first = survey(reports, memory=before)
    again = survey(reports, memory=State("", NOW, before.dump()))

    assert "new since" not in many_hosts.totals(first)
    assert "(new since 02:12Z: 0)" in many_hosts.totals(again)
    assert "(since 2026-11-01T00:00Z)" in " ".join(" ".join(table(again)).split())
    (reach,) = [problem for problem in again.problems if problem["check"] == "reach"]
    assert reach["first_seen"] == "2026-11-20T02:12:00Z"


def test_a_host_that_falls_silent_is_new() -> None:
    before = State("", NOW - 3600)
    survey([host_report("kafka-a01", finding())], memory=before)

    again = survey([host_report("kafka-a01", reach=SILENT)], memory=State("", NOW, before.dump()))

    assert again.new == 1


def test_json_has_every_row_of_hosts_and_clusters() -> None:
    seen = run()
    document = json.loads("\n".join(show.many("json", seen)))

    assert document["summary"]["exit_code"] == 2
    assert document["summary"]["clusters"]["prod-a"] == {
        "hosts": 14, "silent": 0, "critical": 0, "unknown": 0, "warning": 14, "ok": 28, "skipped": 0}  # fmt: skip
    assert len(document["findings"]) == 14 * 3 + 2 + 3 * 2 + 1
    assert {header["host"] for header in document["reports"]} == {report.host.name for report in fleet()}  # type: ignore[attr-defined]
    assert {f["status"] for f in json.loads("".join(show.many("json", seen, True)))["findings"]} == {
        "critical", "unknown", "warning"}  # fmt: skip


def test_junit_has_a_suite_for_each_host_and_each_cluster_that_ci_can_read() -> None:
    root = ElementTree.fromstring("\n".join(show.many("junit", run())))

    assert root.tag == "testsuites"
    suites = {suite.attrib["name"]: suite for suite in root}
    assert {"kafka-a01", "kafka-d02", "prod-a"} <= set(suites)
    for suite in suites.values():
        cases = suite.findall("testcase")
        outcomes = [case[0].tag for case in cases]
        counted = {"tests": len(cases), "failures": outcomes.count("failure")}
        counted.update(errors=outcomes.count("error"), skipped=outcomes.count("skipped"))
        assert {name: int(suite.attrib[name]) for name in counted} == counted
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.attrib["timestamp"])
        assert float(suite.attrib["time"]) >= 0
        for case in cases:
            assert set(case.attrib) == {"classname", "name", "time"} and all(case.attrib.values())
            assert {part.tag for part in case} <= {"failure", "error", "skipped", "system-out"} and len(case) == 1
    (case,) = suites["kafka-d02"]
    assert case.attrib["classname"] == "kafka-d02.reach" and case[0].tag == "error"


def test_nagios_says_the_worst_first_with_whom_it_is_about() -> None:
    first, *others = show.many("nagios", run())

    assert first.startswith("SMOKE CRITICAL - 16 problems on 19 hosts: kafka-b03: /kafka/d3 (sdd): create fails")
    assert "| critical=1 unknown=1 warning=14" in first
    assert others[-1].startswith("WARNING kafka-a[01-14] swappiness: ")


def test_prometheus_groups_each_metric_and_names_no_series_twice() -> None:
    lines = list(show.many("prometheus", run()))
    names = [line.split("{")[0] for line in lines if not line.startswith("#")]
    series = [line.rpartition(" ")[0] for line in lines]

    assert [name for n, name in enumerate(names) if n == 0 or names[n - 1] != name] == [
        "smoke_status", "smoke_fact", "smoke_findings", "smoke_duration_seconds"]  # fmt: skip
    assert len(series) == len(set(series))
    assert 'smoke_status{cluster="prod-d",host="kafka-d02",check="reach",item="kafka-d02"} 3' in lines


def test_the_store_holds_all_of_a_run_once_it_has_ended_and_nothing_before(tmp_path: pathlib.Path) -> None:
    keeper = Keeping(str(tmp_path), "r1", AT)
    seen = survey(fleet(), keeper=keeper)  # type: ignore[arg-type]
    assert not list(tmp_path.rglob("*.jsonl"))

    keeper.end()

    (kept,) = tmp_path.rglob("*.jsonl")
    rows = [json.loads(line) for line in kept.read_text().splitlines()]
    assert len([row for row in rows if "check" in row]) == sum(
        sum(tally.statuses.values()) for tally in seen.tallies.values()
    )


def test_a_store_that_cannot_be_written_spoils_no_run_but_its_exit_code(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("")
    keeper = Keeping(str(tmp_path / "file"), "r1", AT)
    seen = survey([host_report("kafka-a01", finding())], keeper=keeper)
    keeper.end()

    assert "cannot store the report" in keeper.problem
    assert (seen.exit_code, seen.tallies["prod-a"].statuses["ok"]) == (3, 2)


def test_progress_names_who_is_waited_for_when_they_are_few() -> None:
    log = io.StringIO()
    progress = Progress([f"kafka-a{number:02d}" for number in range(1, 6)], log)
    assert progress.line() == "0/5 hosts  5 waiting"

    progress.heard(host_report("kafka-a01", finding()))
    assert progress.line() == "1/5 hosts  4 waiting  slowest kafka-a01 (0 s)"

    progress.heard(host_report("kafka-a02", reach=SILENT))
    assert progress.line().startswith("2/5 hosts  waiting for kafka-a[03-05], 1 unreachable")


def test_progress_in_a_log_is_plain_lines_and_nothing_for_a_short_run(monkeypatch: pytest.MonkeyPatch) -> None:
    log = io.StringIO()
    with Progress(["kafka-a01"], log):
        pass
    assert log.getvalue() == ""

    monkeypatch.setattr("smoketests.results.progress.IN_LOG_S", 0.01)
    with Progress(["kafka-a01"], log) as progress:
        while "\n" not in log.getvalue():
            progress._over.wait(0.01)
    assert "\r" not in log.getvalue() and "\x1b" not in log.getvalue()
    assert log.getvalue().splitlines()[0].startswith("smoke: 0/1 hosts  waiting for kafka-a01")
