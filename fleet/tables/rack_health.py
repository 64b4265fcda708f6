"""How is each rack?"""

LIMITS: dict[str, float] = {}

SQL = """
SELECT cluster, rack,
  count(*) AS hosts,
  sum(CASE WHEN health = 'critical' THEN 1 ELSE 0 END) AS critical_hosts,
  sum(CASE WHEN health = 'unknown' THEN 1 ELSE 0 END) AS unknown_hosts,
  sum(CASE WHEN health = 'warning' THEN 1 ELSE 0 END) AS warning_hosts,
  sum(CASE WHEN health = 'ok' THEN 1 ELSE 0 END) AS ok_hosts,
  sum(CASE WHEN health = 'silent' THEN 1 ELSE 0 END) AS silent_hosts,
  sum(CASE WHEN health = 'maintenance' THEN 1 ELSE 0 END) AS maintenance_hosts,
  sum(criticals) AS criticals, sum(unknowns) AS unknowns, sum(warnings) AS warnings
FROM fleet
GROUP BY cluster, rack
ORDER BY cluster, rack
"""
