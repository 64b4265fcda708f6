"""Whose clock disagrees? offset_ms: what the host's own time daemon says. skew_s: its clock in the report's header
against the median of all hosts of the same run; a run takes a while, so only minutes mean something there."""

LIMITS = {"offset_ms_least": 500, "skew_s_least": 120}

SQL = """
SELECT cluster, host, round(offset_ms, 1) AS offset_ms, round(skew_s, 0) AS skew_s
FROM fleet
WHERE answered AND (abs(offset_ms) >= {offset_ms_least} OR abs(skew_s) >= {skew_s_least})
ORDER BY greatest(coalesce(abs(skew_s), 0), coalesce(abs(offset_ms), 0) / 1000) DESC, cluster, host
"""
