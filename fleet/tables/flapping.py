"""What comes and goes? An episode is a row of reports that saw an item as faulty.

Only changes that were seen count: reports in which its check was skipped, or had no result, end no episode.

Only what was a problem within the last days: what flapped a month ago is over.
"""

LIMITS = {"episodes_least": 4, "recent_days": 7}

SQL = """
WITH counted AS (
  SELECT cluster, host, check_name, item,
    sum(episodes) - sum(CASE WHEN fresh = 0 AND first_bad THEN 1 ELSE 0 END) AS episodes,
    count(*) AS bad_days,
    max(day) AS last_day
  FROM troubles
  GROUP BY cluster, host, check_name, item
)
SELECT cluster, host, check_name, item, episodes, bad_days, last_day
FROM counted
WHERE episodes >= {episodes_least} AND last_day > {night} - {recent_days}
ORDER BY episodes DESC, cluster, host, check_name, item
"""
