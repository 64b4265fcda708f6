"""How many of a hundred disks of a model and firmware fail in a year?

Backblaze's way: failures / drive days x 365 x 100, over the window. A disk fails on the first day its SMART status is
critical (it says so itself, or the inventory misses it); its days after that do not count, and one that came into the
window already failed counts for nothing. Bounds: 95 %, Byar's approximation of the exact Poisson interval.
`suspect`: at least `failures_least`, and even the lower bound is `factor_least` times the rate of all other disks.
"""

LIMITS = {"failures_least": 3, "factor_least": 2}

SQL = """
WITH sightings AS (
  SELECT item, model, firmware,
    min(day) AS first_day, max(day) AS last_day, min(CASE WHEN status = 'critical' THEN day END) AS failed_day
  FROM disks
  GROUP BY item, model, firmware
), lives AS (
  SELECT item, min(first_day) AS first_day, min(failed_day) AS failed_day FROM sightings GROUP BY item
), named AS (
  SELECT item, model, firmware, row_number() OVER (PARTITION BY item ORDER BY last_day DESC, firmware) AS place
  FROM sightings
  WHERE model IS NOT NULL
), days AS (
  SELECT d.item, l.failed_day, count(*) AS days
  FROM disks d JOIN lives l ON l.item = d.item
  WHERE (l.failed_day IS NULL OR d.day <= l.failed_day)
    AND (l.failed_day IS NULL OR l.failed_day > l.first_day)
  GROUP BY d.item, l.failed_day
), models AS (
  SELECT n.model, n.firmware, count(*) AS disks, sum(d.days) AS drive_days,
    sum(CASE WHEN d.failed_day IS NOT NULL THEN 1 ELSE 0 END) AS failures
  FROM days d JOIN named n ON n.item = d.item AND n.place = 1
  GROUP BY n.model, n.firmware
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
