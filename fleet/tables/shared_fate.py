"""Which faults share a cause: one drawer, rack, power feed, or one batch (model and firmware) of disks?

For each hardware check: the share of hosts (of a batch: disks) with a problem inside the group against the share
outside, and the number against what chance would put there (`deviations` of a Poisson count above it, and a
`margin`); or nearly the whole group has it and hardly anybody else (`whole_…`). Each is put down to one group only,
the one where the share is highest, so that a dead drawer is not reported as a bad rack, too. A silent host counts as a
fault named `silent`.
"""

from fleet.ingest.flat_tables import quoted
from fleet.ingest.schema import HARDWARE_CHECKS

LIMITS = {
    "faults_least": 3,
    "factor_least": 4,
    "deviations": 4,
    "margin": 2,
    "whole_least": 4,
    "whole_share": 0.9,
    "whole_elsewhere": 0.1,
}

SQL = f"""
WITH faults AS (
  SELECT DISTINCT concat(cluster, '/', host) AS unit, check_name FROM problem_days
  WHERE day = {{night}} AND last_bad AND host != '' AND check_name != 'reach'
    AND check_name IN ({quoted(HARDWARE_CHECKS)})
  UNION ALL
  SELECT concat(cluster, '/', host) AS unit, 'silent' AS check_name FROM fleet WHERE health = 'silent'
), kinds AS (
  SELECT * FROM (VALUES (1, 'drawer'), (2, 'rack'), (3, 'power feed')) AS named(place, kind)
), places AS (
  SELECT concat(f.cluster, '/', f.host) AS unit, k.place, k.kind,
    CASE k.place WHEN 1 THEN concat(f.rack, ' ', f.drawer) WHEN 2 THEN f.rack ELSE f.power_feed END AS name
  FROM fleet f CROSS JOIN kinds k
), tonight AS (
  SELECT item, concat(model, ' firmware ', firmware) AS name, status FROM disks WHERE day = {{night}}
), sizes AS (
  SELECT place, kind, name, count(*) AS units FROM places WHERE trim(name) != '' GROUP BY place, kind, name
  UNION ALL
  SELECT 4 AS place, 'batch' AS kind, name, count(*) AS units FROM tonight WHERE trim(name) != '' GROUP BY name
), faulty AS (
  SELECT p.unit, p.kind, p.name, t.check_name
  FROM places p JOIN faults t ON t.unit = p.unit
  WHERE trim(p.name) != ''
  UNION ALL
  SELECT item AS unit, 'batch' AS kind, name, 'smart' AS check_name
  FROM tonight
  WHERE status IN ('critical', 'warning') AND trim(name) != ''
), whole_kinds AS (
  SELECT *, sum(units) OVER (PARTITION BY kind) AS all_units FROM sizes
), counted AS (
  SELECT kind, name, check_name, count(*) AS faults, sum(count(*)) OVER (PARTITION BY kind, check_name) AS all_faults
  FROM faulty
  GROUP BY kind, name, check_name
), shares AS (
  SELECT c.*, s.place, s.units,
    1e0 * c.faults / s.units AS share,
    1e0 * c.all_faults * s.units / s.all_units AS by_chance,
    CASE WHEN s.all_units > s.units THEN 1e0 * (c.all_faults - c.faults) / (s.all_units - s.units) END AS share_outside
  FROM counted c JOIN whole_kinds s ON s.kind = c.kind AND s.name = c.name
  WHERE c.faults >= {{faults_least}}
), suspects AS (
  SELECT * FROM shares
  WHERE share >= {{factor_least}} * share_outside
    AND (faults >= by_chance + {{deviations}} * sqrt(by_chance) + {{margin}}
      OR (faults >= {{whole_least}} AND share >= {{whole_share}} AND share_outside <= {{whole_elsewhere}}))
), blamed AS (
  SELECT s.*,
    row_number() OVER (
      PARTITION BY f.unit, f.check_name ORDER BY s.share DESC, s.faults DESC, s.place, s.name) AS choice
  FROM suspects s JOIN faulty f ON f.kind = s.kind AND f.name = s.name AND f.check_name = s.check_name
)
SELECT kind, name, check_name, count(*) AS faults, max(units) AS units, round(max(share), 3) AS share,
  round(max(share_outside), 4) AS share_outside
FROM blamed
WHERE choice = 1
GROUP BY kind, name, check_name
HAVING count(*) >= {{faults_least}}
ORDER BY faults DESC, kind, name, check_name
"""
