"""How many of a hundred disks of a model and firmware fail in a year?

Backblaze's way: failures / drive days x 365 x 100, over the window. A disk fails on the first day its SMART status is
critical (it says so itself, or the inventory misses it); its days after that do not count, and one that came into the
window already failed counts for nothing. Bounds: 95 %, Byar's approximation of the exact Poisson interval.
`suspect`: at least `failures_least`, and even the lower bound is `factor_least` times the rate of all other disks.
"""

LIMITS = {"failures_least": 3, "factor_least": 2}

SQL = """
WITH ranked AS (
  SELECT disk, model, firmware, sum(days) OVER w AS days, min(first_day) OVER w AS first_day,
    min(failed_day) OVER w AS failed_day,
    row_number() OVER (PARTITION BY disk ORDER BY model IS NULL, last_day DESC, firmware) AS place
  FROM lives
  WINDOW w AS (PARTITION BY disk)
), until_failure AS (
  SELECT disk, count(*) AS days FROM watched WHERE day <= failed_day GROUP BY disk
), models AS (
  SELECT r.model, r.firmware, count(*) AS disks, sum(coalesce(u.days, r.days)) AS drive_days,
    sum(CASE WHEN r.failed_day IS NOT NULL THEN 1 ELSE 0 END) AS failures
  FROM ranked r LEFT JOIN until_failure u ON u.disk = r.disk
  WHERE r.place = 1 AND r.model IS NOT NULL AND (r.failed_day IS NULL OR r.failed_day > r.first_day)
  GROUP BY r.model, r.firmware
), bounded AS (
  SELECT *,
    3.65e4 * failures / drive_days AS rate,
    CASE WHEN failures = 0 THEN 0e0 ELSE
      3.65e4 * failures * power(1 - 1e0 / (9 * failures) - 1.96e0 / (3 * sqrt(failures)), 3) / drive_days END AS low,
    3.65e4 * (failures + 1)
      * power(1 - 1e0 / (9 * (failures + 1)) + 1.96e0 / (3 * sqrt(failures + 1)), 3) / drive_days AS high,
    3.65e4 * (sum(failures) OVER () - failures) / greatest(sum(drive_days) OVER () - drive_days, 1) AS others_rate
  FROM models
)
SELECT model, firmware, disks, drive_days, failures, round(rate, 2) AS rate_percent, round(low, 2) AS low_percent,
  round(high, 2) AS high_percent, round(others_rate, 2) AS others_percent,
  failures >= {failures_least} AND low >= {factor_least} * others_rate AS suspect
FROM bounded
ORDER BY rate_percent DESC, model, firmware
"""
