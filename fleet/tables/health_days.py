"""How was the fleet on each day of the window? A host counts once a day, by its worst status.

Silent on a day: a host that answered on an earlier day of the window and not on this one.
"""

LIMITS: dict[str, float] = {}

SQL = """
WITH arrived AS (
  SELECT first_day AS day, count(*) AS hosts FROM calendar WHERE host != '' GROUP BY first_day
), seen AS (
  SELECT day,
    sum(CASE WHEN answered THEN 1 ELSE 0 END) AS hosts,
    sum(CASE WHEN answered AND criticals > 0 THEN 1 ELSE 0 END) AS critical_hosts,
    sum(CASE WHEN answered AND criticals = 0 AND (unknowns > 0 OR warnings + oks = 0) THEN 1 ELSE 0 END)
      AS unknown_hosts,
    sum(CASE WHEN answered AND criticals = 0 AND unknowns = 0 AND warnings > 0 THEN 1 ELSE 0 END) AS warning_hosts,
    sum(CASE WHEN answered AND criticals + unknowns + warnings = 0 AND oks > 0 THEN 1 ELSE 0 END) AS ok_hosts
  FROM host_days
  WHERE host != ''
  GROUP BY day
)
SELECT s.day, s.critical_hosts, s.unknown_hosts, s.warning_hosts, s.ok_hosts,
  sum(coalesce(a.hosts, 0)) OVER (ORDER BY s.day) - s.hosts AS silent_hosts
FROM seen s LEFT JOIN arrived a ON a.day = s.day
ORDER BY s.day
"""
