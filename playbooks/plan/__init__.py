"""A playbook and one machine make a plan: facts filled in, every command known before anything is done.

Reads the machine through playbooks.facts; changes nothing.
Imported by playbooks.run and the commands.
"""
