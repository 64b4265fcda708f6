"""Which machines exist and what they should be. Imports nothing of ours."""
