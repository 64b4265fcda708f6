"""The controller: asks one machine or many, shows what they answered, keeps it."""
