"""Checks of disks, RAID arrays, file systems and mounts."""
