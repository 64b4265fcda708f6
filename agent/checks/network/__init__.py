"""Checks of network interfaces, the path to the peers and the packet filter."""
