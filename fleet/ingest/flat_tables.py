"""Report lines -> the flat tables of one or more days: one SELECT each, over the views `lines` and `findings`.

Every table has `date` (its folder) and `day` (days since 1970-01-01). A host is known by its cluster and its name: two
clusters may each have a kafka-01. What is found of a whole cluster has the host ''. What counts for a day is the last
run that asked a check on a host; the time of a run is the controller's, from the file's name, not the host's clock.
"""

from __future__ import annotations

from fleet.ingest import facts, schema

LONGEST_FACTS = 200_000
LONGEST_REASON = 500
LONGEST_NAME = 200
LONGEST_BAD_LINE = 2000
LONGEST_LOOKED = 20_000
# No counter and no size is larger: 1e400 would be infinite, and spoil every sum that it is part of.
LARGEST_FACT = 1e18
# No agent is older: what was first seen before that was seen with a clock that was wrong.
FIRST_AGENT = 1577836800  # 2020-01-01
# A run on fewer hosts says nothing of clocks.
PEERS_FOR_CLOCK = 3


def quoted(names: tuple[str, ...]) -> str:
    return ", ".join(f"'{name}'" for name in names)


PROBLEMS = quoted(schema.PROBLEMS)
CONTROLLER = quoted(schema.CONTROLLER_CHECKS)


def _severity(column: str) -> str:
    return f"array_position(array({quoted(schema.STATUSES)}), {column})"


SKIPPED, OK = (schema.STATUSES.index(status) + 1 for status in ("skipped", "ok"))
FAULTY = ", ".join(str(schema.STATUSES.index(status) + 1) for status in ("warning", "critical"))
UNSEEN = ", ".join(str(schema.STATUSES.index(status) + 1) for status in ("skipped", "unknown"))
FIRST_PROBLEM = schema.STATUSES.index(schema.PROBLEMS[0]) + 1
COLUMNS_OF_RECORD = ", ".join(f"`{name}`" for name in schema.FIELDS)
MISSING = " ".join(
    f"WHEN `{name}` IS NULL THEN 'field {name} is missing or of the wrong kind'" for name in schema.FIELDS
)

# Every line, once read. A finding counts once, though its file may lie there twice (plain and .gz); of two that
# contradict each other, the worse. `is_last`: of the last run of the day that asked this check on this host.
LINES = f"""
WITH placed AS (
  SELECT *, substring_index(path, '/', -2) AS source, left(host, {LONGEST_NAME}) AS host_name,
    left(coalesce(cluster, ''), {LONGEST_NAME}) AS cluster_name,
    left(`check`, {LONGEST_NAME}) AS check_name, left(item, {LONGEST_NAME}) AS item_name
  FROM records
), judged AS (
  SELECT *,
    substring(source, 6, 10) AS date,
    coalesce(kind = 'header', false) AS is_header,
    {_severity("status")} AS severity,
    CASE
      WHEN {schema.UNREADABLE} IS NOT NULL THEN 'not JSON, or a field of the wrong kind'
      WHEN schema IS NULL OR schema != {schema.SCHEMA} THEN 'not a record of schema {schema.SCHEMA}'
      WHEN kind = 'header' THEN CASE WHEN host IS NULL OR run_id IS NULL THEN 'header without host or run' END
      {MISSING}
      WHEN facts NOT LIKE '{{%' THEN 'facts is no object'
      WHEN length(facts) > {LONGEST_FACTS} THEN 'facts longer than {LONGEST_FACTS} characters'
      WHEN {_severity("status")} = 0 THEN 'no such status'
    END AS problem
  FROM placed
), timed AS (
  SELECT *, unix_seconds(coalesce(
      try_to_timestamp(concat(date, ' ', substring(source, 17, 6)), 'yyyy-MM-dd HHmmss'),
      to_timestamp(date))) AS started
  FROM judged
), keyed AS (
  SELECT *, concat(started, ' ', run_id) AS run_key FROM timed
)
SELECT
  date,
  datediff(to_date(date), DATE'1970-01-01') AS day,
  source,
  problem,
  CASE WHEN problem IS NOT NULL THEN
    left(coalesce({schema.UNREADABLE}, to_json(struct({COLUMNS_OF_RECORD}))), {LONGEST_BAD_LINE}) END AS line,
  started,
  run_key,
  is_header,
  run_id,
  cluster_name AS cluster,
  host_name AS host,
  role,
  layout,
  rack,
  drawer,
  power_feed,
  kernel,
  agent,
  left(boot_id, 100) AS boot_id,
  CASE WHEN abs(clock) <= {LARGEST_FACT:e} THEN clock END AS clock,
  check_name,
  item_name AS item,
  status,
  severity,
  severity >= {FIRST_PROBLEM} AS bad,
  left(reason, {LONGEST_REASON}) AS reason,
  playbook,
  CASE WHEN severity >= {FIRST_PROBLEM} THEN unix_seconds(try_to_timestamp(first_seen)) END AS first_seen,
  CASE WHEN check_name IN ({quoted(tuple(facts.FOLLOWED))}) THEN
    from_json(facts, '{schema.facts_ddl()}', map('allowNonNumericNumbers', 'false')) END AS f,
  row_number() OVER (
    PARTITION BY date, cluster_name, host_name, check_name, problem, item_name, run_id
    ORDER BY severity DESC, reason, source) AS copy,
  run_key = max(run_key) OVER (PARTITION BY date, cluster_name, host_name, check_name, problem) AS is_last
FROM keyed
"""

FINDINGS = "SELECT * FROM lines WHERE problem IS NULL AND NOT is_header AND copy = 1"

STATES = """
SELECT date, day, cluster, host, left(rack, 200) AS rack, check_name, item, status,
  CASE WHEN bad THEN reason END AS reason,
  CASE WHEN bad THEN left(playbook, 200) END AS playbook,
  CASE WHEN bad THEN source END AS source
FROM findings
WHERE is_last
"""

# Which runs asked which check; blind: it could not look, and says so of no item in particular.
ASKS = f"""
SELECT date, day, cluster, host, check_name, run_key, max(started) AS started, max(is_last) AS is_last,
  max(item = '{schema.NO_ITEM}' AND severity IN ({UNSEEN})) AS blind
FROM findings
GROUP BY date, day, cluster, host, check_name, run_key
"""

# One row for each item that was a problem in any run of the day. A run sees an item as faulty; or as well: it says so,
# or that the question does not apply to it, or it looked and does not name it; or not at all. An episode is a row of
# runs that see it as faulty. seen_severity: of the last run that saw it, that of ok when well, null when none did.
# last_bad, last_severity: whether it stands at the day's end, and how: as the last run says, or the last to see it.
PROBLEM_DAYS = f"""
WITH troubled AS (
  SELECT DISTINCT day, cluster, host, check_name, item FROM findings WHERE bad
), runs AS (
  SELECT t.day, t.cluster, t.host, t.check_name, t.item, a.date, a.run_key, a.started, a.is_last,
    f.severity, coalesce(f.bad, FALSE) AS bad, f.rack, f.first_seen, f.reason, f.playbook, f.source,
    CASE WHEN f.severity IN ({FAULTY}) THEN TRUE
      WHEN f.severity = {OK} OR f.severity = {SKIPPED} AND t.item != '{schema.NO_ITEM}' THEN FALSE
      WHEN f.severity IS NULL AND NOT a.blind THEN FALSE END AS faulty
  FROM troubled t
  JOIN asks a ON a.day = t.day AND a.cluster = t.cluster AND a.host = t.host AND a.check_name = t.check_name
  LEFT JOIN findings f ON f.day = t.day AND f.cluster = t.cluster AND f.host = t.host AND f.check_name = t.check_name
    AND f.item = t.item AND f.run_key = a.run_key
), marked AS (
  SELECT *, last_value(faulty) IGNORE NULLS OVER (PARTITION BY day, cluster, host, check_name, item ORDER BY run_key
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS faulty_before
  FROM runs
), ended AS (
  SELECT date, day, cluster, host, check_name, item,
    left(max_by(rack, run_key) FILTER (WHERE bad), 200) AS rack,
    count(CASE WHEN faulty AND NOT coalesce(faulty_before, FALSE) THEN 1 END) AS episodes,
    max(faulty_before IS NULL AND coalesce(faulty, FALSE)) AS first_bad,
    max_by(CASE WHEN faulty THEN severity ELSE {OK} END, run_key) FILTER (WHERE faulty IS NOT NULL) AS seen_severity,
    max(CASE WHEN is_last AND bad THEN severity END) AS said_severity,
    min(CASE WHEN first_seen BETWEEN {FIRST_AGENT} AND started THEN first_seen ELSE started END)
      FILTER (WHERE bad) AS first_seen,
    max_by(reason, run_key) FILTER (WHERE bad) AS reason,
    left(max_by(playbook, run_key) FILTER (WHERE bad), 200) AS playbook,
    max_by(source, run_key) FILTER (WHERE bad) AS source
  FROM marked
  GROUP BY date, day, cluster, host, check_name, item
)
SELECT date, day, cluster, host, rack, check_name, item, episodes, first_bad,
  said_severity IS NOT NULL OR coalesce(seen_severity IN ({FAULTY}), FALSE) AS last_bad,
  coalesce(said_severity, CASE WHEN seen_severity IN ({FAULTY}) THEN seen_severity END) AS last_severity,
  seen_severity, first_seen, reason, playbook, source
FROM ended
"""


def _short(view: str, *columns: str) -> str:
    return ", ".join(f"left({view}.{column}, {LONGEST_NAME}) AS {column}" for column in columns)


HOST_DAYS = f"""
WITH asked AS (
  SELECT date, day, host, run_key, run_id, source, cluster, role, layout, rack, drawer, power_feed, kernel, agent,
    is_header, max(clock - started) AS ahead_s,
    host != '' AND (is_header OR max(check_name NOT IN ({CONTROLLER}))) AS own
  FROM lines
  WHERE problem IS NULL
  GROUP BY ALL
), looks AS (
  SELECT day, cluster, host,
    left(concat(',', array_join(sort_array(collect_set(check_name)), ','), ','), {LONGEST_LOOKED}) AS looked
  FROM asks
  WHERE NOT blind
  GROUP BY day, cluster, host
), placed AS (
  SELECT *,
    row_number() OVER (PARTITION BY day, cluster, host ORDER BY own DESC, run_key DESC, is_header DESC, source) AS back,
    row_number() OVER (PARTITION BY day, cluster, host ORDER BY is_header DESC, run_key DESC, source) AS header_back
  FROM asked
), hosts AS (
  SELECT day, cluster, host, max(own) AS answered, count(DISTINCT CASE WHEN own THEN run_id END) AS runs
  FROM placed
  GROUP BY day, cluster, host
), counted AS (
  SELECT day, cluster, host,
    count(CASE WHEN status = 'critical' THEN 1 END) AS criticals,
    count(CASE WHEN status = 'unknown' THEN 1 END) AS unknowns,
    count(CASE WHEN status = 'warning' THEN 1 END) AS warnings,
    count(CASE WHEN status = 'ok' THEN 1 END) AS oks,
    count(CASE WHEN status = 'skipped' THEN 1 END) AS skips,
    max_by(f.offset_ms, abs(f.offset_ms))
      FILTER (WHERE check_name = 'clock' AND abs(f.offset_ms) <= {LARGEST_FACT:e}) AS offset_ms
  FROM findings
  WHERE is_last
  GROUP BY day, cluster, host
), ahead AS (
  SELECT day, run_id, cluster, host, run_key, ahead_s FROM asked WHERE is_header AND ahead_s IS NOT NULL
), usual AS (
  SELECT day, run_id, median(ahead_s) AS ahead_s FROM ahead GROUP BY day, run_id HAVING count(*) >= {PEERS_FOR_CLOCK}
), skewed AS (
  SELECT a.day, a.cluster, a.host, max_by(a.ahead_s - u.ahead_s, a.run_key) AS skew_s
  FROM ahead a JOIN usual u ON u.day = a.day AND u.run_id = a.run_id
  GROUP BY a.day, a.cluster, a.host
)
SELECT p.date, p.day, p.cluster, p.host, l.looked,
  {_short("p", "role", "layout", "rack")}, {_short("d", "drawer", "power_feed", "kernel", "agent")},
  answered, runs, p.source,
  coalesce(criticals, 0L) AS criticals, coalesce(unknowns, 0L) AS unknowns, coalesce(warnings, 0L) AS warnings,
  coalesce(oks, 0L) AS oks, coalesce(skips, 0L) AS skips, offset_ms, skew_s
FROM placed p
JOIN hosts h ON h.day = p.day AND h.cluster = p.cluster AND h.host = p.host
LEFT JOIN placed d ON d.day = p.day AND d.cluster = p.cluster AND d.host = p.host AND d.header_back = 1 AND d.is_header
LEFT JOIN counted c ON c.day = p.day AND c.cluster = p.cluster AND c.host = p.host
LEFT JOIN looks l ON l.day = p.day AND l.cluster = p.cluster AND l.host = p.host
LEFT JOIN skewed s ON s.day = p.day AND s.cluster = p.cluster AND s.host = p.host
WHERE p.back = 1
"""


# A disk is known by its serial or worldwide name wherever it is; one that has none, by its host and the kernel's name.
DISK = """CASE WHEN item RLIKE '^((sd|hd|vd|xvd)[a-z]+|nvme[0-9]+n[0-9]+)$|[/,: ]'
    THEN concat(cluster, '/', host, '/', item) ELSE item END AS disk"""


def _bounded(fact: str, kind: str) -> str:
    return f"CASE WHEN abs(f.{fact}) <= {LARGEST_FACT:e} THEN f.{fact} END" if kind == "DOUBLE" else f"f.{fact}"


def _followed(check: str, more: str = "", every_run: bool = False) -> str:
    """One row for each item of a check, with the facts that the tables follow."""
    columns = ", ".join(f"{_bounded(fact, kind)} AS {column}" for fact, (column, kind) in facts.FOLLOWED[check].items())
    extra = f", {more}" if more else ""
    which = "" if every_run else " AND is_last"
    return (
        f"SELECT date, day, cluster, host, item, status, {columns}{extra} "
        f"FROM findings WHERE check_name = '{check}' AND item != '{schema.NO_ITEM}'{which}"
    )


# The counters start anew with each boot.
DIMMS = f"""
WITH boots AS (
  SELECT day, cluster, host, run_key, max(boot_id) AS boot_id
  FROM lines
  WHERE problem IS NULL AND is_header
  GROUP BY day, cluster, host, run_key
), counted AS (
  {_followed("memory_errors", "run_key")}
)
SELECT c.* EXCEPT (run_key), b.boot_id
FROM counted c
LEFT JOIN boots b ON b.day = c.day AND b.cluster = c.cluster AND b.host = c.host AND b.run_key = c.run_key
"""

TABLES = {
    "host_days": HOST_DAYS,
    "states": STATES,
    "problem_days": PROBLEM_DAYS,
    "disks": _followed("smart", DISK),
    "dimms": DIMMS,
    "mounts": _followed("disk_usage"),
    "latencies": _followed("disk_latency", "hour(timestamp_seconds(started)) AS hour, role, layout", every_run=True),
}

BAD_LINES = "SELECT date, source, problem, line FROM lines WHERE problem IS NOT NULL"
BAD_LINE_COUNTS = """
SELECT date, source, problem, count(*) AS lines FROM lines WHERE problem IS NOT NULL GROUP BY date, source, problem
"""


COLUMNS = {
    "host_days": "day INT, cluster STRING, host STRING, looked STRING, role STRING, layout STRING, rack STRING, "
    "drawer STRING, power_feed STRING, kernel STRING, agent STRING, answered BOOLEAN, runs BIGINT, source STRING, "
    "criticals BIGINT, unknowns BIGINT, warnings BIGINT, oks BIGINT, skips BIGINT, offset_ms DOUBLE, skew_s DOUBLE",
    "states": "day INT, cluster STRING, host STRING, rack STRING, check_name STRING, item STRING, status STRING, "
    "reason STRING, playbook STRING, source STRING",
    "problem_days": "day INT, cluster STRING, host STRING, rack STRING, check_name STRING, item STRING, "
    "episodes BIGINT, first_bad BOOLEAN, last_bad BOOLEAN, last_severity BIGINT, seen_severity BIGINT, "
    "first_seen BIGINT, "
    "reason STRING, playbook STRING, source STRING",
    "disks": "day INT, cluster STRING, host STRING, item STRING, status STRING, model STRING, firmware STRING, "
    "slot STRING, "
    "size_bytes DOUBLE, power_on_hours DOUBLE, reallocated DOUBLE, pending DOUBLE, uncorrectable DOUBLE, "
    "grown_defects DOUBLE, wear_percent DOUBLE, reported_uncorrectable DOUBLE, slow_commands DOUBLE, "
    "spin_retries DOUBLE, end_to_end_errors DOUBLE, media_errors DOUBLE, uncorrected_reads DOUBLE, "
    "uncorrected_writes DOUBLE, uncorrected_verifies DOUBLE, crc_errors DOUBLE, spare_percent DOUBLE, "
    "spare_threshold_percent DOUBLE, "
    "disk STRING",
    "dimms": "day INT, cluster STRING, host STRING, item STRING, status STRING, corrected DOUBLE, uncorrected DOUBLE, "
    "boot_id STRING",
    "mounts": "day INT, cluster STRING, host STRING, item STRING, status STRING, data BOOLEAN, "
    "used_bytes DOUBLE, free_bytes DOUBLE",
    "latencies": "day INT, cluster STRING, host STRING, item STRING, status STRING, rotational BOOLEAN, "
    "read_await_ms DOUBLE, write_await_ms DOUBLE, busy_percent DOUBLE, "
    "hour INT, role STRING, layout STRING",
}


def empty(columns: str) -> str:
    """A SELECT that gives these columns (as in COLUMNS) and no row; one made of Python's rows starts Python workers."""
    return f"SELECT none.* FROM (SELECT from_json('', '{columns}') AS none) WHERE FALSE"
