"""Which hosts fell silent: reported in the window, and not today? And those that the controller asks in vain."""

LIMITS: dict[str, float] = {}

SQL = """
WITH reached AS (
  SELECT host, max(reason) AS reason FROM problem_days
  WHERE day = {night} AND check_name = 'reach' AND last_bad
  GROUP BY host
)
SELECT f.host, f.cluster, f.rack, f.last_day, {night} - f.last_day AS silent_days, r.reason
FROM fleet f LEFT JOIN reached r ON r.host = f.host
WHERE NOT f.answered
ORDER BY f.last_day DESC, f.host
"""
