"""How many days until a mount is full?

At the slower of the paces of the last two weeks and of the last one: data that moved in at once is no trend.
"""

LIMITS = {"horizon_days": 21, "long_days": 14, "short_days": 7, "days_least": 5, "rise_points_least": 2}

SQL = """
WITH growing AS (
  SELECT cluster, host, item
  FROM mounts
  WHERE day > {night} - {long_days}
  GROUP BY cluster, host, item
  HAVING 100 * (max(CASE WHEN day = {night} THEN used_bytes END) - min(used_bytes))
    >= {rise_points_least} * max(CASE WHEN day = {night} THEN used_bytes + free_bytes END)
), recent AS (
  SELECT /*+ BROADCAST(g) */ m.cluster, m.host, m.item, m.day - {first} AS x, m.used_bytes AS y, m.day, m.free_bytes,
    CASE WHEN m.day > {night} - {short_days} THEN m.day - {first} END AS short_x
  FROM mounts m JOIN growing g ON g.cluster = m.cluster AND g.host = m.host AND g.item = m.item
  WHERE m.day > {night} - {long_days} AND m.used_bytes IS NOT NULL
), sums AS (
  SELECT cluster, host, item, count(*) AS n, sum(x) AS x, sum(x * x) AS xx, sum(y) AS y, sum(x * y) AS xy,
    count(short_x) AS short_n, sum(short_x) AS short_x, sum(short_x * short_x) AS short_xx,
    sum(CASE WHEN short_x IS NOT NULL THEN y END) AS short_y, sum(short_x * y) AS short_xy,
    max(CASE WHEN day = {night} THEN y END) AS used_bytes,
    max(CASE WHEN day = {night} THEN y + free_bytes END) AS size_bytes
  FROM recent
  GROUP BY cluster, host, item
), paced AS (
  SELECT *, least(
      (n * xy - x * y) / (n * xx - x * x),
      (short_n * short_xy - short_x * short_y) / (short_n * short_xx - short_x * short_x)) AS per_day
  FROM sums
  WHERE n >= {days_least} AND short_n >= 3
), left_over AS (
  SELECT *, floor(round((size_bytes - used_bytes) / per_day, 6)) AS days_left FROM paced WHERE per_day > 0
)
SELECT l.cluster, l.host, l.item, l.used_bytes, l.size_bytes,
  round(100 * l.used_bytes / l.size_bytes, 1) AS used_percent,
  round(100 * l.per_day / l.size_bytes, 2) AS points_per_day, l.days_left, {night} + l.days_left AS full_day
FROM left_over l JOIN fleet f ON f.cluster = l.cluster AND f.host = l.host
WHERE l.days_left <= {horizon_days}
ORDER BY l.days_left, l.cluster, l.host, l.item
"""
