"""Pages of the site that are written from the code: checks, rules, playbooks, tables, formats, commands, man pages."""
