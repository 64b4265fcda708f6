"""Which disks are slower than their peers when it matters: at the peers' busiest hour?

Peers: the disks of the same cluster, layout and kind (rotating or not). The busiest hour is the one with the highest
mean utilisation. Outlier: a robust score (distance from the median in median absolute deviations) and a factor, so
that neither a very even group nor a very wide one cries wolf.
"""

LIMITS = {"peers_least": 8, "score_least": 6, "factor_least": 2, "slower_ms_least": 5}

SQL = """
WITH kept AS (
  SELECT *, concat(cluster, ' ', layout, CASE WHEN rotational THEN ' disk' ELSE ' flash' END) AS kin FROM latencies
), hours AS (
  SELECT kin, hour, avg(busy_percent) AS busy FROM kept GROUP BY kin, hour
), ranked AS (
  SELECT kin, hour, row_number() OVER (PARTITION BY kin ORDER BY busy DESC, hour) AS place FROM hours
), operations AS (
  SELECT * FROM (VALUES ('read'), ('write')) AS named(operation)
), peak AS (
  SELECT k.host, k.item, k.cluster, k.kin, k.hour, o.operation,
    max(CASE o.operation WHEN 'read' THEN k.read_await_ms ELSE k.write_await_ms END) AS await_ms
  FROM kept k
  JOIN ranked r ON r.kin = k.kin AND r.hour = k.hour AND r.place = 1
  CROSS JOIN operations o
  GROUP BY k.host, k.item, k.cluster, k.kin, k.hour, o.operation
), middle AS (
  SELECT kin, operation, median(await_ms) AS median_ms, count(await_ms) AS peers FROM peak GROUP BY kin, operation
), spread AS (
  SELECT p.kin, p.operation, median(abs(p.await_ms - m.median_ms)) AS mad_ms
  FROM peak p JOIN middle m ON m.kin = p.kin AND m.operation = p.operation
  GROUP BY p.kin, p.operation
), scored AS (
  SELECT p.host, p.item, p.cluster, p.hour, p.operation, p.await_ms, m.median_ms, m.peers,
    6.745e-1 * (p.await_ms - m.median_ms) / greatest(s.mad_ms, 5e-2 * m.median_ms, 1e-1) AS score
  FROM peak p
  JOIN middle m ON m.kin = p.kin AND m.operation = p.operation
  JOIN spread s ON s.kin = p.kin AND s.operation = p.operation
)
SELECT host, item, cluster, hour, operation, round(await_ms, 2) AS await_ms, round(median_ms, 2) AS median_ms, peers,
  round(score, 1) AS score
FROM scored
WHERE peers >= {peers_least} AND score >= {score_least} AND await_ms >= {factor_least} * median_ms
  AND await_ms - median_ms >= {slower_ms_least}
ORDER BY score DESC, host, item, operation
"""
