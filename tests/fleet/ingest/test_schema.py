"""What fleet/ believes of the record, the statuses and the checks is what the agent really writes."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any, cast

import pytest

from agent import engine, report, status
from agent.checks.disks import smart
from fleet import tables
from fleet.ingest import facts, flat_tables, schema

FLEET = Path(schema.__file__).parent.parent


def test_the_record_is_the_agents() -> None:
    assert tuple(schema.FIELDS) == report.FIELDS
    assert schema.SCHEMA == report.SCHEMA
    assert schema.STATUSES == status.BY_SEVERITY


@pytest.mark.parametrize("check", sorted(facts.FOLLOWED))
def test_the_facts_that_the_tables_follow_are_those_of_the_check(check: str) -> None:
    told = cast(Any, engine.load(check))

    assert set(facts.FOLLOWED[check]) <= set(told.Facts._fields)


def test_no_fact_has_two_types() -> None:
    kinds: dict[str, set[str]] = {}
    for named in facts.FOLLOWED.values():
        for fact, (_column, kind) in named.items():
            kinds.setdefault(fact, set()).add(kind)

    assert {fact for fact, found in kinds.items() if len(found) > 1} == set()


def test_a_trend_ends_where_the_check_turns_critical() -> None:
    limits = tables.load("disk_trends").LIMITS

    assert limits["reallocated_limit"] == smart.LIMITS["reallocated_critical"]
    assert limits["pending_limit"] == smart.LIMITS["pending_growing_critical"] + 1
    assert limits["wear_percent_limit"] == smart.LIMITS["wear_critical"]


def test_a_clock_is_named_where_the_check_turns_critical() -> None:
    from agent.checks.system import clock

    assert tables.load("clocks").LIMITS["offset_ms_least"] == clock.LIMITS["offset_ms_critical"]


def test_hardware_checks_exist_or_are_the_controllers() -> None:
    from agent import engine

    assert set(schema.HARDWARE_CHECKS) <= {*engine.names(), *schema.CONTROLLER_CHECKS}


def test_the_controllers_checks_are_those_of_smoketests() -> None:
    from smoketests import cluster

    assert set(schema.CONTROLLER_CHECKS) == set(cluster.names())


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").split(".")[0])
    return found


@pytest.mark.parametrize("path", sorted(FLEET.rglob("*.py")), ids=lambda path: str(path.relative_to(FLEET)))
def test_fleet_stands_alone(path: Path) -> None:
    assert imports(path) & {"agent", "smoketests", "inventory", "playbooks"} == set()


@pytest.mark.parametrize("name", tables.names())
def test_a_table_is_a_question_with_its_limits_and_one_answer(name: str) -> None:
    table = tables.load(name)

    assert (table.__doc__ or "").split("\n\n")[0].rstrip().endswith("?") or "?" in (table.__doc__ or "")
    assert hasattr(table, "SQL") != hasattr(table, "rows")
    assert name not in tables.selects() or "{" not in tables.query(name, 20000, 19971)


def test_every_flat_table_says_its_columns() -> None:
    assert set(flat_tables.COLUMNS) == set(flat_tables.TABLES)


def test_systemd_finds_nothing_wrong_with_the_units(tmp_path: Path) -> None:
    import shutil
    import subprocess

    if not shutil.which("systemd-analyze"):
        pytest.skip("needs systemd-analyze: apt-get install systemd")
    for name in ("fleet-smoke-nightly.service", "fleet-smoke-nightly-failed.service", "fleet-smoke-nightly.timer"):
        text = (FLEET.parent / "packaging" / name).read_text()
        (tmp_path / name).write_text(text.replace("/opt/fleet-smoke/bin/smoke", "/bin/true"))
    command = ["systemd-analyze", "verify", "--man=no", str(tmp_path / "fleet-smoke-nightly.timer")]

    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    said = [line for line in done.stderr.splitlines() if "fleet-smoke" in line]
    assert (done.returncode, said) == (0, [])


def test_what_is_read_of_a_header_is_written_there() -> None:
    import json

    from agent.expected import Expected
    from tests.machine import FakeHost

    machine = FakeHost(expected=Expected(host="a01", rack="r1", drawer="d2", power_feed="f3"))
    written = json.loads(report.header(report.about(machine, "r"), machine))

    assert set(schema.HEADER_FIELDS) <= set(written)
    assert (written["drawer"], written["power_feed"]) == ("d2", "f3")
