"""RAID arrays and controllers: Linux md, btrfs, ZFS, and the tools of MegaRAID, Smart Array, Adaptec and BOSS cards.

Reads sysfs, /proc/mdstat and the tools' listings into one model (`arrays`).
Imported by the checks raid and disk_errors.
"""
