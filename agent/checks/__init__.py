"""The checks: one question about one part of this machine each.

A file is a check, whatever room it stands in: the listing of the rooms is the registry. Checks import sources,
never each other; only the engine, `smoke explain` and tests import them.
"""
