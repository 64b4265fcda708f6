"""Mounts, and arrays with their controllers and members."""

from agent.sources.disks import mount_identity as mount_identity
from agent.sources.disks import mount_table as mount_table
from agent.sources.raid import arrays as arrays
from agent.sources.raid import controllers as controllers
from agent.sources.raid import mdstat as mdstat
from agent.sources.raid import members as members
from agent.sources.raid.arrays import Array as Array
from agent.sources.raid.arrays import Member as Member
