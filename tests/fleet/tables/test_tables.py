"""Every table of random small histories, equal to what plain Python makes of the same lines."""

from __future__ import annotations

import json
import math
import random
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fleet import nightly, tables
from fleet.ingest import facts
from fleet.ingest.schema import HARDWARE_CHECKS
from fleet.nights.night import Night
from fleet.store import reports
from fleet.store.files import LocalFiles
from fleet.tables import disk_trends
from tests.fleet.duckdb_reference import alike, tables_by_duckdb
from tests.fleet.history import NIGHT, header, host, line, write_run
from tests.fleet.plain_reference import Oracle

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

DAY = reports.number_of(NIGHT)
HOSTS = [f"h{number:02d}" for number in range(24)]
SIZE = 10**12


class Made:
    """A random history, as lines for the oracle and as files for Spark. Both clusters have hosts of the same names."""

    def __init__(self, seed: int, store: Path) -> None:
        self.chance = random.Random(seed)
        self.lines: list[tuple[int, int, str, dict[str, Any]]] = []
        self.bad: dict[tuple[str, str, str], str] = {}
        self.paces = {name: self.chance.choice((0, 0, 3, 40)) for name in HOSTS}
        self.boots: dict[str, int] = {}
        for back in range(13, -1, -1):
            for hour in (3, 15) if self.chance.random() < 0.4 or back == 0 else (3,):
                self._run(store, back, hour)
        write_run(store, reports.date_of(DAY + 1), [header(host("tomorrow"))], run_id="future")

    def _run(self, store: Path, back: int, hour: int) -> None:
        run_id = f"r{back}x{hour}"
        texts: list[str] = []
        for number, name in enumerate(HOSTS):
            dead_rack = number < 8 and back == 0
            if (self.chance.random() < 0.08 and back) or dead_rack:
                continue
            said = host(f"h{number // 2:02d}", run_id, cluster=f"c{number % 2}", rack=f"r{number // 8}")
            clock = self._clock(name, back, hour)
            boot = f"b{number}" if self.chance.random() < 0.8 else f"b{number} {back}"
            texts.append(
                header(said, clock=clock, boot_id=boot, drawer=f"d{number // 4 % 2}", power_feed=f"f{number % 3}")
            )
            asked = self.chance.choice((None,) * 8 + (("mounts",), ("smart", "clock"), ()))
            texts += [
                line(said, *finding) for finding in self._findings(name, back) if asked is None or finding[0] in asked
            ]
            if self.chance.random() < 0.1:
                texts.append(line(said, "reach", "ssh", self._status(name, "reach", "ssh")))
            if self._status(name, "drift", "kernel") in ("warning", "critical"):
                texts.append(line(said, "drift", "kernel", "warning"))
        texts += self._of_clusters(run_id)
        texts = [self._spoiled(text) for text in texts]
        twice = (False, True) if self.chance.random() < 0.1 else (self.chance.random() < 0.5,)
        for zipped in twice:
            write_run(store, reports.date_of(DAY - back), texts, f"{hour:02d}0000", run_id, zipped)
        for text in texts:
            self.lines.append((DAY - back, hour * 3600, run_id, {**_finite(json.loads(text)), "_second": hour * 3600}))

    def _clock(self, name: str, back: int, hour: int) -> float:
        if name == "h17" and back < 3:
            return 946684800.0  # 2000-01-01: a board whose battery is empty
        drift = 400.0 if name == "h10" and back < 2 else 0.0
        return (DAY - back) * 86400 + hour * 3600 + self.chance.randrange(5) + drift

    def _of_clusters(self, run_id: str) -> list[str]:
        texts = []
        for cluster in ("c0", "c1"):
            said = host("", run_id, cluster=cluster, rack="")
            if self.chance.random() < 0.2:
                texts.append(line(said, "partitions", "-", self.chance.choice(("unknown", "skipped"))))
            else:
                texts.append(line(said, "partitions", "offline", self._status(cluster, "partitions", "offline")))
            if self.chance.random() < 0.9:
                texts.append(line(said, "drift", "all"))
        return texts

    def _spoiled(self, text: str) -> str:
        """A counter beyond all bounds, now and then."""
        return re.sub(r'"wear_percent":\d+', '"wear_percent":1e400', text) if self.chance.random() < 0.01 else text

    def _status(self, name: str, check: str, item: str) -> str:
        """Mostly as it was before."""
        key = (name, check, item)
        if self.chance.random() < 0.12:
            self.bad[key] = self.chance.choice(("ok", "ok", "skipped", "warning", "critical", "unknown"))
        return self.bad.get(key, "ok")

    def _findings(self, name: str, back: int) -> list[tuple[str, str, str, dict[str, Any]]]:
        age, pace, number = 13 - back, self.paces[name], HOSTS.index(name)
        found: list[tuple[str, str, str, dict[str, Any]]] = []
        if self.chance.random() < 0.1:
            found.append(("mounts", "-", self.chance.choice(("unknown", "unknown", "skipped")), {}))
        else:
            found += [("mounts", f"/d{n}", self._status(name, "mounts", f"/d{n}"), {}) for n in range(3)]
        feed_lost = number % 3 == 1 and back < 2
        found.append(("power", "PS1", "warning" if feed_lost else "ok", {}))
        for n in range(2):
            smart = {
                "model": f"M{n}",
                "firmware": "F",
                "reallocated_sectors": 5 + pace * age * n,
                "wear_percent": 70 + (age // 2 if number % 4 < 3 else 0),
                **self._counts(n, age),
            }
            item = f"{self._swapped(name, back) if n else name}S{n}"
            found.append(
                ("smart", item, "critical" if n and back == number - 4 else self._status(name, "smart", item), smart)
            )
            used = int(SIZE * self._used(number, n, pace, age))
            found.append(("disk_usage", f"/d{n}", "ok", {"data": True, "used_bytes": used, "free_bytes": SIZE - used}))
            slow = 6 if name == "h13" and n else 1
            found.append(("disk_latency", f"sd{n}", "ok", self._latency(slow)))
        found.append(("disk_usage", "/", "ok", {"data": False, "used_bytes": 5, "free_bytes": 5}))
        count = (
            0 if self.chance.random() < 0.1 else self.boots.get(name, 0) + (pace if self.chance.random() < 0.4 else 0)
        )
        self.boots[name] = count
        found.append(("memory_errors", "D0", "ok", {"corrected": count, "uncorrected": 0}))
        found.append(("clock", "time", "ok", {"offset_ms": -700.5 if name == "h11" else 0.25}))
        return found

    def _used(self, number: int, n: int, pace: int, age: int) -> float:
        """Some stand still, some fill; of some all is deleted again and again, of some once."""
        if n and number % 5 == 1:
            return 0.7 + 0.04 * (age % 4) + 0.001 * pace * age
        if n and number % 5 == 2:
            return 0.6 + 0.024 * age - (0.2 if age > 9 else 0) + 0.004 * self.chance.random()
        return 0.3 + 0.4 * n * (number % 2) + 0.0005 * pace * age

    def _counts(self, n: int, age: int) -> dict[str, Any]:
        """Counters that stand still, creep, and jump; spare blocks that go."""
        jumps = self.chance.random() < 0.02
        return {
            "pending_sectors": self.chance.choice((0, 0, 0, 0, 0, 0, 0, 0, 0, 9)),
            "media_errors": age // 6 if n else 0,
            "crc_errors": 40 if jumps else 0,
            "spare_percent": 100 - (age + 1) * n,
            "spare_threshold_percent": 10 if age % 2 else None,
        }

    def _swapped(self, name: str, back: int) -> str:
        """Two disks change places in the middle of the history."""
        return {"h14": "h16", "h16": "h14"}.get(name, name) if back < 6 else name

    def _latency(self, slow: int) -> dict[str, Any]:
        wait = {"r_await_ms": 5 + self.chance.random(), "w_await_ms": (8 + self.chance.random()) * slow}
        return {**wait, "rotational": True, "utilisation_percent": 10 + self.chance.randrange(80)}


def _finite(record: dict[str, Any]) -> dict[str, Any]:
    """1e400 is no number of anything."""
    known = {name: None if value == math.inf else value for name, value in record.get("facts", {}).items()}
    return {**record, "facts": known}


class Told(NamedTuple):
    night: Night
    oracle: Oracle
    store: str


@pytest.fixture(scope="module", params=(1, 2, 3))
def told(request: pytest.FixtureRequest, spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Told:
    store = tmp_path_factory.mktemp("history")
    made = Made(request.param, store)
    return Told(nightly.judge(spark, LocalFiles(str(store)), NIGHT), Oracle(made.lines, DAY), str(store))


@pytest.fixture
def both(told: Told) -> tuple[Night, Oracle]:
    return told.night, told.oracle


def rows(night: Night, table: str, *columns: str) -> list[tuple[Any, ...]]:
    """host: with its cluster; a cluster's own findings have no host."""
    told = [
        {**row, "host": f"{row['cluster']}/{row.get('host', '')}"} for row in night.tables[table] if "cluster" in row
    ]
    return [tuple(row[column] for column in columns) for row in told or night.tables[table]]


def limits(table: str) -> dict[str, Any]:
    return dict(tables.load(table).LIMITS)


def test_changes(both: tuple[Night, Oracle]) -> None:
    night, oracle = both
    expected = oracle.changes()

    columns = ("change", "host", "check_name", "item", "status")
    assert sorted(rows(night, "changes", *columns) + rows(night, "cluster_changes", *columns)) == expected


def test_flapping(both: tuple[Night, Oracle]) -> None:
    night, oracle = both
    expected = oracle.flapping(limits("flapping")["episodes_least"], limits("flapping")["recent_days"])

    assert sorted(rows(night, "flapping", "host", "check_name", "item", "episodes", "bad_days", "last_day")) == expected


def test_health_of_hosts_and_clusters(both: tuple[Night, Oracle]) -> None:
    night, oracle = both
    expected = oracle.health()

    assert rows(night, "host_health", "host", "health", "criticals", "unknowns", "warnings", "oks") == expected
    for row in night.tables["cluster_health"]:
        mine = [told for told in expected if told[0].startswith(f"{row['cluster']}/")]
        assert row["hosts"] == len(mine)
        for health in ("critical", "unknown", "warning", "ok", "silent"):
            assert row[f"{health}_hosts"] == sum(told[1] == health for told in mine)


def test_silent_hosts(both: tuple[Night, Oracle]) -> None:
    night, oracle = both

    assert sorted(rows(night, "silent_hosts", "host", "last_day")) == oracle.silent()


def followed() -> dict[str, str]:
    """Metric -> fact."""
    named = {column: fact for fact, (column, _kind) in facts.FOLLOWED["smart"].items()}
    return {metric: named[metric] for metric in disk_trends.METRICS}


def test_disk_trends(both: tuple[Night, Oracle]) -> None:
    night, oracle = both
    expected = oracle.disk_trends(limits("disk_trends"), followed())
    exact = ("host", "item", "metric", "failing", "value", "rise")
    found = sorted(rows(night, "disk_trends", *exact, "month_per_day", "recent_per_day", "days_left"))
    days = [(row["earliest_day"], row["latest_day"]) for row in sorted(night.tables["disk_trends"], key=_place)]

    assert [row[:6] + row[8:] for row in found] == [row[:6] + row[8:9] for row in expected]
    assert [row[6:8] for row in found] == [near(row[6:8]) for row in expected]
    assert days == [tuple(None if left is None else DAY + left for left in row[9:]) for row in expected]


def _place(row: dict[str, Any]) -> tuple[str, ...]:
    return f"{row['cluster']}/{row['host']}", row["item"], row["metric"]


def near(values: tuple[Any, ...]) -> Any:
    return pytest.approx(values, abs=6e-5) if None not in values else values


def test_failure_rates(both: tuple[Night, Oracle]) -> None:
    night, oracle = both
    expected = oracle.failure_rates()

    assert {
        row[:2]: row[2:] for row in rows(night, "failure_rates", "model", "firmware", "disks", "drive_days", "failures")
    } == expected
    for row in night.tables["failure_rates"]:
        _disks, days, failures = expected[row["model"], row["firmware"]]
        assert row["rate_percent"] == pytest.approx(100 * 365 * failures / days, abs=0.01)


# Exact Poisson limits at 95 % for 0 to 10 events, as in any table of them.
EXACT = {
    0: (0, 3.689),
    1: (0.0253, 5.572),
    2: (0.242, 7.225),
    3: (0.619, 8.767),
    5: (1.623, 11.668),
    10: (4.795, 18.39),
}


def test_the_bounds_of_a_rate_are_those_of_a_poisson_count(both: tuple[Night, Oracle]) -> None:
    night, _oracle = both
    checked = [row for row in night.tables["failure_rates"] if row["failures"] in EXACT]
    for row in checked:
        low, high = (36500 * bound / row["drive_days"] for bound in EXACT[row["failures"]])
        assert row["low_percent"] == pytest.approx(low, rel=0.01, abs=0.01)
        assert row["high_percent"] == pytest.approx(high, rel=0.01)


def test_dimm_trends(both: tuple[Night, Oracle]) -> None:
    night, oracle = both
    expected = oracle.dimm_trends(limits("dimm_trends")["week_rise_least"], limits("dimm_trends")["rising_days_least"])

    assert (
        sorted(rows(night, "dimm_trends", "host", "item", "rise", "week_rise", "week_before_rise", "rising_days"))
        == expected
    )


def test_slow_disks(both: tuple[Night, Oracle]) -> None:
    night, oracle = both
    expected = oracle.slow(limits("slow_disks"))

    assert sorted(rows(night, "slow_disks", "host", "item", "hour", "operation", "await_ms")) == expected


def test_usage_balance(both: tuple[Night, Oracle]) -> None:
    night, oracle = both
    least = limits("usage_balance")["range_points_least"]
    expected = {host: told for host, told in oracle.balance().items() if told[1] - told[0] >= least}
    found = {f"{row['cluster']}/{row['host']}": row for row in night.tables["usage_balance"] if row["level"] == "host"}

    assert set(found) == set(expected)
    for name, (low, high, deviation) in expected.items():
        row = found[name]
        assert (row["least_percent"], row["most_percent"]) == (
            pytest.approx(low, abs=0.051),
            pytest.approx(high, abs=0.051),
        )
        assert row["deviation_points"] == pytest.approx(deviation, abs=0.051)


def test_usage_forecast(both: tuple[Night, Oracle]) -> None:
    night, oracle = both
    found = rows(night, "usage_forecast", "host", "item", "days_left", "earliest_day", "latest_day")
    days = [(*row[:3], *(None if day is None else day - DAY for day in row[3:])) for row in found]

    assert sorted(days, key=lambda row: row[:2]) == oracle.forecast(limits("usage_forecast"))


def test_clocks(both: tuple[Night, Oracle]) -> None:
    night, oracle = both

    assert sorted(name for (name,) in rows(night, "clocks", "host")) == oracle.clocks(limits("clocks"))


def test_shared_fate(both: tuple[Night, Oracle]) -> None:
    night, oracle = both
    expected = oracle.shared(limits("shared_fate"), HARDWARE_CHECKS)
    found = {row for row in rows(night, "shared_fate", "kind", "name", "check_name", "faults") if row[0] != "batch"}

    assert found == expected


def test_failing_checks(both: tuple[Night, Oracle]) -> None:
    night, oracle = both
    standing = [(h, c, i) for h, c, i in oracle.items() if oracle.standing(DAY, h, c, i)]
    expected = {
        check: len({h for h, c, _i in standing if c == check and h[-1] != "/"})
        for check in {c for _h, c, _i in oracle.items()}
    }

    assert dict(rows(night, "failing_checks", "check_name", "hosts")) == expected


def test_the_history_has_what_the_tables_are_about(told: Told) -> None:
    oracle = told.oracle
    trends = oracle.disk_trends(limits("disk_trends"), followed())

    assert {row[0] for row in oracle.changes()} >= {"new", "ongoing", "resolved", "unseen"}
    assert oracle.silent() != []
    assert {row[2] for row in trends} >= {"reallocated", "wear_percent", "media_errors", "spare_percent"}
    assert oracle.balance() != {}
    assert ("rack", "r0", "silent") in {row[:3] for row in oracle.shared(limits("shared_fate"), HARDWARE_CHECKS)}


def test_duckdb_gives_the_same_tables_for_the_same_questions(told: Told) -> None:
    pytest.importorskip("duckdb", reason="needs DuckDB: pip install duckdb")

    theirs = tables_by_duckdb(told.store, NIGHT)

    assert [name for name, mine in told.night.tables.items() if not alike(mine, theirs[name])] == []
