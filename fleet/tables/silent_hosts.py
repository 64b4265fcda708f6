"""Which hosts fell silent: reported in the window, and not today? And those that the controller asks in vain.

With an inventory: its hosts that did not report today, also when they never did, except those in maintenance there. A
host that it does not name is retired, and not missed.
"""

LIMITS: dict[str, float] = {}

SQL = """
WITH reached AS (
  SELECT cluster, host, max(reason) AS reason FROM problem_days
  WHERE day = {night} AND check_name = 'reach' AND last_bad
  GROUP BY cluster, host
)
SELECT f.cluster, f.host, f.rack, f.last_day, {night} - f.last_day AS silent_days, r.reason
FROM fleet f LEFT JOIN reached r ON r.cluster = f.cluster AND r.host = f.host
WHERE f.health = 'silent'
ORDER BY f.last_day DESC, f.cluster, f.host
"""
