"""What is new, worse, ongoing or resolved against the host's report before, and for how long does it stand?

`unseen`: a problem of the report before of which nothing is known today, because the host is silent, or its check was
not asked or could not look. It is not resolved. age_days counts from the first day of the episode, or from the
agent's first sight of it where that is earlier.
"""

LIMITS: dict[str, float] = {}

SQL = """
WITH gone AS (
  SELECT t.host, t.cluster, t.rack, t.check_name, t.item, t.day, t.last_severity, t.since
  FROM troubles t JOIN calendar c ON c.host = t.host AND (t.day = c.answer_before OR t.day = c.day_before)
  WHERE t.last_bad AND (t.next_day IS NULL OR (t.next_day = {night} AND NOT t.next_bad))
), looked_for AS (
  SELECT /*+ BROADCAST(g) */ g.host, g.check_name, g.item,
    max(CASE WHEN s.item = g.item THEN 1 ELSE 0 END) AS told,
    max(CASE WHEN s.item = '-' AND s.status = 'unknown' THEN 1 ELSE 0 END) AS blind
  FROM gone g JOIN states s ON s.host = g.host AND s.check_name = g.check_name
  GROUP BY g.host, g.check_name, g.item
), both_sides AS (
  SELECT
    CASE WHEN fresh = 1 THEN 'new' WHEN last_severity > severity_before THEN 'worse' ELSE 'ongoing' END AS change,
    host, cluster, rack, check_name, item, day, last_severity, since
  FROM troubles
  WHERE day = {night} AND last_bad
  UNION ALL
  SELECT
    CASE WHEN l.told = 1 OR l.blind = 0 THEN 'resolved' ELSE 'unseen' END AS change,
    g.host, g.cluster, g.rack, g.check_name, g.item, g.day, g.last_severity, g.since
  FROM gone g LEFT JOIN looked_for l ON l.host = g.host AND l.check_name = g.check_name AND l.item = g.item
)
SELECT /*+ BROADCAST(b) */ b.change, b.host, b.cluster, b.rack, b.check_name, b.item,
  CASE b.last_severity WHEN 5 THEN 'critical' WHEN 4 THEN 'unknown' ELSE 'warning' END AS status,
  {night} - b.since AS age_days, p.reason, p.playbook, p.source
FROM both_sides b
JOIN problem_days p ON p.host = b.host AND p.check_name = b.check_name AND p.item = b.item AND p.day = b.day
ORDER BY b.last_severity DESC, b.host, b.check_name, b.item
"""
