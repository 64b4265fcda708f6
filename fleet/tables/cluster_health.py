"""How is each cluster: its hosts, and the findings of the cluster as a whole?

`criticals`, `unknowns` and `warnings` are those of its hosts, `cluster_…` those of the cluster itself.
"""

LIMITS: dict[str, float] = {}

SQL = """
WITH hosts AS (
  SELECT cluster,
    count(*) AS hosts,
    sum(CASE WHEN health = 'critical' THEN 1 ELSE 0 END) AS critical_hosts,
    sum(CASE WHEN health = 'unknown' THEN 1 ELSE 0 END) AS unknown_hosts,
    sum(CASE WHEN health = 'warning' THEN 1 ELSE 0 END) AS warning_hosts,
    sum(CASE WHEN health = 'ok' THEN 1 ELSE 0 END) AS ok_hosts,
    sum(CASE WHEN health = 'silent' THEN 1 ELSE 0 END) AS silent_hosts,
    sum(CASE WHEN health = 'maintenance' THEN 1 ELSE 0 END) AS maintenance_hosts,
    sum(criticals) AS criticals, sum(unknowns) AS unknowns, sum(warnings) AS warnings
  FROM fleet
  GROUP BY cluster
), clusters AS (
  SELECT cluster, criticals, unknowns, warnings FROM host_days WHERE day = {night} AND host = ''
)
SELECT coalesce(h.cluster, c.cluster) AS cluster, coalesce(hosts, 0) AS hosts,
  coalesce(critical_hosts, 0) AS critical_hosts, coalesce(unknown_hosts, 0) AS unknown_hosts,
  coalesce(warning_hosts, 0) AS warning_hosts, coalesce(ok_hosts, 0) AS ok_hosts,
  coalesce(silent_hosts, 0) AS silent_hosts, coalesce(maintenance_hosts, 0) AS maintenance_hosts,
  coalesce(h.criticals, 0) AS criticals, coalesce(h.unknowns, 0) AS unknowns, coalesce(h.warnings, 0) AS warnings,
  coalesce(c.criticals, 0) AS cluster_criticals, coalesce(c.unknowns, 0) AS cluster_unknowns,
  coalesce(c.warnings, 0) AS cluster_warnings
FROM hosts h FULL JOIN clusters c ON c.cluster = h.cluster
ORDER BY 1
"""
