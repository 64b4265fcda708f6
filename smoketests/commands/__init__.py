"""The commands of `smoke`: arguments, printing, exit codes; one file a command, and what only it needs.

Imported by smoketests.cli when a command is used; `smoke --help` loads none of them.
"""
