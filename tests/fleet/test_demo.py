"""The demo's 200 hosts and 30 days: every planted fault is named in its section, and nothing else is named."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from fleet import demo, nightly
from fleet.digest import night_digest
from fleet.nights.night import Night
from fleet.render import plain_text
from fleet.store.files import LocalFiles
from tests.fleet.history import NIGHT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

KEYS = {
    "cluster_changes": "{change} {cluster} {check_name} {item}",
    "flapping": "{host} {check_name} {item}",
    "disk_trends": "{host} {item}",
    "slow_disks": "{host} {item}",
    "failure_rates": "{model} {firmware}",
    "dimm_trends": "{host} {item}",
    "shared_fate": "{kind} {name} {check_name}",
    "usage_balance": "{host}",
    "usage_forecast": "{host} {item}",
    "silent_hosts": "{host}",
    "clocks": "{host}",
}
FLAGS = {"failure_rates": "suspect", "usage_balance": "uneven"}


@pytest.fixture(scope="module")
def night(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Night:
    store = str(tmp_path_factory.mktemp("demo"))
    demo.write(store, NIGHT)
    return nightly.judge(spark, LocalFiles(store), NIGHT)


def named(night: Night, section: str) -> set[str]:
    if section in KEYS:
        rows = [row for row in night.tables[section] if row.get(FLAGS.get(section, ""), True)]
        return {KEYS[section].format(**row) for row in rows}
    changes = [row for row in night.tables["changes"] if row["change"] == section]
    return {"{host} {check_name} {item}".format(**row) for row in changes}


@pytest.mark.parametrize("section", sorted(demo.PLANTED))
def test_every_planted_fault_is_named_in_its_section_and_no_other(night: Night, section: str) -> None:
    assert named(night, section) == demo.PLANTED[section]


def test_every_table_that_names_faults_was_planted_for(night: Night) -> None:
    told = {*night.tables, "new", "worse", "ongoing", "resolved", "unseen"}
    counted_only = {"changes", "host_health", "cluster_health", "rack_health", "health_days", "failing_checks"}

    assert told - counted_only == set(demo.PLANTED)


def test_the_mail_names_every_host_with_a_planted_fault_and_only_those(night: Night) -> None:
    text = plain_text.text(night_digest.digest(night))
    planted = {word for keys in demo.PLANTED.values() for key in keys for word in key.split() if "kafka-" in word}
    hosts = {demo.host_name(number) for number in range(demo.HOSTS)}

    unfolded = {host for host in hosts if any(_covers(word, host) for word in text.replace(", ", " ").split())}

    assert unfolded == planted


def _covers(word: str, host: str) -> bool:
    """Whether kafka-a[01-03,07] stands for kafka-a02."""
    word = word.strip(",:;")
    prefix, bracket, inside = word.partition("[")
    if not bracket:
        return word == host
    if not host.startswith(prefix):
        return False
    number = host[len(prefix) :]
    spans = (part.partition("-")[::2] for part in inside.rstrip("],").split(","))
    return any(low <= number <= (high or low) for low, high in spans)


def test_the_subject_says_it_all(night: Night) -> None:
    counts = "19 critical, 2 silent, 12 warning of 200 hosts"
    assert night_digest.digest(night).subject == f"[smoke] {NIGHT}: DATA AT RISK, {counts}"


def test_a_trend_names_the_day_of_crossing(night: Night) -> None:
    (wearing,) = [row for row in night.tables["disk_trends"] if row["metric"] == "wear_percent"]

    assert (wearing["value"], wearing["days_left"]) == (86, 42)  # one percent in three days, 14 to go


def test_a_quiet_fleet_gives_one_quiet_page(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "FAULTS", ())
    monkeypatch.setattr(demo, "SILENT", {})
    for name in ("FILLING", "REALLOCATING", "WEARING", "SLOW", "DIMM"):
        monkeypatch.setattr(demo, name, ("", ""))
    for name in ("UNEVEN", "CLOCK_AHEAD", "CLOCK_ADRIFT"):
        monkeypatch.setattr(demo, name, "")
    demo.write(str(tmp_path), NIGHT, hosts=40, days=12)

    said = night_digest.digest(nightly.judge(spark, LocalFiles(str(tmp_path)), NIGHT))

    assert said.subject == f"[smoke] {NIGHT}: all healthy, 40 hosts"
    assert said.sections == []
    assert len(plain_text.text(said).splitlines()) <= 12
    assert sorted(os.listdir(tmp_path / "_fleet" / "tables" / f"date={NIGHT}")) != []
