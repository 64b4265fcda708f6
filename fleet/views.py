"""What several tables start from, as SELECTs over the flat tables. Each large flat table is read here once or twice."""

from __future__ import annotations

from fleet.flat import CONTROLLER
from fleet.tables.disk_trends import LIMITS, METRICS

BIT = "CAST(1 AS BIGINT) << (day - {first})"

# One row a host, and one a cluster (host ''). days, answers: the days of the window with a report of it, and of
# its own, one bit each.
CALENDAR = f"""
SELECT cluster, host,
  min(CASE WHEN answered THEN day END) AS first_day,
  max(CASE WHEN answered THEN day END) AS last_day,
  max(CASE WHEN answered AND day < {{night}} THEN day END) AS answer_before,
  max(CASE WHEN day < {{night}} THEN day END) AS day_before,
  bit_or({BIT}) AS days,
  bit_or(CASE WHEN answered THEN {BIT} ELSE 0 END) AS answers
FROM host_days
GROUP BY cluster, host
"""

# Every day that an item was a problem, with the one before it. `fresh`: it was not one at the end of the report before,
# which is so when a report lies between the two days. `since`: the day on which its episode began, or the agent's
# first sight of it.
TROUBLES = f"""
WITH paired AS (
  SELECT cluster, host, rack, check_name, item, day, episodes, first_bad, last_bad, last_severity,
    floor(first_seen / 86400) AS seen_day,
    lag(day) OVER w AS before, lag(last_bad) OVER w AS bad_before, lag(last_severity) OVER w AS severity_before,
    lead(day) OVER w AS next_day, lead(last_bad) OVER w AS next_bad
  FROM problem_days
  WINDOW w AS (PARTITION BY cluster, host, check_name, item ORDER BY day)
), judged AS (
  SELECT p.*,
    CASE WHEN bad_before AND (CASE WHEN p.host = '' OR check_name IN ({CONTROLLER}) THEN c.days ELSE c.answers END
      & ((CAST(1 AS BIGINT) << (day - {{first}})) - (CAST(1 AS BIGINT) << (before - {{first}} + 1)))) = 0
      THEN 0 ELSE 1 END AS fresh
  FROM paired p JOIN calendar c ON c.cluster = p.cluster AND c.host = p.host
), told AS (
  SELECT *,
    max(CASE WHEN fresh = 1 OR NOT first_bad THEN day END) OVER (
      PARTITION BY cluster, host, check_name, item ORDER BY day) AS began
  FROM judged
)
SELECT cluster, host, rack, check_name, item, day, episodes, first_bad, last_bad, last_severity, severity_before, fresh,
  next_day, next_bad, least(began, min(seen_day) OVER (PARTITION BY cluster, host, check_name, item, began)) AS since
FROM told
"""

# What stands tonight and what stood at the report before, of hosts and of clusters (host ''): see tables/changes.py.
STANDING = """
WITH gone AS (
  SELECT t.cluster, t.host, t.rack, t.check_name, t.item, t.day, t.last_severity, t.since
  FROM troubles t JOIN calendar c
  ON c.cluster = t.cluster AND c.host = t.host AND (t.day = c.answer_before OR t.day = c.day_before)
  WHERE t.last_bad AND (t.next_day IS NULL OR (t.next_day = {night} AND NOT t.next_bad))
), looked_for AS (
  SELECT /*+ BROADCAST(g) */ g.cluster, g.host, g.check_name, g.item,
    max(CASE WHEN s.item = g.item THEN 1 ELSE 0 END) AS told,
    max(CASE WHEN s.item = '-' AND s.status = 'unknown' THEN 1 ELSE 0 END) AS blind
  FROM gone g JOIN states s ON s.cluster = g.cluster AND s.host = g.host AND s.check_name = g.check_name
  GROUP BY g.cluster, g.host, g.check_name, g.item
), both_sides AS (
  SELECT
    CASE WHEN fresh = 1 THEN 'new' WHEN last_severity > severity_before THEN 'worse' ELSE 'ongoing' END AS change,
    cluster, host, rack, check_name, item, day, last_severity, since
  FROM troubles
  WHERE day = {night} AND last_bad
  UNION ALL
  SELECT
    CASE WHEN l.told = 1 OR l.blind = 0 THEN 'resolved' ELSE 'unseen' END AS change,
    g.cluster, g.host, g.rack, g.check_name, g.item, g.day, g.last_severity, g.since
  FROM gone g LEFT JOIN looked_for l
  ON l.cluster = g.cluster AND l.host = g.host AND l.check_name = g.check_name AND l.item = g.item
)
SELECT /*+ BROADCAST(b) */ b.change, b.last_severity, b.cluster, b.host, b.rack, b.check_name, b.item,
  CASE b.last_severity WHEN 5 THEN 'critical' WHEN 4 THEN 'unknown' ELSE 'warning' END AS status,
  {night} - b.since AS age_days, p.reason, p.playbook, p.source
FROM both_sides b
JOIN problem_days p ON p.cluster = b.cluster AND p.host = b.host AND p.check_name = b.check_name AND p.item = b.item
  AND p.day = b.day
"""

# The hosts that a night is about: each that answered in the window, or that the controller asked for in vain today.
FLEET = """
WITH wanted AS (
  SELECT DISTINCT cluster, host FROM problem_days WHERE day = {night} AND check_name = 'reach' AND last_bad
), members AS (
  SELECT c.cluster, c.host, c.last_day, coalesce(c.last_day, {night}) AS placed_day
  FROM calendar c LEFT JOIN wanted w ON w.cluster = c.cluster AND w.host = c.host
  WHERE c.host != '' AND (c.last_day IS NOT NULL OR w.host IS NOT NULL)
)
SELECT m.cluster, m.host, m.last_day, coalesce(m.last_day = {night}, FALSE) AS answered,
  h.role, h.layout, h.rack, h.drawer, h.power_feed, h.source,
  CASE WHEN m.last_day = {night} THEN h.criticals ELSE 0 END AS criticals,
  CASE WHEN m.last_day = {night} THEN h.unknowns ELSE 0 END AS unknowns,
  CASE WHEN m.last_day = {night} THEN h.warnings ELSE 0 END AS warnings,
  CASE WHEN m.last_day = {night} THEN h.oks ELSE 0 END AS oks,
  CASE WHEN coalesce(m.last_day, 0) != {night} THEN 'silent'
    WHEN h.criticals > 0 THEN 'critical' WHEN h.unknowns > 0 THEN 'unknown'
    WHEN h.warnings > 0 THEN 'warning' ELSE 'ok' END AS health,
  h.offset_ms, h.skew_s
FROM members m JOIN host_days h ON h.cluster = m.cluster AND h.host = m.host AND h.day = m.placed_day
"""


def _extremes(metric: str) -> str:
    return f"max({metric}) AS most_{metric}, min({metric}) AS least_{metric}"


# One row for each disk and each model and firmware that it went by (mostly one). disk: its serial, wherever it is.
LIVES = f"""
SELECT disk, model, firmware, count(*) AS days, min(day) AS first_day, max(day) AS last_day,
  min(CASE WHEN status = 'critical' THEN day END) AS failed_day,
  {", ".join(map(_extremes, METRICS))}
FROM disks
GROUP BY disk, model, firmware
"""

# Every day of the few disks that wear or failed. Strings are keys, never maxima: those would cost Spark a sort.
WATCHED = f"""
WITH few AS (
  SELECT disk, min(failed_day) AS failed_day
  FROM lives
  GROUP BY disk
  HAVING min(failed_day) IS NOT NULL
    OR {" OR ".join(f"max(most_{m}) - min(least_{m}) >= {LIMITS[f'{m}_rise']}" for m in METRICS)}
)
SELECT /*+ BROADCAST(f) */ d.disk, d.day, {", ".join(f"d.{metric}" for metric in METRICS)}, f.failed_day
FROM disks d JOIN few f ON f.disk = d.disk
"""

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
    {"calendar": CALENDAR, "troubles": TROUBLES, "standing": STANDING, "fleet": FLEET},
    {"lives": LIVES, "watched": WATCHED},
    {"peak_waits": PEAK_WAITS},
)

# Which flat tables a night reads for the whole window; of the others it reads the night alone.
WHOLE_WINDOW = ("host_days", "problem_days", "disks", "dimms", "mounts")
NIGHT_ALONE = ("states", "latencies")
