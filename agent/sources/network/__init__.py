"""Network interfaces: links, bonds, drivers, counters and listening sockets.

Reads /sys/class/net, /proc/net and ethtool.
Imported by the checks of the network and by the kernel's NIC events.
"""
