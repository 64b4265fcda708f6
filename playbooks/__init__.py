"""Playbooks: what to do about a finding, as a plan for one machine, and carried out with a person who says yes."""
