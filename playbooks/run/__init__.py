"""Running a plan with confirmation of each step: journal, prompt, resume, undo, several machines in turn.

Imported by the commands; executes steps through playbooks.executors.
"""
