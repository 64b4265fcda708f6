"""The kernel log, and the events that its lines report: disks, memory, NICs, PCIe, stalls, out of memory.

Reads /dev/kmsg and /sys/devices/system/edac; keeps incidents from one run to the next.
Imported by the checks of these parts.
"""
