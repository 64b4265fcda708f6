"""Replica placement: plans for replacing, draining, levelling and growing, made from one frozen snapshot.

Pure but for `reading` (asks Kafka and the agents) and `command` (arguments, printing, exit codes). The same snapshot
and arguments give the same plan, byte for byte. May import agent, inventory and smoketests; `reassignment` and
`playbooks` may import it.
"""
