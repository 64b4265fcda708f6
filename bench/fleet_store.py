"""A made-up results store for bench/fleet.py: 30 days already compacted, and one day as the JSON that agents write.

Of each host: 12 or 24 disks, as many data mounts and two system ones, 16 DIMMs, 20 settings. One finding in a hundred
is a problem on most days, one disk in 200 reallocates, one in 500 failed in the window, one DIMM in 300 errs, one mount
in 500 fills, one host in 300 is silent each day. All by hash: the same store each time.
"""

from __future__ import annotations

import json
import os
import pathlib
import sys
from collections.abc import Iterator
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from fleet.archive import manifests  # noqa: E402
from fleet.ingest import flat_tables, views  # noqa: E402
from fleet.rollup import build as rollup  # noqa: E402
from fleet.rollup.columns import METRICS  # noqa: E402
from fleet.store import reports  # noqa: E402
from fleet.store.files import LocalFiles  # noqa: E402

DAYS = 30
HOURS = (3, 11)
SETTINGS = 20

# {hosts}, {day} and {first}: how many, which, and the first of the window. Temporary views of one day.
HOSTS = """
SELECT i AS number, format('kafka-{{:05d}}', i) AS host, format('prod-{{:03d}}', i // 50) AS cluster,
  'broker' AS role, 'jbod' AS layout, format('r{{:03d}}', i // 20) AS rack, format('d{{:d}}', i // 4 % 5) AS drawer,
  format('feed-{{:03d}}', i // 8) AS power_feed, 12 + i % 2 * 12 AS disks
FROM range({hosts}) AS t(i) WHERE (hash(i, {day}) % 300) != 0
"""
ITEMS = f"""
SELECT h.cluster, h.host, h.number, s.check_name, format('{{{{}}}}{{{{:02d}}}}', s.prefix, n) AS item, n
FROM hosts h
CROSS JOIN (VALUES ('smart', 'Z', 0, 1), ('disk_usage', '/kafka/d', 2, 1), ('mounts', '/kafka/d', 0, 1),
  ('disk_latency', 'sd', 0, 1), ('memory_errors', 'DIMM_', 16, 0), ('setting', 's', {SETTINGS}, 0))
  AS s(check_name, prefix, more, of_disks)
CROSS JOIN range(26) AS r(n)
WHERE n < s.more + s.of_disks * h.disks
"""
FINDINGS = """
SELECT *,
  CASE WHEN (hash(host, check_name, item) % 70) != 0 OR (hash(host, check_name, item, {day} // 4) % 3) = 0 THEN 2
    ELSE 3 + hash(host, item) % 3 END::BIGINT AS severity
FROM items
"""
# Of each cluster as a whole: one finding in twelve is a problem on most days.
CLUSTERS = """
SELECT *, (hash(cluster, item) % 12) = 0 AND (hash(cluster, item, {day} // 4) % 3) != 0 AS bad
FROM (SELECT DISTINCT cluster FROM hosts)
CROSS JOIN (VALUES ('partitions', 'offline'), ('partitions', 'under_replicated'), ('zk_quorum', 'ensemble'))
  AS t(check_name, item)
"""
STATUS = "CASE severity WHEN 5 THEN 'critical' WHEN 4 THEN 'unknown' WHEN 3 THEN 'warning' ELSE 'ok' END"
REASON = "format('{{}} {{}}: something to know about it, and for how long', check_name, item)"
SOURCE = "'date={date}/110000-bench.jsonl'"

# Counters that no disk of this fleet moves.
GIVEN = ("reallocated", "pending", "uncorrectable", "grown_defects", "wear_percent")
OTHER_COUNTERS = ", ".join(
    f"{'NULL::DOUBLE' if 'percent' in name else '0e0'} AS {name}" for name in METRICS if name not in GIVEN
)

TABLES = {
    "host_days": f"""
SELECT {{day}}::INT AS day, h.cluster, h.host,
  ',disk_latency,disk_usage,memory_errors,mounts,setting,smart,' AS looked, role, layout, rack, drawer, power_feed,
  '6.1.0' AS kernel,
  '1.0' AS agent,
  TRUE AS answered, 2::BIGINT AS runs, {SOURCE} AS source,
  count(*) FILTER (severity = 5) AS criticals, count(*) FILTER (severity = 4) AS unknowns,
  count(*) FILTER (severity = 3) AS warnings, count(*) FILTER (severity = 2) AS oks, 0::BIGINT AS skips,
  CASE WHEN (hash(h.host) % 900) = 0 THEN 750e0 ELSE 4e-1 END AS offset_ms,
  CASE WHEN (hash(h.host) % 800) = 0 THEN 300e0 ELSE 0e0 END AS skew_s
FROM hosts h JOIN findings f ON f.host = h.host GROUP BY ALL
UNION ALL
SELECT {{day}}::INT, cluster, '', ',partitions,zk_quorum,', '', '', '', '', '', '', '', FALSE, 2, {SOURCE},
  count(*) FILTER (bad), 0, 0,
  count(*) FILTER (NOT bad), 0, NULL, NULL
FROM clusters GROUP BY cluster ORDER BY 2, 3""",
    "states": f"""
SELECT {{day}}::INT AS day, f.cluster, f.host, rack, check_name, item, {STATUS} AS status,
  CASE WHEN severity > 2 THEN {REASON} END AS reason, CASE WHEN severity > 2 THEN 'tune-os' END AS playbook,
  CASE WHEN severity > 2 THEN {SOURCE} END AS source
FROM findings f JOIN hosts h ON h.host = f.host
UNION ALL
SELECT {{day}}::INT, cluster, '', '', check_name, item, CASE WHEN bad THEN 'critical' ELSE 'ok' END,
  CASE WHEN bad THEN {REASON} END, CASE WHEN bad THEN 'broker-down' END, CASE WHEN bad THEN {SOURCE} END
FROM clusters ORDER BY 2, 3""",
    "problem_days": f"""
SELECT {{day}}::INT AS day, f.cluster, f.host, rack, check_name, item, 1::BIGINT AS episodes, TRUE AS first_bad,
  TRUE AS last_bad, severity AS last_severity, CASE WHEN severity != 4 THEN severity END AS seen_severity,
  ({{day}} * 86400)::BIGINT AS first_seen, {REASON} AS reason,
  'tune-os' AS playbook, {SOURCE} AS source
FROM findings f JOIN hosts h ON h.host = f.host WHERE severity > 2
UNION ALL
SELECT {{day}}::INT, cluster, '', '', check_name, item, 1, TRUE, TRUE, 5, 5, ({{day}} * 86400)::BIGINT, {REASON},
  'broker-down', {SOURCE}
FROM clusters WHERE bad ORDER BY 2, 3""",
    "disks": f"""
SELECT {{day}}::INT AS day, cluster, host, format('Z{{{{:05d}}}}D{{{{:02d}}}}', number, n) AS item,
  format('Z{{{{:05d}}}}D{{{{:02d}}}}', number, n) AS disk,
  CASE WHEN (hash(host, item) % 500) = 0 AND {{day}} - {{first}} > hash(item, host) % 30 THEN 'critical' ELSE 'ok' END
    AS status,
  ['ST8000NM0055-1RM112', 'HGST HUH728080ALE600', 'TOSHIBA MG05ACA800E', 'WDC WD101KRYZ'][
    (1 + hash(host, n) % 4)::BIGINT] AS model,
  format('FW{{{{:02d}}}}', (hash(host, n) % 12)::BIGINT) AS firmware, n::VARCHAR AS slot, 8e12 AS size_bytes,
  (20000 + hash(host) % 20000 + 24 * ({{day}} - {{first}}))::DOUBLE AS power_on_hours,
  (hash(host, item, 1) % 7 + CASE WHEN (hash(host, item) % 200) = 0
    THEN ({{day}} - {{first}}) * (1 + hash(item) % 40) ELSE 0 END)::DOUBLE AS reallocated,
  0e0 AS pending, 0e0 AS uncorrectable, NULL::DOUBLE AS grown_defects, NULL::DOUBLE AS wear_percent, {OTHER_COUNTERS}
FROM items WHERE check_name = 'smart' ORDER BY host, n""",
    "dimms": """
SELECT {day}::INT AS day, cluster, host, item, 'ok' AS status,
  CASE WHEN (hash(host, item) % 300) = 0
    THEN ({day} - {first}) * (hash(item, host) % 9) ELSE 0 END::DOUBLE AS corrected,
  0e0 AS uncorrected, 'boot-1' AS boot_id
FROM items WHERE check_name = 'memory_errors' ORDER BY host, item""",
    "mounts": """
SELECT *, 8e12 - used_bytes AS free_bytes FROM (
  SELECT {day}::INT AS day, cluster, host, item, 'ok' AS status, n > 1 AS data,
    round(8e10 * (40 + hash(host) % 20 + hash(host, item) % 3 + hash(host, item, {day}) % 100 / 100
      + CASE WHEN (hash(host, item) % 500) = 0 THEN ({day} - {first}) * 1.1 ELSE 0 END)) AS used_bytes
  FROM items WHERE check_name = 'disk_usage') ORDER BY host, item""",
    "latencies": f"""
SELECT {{day}}::INT AS day, f.host, item, 'ok' AS status, TRUE AS rotational,
  (5 + hash(f.host, item, hour) % 300 / 100) * CASE WHEN (hash(item, f.host) % 800) = 0 THEN 6 ELSE 1 END
    AS read_await_ms,
  8 + hash(f.host, item, hour, 1) % 400 / 100 AS write_await_ms,
  (hour * 4 + hash(f.host, item) % 9)::DOUBLE AS busy_percent,
  hour::INT AS hour, f.cluster, role, layout
FROM items f JOIN hosts h ON h.host = f.host CROSS JOIN (VALUES {", ".join(f"({hour})" for hour in HOURS)}) AS t(hour)
WHERE check_name = 'disk_latency' ORDER BY f.host, item""",
}


def write(store: pathlib.Path, hosts: int, night: str) -> int:
    """30 days as fleet/archive/compact.py leaves them, one zstd file a table and day; gives the rows a night reads."""
    import duckdb

    database = duckdb.connect()
    last = reports.number_of(night)
    return sum(_write_day(database, store, hosts, day, last) for day in range(last - DAYS + 1, last + 1))


def _write_day(database: Any, store: pathlib.Path, hosts: int, day: int, night: int) -> int:
    date = reports.date_of(day)
    numbers = {"hosts": hosts, "day": day, "first": night - DAYS + 1, "date": date}
    for name, query in (("hosts", HOSTS), ("items", ITEMS), ("findings", FINDINGS), ("clusters", CLUSTERS)):
        database.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {query.format(**numbers)}")
    rows: dict[str, int] = {}
    paths: dict[str, list[str]] = {}
    for table, query in TABLES.items():
        if day != night and table not in (*views.WHOLE_WINDOW, *rollup.ROLLED):
            rows[table], paths[table] = 0, []
            continue
        path = f"{manifests.FLAT}/{table}/run=bench/date={date}/part-0.zstd.parquet"
        (store / path).parent.mkdir(parents=True)
        columns = ", ".join(part.split()[0] for part in flat_tables.COLUMNS[table].split(", "))
        picked = f"SELECT {columns} FROM ({query.format(**numbers)})"
        done = database.execute(f"COPY ({picked}) TO '{store / path}' (FORMAT parquet, COMPRESSION zstd)").fetchone()
        rows[table], paths[table] = done[0], [path]
    _vouch(store, date, rows, paths)
    return sum(rows.values())


def _vouch(store: pathlib.Path, date: str, rows: dict[str, int], paths: dict[str, list[str]]) -> None:
    """The day's manifest: made of a folder of reports that is empty."""
    files = LocalFiles(str(store))
    (store / f"date={date}").mkdir(parents=True)
    parts = {table: [manifests.Part(path, files.stamp(path)) for path in found] for table, found in paths.items()}
    manifests.keep(files, manifests.Manifest(date, manifests.LAYOUT, {}, {}, parts, rows, []))


def write_json(store: pathlib.Path, hosts: int, night: str) -> int:
    """One run of one day as the agents write it; gives its bytes."""
    folder = store / f"date={night}"
    folder.mkdir(parents=True)
    path = folder / "030000-bench.jsonl"
    with open(path, "w", encoding="ascii") as file:
        for number in range(hosts):
            file.writelines(json.dumps(line, separators=(",", ":")) + "\n" for line in _report(number, night))
    return os.path.getsize(path)


def _report(number: int, night: str) -> Iterator[dict[str, Any]]:
    run = {"schema": 1, "run_id": "bench", "at": f"{night}T03:00:07Z", "cluster": f"prod-{number // 50:03d}",
           "host": f"kafka-{number:05d}", "role": "broker", "layout": "jbod",
           "rack": f"r{number // 20:03d}"}  # fmt: skip
    yield {**run, "kind": "header", "agent": "1.0", "kernel": "6.1.0-31-amd64", "clock": 1795057207.1,
           "drawer": f"d{number // 4 % 5}", "power_feed": f"feed-{number // 8:03d}"}  # fmt: skip
    disks = 12 + number % 2 * 12
    said = [("smart", f"Z{number:05d}D{disk:02d}", _smart(number, disk)) for disk in range(disks)]
    said += [("disk_usage", f"/kafka/d{disk:02d}", _usage(number, disk)) for disk in range(disks + 2)]
    said += [("mounts", f"/kafka/d{disk:02d}", {"mode": "rw", "writes": True}) for disk in range(disks)]
    said += [("disk_latency", f"sd{disk}", _latency(number, disk)) for disk in range(disks)]
    said += [("memory_errors", f"DIMM_{dimm}", _dimm(dimm)) for dimm in range(16)]
    said += [("setting", f"s{place:02d}", {"value": number + place}) for place in range(SETTINGS)]
    for place, (check, item, facts) in enumerate(said):
        bad = (number * 131 + place * 7) % 100 == 0
        yield {**run, "check": check, "item": item, "status": "warning" if bad else "ok",
               "reason": f"{item}: something to know about it, {number * place % 977}",
               "playbook": "tune-os" if bad else "", "facts": facts, "duration_ms": 11 + place % 5,
               "first_seen": f"{night}T03:00:07Z"}  # fmt: skip


def _smart(number: int, disk: int) -> dict[str, Any]:
    from agent.sources.smart.report import Facts

    told = Facts(
        path=f"/dev/bus/0 megaraid,{disk}", slot=str(disk), kind="ata", model="ST8000NM0055-1RM112", firmware="SN05",
        serial=f"Z{number:05d}D{disk:02d}", size_bytes=8 * 10**12, rotation_rpm=7200, passed=True, attributes=22,
        temperature_celsius=31 + number % 9, power_on_hours=20000 + number * 37 % 20000, pending_sectors=0,
        reallocated_sectors=number * disk % 7, offline_uncorrectable=0,
    )  # fmt: skip
    return told._asdict()


def _usage(number: int, disk: int) -> dict[str, Any]:
    used = 8 * 10**10 * (40 + number % 20) + number * disk * 4096
    return {"path": f"/kafka/d{disk:02d}", "data": disk > 1, "used_percent": round(used / 8e10, 1), "used_bytes": used,
            "free_bytes": 8 * 10**12 - used, "total_bytes": 8 * 10**12, "inodes_used_percent": 0.1,
            "inodes": 488374272, "inodes_free": 488374272 - number * disk}  # fmt: skip


def _latency(number: int, disk: int) -> dict[str, Any]:
    turn = number * 31 + disk
    return {"disk": f"sd{disk}", "rotational": True, "since": f"{turn}", "seconds": 86400.1, "reads": turn * 977,
            "writes": turn * 1999, "answered": turn * 2976, "r_await_ms": 5 + turn % 300 / 100,
            "w_await_ms": 8 + turn % 400 / 100, "utilisation_percent": 9.5 + turn % 7, "in_flight": 0,
            "waited_before": 0, "model": "ST8000NM0055-1RM112"}  # fmt: skip


def _dimm(dimm: int) -> dict[str, Any]:
    return {"location": f"CPU{dimm // 8} DIMM_{dimm}", "corrected": 0, "uncorrected": 0, "growth": 0, "growing_runs": 0,
            "busiest": 0, "corrected_hours_ago": None, "corrected_text": "", "uncorrected_lines": 0,
            "uncorrected_since": "", "uncorrected_text": "", "crash_records": 0, "crash_hours_ago": None,
            "playbook": "", "lost_lines": 0, "log_not_read": "", "logging_stopped": 0}  # fmt: skip
