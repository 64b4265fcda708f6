"""The packet filter: what the rules do with a new TCP connection. `ruleset` is the only entrance.

Reads `nft -j list ruleset` and iptables-save.
Imported by the check firewall.
"""
