"""Which disks wear out, and on which day will each cross its limit at this pace?

The pace is the least-squares slope over the window. The limits are the smart check's critical ones; a rise that is
smaller than `…_rise` is noise. For disks that report today.
"""

# metric: the limit that it must not cross, and the least rise over the window that counts
LIMITS = {
    "reallocated_limit": 1000,
    "reallocated_rise": 5,
    "pending_limit": 17,
    "pending_rise": 3,
    "uncorrectable_limit": 17,
    "uncorrectable_rise": 3,
    "grown_defects_limit": 100,
    "grown_defects_rise": 5,
    "wear_percent_limit": 100,
    "wear_percent_rise": 2,
    "horizon_days": 90,
    "days_least": 3,
}
METRICS = ("reallocated", "pending", "uncorrectable", "grown_defects", "wear_percent")


def _sums(metric: str) -> str:
    return (
        f"count({metric}) AS n_{metric}, sum(CASE WHEN {metric} IS NOT NULL THEN day - {{first}} END) AS x_{metric}, "
        f"sum(CASE WHEN {metric} IS NOT NULL THEN (day - {{first}}) * (day - {{first}}) END) AS xx_{metric}, "
        f"sum({metric}) AS y_{metric}, sum({metric} * (day - {{first}})) AS xy_{metric}, "
        f"max(CASE WHEN day = {{night}} THEN {metric} END) AS last_{metric}, min({metric}) AS least_{metric}"
    )


def _pick(prefix: str) -> str:
    return "CASE metric " + " ".join(f"WHEN '{metric}' THEN {prefix}_{metric}" for metric in METRICS) + " END"


def _limit(kind: str) -> str:
    return "CASE metric " + " ".join(f"WHEN '{metric}' THEN {{{metric}_{kind}}}" for metric in METRICS) + " END"


SQL = f"""
WITH sums AS (
  SELECT disk, {", ".join(map(_sums, METRICS))}
  FROM watched
  GROUP BY disk
), metrics AS (
  SELECT * FROM (VALUES {", ".join(f"('{metric}')" for metric in METRICS)}) AS named(metric)
), long AS (
  SELECT disk, metric, {_pick("n")} AS n, {_pick("x")} AS x, {_pick("xx")} AS xx, {_pick("y")} AS y,
    {_pick("xy")} AS xy, {_pick("last")} AS value, {_pick("least")} AS least_value,
    {_limit("limit")} AS limit_value, {_limit("rise")} AS least_rise
  FROM sums CROSS JOIN metrics
), paced AS (
  SELECT *, CASE WHEN n * xx - x * x > 0 THEN (n * xy - x * y) / (n * xx - x * x) END AS per_day
  FROM long
  WHERE n >= {{days_least}} AND value - least_value >= least_rise
), crossing AS (
  SELECT *, CASE WHEN value >= limit_value THEN 0 ELSE ceil(round((limit_value - value) / per_day, 6)) END AS days_left
  FROM paced
  WHERE per_day > 0
)
SELECT d.cluster, d.host, d.item, d.model, d.firmware, d.slot, t.metric, t.value, t.value - t.least_value AS rise,
  round(t.per_day, 4) AS per_day, t.limit_value, t.days_left, {{night}} + t.days_left AS crossing_day
FROM crossing t JOIN disks d ON d.disk = t.disk AND d.day = {{night}}
WHERE t.days_left <= {{horizon_days}}
ORDER BY t.days_left, d.cluster, d.host, d.item, t.metric
"""
