"""Which faults share a cause: one drawer, rack, power feed, or one batch (model and firmware) of disks?

For each hardware check: the share of hosts (of a batch: disks) with a problem inside the group against the share
outside, and the number against what chance would put there (`deviations` of a Poisson count above it, and a
`margin`); or nearly the whole group has it and hardly anybody else (`whole_…`). Each is put down to one group only,
the one where the share is highest, so that a dead drawer is not told again as a bad rack. A silent host counts as a
fault named `silent`.
"""

from fleet.flat import quoted
from fleet.schema import HARDWARE_CHECKS

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
  SELECT DISTINCT host, check_name FROM troubles
  WHERE day = {{night}} AND last_bad AND check_name IN ({quoted(HARDWARE_CHECKS)}) AND check_name != 'reach'
  UNION ALL
  SELECT host, 'silent' AS check_name FROM fleet WHERE NOT answered
), kinds AS (
  SELECT * FROM (VALUES (1, 'drawer'), (2, 'rack'), (3, 'power feed')) AS named(place, kind)
), places AS (
  SELECT f.host AS unit, k.place, k.kind, t.check_name,
    CASE k.place WHEN 1 THEN concat(f.rack, ' ', f.drawer) WHEN 2 THEN f.rack ELSE f.power_feed END AS name
  FROM fleet f CROSS JOIN kinds k LEFT JOIN faults t ON t.host = f.host
  UNION ALL
  SELECT item AS unit, 4 AS place, 'batch' AS kind,
    CASE WHEN status IN ('critical', 'warning') THEN 'smart' END AS check_name,
    concat(model, ' firmware ', firmware) AS name
  FROM disks
  WHERE day = {{night}}
), firsts AS (
  SELECT *,
    CASE WHEN row_number() OVER (PARTITION BY kind, unit ORDER BY check_name) = 1 THEN 1 ELSE 0 END AS is_first
  FROM places
  WHERE name IS NOT NULL AND trim(name) != ''
), counted AS (
  SELECT *,
    sum(is_first) OVER (PARTITION BY kind, name) AS units,
    sum(is_first) OVER (PARTITION BY kind) AS all_units,
    count(check_name) OVER (PARTITION BY kind, name, check_name) AS faults,
    count(check_name) OVER (PARTITION BY kind, check_name) AS all_faults
  FROM firsts
), shares AS (
  SELECT *,
    1e0 * faults / units AS share,
    1e0 * all_faults * units / all_units AS by_chance,
    CASE WHEN all_units > units THEN 1e0 * (all_faults - faults) / (all_units - units) END AS share_outside
  FROM counted
  WHERE check_name IS NOT NULL AND faults >= {{faults_least}}
), blamed AS (
  SELECT *,
    row_number() OVER (PARTITION BY unit, check_name ORDER BY share DESC, faults DESC, place) AS choice
  FROM shares
  WHERE share >= {{factor_least}} * share_outside
    AND (faults >= by_chance + {{deviations}} * sqrt(by_chance) + {{margin}}
      OR (faults >= {{whole_least}} AND share >= {{whole_share}} AND share_outside <= {{whole_elsewhere}}))
)
SELECT kind, name, check_name, count(*) AS faults, max(units) AS units, round(max(share), 3) AS share,
  round(max(share_outside), 4) AS share_outside
FROM blamed
WHERE choice = 1
GROUP BY kind, name, check_name
HAVING count(*) >= {{faults_least}}
ORDER BY faults DESC, kind, name, check_name
"""
