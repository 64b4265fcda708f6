"""How is each host?

`health` is its worst status; `unknown` when it answered and nothing was seen of it (every check was skipped, or none
came); `silent`, or `maintenance` where the inventory says so, when it did not report this day: then the counts are
zero, not known.
"""

LIMITS: dict[str, float] = {}

SQL = """
SELECT cluster, host, role, layout, rack, health, criticals, unknowns, warnings, oks, last_day, source
FROM fleet
ORDER BY cluster, host
"""
