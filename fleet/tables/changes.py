"""What is new, worse, ongoing or resolved against the host's report before, and for how long does it stand?

`unseen`: a problem of the report before of which nothing is known today, because the host is silent, or its check was
not asked or could not look. It is not resolved. age_days counts from the first day of the episode, or from the
agent's first sight of it where that is earlier.
"""

LIMITS: dict[str, float] = {}

SQL = """
WITH gone AS (
  SELECT * FROM troubles
  WHERE day < {night} AND last_bad AND (next_day IS NULL OR (next_day = {night} AND NOT next_bad))
), last_reports AS (
  SELECT host, max(CASE WHEN answered THEN day END) AS answered_day, max(day) AS any_day
  FROM calendar
  WHERE day < {night}
  GROUP BY host
), looked_for AS (
  SELECT g.host, g.cluster, g.rack, g.check_name, g.item, g.last_severity, g.since, g.reason, g.playbook, g.source,
    count(s.item) AS asked,
    max(CASE WHEN s.item = g.item THEN 1 ELSE 0 END) AS told,
    max(CASE WHEN s.item = '-' AND s.status = 'unknown' THEN 1 ELSE 0 END) AS blind
  FROM gone g
  JOIN last_reports l ON l.host = g.host AND (g.day = l.answered_day OR g.day = l.any_day)
  LEFT JOIN states s ON s.host = g.host AND s.check_name = g.check_name
  GROUP BY g.host, g.cluster, g.rack, g.check_name, g.item, g.last_severity, g.since, g.reason, g.playbook, g.source
), both_sides AS (
  SELECT
    CASE WHEN fresh = 1 THEN 'new' WHEN last_severity > severity_before THEN 'worse' ELSE 'ongoing' END AS change,
    host, cluster, rack, check_name, item, last_severity, since, reason, playbook, source
  FROM troubles
  WHERE day = {night} AND last_bad
  UNION ALL
  SELECT
    CASE WHEN told = 1 OR (asked > 0 AND blind = 0) THEN 'resolved' ELSE 'unseen' END AS change,
    host, cluster, rack, check_name, item, last_severity, since, reason, playbook, source
  FROM looked_for
)
SELECT change, host, cluster, rack, check_name, item,
  CASE last_severity WHEN 5 THEN 'critical' WHEN 4 THEN 'unknown' ELSE 'warning' END AS status,
  {night} - since AS age_days, reason, playbook, source
FROM both_sides
ORDER BY last_severity DESC, host, check_name, item
"""
