"""A plan carried out with a person who agrees: journal, prompt, resume, undo, several machines in turn.

Imported by the commands; carries steps out through playbooks.executors.
"""
