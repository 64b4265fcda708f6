"""What the tables of a night, week or month say: which lines, in which order, with which links. Pure; no HTML.

Reads a Night. Imported by render, mail and site.
"""
