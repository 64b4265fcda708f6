"""The machine this program runs on: `live.LiveHost` answers what agent.host asks for.

Reads /proc, /sys and udev's database, runs programs and probes file systems, each under a deadline.
Imported by agent.__main__, the playbooks' controller side and tests; checks and sources see agent.host only.
"""
