"""How was the fleet on each day of the window? A host counts once a day, by its worst status.

Silent on a day: a host that answered on an earlier day of the window and not on this one.
"""

LIMITS: dict[str, float] = {}

SQL = """
WITH known AS (
  SELECT host, min(day) AS since FROM calendar WHERE answered GROUP BY host
), days AS (
  SELECT DISTINCT day FROM calendar
), arrived AS (
  SELECT d.day, count(k.host) AS known_hosts FROM days d LEFT JOIN known k ON k.since <= d.day GROUP BY d.day
), seen AS (
  SELECT day,
    count(*) AS hosts,
    sum(CASE WHEN criticals > 0 THEN 1 ELSE 0 END) AS critical_hosts,
    sum(CASE WHEN criticals = 0 AND unknowns > 0 THEN 1 ELSE 0 END) AS unknown_hosts,
    sum(CASE WHEN criticals = 0 AND unknowns = 0 AND warnings > 0 THEN 1 ELSE 0 END) AS warning_hosts,
    sum(CASE WHEN criticals = 0 AND unknowns = 0 AND warnings = 0 THEN 1 ELSE 0 END) AS ok_hosts
  FROM calendar
  WHERE answered
  GROUP BY day
)
SELECT a.day,
  coalesce(s.critical_hosts, 0) AS critical_hosts, coalesce(s.unknown_hosts, 0) AS unknown_hosts,
  coalesce(s.warning_hosts, 0) AS warning_hosts, coalesce(s.ok_hosts, 0) AS ok_hosts,
  a.known_hosts - coalesce(s.hosts, 0) AS silent_hosts
FROM arrived a LEFT JOIN seen s ON s.day = a.day
ORDER BY a.day
"""
