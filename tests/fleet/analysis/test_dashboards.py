"""docs/grafana: dashboards that Grafana takes, and whose queries find what they ask for."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from agent import engine, report
from agent.formats import prometheus
from bench import fleet_store
from fleet import demo, nightly
from fleet.analysis import stable_paths
from fleet.nights import catalog
from fleet.store.files import LocalFiles
from tests.fleet import duckdb_reference
from tests.fleet.history import NIGHT

ROOT = Path(__file__).parent.parent.parent.parent
FILES = sorted((ROOT / "docs/grafana").glob("*.json"))
LIVE, TABLES = (json.loads((ROOT / "docs/grafana" / name).read_text())
                for name in ("fleet-smoke.json", "fleet-smoke-nightly.json"))  # fmt: skip
SELECTOR = re.compile(r"(smoke_\w+)\{([^}]*)\}")
MATCHER = re.compile(r'(\w+)(=~|!=|=)"([^"]*)"')
OF_CONTROLLER = {"reach"}
Samples = set[tuple[str, frozenset[tuple[str, str]]]]


def test_the_files_are_what_the_script_writes() -> None:
    done = subprocess.run([sys.executable, ROOT / "scripts/dashboards", "--check"], capture_output=True, text=True,
                          check=False)  # fmt: skip

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("board", [LIVE, TABLES], ids=["live", "nightly"])
def test_a_dashboard_has_what_grafana_needs(board: dict[str, Any]) -> None:
    variables = {one["name"]: one for one in board["templating"]["list"]}
    panels = board["panels"]

    assert board["uid"] and board["title"] and board["schemaVersion"] >= 39
    assert variables["source"]["type"] == "datasource"
    assert [panel["id"] for panel in panels] == list(range(1, len(panels) + 1))
    assert len({panel["title"] for panel in panels}) == len(panels)
    for panel in panels:
        assert panel["type"] in ("stat", "table", "timeseries")
        assert panel["datasource"] == {"type": variables["source"]["query"], "uid": "${source}"}
        assert panel["targets"] and all(target["refId"] for target in panel["targets"])
        used = set(re.findall(r"\$\{?(\w+)", json.dumps(panel["targets"])))
        assert used - {"source"} <= set(variables), panel["title"]


@pytest.mark.parametrize("board", [LIVE, TABLES], ids=["live", "nightly"])
def test_no_panel_lies_over_another(board: dict[str, Any]) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                 for y in range(place["y"], place["y"] + place["h"])}  # fmt: skip
        assert place["x"] + place["w"] <= 24
        assert not taken & cells, panel["title"]
        taken |= cells


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Samples:
    """What `--format prometheus` writes of the made-up fleet's last day: metric and labels."""
    folder = tmp_path_factory.mktemp("demo")
    demo.write(str(folder), NIGHT, days=1)
    read = [report.read(_lines(path)) for path in folder.glob("date=*/*")]
    exposed = prometheus.lines(lambda: read)
    found = (re.fullmatch(r"(\w+)\{(.*)\} \S+", line) for line in exposed if not line.startswith("#"))
    return {(one[1], frozenset(re.findall(r'(\w+)="([^"]*)"', one[2]))) for one in found if one}


def _lines(path: Path) -> list[str]:
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).decode().splitlines()


def _selectors() -> list[tuple[str, str, str]]:
    queries = [(panel["title"], target["expr"]) for panel in LIVE["panels"] for target in panel["targets"]]
    return [(title, *found) for title, query in queries for found in SELECTOR.findall(query)]


@pytest.mark.parametrize(("title", "metric", "matchers"), sorted(set(_selectors())))
def test_a_query_to_prometheus_finds_what_the_agents_write(
    samples: Samples, title: str, metric: str, matchers: str
) -> None:
    wanted = {name: value for name, _sign, value in MATCHER.findall(matchers) if name != "cluster"}
    check = wanted.get("check", "")
    facts = wanted.pop("fact", "")

    assert metric in {name for name, _meaning in prometheus.HELP}
    assert set(wanted) <= {"check", "status"}
    assert check in {"", *engine.names(), *OF_CONTROLLER}
    assert all(fact in cast(Any, engine.load(check)).Facts._fields for fact in facts.split("|") if fact)
    assert any(
        kind == metric and all(re.fullmatch(value, dict(labels).get(name, "")) for name, value in wanted.items())
        for kind, labels in samples
    )


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """60 hosts, and the night's tables by DuckDB from the same SELECTs."""
    pytest.importorskip("duckdb")
    folder = tmp_path_factory.mktemp("store")
    fleet_store.write(folder, 60, NIGHT)
    files = LocalFiles(str(folder))
    nightly._write(files, NIGHT, duckdb_reference.tables_by_duckdb(str(folder), NIGHT))
    stable_paths.publish(files, NIGHT)
    return folder


@pytest.mark.parametrize("panel", TABLES["panels"], ids=lambda panel: panel["title"])
def test_a_query_to_the_tables_is_answered(store: Path, panel: dict[str, Any]) -> None:
    import duckdb

    (target,) = panel["targets"]
    sql = target["rawSql"]
    known = {table.name for table in catalog.every()}
    asked = set(re.findall(r"\$store/tables/(\w+)/", sql))

    asking = duckdb.execute(sql.replace("$store", str(store)).replace("${cluster:sqlstring}", "'prod-000','prod-001'"))

    assert asked and asked <= known
    if panel["type"] == "timeseries":
        assert [asking.description[0][0], str(asking.description[0][1])] == ["time", "TIMESTAMP"]
    empty = {"Shared causes", "Mounts filling up", "Disk models by failures a year", "Silent hosts"}
    assert asking.fetchall() or panel["title"] in empty


def test_the_clusters_to_choose_from_are_those_of_the_tables(store: Path) -> None:
    import duckdb

    (clusters,) = (one for one in TABLES["templating"]["list"] if one["name"] == "cluster")

    assert duckdb.execute(clusters["query"].replace("$store", str(store))).fetchall() == [("prod-000",), ("prod-001",)]
