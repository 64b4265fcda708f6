"""`smoke playbook`: arguments, printing, exit codes."""
