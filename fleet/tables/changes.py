"""What is new, worse, ongoing or resolved on each host against its report before, and for how long does it stand?

`unseen`: a problem of the report before of which nothing is known today, because the host is silent, or its check was
not asked or could not look. It is not resolved. age_days counts from the first day of the episode, or from the
agent's first sight of it where that is earlier.
"""

LIMITS: dict[str, float] = {}

SQL = """
SELECT change, cluster, host, rack, check_name, item, status, age_days, reason, playbook, source
FROM standing
WHERE host != ''
ORDER BY last_severity DESC, cluster, host, check_name, item
"""
