"""Which faults share a cause: one drawer, rack, power feed, or one batch (model and firmware) of disks?

For each hardware check: the share of hosts (of a batch: disks) with a problem inside the group against the share
outside, and the number against what chance would put there (`deviations` of a Poisson count above it, and a
`margin`). Each is put down to one group only, the one where the share is highest, so that a dead drawer is not told
again as a bad rack. A silent host counts as a fault named `silent`.
"""

from fleet.flat import _words
from fleet.schema import HARDWARE_CHECKS

LIMITS = {"faults_least": 3, "factor_least": 4, "deviations": 4, "margin": 2}

SQL = f"""
WITH faults AS (
  SELECT DISTINCT host AS unit, check_name FROM troubles
  WHERE day = {{night}} AND last_bad AND check_name IN ({_words(HARDWARE_CHECKS)}) AND check_name != 'reach'
  UNION ALL
  SELECT host AS unit, 'silent' AS check_name FROM fleet WHERE NOT answered
  UNION ALL
  SELECT DISTINCT item AS unit, 'smart of a batch' AS check_name FROM disks
  WHERE day = {{night}} AND status IN ('critical', 'warning')
), places AS (
  SELECT 1 AS place, 'drawer' AS kind, host AS unit, concat(rack, ' ', drawer) AS name FROM fleet WHERE drawer != ''
  UNION ALL
  SELECT 2 AS place, 'rack' AS kind, host AS unit, rack AS name FROM fleet WHERE rack != ''
  UNION ALL
  SELECT 3 AS place, 'power feed' AS kind, host AS unit, power_feed AS name FROM fleet WHERE power_feed != ''
  UNION ALL
  SELECT 4 AS place, 'batch' AS kind, item AS unit, concat(model, ' firmware ', firmware) AS name
  FROM disks WHERE day = {{night}} AND model IS NOT NULL AND firmware IS NOT NULL
), sizes AS (
  SELECT kind, name, count(*) AS units, max(place) AS place FROM places GROUP BY kind, name
), totals AS (
  SELECT kind, count(*) AS all_units FROM places GROUP BY kind
), hits AS (
  SELECT p.kind, p.name, f.check_name, count(*) AS faults
  FROM faults f JOIN places p ON p.unit = f.unit
  GROUP BY p.kind, p.name, f.check_name
), hit_totals AS (
  SELECT kind, check_name, sum(faults) AS all_faults FROM hits GROUP BY kind, check_name
), shares AS (
  SELECT h.kind, h.name, h.check_name, h.faults, s.units, s.place,
    1e0 * h.faults / s.units AS share,
    1e0 * a.all_faults * s.units / t.all_units AS by_chance,
    CASE WHEN t.all_units > s.units THEN 1e0 * (a.all_faults - h.faults) / (t.all_units - s.units) END AS share_outside
  FROM hits h
  JOIN sizes s ON s.kind = h.kind AND s.name = h.name
  JOIN totals t ON t.kind = h.kind
  JOIN hit_totals a ON a.kind = h.kind AND a.check_name = h.check_name
), suspects AS (
  SELECT * FROM shares
  WHERE faults >= {{faults_least}} AND share >= {{factor_least}} * share_outside
    AND faults >= by_chance + {{deviations}} * sqrt(by_chance) + {{margin}}
), blamed AS (
  SELECT s.kind, s.name, s.check_name, s.faults, s.units, s.share, s.share_outside, f.unit,
    row_number() OVER (PARTITION BY f.unit, f.check_name ORDER BY s.share DESC, s.faults DESC, s.place) AS choice
  FROM suspects s
  JOIN places p ON p.kind = s.kind AND p.name = s.name
  JOIN faults f ON f.unit = p.unit AND f.check_name = s.check_name
)
SELECT kind, name, check_name, count(*) AS faults, max(units) AS units, round(max(share), 3) AS share,
  round(max(share_outside), 4) AS share_outside
FROM blamed
WHERE choice = 1
GROUP BY kind, name, check_name
HAVING count(*) >= {{faults_least}}
ORDER BY faults DESC, kind, name, check_name
"""
