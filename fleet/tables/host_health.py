"""How is each host?

`health` is its worst status, or `silent` when it did not report this day; then the counts are zero, not known.
"""

LIMITS: dict[str, float] = {}

SQL = """
SELECT cluster, host, role, layout, rack, health, criticals, unknowns, warnings, oks, last_day, source
FROM fleet
ORDER BY cluster, host
"""
