"""The agent on other machines: fan-out, bootstrap, bundle; its output read, bounded and validated.

Reads what hosts send, which is untrusted until `validation` has passed it.
Imported by smoketests.results, the gate and the commands.
"""
