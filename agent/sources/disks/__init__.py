"""Block devices, mounts and file systems.

Reads /sys/block, /proc/diskstats, /proc/self/mountinfo and /etc/fstab, and probes file systems.
Imported by the checks of disks, and by the sources raid, smart and kernel.
"""
