"""How evenly is the data spread: over the disks of a host, and over the brokers of a cluster?

Points of used space: the range between the fullest and the emptiest, and the standard deviation. Data mounts are
those that hold Kafka's data: on a JBOD host the ones with a disk of their own, so not /, /root, /var and the like.
"""

LIMITS = {"range_points_least": 20, "disks_least": 2, "brokers_least": 3}

SQL = """
WITH data AS (
  SELECT m.cluster, m.host, m.item, 100 * m.used_bytes / (m.used_bytes + m.free_bytes) AS used,
    m.used_bytes, m.used_bytes + m.free_bytes AS size_bytes
  FROM mounts m JOIN fleet f ON f.cluster = m.cluster AND f.host = m.host
  WHERE m.day = {night} AND m.data AND m.used_bytes + m.free_bytes > 0
), hosts AS (
  SELECT cluster, host, count(*) AS parts, 100 * sum(used_bytes) / sum(size_bytes) AS used,
    min(used) AS least_used, max(used) AS most_used, stddev_pop(used) AS deviation
  FROM data
  GROUP BY cluster, host
), clusters AS (
  SELECT cluster, count(*) AS parts, min(used) AS least_used, max(used) AS most_used, stddev_pop(used) AS deviation
  FROM hosts
  GROUP BY cluster
), both_levels AS (
  SELECT 'host' AS level, cluster, host, parts, least_used, most_used, deviation
  FROM hosts WHERE parts >= {disks_least} AND most_used - least_used >= {range_points_least}
  UNION ALL
  SELECT 'cluster' AS level, cluster, '' AS host, parts, least_used, most_used, deviation
  FROM clusters WHERE parts >= {brokers_least}
)
SELECT level, cluster, host, parts, round(least_used, 1) AS least_percent, round(most_used, 1) AS most_percent,
  round(most_used - least_used, 1) AS range_points, round(deviation, 1) AS deviation_points,
  most_used - least_used >= {range_points_least} AS uneven
FROM both_levels
ORDER BY level, range_points DESC, cluster, host
"""
