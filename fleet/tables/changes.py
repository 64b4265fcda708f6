"""What is new, worse, ongoing or resolved against the host's report before, and for how long does it stand?

`unseen`: a problem of the report before of which nothing is known today, because the host is silent, or its check was
not asked or could not look. It is not resolved. age_days counts from the first day of the episode, or from the
agent's first sight of it where that is earlier.
"""

LIMITS: dict[str, float] = {}

SQL = """
WITH episodes AS (
  SELECT host, check_name, item, episode, min(day) AS since, min(first_seen) AS first_seen
  FROM troubles
  GROUP BY host, check_name, item, episode
), latest AS (
  SELECT t.host, t.cluster, t.rack, t.check_name, t.item, t.day, t.nth, t.fresh, t.last_bad, t.last_severity,
    t.severity_before, t.reason, t.playbook, t.source,
    CASE WHEN e.since < floor(e.first_seen / 86400) THEN e.since ELSE floor(e.first_seen / 86400) END AS since,
    row_number() OVER (PARTITION BY t.host, t.check_name, t.item ORDER BY t.day DESC) AS back
  FROM troubles t
  JOIN episodes e ON e.host = t.host AND e.check_name = t.check_name AND e.item = t.item AND e.episode = t.episode
), standing AS (
  SELECT *,
    CASE WHEN fresh = 1 THEN 'new' WHEN last_severity > severity_before THEN 'worse' ELSE 'ongoing' END AS change
  FROM latest
  WHERE back = 1 AND day = {night} AND last_bad
), asked AS (
  SELECT host, check_name, max(CASE WHEN item = '-' AND status = 'unknown' THEN 1 ELSE 0 END) AS blind
  FROM states
  GROUP BY host, check_name
), last_answers AS (
  SELECT host, max(CASE WHEN answered THEN day END) AS answered_day, max(day) AS any_day
  FROM calendar
  WHERE day < {night}
  GROUP BY host
), before_today AS (
  SELECT *, row_number() OVER (PARTITION BY host, check_name, item ORDER BY day DESC) AS back_then
  FROM latest
  WHERE day < {night}
), gone AS (
  SELECT b.host, b.cluster, b.rack, b.check_name, b.item, b.last_severity, b.since, b.reason, b.playbook, b.source,
    CASE WHEN s.item IS NOT NULL OR (a.blind = 0 AND s.item IS NULL) THEN 'resolved' ELSE 'unseen' END AS change
  FROM before_today b
  JOIN last_answers l ON l.host = b.host AND (b.day = l.answered_day OR b.day = l.any_day)
  LEFT JOIN standing n ON n.host = b.host AND n.check_name = b.check_name AND n.item = b.item
  LEFT JOIN asked a ON a.host = b.host AND a.check_name = b.check_name
  LEFT JOIN states s ON s.host = b.host AND s.check_name = b.check_name AND s.item = b.item
  WHERE b.back_then = 1 AND b.last_bad AND n.host IS NULL
), both_sides AS (
  SELECT change, host, cluster, rack, check_name, item, last_severity, since, reason, playbook, source FROM standing
  UNION ALL
  SELECT change, host, cluster, rack, check_name, item, last_severity, since, reason, playbook, source FROM gone
)
SELECT change, host, cluster, rack, check_name, item,
  CASE last_severity WHEN 5 THEN 'critical' WHEN 4 THEN 'unknown' ELSE 'warning' END AS status,
  {night} - since AS age_days, reason, playbook, source
FROM both_sides
ORDER BY last_severity DESC, host, check_name, item
"""
