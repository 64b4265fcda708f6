"""Rules about what people and programs did before: answers, locks, playbooks under way."""
