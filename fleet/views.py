"""What several tables start from, as SELECTs over the flat tables."""

from __future__ import annotations

from fleet.flat import CONTROLLER, PROBLEMS

# How many reports there are of a host up to a day: two neighbours in this count have nothing between them.
CALENDAR = """
SELECT host, day, answered, cluster, role, layout, rack, drawer, power_feed, source,
  criticals, unknowns, warnings, oks, offset_ms, skew_s,
  row_number() OVER (PARTITION BY host ORDER BY day) AS nth_day,
  sum(CASE WHEN answered THEN 1 ELSE 0 END) OVER (PARTITION BY host ORDER BY day) AS nth_answer
FROM host_days
"""

# Every day that an item was a problem, with the one before it. `fresh`: it was not one at the end of the report before.
# `since`: the day on which its episode began, or the agent's first sight of it.
TROUBLES = f"""
WITH numbered AS (
  SELECT p.*, c.cluster, c.rack,
    CASE WHEN p.check_name IN ({CONTROLLER}) THEN c.nth_day ELSE c.nth_answer END AS nth
  FROM problem_days p JOIN calendar c ON c.host = p.host AND c.day = p.day
), paired AS (
  SELECT *,
    lag(nth) OVER (PARTITION BY host, check_name, item ORDER BY day) AS nth_before,
    lag(last_bad) OVER (PARTITION BY host, check_name, item ORDER BY day) AS bad_before,
    lag(last_severity) OVER (PARTITION BY host, check_name, item ORDER BY day) AS severity_before
  FROM numbered
), judged AS (
  SELECT *, CASE WHEN nth_before = nth - 1 AND bad_before THEN 0 ELSE 1 END AS fresh FROM paired
), told AS (
  SELECT *,
    sum(CASE WHEN fresh = 1 OR NOT first_bad THEN 1 ELSE 0 END) OVER (
      PARTITION BY host, check_name, item ORDER BY day) AS episode
  FROM judged
)
SELECT *,
  least(
    min(day) OVER (PARTITION BY host, check_name, item, episode),
    min(floor(first_seen / 86400)) OVER (PARTITION BY host, check_name, item, episode)) AS since,
  lead(day) OVER (PARTITION BY host, check_name, item ORDER BY day) AS next_day,
  lead(last_bad) OVER (PARTITION BY host, check_name, item ORDER BY day) AS next_bad
FROM told
"""

# The hosts that a night is about: each that answered in the window, or that the controller asked for in vain today.
FLEET = f"""
WITH reached AS (
  SELECT host, max(day) AS last_day FROM calendar WHERE answered GROUP BY host
), wanted AS (
  SELECT DISTINCT host FROM states WHERE check_name = 'reach' AND status IN ({PROBLEMS})
), members AS (
  SELECT host, last_day FROM reached
  UNION ALL
  SELECT w.host, NULL AS last_day FROM wanted w LEFT JOIN reached r ON r.host = w.host WHERE r.host IS NULL
), placed AS (
  SELECT m.host, m.last_day, coalesce(m.last_day, t.day) AS placed_day
  FROM members m LEFT JOIN calendar t ON t.host = m.host AND t.day = {{night}}
)
SELECT p.host, p.last_day, coalesce(p.last_day = {{night}}, FALSE) AS answered,
  c.cluster, c.role, c.layout, c.rack, c.drawer, c.power_feed, c.source,
  CASE WHEN p.last_day = {{night}} THEN c.criticals ELSE 0 END AS criticals,
  CASE WHEN p.last_day = {{night}} THEN c.unknowns ELSE 0 END AS unknowns,
  CASE WHEN p.last_day = {{night}} THEN c.warnings ELSE 0 END AS warnings,
  CASE WHEN p.last_day = {{night}} THEN c.oks ELSE 0 END AS oks,
  CASE WHEN coalesce(p.last_day, 0) != {{night}} THEN 'silent'
    WHEN c.criticals > 0 THEN 'critical' WHEN c.unknowns > 0 THEN 'unknown'
    WHEN c.warnings > 0 THEN 'warning' ELSE 'ok' END AS health,
  c.offset_ms, c.skew_s
FROM placed p JOIN calendar c ON c.host = p.host AND c.day = p.placed_day
"""

# In this order: each may use the ones before it.
VIEWS = {"calendar": CALENDAR, "troubles": TROUBLES, "fleet": FLEET}

# Which flat tables a night reads for the whole window; of the others it reads the night alone.
WHOLE_WINDOW = ("host_days", "problem_days", "disks", "dimms", "mounts")
NIGHT_ALONE = ("states", "latencies")
