"""What is new, worse, ongoing or resolved of each cluster as a whole: its partitions, its quorum, its topology?

As in `changes`; these findings belong to no host. `unseen`: the check was not asked of this cluster today, or could not
look.
"""

LIMITS: dict[str, float] = {}

SQL = """
SELECT change, cluster, check_name, item, status, age_days, reason, playbook, source
FROM standing
WHERE host = ''
ORDER BY last_severity DESC, cluster, check_name, item
"""
