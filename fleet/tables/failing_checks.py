"""Which checks fail most, today and over the window?"""

LIMITS: dict[str, float] = {}

SQL = """
SELECT check_name,
  count(DISTINCT CASE WHEN day = {night} AND last_bad AND host != '' THEN concat(cluster, '/', host) END) AS hosts,
  count(DISTINCT CASE WHEN day = {night} AND last_bad AND host = '' THEN cluster END) AS clusters,
  sum(CASE WHEN day = {night} AND last_bad AND last_severity = 5 THEN 1 ELSE 0 END) AS criticals,
  sum(CASE WHEN day = {night} AND last_bad AND last_severity = 4 THEN 1 ELSE 0 END) AS unknowns,
  sum(CASE WHEN day = {night} AND last_bad AND last_severity = 3 THEN 1 ELSE 0 END) AS warnings,
  count(*) AS item_days
FROM problem_days
GROUP BY check_name
ORDER BY hosts DESC, clusters DESC, item_days DESC, check_name
"""
