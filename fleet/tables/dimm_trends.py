"""Which DIMMs correct more and more errors?

The counter starts anew with every boot, so its rises are added up: another boot id, and a fall, count as a new start
from zero.
"""

LIMITS = {"week_rise_least": 10, "rising_days_least": 3}

SQL = """
WITH eventful AS (
  SELECT DISTINCT cluster, host, item FROM dimms WHERE corrected > 0
), steps AS (
  SELECT /*+ BROADCAST(e) */ d.cluster, d.host, d.item, d.day, d.corrected, d.uncorrected,
    lag(d.corrected) OVER w AS before, d.boot_id != lag(d.boot_id) OVER w AS rebooted
  FROM dimms d JOIN eventful e ON e.cluster = d.cluster AND e.host = d.host AND e.item = d.item
  WHERE d.corrected IS NOT NULL
  WINDOW w AS (PARTITION BY d.cluster, d.host, d.item ORDER BY d.day)
), rises AS (
  SELECT *, CASE WHEN before IS NULL THEN 0
    WHEN corrected >= before AND NOT coalesce(rebooted, FALSE) THEN corrected - before ELSE corrected END AS rise
  FROM steps
), summed AS (
  SELECT cluster, host, item,
    sum(rise) AS rise,
    sum(CASE WHEN day > {night} - 7 THEN rise ELSE 0 END) AS week_rise,
    sum(CASE WHEN day > {night} - 7 AND rise > 0 THEN 1 ELSE 0 END) AS rising_days,
    sum(CASE WHEN day > {night} - 14 AND day <= {night} - 7 THEN rise ELSE 0 END) AS week_before_rise,
    max(CASE WHEN day = {night} THEN corrected END) AS corrected,
    max(CASE WHEN day = {night} THEN uncorrected END) AS uncorrected
  FROM rises
  GROUP BY cluster, host, item
)
SELECT cluster, host, item, corrected, uncorrected, rise, week_rise, week_before_rise, rising_days
FROM summed
WHERE week_rise >= {week_rise_least} OR rising_days >= {rising_days_least}
ORDER BY week_rise DESC, cluster, host, item
"""
