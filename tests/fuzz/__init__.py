"""The fuzz lane (scripts/fuzz): what reads hostile words, family by family, under atheris."""
