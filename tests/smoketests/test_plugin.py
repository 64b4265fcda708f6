"""pytest --smoke-inventory: the findings as items, and a site's own tests beside them."""

from __future__ import annotations

import os
from importlib import metadata

import pytest

pytest_plugins = ["pytester"]

INVENTORY = """
clusters:
  prod-a:
    hosts:
      kafka-a[01-02]: {roles: [broker], layout: jbod}
      zk-a1: {roles: [zookeeper]}
"""
# stands in for the fan-out: kafka-a02 never answers
CONFTEST = """
import sys
sys.path.insert(0, {root!r})
from agent.status import unknown
from smoketests.results import run
from tests.many_hosts import host_report, swappiness
from tests.records import finding

ASKED = []

def reports(wanted, hosts, checks, run_id):
    ASKED.append(checks)
    for host in hosts:
        if host.name == "kafka-a02":
            yield host_report(host, reach=unknown("10.0.0.3:22 refuses connections: no sshd is listening"))
        elif host.name == "zk-a1":
            yield host_report(host, finding(check="clock", item="-", facts={{"offset_ms": 3}}),
                              finding("skipped", check="power", item="-", reason="no BMC in this inventory"))
        else:
            yield host_report(host, swappiness(), finding("critical", playbook="hidden-readonly"),
                              finding(check="smart", item="ZA::1\\x1b[31m"))

run.host_reports = reports
"""
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
INSTALLED = any(entry.value == "smoketests.plugin" for entry in metadata.entry_points(group="pytest11"))


@pytest.fixture
def site(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("XDG_STATE_HOME", str(pytester.path / "memory"))
    monkeypatch.setattr(
        "smoketests.results.run.default_state_path", lambda: str(pytester.path / "memory" / "state.json")
    )
    pytester.makeconftest(CONFTEST.format(root=ROOT))
    (pytester.path / "inv.yaml").write_text(INVENTORY)
    return pytester


def run(site: pytest.Pytester, *words: str, inventory: bool = True) -> pytest.RunResult:
    own = [] if INSTALLED else ["-p", "smoketests.plugin"]
    asked = ["--smoke-inventory", "inv.yaml", "--smoke-checks", "swappiness"] if inventory else []
    return site.runpytest_inprocess(*own, *asked, "-p", "no:cacheprovider", *words)


def test_each_finding_is_an_item_with_the_outcome_of_its_status(site: pytest.Pytester) -> None:
    result = run(site, "-v")

    result.assert_outcomes(passed=5, failed=2, skipped=1, warnings=1)
    result.stdout.fnmatch_lines_random(
        [
            "*swappiness?kafka-a01? PASSED*",
            "*mounts?kafka-a01-/kafka/d3? FAILED*",
            "*smart?kafka-a01-ZA:1 ?31m? PASSED*",
            "*reach?kafka-a02? FAILED*",
            "*clock?zk-a1? PASSED*",
            "*power?zk-a1? SKIPPED*",
            "critical: /kafka/d3 (sdd): create fails with EROFS although mounted rw",
            "what to do: playbook hidden-readonly, smoke explain mounts",
            "cannot tell: 10.0.0.3:22 refuses connections: no sshd is listening",
            "*SmokeWarning: swappiness?kafka-a01?: vm.swappiness is 60, limit 1*",
        ]
    )
    assert "\x1b" not in result.stdout.str()


def test_strict_fails_on_warnings(site: pytest.Pytester) -> None:
    run(site, "--smoke-strict").assert_outcomes(passed=4, failed=3, skipped=1)


@pytest.mark.parametrize(
    ("words", "outcomes"),
    [
        (["-k", "mounts"], {"failed": 1, "deselected": 7}),
        (["-k", "zk-a1"], {"passed": 2, "skipped": 1, "deselected": 5}),
        (["-m", "not smoke"], {"deselected": 8}),
        (["--smoke-limit", "zk-*"], {"passed": 2, "skipped": 1}),
    ],
)
def test_items_are_chosen_as_any_other(site: pytest.Pytester, words: list[str], outcomes: dict[str, int]) -> None:
    run(site, *words).assert_outcomes(**outcomes)


def test_a_sites_own_tests_run_for_each_host_and_cluster(site: pytest.Pytester) -> None:
    site.makepyfile(
        """
        def test_the_clock_is_near(host):
            if "zookeeper" in host.machine.roles:
                assert host.facts("clock")["offset_ms"] < 10

        def test_facts_that_were_not_told_say_why(host):
            if host.name == "kafka-a02":
                import pytest
                with pytest.raises(KeyError, match="the check did not run"):
                    host.facts("clock")

        def test_there_are_brokers(cluster):
            assert [host.name for host in cluster.with_role("broker")] == ["kafka-a01", "kafka-a02"]
            assert len(list(cluster.of("reach"))) == 3
        """
    )
    result = run(site, "-m", "not smoke", "-v")

    result.assert_outcomes(passed=7, deselected=8)
    result.stdout.fnmatch_lines(["*test_the_clock_is_near?zk-a1? PASSED*"])


def test_without_an_inventory_nothing_is_asked_and_such_tests_are_skipped(site: pytest.Pytester) -> None:
    site.makepyfile("def test_a(host): raise AssertionError\ndef test_b(): pass")
    result = run(site, "-rs", inventory=False)

    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["*needs hosts: pytest --smoke-inventory FILE*"])


def test_a_fixture_of_the_sites_own_by_that_name_is_left_alone(site: pytest.Pytester) -> None:
    site.makepyfile("import pytest\n@pytest.fixture\ndef host(): return 7\ndef test_a(host): assert host == 7")

    run(site, "-m", "not smoke").assert_outcomes(passed=1, deselected=8)


def test_hosts_are_asked_once_and_only_what_is_wanted(site: pytest.Pytester) -> None:
    site.makepyfile("def test_a(host): import conftest; assert conftest.ASKED == [('swappiness',)]")

    run(site, "-m", "not smoke").assert_outcomes(passed=3, deselected=8)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--smoke-limit", "kafka-a09"], "*no host matches 'kafka-a09'*"),
        (["--smoke-checks", "swapines"], "*no check named 'swapines'*"),
        (["--smoke-inventory", "none.yaml"], "*none.yaml*"),
    ],
)
def test_a_wrong_word_is_a_usage_error_with_a_hint(site: pytest.Pytester, words: list[str], hint: str) -> None:
    result = run(site, *words)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([hint])


def test_junit_xml_of_pytest_has_the_items(site: pytest.Pytester) -> None:
    run(site, "--junitxml", "out.xml")

    assert 'name="mounts[kafka-a01-/kafka/d3]"' in (site.path / "out.xml").read_text()
