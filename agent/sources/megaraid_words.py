"""What storcli, perccli and MegaCli call the states of virtual drives and of disks, short and long."""

from __future__ import annotations

from agent.sources import raid_arrays as raid

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
DISK_STATES = {
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
