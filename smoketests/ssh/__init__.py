"""Verified ssh connections: settings, keys, host keys, and every failure as a kind and a sentence.

Reads ~/.ssh, /etc/ssh and known_hosts.
Imported by smoketests.remote, the commands and the playbooks.
"""
