"""Which disks are slower than their peers when it matters: at the peers' busiest hour?

Peers: the disks of the same cluster, layout and kind (rotating or not). The busiest hour is the one with the highest
mean utilisation. Outlier: a robust score (distance from the median in median absolute deviations) and a factor, so
that neither a very even group nor a very wide one cries wolf.
"""

LIMITS = {"peers_least": 8, "score_least": 6, "factor_least": 2, "slower_ms_least": 5}

SQL = """
WITH middle AS (
  SELECT kin, median(read_ms) AS middle_read, count(read_ms) AS readers,
    median(write_ms) AS middle_write, count(write_ms) AS writers
  FROM peak_waits
  GROUP BY kin
), slower AS (
  SELECT /*+ BROADCAST(m) */ p.*, m.middle_read, m.readers, m.middle_write, m.writers
  FROM peak_waits p JOIN middle m ON m.kin = p.kin
), spread AS (
  SELECT kin, median(abs(read_ms - middle_read)) AS spread_read, median(abs(write_ms - middle_write)) AS spread_write
  FROM slower
  GROUP BY kin
), both_operations AS (
  SELECT cluster, host, item, kin, hour, 'read' AS operation, read_ms AS await_ms, middle_read AS median_ms,
    readers AS peers
  FROM slower
  WHERE read_ms >= {factor_least} * middle_read AND read_ms - middle_read >= {slower_ms_least}
  UNION ALL
  SELECT cluster, host, item, kin, hour, 'write' AS operation, write_ms AS await_ms, middle_write AS median_ms,
    writers AS peers
  FROM slower
  WHERE write_ms >= {factor_least} * middle_write AND write_ms - middle_write >= {slower_ms_least}
), scored AS (
  SELECT b.*, 6.745e-1 * (b.await_ms - b.median_ms) / greatest(
    CASE b.operation WHEN 'read' THEN s.spread_read ELSE s.spread_write END, 5e-2 * b.median_ms, 1e-1) AS score
  FROM both_operations b JOIN spread s ON s.kin = b.kin
)
SELECT cluster, host, item, hour, operation, round(await_ms, 2) AS await_ms, round(median_ms, 2) AS median_ms, peers,
  round(score, 1) AS score
FROM scored
WHERE peers >= {peers_least} AND score >= {score_least}
ORDER BY score DESC, cluster, host, item, operation
"""
