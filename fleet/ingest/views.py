"""What several tables start from, as SELECTs over the flat tables. Each large flat table is read here once or twice."""

from __future__ import annotations

from fleet.ingest.flat_tables import CONTROLLER

BIT = "CAST(1 AS BIGINT) << (day - {first})"

# One row a host, and one a cluster (host ''). days, answers: the days of the window with a report of it, and of
# its own, one bit each.
CALENDAR = """
SELECT cluster, host,
  min(CASE WHEN answered THEN day END) AS first_day,
  max(CASE WHEN answered THEN day END) AS last_day
FROM host_days
GROUP BY cluster, host
"""

# On which days was a check seen to look at a host, one bit each? Of each check that found a problem there. What the
# controller asks of many hosts at once it asked of a host that answered on that day.
LOOKS = f"""
WITH troubled AS (
  SELECT DISTINCT cluster, host, check_name FROM problem_days
), patterns AS (
  SELECT cluster, host, looked, bit_or({BIT}) AS days, bit_or(CASE WHEN answered THEN {BIT} ELSE 0 END) AS answers
  FROM host_days
  GROUP BY cluster, host, looked
), own AS (
  SELECT t.cluster, t.host, t.check_name, bit_or(p.answers) AS answers,
    bit_or(CASE WHEN instr(p.looked, concat(',', t.check_name, ',')) > 0 THEN p.days ELSE 0 END) AS days
  FROM troubled t JOIN patterns p ON p.cluster = t.cluster AND p.host = t.host
  GROUP BY t.cluster, t.host, t.check_name
), whole AS (
  SELECT t.cluster, t.check_name,
    bit_or(CASE WHEN instr(p.looked, concat(',', t.check_name, ',')) > 0 THEN p.days ELSE 0 END) AS days
  FROM (SELECT DISTINCT cluster, check_name FROM troubled WHERE check_name IN ({CONTROLLER})) t
  JOIN patterns p ON p.cluster = t.cluster AND p.host = ''
  GROUP BY t.cluster, t.check_name
)
SELECT o.cluster, o.host, o.check_name, o.days | (o.answers & coalesce(w.days, CAST(0 AS BIGINT))) AS days
FROM own o LEFT JOIN whole w ON w.cluster = o.cluster AND w.check_name = o.check_name
"""

HIGHEST = "CASE WHEN {0} > 0 THEN CAST(1 AS BIGINT) << CAST(floor(log2({0})) AS INT) ELSE CAST(0 AS BIGINT) END"

# Every day that an item was a problem, with what was known of it before. seen: the days on which it was seen, as
# faulty or as well. `fresh`: when it was last seen before this day, it was well, or it was never seen. `change`: of a
# problem that stands. `since`: the day on which it began, or the agent's first sight of it.
TROUBLES = f"""
WITH looks AS ({LOOKS}), told AS (
  SELECT p.cluster, p.host, p.rack, p.check_name, p.item, p.day, p.episodes, p.first_bad, p.last_bad, p.last_severity,
    p.seen_severity, floor(p.first_seen / 86400) AS seen_day, l.days AS looked, CAST(1 AS BIGINT) << (p.day - {{first}})
      AS bit
  FROM problem_days p
  JOIN looks l ON l.cluster = p.cluster AND l.host = p.host AND l.check_name = p.check_name
), days AS (
  SELECT *,
    bit_or(CASE WHEN seen_severity IN (3, 5) THEN bit ELSE 0 END) OVER i AS faulty,
    bit_or(CASE WHEN seen_severity = 5 THEN bit ELSE 0 END) OVER i AS critical,
    bit_or(CASE WHEN seen_severity IS NULL THEN bit ELSE 0 END) OVER i AS unsure,
    bit_or(CASE WHEN seen_severity IS NOT NULL THEN bit ELSE 0 END) OVER i AS sure,
    bit_or(CASE WHEN last_bad THEN bit ELSE 0 END) OVER i AS standing,
    max(CASE WHEN last_bad THEN day END) OVER i AS last_day
  FROM told
  WINDOW i AS (PARTITION BY cluster, host, check_name, item)
), sighted AS (
  SELECT *, (looked & ~unsure) | sure AS seen FROM days
), before AS (
  SELECT *, {HIGHEST.format("(seen & (bit - 1))")} AS last_seen,
    {HIGHEST.format("((seen | standing) & (bit - 1))")} AS last_told
  FROM sighted
), judged AS (
  SELECT *,
    CASE WHEN last_seen & faulty = 0 THEN 1 ELSE 0 END AS fresh,
    CASE WHEN last_severity = 4 THEN CASE WHEN last_told & standing = 0 THEN 'new' ELSE 'ongoing' END
      WHEN last_seen & faulty = 0 THEN 'new'
      WHEN last_severity = 5 AND last_seen & critical = 0 THEN 'worse' ELSE 'ongoing' END AS change
  FROM before
), started AS (
  SELECT *,
    max(CASE WHEN seen_severity IS NOT NULL AND NOT first_bad OR change = 'new' THEN day END) OVER (
      PARTITION BY cluster, host, check_name, item ORDER BY day) AS began
  FROM judged
)
SELECT cluster, host, rack, check_name, item, day, episodes, first_bad, last_bad, last_severity, fresh, change, seen,
  bit, last_day, least(began, min(seen_day) OVER (PARTITION BY cluster, host, check_name, item, began)) AS since
FROM started
"""

# What stands tonight, and what stood when it was last told and does not stand tonight: resolved when it was seen to be
# well tonight, else unseen. Of hosts and of clusters (host ''): see tables/changes.py.
STANDING = """
WITH gone AS (
  SELECT *,
    CASE WHEN seen & (CAST(1 AS BIGINT) << ({night} - {first})) != 0 THEN 'resolved' ELSE 'unseen' END AS outcome
  FROM troubles
  WHERE day < {night} AND day = last_day
    AND seen & ((CAST(1 AS BIGINT) << ({night} - {first})) - 2 * bit) = 0
), both_sides AS (
  SELECT change, cluster, host, rack, check_name, item, day, last_severity, since
  FROM troubles
  WHERE day = {night} AND last_bad
  UNION ALL
  SELECT outcome AS change, cluster, host, rack, check_name, item, day, last_severity, since FROM gone
)
SELECT /*+ BROADCAST(b) */ b.change, b.last_severity, b.cluster, b.host, b.rack, b.check_name, b.item,
  CASE b.last_severity WHEN 5 THEN 'critical' WHEN 4 THEN 'unknown' ELSE 'warning' END AS status,
  {night} - b.since AS age_days, p.reason, p.playbook, p.source
FROM both_sides b
JOIN problem_days p ON p.cluster = b.cluster AND p.host = b.host AND p.check_name = b.check_name AND p.item = b.item
  AND p.day = b.day
"""

# The hosts that a night is about. With an inventory (roster): those that it names, and those that answered today though
# it does not. Without: each that answered in the window, or that the controller asked for in vain today.
FLEET = """
WITH wanted AS (
  SELECT cluster, host, max(reason) AS reason FROM problem_days
  WHERE day = {night} AND check_name = 'reach' AND last_bad
  GROUP BY cluster, host
), known AS (
  SELECT c.cluster, c.host, c.last_day, coalesce(c.last_day, {night}) AS placed_day, w.reason,
    c.last_day IS NOT NULL OR w.host IS NOT NULL AS told
  FROM calendar c LEFT JOIN wanted w ON w.cluster = c.cluster AND w.host = c.host
  WHERE c.host != ''
), members AS (
  SELECT coalesce(k.cluster, r.cluster) AS cluster, coalesce(k.host, r.host) AS host, k.last_day, k.placed_day,
    k.reason, coalesce(r.maintenance, '') AS maintenance
  FROM known k FULL JOIN roster r ON r.cluster = k.cluster AND r.host = k.host
  WHERE CASE WHEN {has_roster} THEN r.host IS NOT NULL OR k.last_day = {night} ELSE k.told END
)
SELECT m.cluster, m.host, m.last_day, coalesce(m.last_day = {night}, FALSE) AS answered, m.maintenance,
  h.role, h.layout, h.rack, h.drawer, h.power_feed, h.source,
  CASE WHEN m.last_day = {night} THEN h.criticals ELSE 0 END AS criticals,
  CASE WHEN m.last_day = {night} THEN h.unknowns ELSE 0 END AS unknowns,
  CASE WHEN m.last_day = {night} THEN h.warnings ELSE 0 END AS warnings,
  CASE WHEN m.last_day = {night} THEN h.oks ELSE 0 END AS oks,
  CASE WHEN coalesce(m.last_day, 0) != {night} THEN CASE WHEN m.maintenance = '' THEN 'silent' ELSE 'maintenance' END
    WHEN h.criticals > 0 THEN 'critical' WHEN h.unknowns > 0 THEN 'unknown'
    WHEN h.warnings > 0 THEN 'warning' WHEN h.oks > 0 THEN 'ok' ELSE 'unknown' END AS health,
  h.offset_ms, h.skew_s, m.reason
FROM members m LEFT JOIN host_days h ON h.cluster = m.cluster AND h.host = m.host AND h.day = m.placed_day
"""

# The inventory's hosts; empty when none was given.
ROSTER = "cluster STRING, host STRING, maintenance STRING"


# Each disk at its peers' busiest hour tonight. kin: the disks of the same cluster, layout and kind.
PEAK_WAITS = """
WITH kept AS (
  SELECT *, concat(cluster, ' ', layout, CASE WHEN rotational THEN ' disk' ELSE ' flash' END) AS kin FROM latencies
), hours AS (
  SELECT kin, hour, avg(busy_percent) AS busy FROM kept GROUP BY kin, hour
), ranked AS (
  SELECT kin, hour, row_number() OVER (PARTITION BY kin ORDER BY busy DESC, hour) AS place FROM hours
)
SELECT /*+ BROADCAST(r) */ k.host, k.item, k.cluster, k.kin, k.hour,
  max(k.read_await_ms) AS read_ms, max(k.write_await_ms) AS write_ms
FROM kept k JOIN ranked r ON r.kin = k.kin AND r.hour = k.hour AND r.place = 1
GROUP BY k.host, k.item, k.cluster, k.kin, k.hour
"""

# Each may use the ones before it in its chain; the chains know nothing of each other.
CHAINS = (
    {"calendar": CALENDAR, "troubles": TROUBLES, "fleet": FLEET},
    {"peak_waits": PEAK_WAITS},
)

# The hosts that the night is about, and what was found of clusters as wholes (host '').
TONIGHT = """
SELECT cluster, host, role, layout, rack, health, criticals, unknowns, warnings, oks, last_day, source, answered,
  offset_ms, skew_s, reason
FROM fleet
UNION ALL
SELECT cluster, host, role, layout, rack, '' AS health, criticals, unknowns, warnings, oks, day AS last_day, source,
  FALSE AS answered, offset_ms, skew_s, NULL AS reason
FROM host_days
WHERE day = {night} AND host = ''
"""

# Collected once, for several tables: a query is planned and compiled for a second, ten thousand rows are read in less.
FRAMES = {"tonight": TONIGHT, "standing": STANDING}

# Which flat tables a night reads for the whole window; of the others it reads the night alone.
# What it knows of disks, DIMMs and mounts on the other days is in the roll-up (fleet/rollup/build.py).
WHOLE_WINDOW = ("host_days", "problem_days")
NIGHT_ALONE = ("disks", "dimms", "mounts", "latencies")
