"""What is new, worse, ongoing or resolved on each host against its report before, and for how long does it stand?

A problem is compared with what was last seen of it: days on which the host was silent, or its check was not asked or
could not look, say nothing. `unseen`: of a problem that stood when it was last seen nothing is known today; it is not
resolved, and stands here until it is seen again. age_days counts from the first day of the episode, or from the
agent's first sight of it where that is earlier.
"""

LIMITS: dict[str, float] = {}

SQL = """
SELECT change, cluster, host, rack, check_name, item, status, age_days, reason, playbook, source
FROM standing
WHERE host != ''
ORDER BY last_severity DESC, cluster, host, check_name, item
"""
