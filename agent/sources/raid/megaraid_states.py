"""What storcli, perccli and MegaCli call the states of virtual drives and of disks, short and long."""

from __future__ import annotations

from agent.sources.raid import arrays as raid

VIRTUAL_STATES = {
    "optl": raid.OPTIMAL,
    "optimal": raid.OPTIMAL,
    "dgrd": raid.DEGRADED,
    "degraded": raid.DEGRADED,
    "pdgd": raid.DEGRADED,
    "partially degraded": raid.DEGRADED,
    "rec": raid.REBUILDING,
    "recovery": raid.REBUILDING,
    "rbld": raid.REBUILDING,
    "ofln": raid.FAILED,
    "offln": raid.FAILED,
    "offline": raid.FAILED,
    "failed": raid.FAILED,
    "msng": raid.FAILED,
    "missing": raid.FAILED,
}
# Those of storcli2 and perccli2 are written out: Online, Rebuild, Failed, Offline, Missing, Bad, Unusable, Replace.
DISK_STATES = {
    "good": raid.ONLINE,
    "replace": raid.ONLINE,
    "bad": raid.FAILED,
    "unusable": raid.FAILED,
    "onln": raid.ONLINE,
    "online": raid.ONLINE,
    "cpybck": raid.ONLINE,
    "rbld": raid.REBUILDING,
    "rebuild": raid.REBUILDING,
    "offln": raid.FAILED,
    "offline": raid.FAILED,
    "failed": raid.FAILED,
    "fail": raid.FAILED,
    "dgrd": raid.FAILED,
    "ubad": raid.FAILED,
    "ubunsp": raid.FAILED,
    "msng": raid.MISSING,
    "missing": raid.MISSING,
    "ghs": raid.SPARE,
    "dhs": raid.SPARE,
}
